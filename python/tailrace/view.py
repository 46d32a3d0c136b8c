"""A view: a query whose result is there at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ._tailrace import ArrowTable, Step
from ._tailrace import Database as NativeDatabase
from .changes import Content, Together, ViewChange
from .feed import Feed
from .kept import Kept, arrow_schema
from .row import Row
from .subscription import Slow, Source, Subscription, subscribed

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T", bound=Row)


class View(Kept[T]):
    """A view of a database; made by `db.create_view` and found again by `db.view`."""

    def __init__(self, database: NativeDatabase, name: str, row: type[T], feed: Feed) -> None:
        self._database = database
        self._feed = feed
        self.name = name
        self.row = row

    def subscribe(
        self,
        callback: Callable[[ViewChange[T]], object],
        initial: bool = True,
        *,
        slow: Slow = "coalesce",
        buffer: int = 1024,
    ) -> Subscription[ViewChange[T]]:
        """Call back with every change, on a thread of its own; first with the content, unless `initial` is false.

        >>> got = []
        >>> dear = db.create_view("dear_too", bids.filter(lambda b: b.price > 100.0))
        >>> with dear.subscribe(lambda change: got.append(len(change))) as subscription:
        ...     changes = db.insert(bids, {"id": 20, "auction": 7, "price": 500.0})
        >>> subscription.join()
        >>> sum(got)
        2
        """
        return subscribed(self._feed, self._source(), callback, initial=initial, slow=slow, buffer=buffer)

    def changes(
        self, since: int | None = None, *, slow: Slow = "coalesce", buffer: int = 1024
    ) -> Subscription[ViewChange[T]]:
        """The changes as an iterator that waits for the next one: from the content on, or from what came after version `since`.

        If `since` is too long ago, the first change is the content (`is_snapshot`).
        """
        return Subscription(self._feed, self._source(), since=since, slow=slow, buffer=buffer)

    def __aiter__(self) -> Subscription[ViewChange[T]]:
        return self.changes()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the view, as an Arrow schema."""
        return arrow_schema(self._database.view_schema(self.name))

    @property
    def key(self) -> list[str]:
        """The columns that `events` go by."""
        return self._database.view_key(self.name)

    @property
    def version(self) -> int:
        """The version of the database that the snapshot shows."""
        return self._database.version

    def explain(self) -> str:
        """How the view is kept up to date, one operator a line."""
        return self._database.explain(self.name)

    def _read(self, weighted: bool) -> ArrowTable:
        return self._database.snapshot(self.name, weighted)

    def _source(self) -> Source[ViewChange[T]]:
        name, row, database = self.name, self.row, self._database

        def change(step: Step) -> ViewChange[T] | None:
            return ViewChange(name, step, row) if name in step.views else None

        def snapshot() -> ViewChange[T]:
            return Content(name, database, row)

        return Source(snapshot, change, Together, lambda: database.version)

    def __repr__(self) -> str:
        return f"View[{self.row.__name__}]({self.name!r})"
