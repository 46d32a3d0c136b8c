"""The database: tables, views over them, and atomic steps that change both.

Promises: a step is applied whole or not at all; after it every view is up to date; a refused step leaves
everything as it was. All calls may come from several threads; the engine takes them one after the other and
lets other Python threads run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    VerificationError,
    did_you_mean,
    listed,
)
from .feed import Feed
from .result import Result
from .row import Row
from .stream import Stream
from .subscription import Source, Subscription, subscribed
from .table import Table
from .udf import udf_of
from .untyped import row_class
from .verification import Verification, verified
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

    def __init__(self, native: NativeDatabase | None = None) -> None:
        self._native: NativeDatabase | None = native or NativeDatabase()
        # Not the tables themselves: they know their database, and a circle would keep its memory until Python looks for circles.
        self._tables: dict[str, tuple[Plan, type[Row]]] = {}
        self._handles: WeakValueDictionary[str, Table[Any]] = WeakValueDictionary()
        self._views: dict[str, View[Any]] = {}
        # The row classes of views by the view's number. Never changed but replaced: the changes of a step hold what was known then.
        self._classes: dict[int, type[Row]] = {}
        self._feed = Feed()
        # Columns and key of the known tables, to see that SQL has made one anew.
        self._shapes: dict[str, object] = {}
        self._definitions = 0

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
        return Result(outcomes, self._classes)

    def register(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        """Let SQL call a function made by `@tr.udf`, by its own name or another.

        >>> @tr.udf
        ... def tripled(price: tr.Array[float]) -> tr.Array[float]:
        ...     import pyarrow.compute as pc
        ...     return pc.multiply(price, 3)
        >>> db.register(tripled)
        >>> db.execute("SELECT tripled(2.0) AS x").fetchall()
        [(6.0,)]
        """
        found = udf_of(function)
        takes = [None if taken is None else taken.native for taken in found.takes]
        returns = found.returns
        self.native.register_function(
            name or found.name, found.over_arrays, takes, returns.native, returns.nullable
        )

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
        return self._known(name, stream.row)

    def view(self, name: str) -> View[Any]:
        """A view by its name."""
        native, known = self.native, self._views.get(name)
        try:
            number = native.view_id(name)
            if known is not None and number == known.number:
                return known
            row = self._classes.get(number)
            if row is None:
                key, lists = native.view_key(name), native.view_lists(name)
                row = row_class(name, native.view_schema(name), key, lists)
            return self._known(name, row)
        except UnknownViewError:
            raise UnknownViewError(_unknown("View", "views", name, dict.fromkeys(native.views()))) from None

    def drop_view(self, name: str | View[Any]) -> None:
        """Stop keeping a view; who listens to it gets what is left and ends."""
        found = self.view(name if isinstance(name, str) else name.name)
        if not isinstance(name, str):
            self.native.view_id(name.name, name.number)
        with self._feed.lock:
            self.native.drop_view(found.name)
            self._forget_changed()

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
        return Changes(step, self._classes)

    def branch(self) -> Branch:
        """A database that goes on from here by itself: try changes there, then `merge` them or let them go.

        It shares all rows with this one, so that it costs no more than its operators, however many rows there are.

        >>> with db.branch() as trial:
        ...     changes = trial.insert(bids.name, {"id": 40, "auction": 9, "price": 3.0})
        >>> db.version < changes.version
        True
        """
        return Branch(self)

    def verify(self) -> dict[str, Verification | None]:
        """Compute every view anew from the tables and compare it with what is kept; any difference is a `VerificationError`.

        A view that depends on when changes came cannot be computed anew: it is None.
        """
        native = self.native
        found = {name: verified(native, name, native.view_id(name)) for name in native.views()}
        wrong = [one for one in found.values() if one is not None and not one]
        if wrong:
            raise VerificationError(wrong)
        return found

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
        native = self.native

        def snapshot() -> Changes | Contents:
            return Contents(native, self._classes)

        def change(step: Step) -> Changes | Contents:
            return Changes(step, self._classes)

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

    def _known(self, name: str, row: type[T]) -> View[T]:
        """The handle of a view with this row class."""
        view = View(self.native, name, self.native.view_id(name), row, self._feed)
        self._views[name] = view
        self._classes = {**self._classes, view.number: row}
        return view

    def _forget_changed(self) -> None:
        """What is known of tables and views that were dropped, or dropped and made anew; the feed's lock is held."""
        native = self.native
        if self._definitions == native.definitions:
            return
        self._definitions = native.definitions
        tables, views = set(native.tables()), {native.view_id(name) for name in native.views()}
        for name in self._tables.copy():
            if name not in tables or self._shapes[name] != _table_shape(native, name):
                self._tables.pop(name, None)
                self._handles.pop(name, None)
        gone = self._classes.keys() - views
        self._views = {name: view for name, view in self._views.items() if view.number in views}
        self._classes = {number: row for number, row in self._classes.items() if number in views}
        self._feed.dropped(gone)

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
        row = row_class(name, native.table_schema(name), native.table_key(name) or None)
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


class Branch(Database):
    """A database that began as a copy of another one; made by `db.branch`. Leaving a `with` block drops it.

    It is a database like any other: tables, views, SQL, subscriptions, branches of its own. Neither notices what the other does, until it
    is merged. Streams that `inspect` are looked at in the parent alone.
    """

    def __init__(self, parent: Database) -> None:
        with parent._feed.lock:
            super().__init__(parent.native.branch())
            self._tables, self._shapes = parent._tables.copy(), parent._shapes.copy()
            self._classes, self._definitions = parent._classes, parent._definitions
        self.parent = parent

    def merge(self, on_conflict: Literal["error", "branch", "parent"] = "error") -> Changes:
        """Apply what this branch has changed in its tables to the parent, as one step, and drop the branch.

        A key that both have changed since the fork, not to the same row, is a `MergeConflictError` that names it: then nothing is
        applied, and the branch stays. With `on_conflict` the row of the branch or of the parent wins. Views are not merged.
        """
        # The parent's lock first: who waits for room there must not keep this branch's writers waiting.
        with self.parent._feed.writing(), self._feed.lock:
            step = self.parent.native.merge(self.native, on_conflict)
            self.parent._feed.publish(step)
            self.close()
            return Changes(step, self.parent._classes)

    def drop(self) -> None:
        """Forget the branch and all that it changed."""
        self.close()

    def __repr__(self) -> str:
        return f"Branch of {self.parent!r}" if self._native is None else f"Branch({super().__repr__()})"


def _table_shape(native: NativeDatabase, name: str) -> object:
    return native.table_schema(name), native.table_key(name)


def _unknown(what: str, plural: str, name: str, known: Mapping[str, object]) -> str:
    return f"{what} {name!r} is not found. {did_you_mean(name, known)}Existing {plural}: {listed(known)}."


def _refuse(given: bool, what: str, supported: str) -> None:
    if given:
        raise UnsupportedError(f"{what} is not supported by this version; it supports {supported}.")
