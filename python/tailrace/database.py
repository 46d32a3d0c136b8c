"""The database: tables, views over them, and atomic steps that change both.

Promises: a step is applied whole or not at all; after it every view is up to date; a refused step leaves
everything as it was. All calls may come from several threads; the engine takes them one after the other and
lets other Python threads run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload
from weakref import WeakValueDictionary

from ._tailrace import Database as NativeDatabase
from ._tailrace import Plan, Step
from .arrow import read_table
from .batch import Batch, TableRef
from .changes import Changes, Contents
from .data import Data, native_data, native_defaults, native_keys, plain
from .errors import (
    ClosedError,
    PlanError,
    SchemaError,
    TypeMismatchError,
    UnknownTableError,
    UnknownViewError,
    UnsupportedError,
    did_you_mean,
    listed,
)
from .feed import Feed
from .result import Result
from .row import Row
from .stream import Stream
from .subscription import Source, Subscription, subscribed
from .table import Table
from .untyped import row_class
from .view import View

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T", bound=Row)


def connect(
    path: str | None = None,
    *,
    workers: int = 1,
    memory_limit: int | str | None = None,
    durability: Literal["commit", "checkpoint"] = "commit",
) -> Database:
    """Open a database; this version keeps it in memory and works with one thread.

    >>> with tr.connect() as db:
    ...     db.version
    0
    """
    _refuse(path is not None, f"path={path!r}", "no path: the database lives in memory")
    _refuse(workers != 1, f"workers={workers!r}", "workers=1")
    _refuse(memory_limit is not None, f"memory_limit={memory_limit!r}", "memory_limit=None: no limit")
    _refuse(durability != "commit", f"durability={durability!r}", "durability='commit'")
    return Database()


class Database:
    """Tables and views; made by `tr.connect`. Leaving a `with` block closes it."""

    def __init__(self) -> None:
        self._native: NativeDatabase | None = NativeDatabase()
        # Not the tables themselves: they know their database, and a circle would keep its memory until Python looks for circles.
        self._tables: dict[str, tuple[Plan, type[Row]]] = {}
        self._handles: WeakValueDictionary[str, Table[Any]] = WeakValueDictionary()
        self._views: dict[str, View[Any]] = {}
        self._feed = Feed()
        # Columns and key of what is known, to see that SQL has made it anew.
        self._shapes: dict[str, object] = {}

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back all memory; every later use is a `ClosedError`. Closing twice does nothing."""
        if self._native is not None:
            self._native.close()
            self._native = None
            self._feed.close()

    @property
    def native(self) -> NativeDatabase:
        """The engine, or a `ClosedError`."""
        if self._native is None:
            raise ClosedError("The database is closed; open one with tr.connect().")
        return self._native

    @property
    def version(self) -> int:
        """How many steps have been applied."""
        return self.native.version

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return self.native.tables()

    @property
    def views(self) -> list[str]:
        """The names of the views."""
        return self.native.views()

    @overload
    def table(self, row: type[T], *, name: str | None = None) -> Table[T]: ...
    @overload
    def table(self, row: str) -> Table[Any]: ...
    def table(self, row: type[T] | str, *, name: str | None = None) -> Table[Any]:
        """The table of a row class, made at the first call; its name is the class's in snake case, or `name`.

        A table that was made before is also found by its name alone.

        >>> class LineItem(tr.Row):
        ...     id: int = tr.key()
        >>> db.table(LineItem).name
        'line_item'
        """
        if isinstance(row, str):
            return self._table(row)
        return self._made(name or row.__tailrace__.table, row)

    def execute(self, sql: str, params: Sequence[object] | None = None) -> Result:
        """Run SQL: definitions, changes and queries, several if separated by semicolons.

        `?` or `$1`, `$2` ... stand for `params`. A text that cannot be parsed does nothing; a statement that fails
        changes nothing.

        >>> db.execute("SELECT auction, max(price) AS best FROM bid GROUP BY auction").fetchall()
        [(7, 120.0)]
        """
        if isinstance(params, (str, bytes, Mapping)):
            raise TypeMismatchError(
                f"params is a list of values, one for each `?` or `$n`, not a {type(params).__name__}."
            )
        values = [plain(value) for value in params or ()]
        with self._feed.writing():
            try:
                outcomes = self.native.execute(sql, values)
                for _, changed, _ in outcomes:
                    if changed is not None:
                        self._feed.publish(changed[1])
            finally:
                self._feed.skip_to(self.native.version)
                self._forget_changed()
        return Result(outcomes, self._view_rows())

    def explain(self, sql: str) -> str:
        """How a query would be kept up to date: one operator a line, with the cost of a change."""
        return self.native.explain_sql(sql)

    @overload
    def create_view(self, name: str, stream: Stream[T]) -> View[T]: ...
    @overload
    def create_view(self, name: str, stream: str) -> View[Any]: ...
    def create_view(self, name: str, stream: Stream[T] | str) -> View[Any]:
        """Keep the rows of a stream or of a SELECT up to date under a name, filled from what the tables hold now.

        >>> view = db.create_view("big", bids.filter(lambda b: b.price > 10.0))
        >>> len(view)
        2
        """
        if isinstance(stream, str):
            self.native.create_view_sql(name, stream)
            return self.view(name)
        if not isinstance(stream, Stream):
            raise PlanError(
                f"A view is made of a stream or a SELECT, not of {type(stream).__name__}: start from db.table(...)."
            )
        self.native.create_view(name, stream.plan, stream.row.__tailrace__.key)
        view = View(self.native, name, stream.row, self._feed)
        self._views[name] = view
        self._shapes[name] = _view_shape(self.native, name)
        return view

    def view(self, name: str) -> View[Any]:
        """A view by its name."""
        native = self.native
        if name not in self._views and name in native.views():
            row = row_class(name, native.view_schema(name), native.view_key(name))
            self._views[name] = View(native, name, row, self._feed)
            self._shapes[name] = _view_shape(native, name)
        if name not in self._views:
            raise UnknownViewError(_unknown("View", "views", name, dict.fromkeys(native.views())))
        return self._views[name]

    def drop_view(self, name: str | View[Any]) -> None:
        """Stop keeping a view."""
        found = self.view(name if isinstance(name, str) else name.name)
        self.native.drop_view(found.name)
        del self._views[found.name]

    def drop_table(self, table: TableRef[Any]) -> None:
        """Remove a table that no view reads."""
        found = self._table(table)
        self.native.drop_table(found.name)
        self._tables.pop(found.name, None)
        self._handles.pop(found.name, None)

    def insert(self, table: TableRef[T], data: Data[T]) -> Changes:
        """Add rows; a key that is there already is an error."""
        return self.apply(Batch().insert(table, data))

    def upsert(self, table: TableRef[T], data: Data[T]) -> Changes:
        """Add rows, or replace those with the same key."""
        return self.apply(Batch().upsert(table, data))

    def update(self, table: TableRef[T], data: Data[T]) -> Changes:
        """Change some columns of the rows with these keys; an unknown key is an error."""
        return self.apply(Batch().update(table, data))

    def delete(self, table: TableRef[T], keys_or_rows: object) -> Changes:
        """Remove rows by key, or as whole rows from a table without key."""
        return self.apply(Batch().delete(table, keys_or_rows))

    def apply(self, batch: Batch) -> Changes:
        """Apply a batch as one step: all of it, or on an error nothing.

        >>> changes = db.apply(tr.Batch().delete(bids, 1).insert(bids, {"id": 9, "auction": 7, "price": 1.0}))
        >>> changes.version
        2
        """
        operations = [self._operation(*operation) for operation in batch.operations]
        with self._feed.writing():
            step = self.native.apply(operations)
            self._feed.publish(step)
        return Changes(step, self._view_rows())

    def subscribe(
        self, callback: Callable[[Changes | Contents], object], initial: bool = True, *, buffer: int = 1024
    ) -> Subscription[Changes | Contents]:
        """Call back with every step, on a thread of its own: what all views changed, together. First with the content of all views.

        A callback that falls more than `buffer` steps behind makes the writer wait.

        >>> versions = []
        >>> with db.subscribe(lambda changes: versions.append(changes.version), initial=False) as subscription:
        ...     changes = db.insert(bids, {"id": 30, "auction": 8, "price": 1.0})
        >>> subscription.join()
        >>> versions == [changes.version]
        True
        """
        native, rows = self.native, self._view_rows()

        def snapshot() -> Changes | Contents:
            return Contents(native, rows)

        def change(step: Step) -> Changes | Contents:
            return Changes(step, rows)

        source = Source(snapshot, change, lambda _, then: then, lambda: native.version)
        return subscribed(self._feed, source, callback, initial=initial, slow="block", buffer=buffer)

    def graph(self, format: Literal["mermaid", "dot", "svg"] = "mermaid") -> str:
        """The circuit of all views as a picture: Mermaid or Graphviz text, or an SVG document."""
        return self.native.graph(format)

    def metrics(self) -> pa.Table:
        """One row per operator: rows in and out, time, size of its state."""
        return read_table(self.native.metrics())

    def __repr__(self) -> str:
        if self._native is None:
            return "Database(closed)"
        return (
            f"Database(version={self.version}, tables=[{listed(self.tables)}], views=[{listed(self.views)}])"
        )

    def _view_rows(self) -> Mapping[str, type[Row]]:
        """The row class of each view; one that SQL made gets its class when it is asked for."""
        return ViewRows(self)

    def _forget_changed(self) -> None:
        """What is known of tables and views that SQL dropped, or dropped and made anew with other columns."""
        native = self.native
        tables, views = set(native.tables()), set(native.views())
        for name in self._tables.copy():
            if name not in tables or self._shapes[name] != _table_shape(native, name):
                self._tables.pop(name, None)
                self._handles.pop(name, None)
        for name in self._views.copy():
            if name not in views or self._shapes[name] != _view_shape(native, name):
                self._views.pop(name, None)

    def _made(self, name: str, row: type[T]) -> Table[T]:
        known, layout = self._tables.get(name), row.__tailrace__
        if known is not None and known[1] is not row and known[1].__tailrace__.written:
            raise SchemaError(
                f"Table {name!r} has rows of {known[1].__name__} already, not of {row.__name__}: "
                "give another name with db.table(Row, name=...)."
            )
        plan = self.native.create_table(name, layout.native_fields, layout.key, native_defaults(row))
        self._tables[name] = (plan, row)
        self._shapes[name] = _table_shape(self.native, name)
        handle = self._handle(name)
        handle.row = row  # it may have been made by name alone, before the class was known
        return handle

    def _table(self, table: TableRef[Any]) -> Table[Any]:
        self.native  # noqa: B018 (a closed database says so first)
        if isinstance(table, Table):
            if self._handles.get(table.name) is not table:
                raise UnknownTableError(
                    f"This handle is not of a table of this database: {table.name!r} was dropped, or belongs to another one. "
                    f"Get it again with db.table(...). Existing tables: {listed(self.tables)}."
                )
            return table
        name = table if isinstance(table, str) else table.__tailrace__.table
        found = name if name in self._tables else self._of_class(table) or self._of_sql(name)
        if found is None:
            raise UnknownTableError(_unknown("Table", "tables", name, dict.fromkeys(self.tables)))
        return self._handle(found)

    def _handle(self, name: str) -> Table[Any]:
        """The same object while somebody holds it."""
        plan, row = self._tables[name]
        return self._handles.setdefault(name, Table(self, name, plan, row))

    def _of_sql(self, name: str) -> str | None:
        """A table that SQL made."""
        native = self.native
        if name not in native.tables():
            return None
        row = row_class(name, native.table_schema(name), native.table_key(name))
        self._tables[name] = (native.table(name), row)
        self._shapes[name] = _table_shape(native, name)
        return name

    def _of_class(self, table: str | type[Row]) -> str | None:
        """By its row class, or the name of it: the class is what a program's author sees."""
        known = self._tables.copy().items()
        return next((name for name, (_, row) in known if table in (row, row.__name__)), None)

    def _operation(self, operation: str, table: TableRef[Any], data: object) -> tuple[str, str, object]:
        found = self._table(table)
        convert = native_keys if operation == "delete" else native_data
        return operation, found.name, convert(data, found.row)


class ViewRows(Mapping[str, type[Row]]):
    """The row classes of a database's views, each made when it is asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __getitem__(self, name: str) -> type[Row]:
        if name not in self:
            raise KeyError(name)
        return self._database.view(name).row

    def __contains__(self, name: object) -> bool:
        return name in self._database._views or name in self._database.views

    def __iter__(self) -> Iterator[str]:
        return iter(self._database.views)

    def __len__(self) -> int:
        return len(self._database.views)


def _table_shape(native: NativeDatabase, name: str) -> object:
    return native.table_schema(name), native.table_key(name)


def _view_shape(native: NativeDatabase, name: str) -> object:
    return native.view_schema(name), native.view_key(name)


def _unknown(what: str, plural: str, name: str, known: Mapping[str, object]) -> str:
    return f"{what} {name!r} is not found. {did_you_mean(name, known)}Existing {plural}: {listed(known)}."


def _refuse(given: bool, what: str, supported: str) -> None:
    if given:
        raise UnsupportedError(f"{what} is not supported by this version; it supports {supported}.")
