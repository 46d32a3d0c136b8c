"""A view: a query whose result is there at any time.

The handle holds no data. Its snapshot is made of the engine's own buffers when it is asked for. A handle is of one view: when that is
dropped, the handle says so, also if another view has its name by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ._tailrace import ArrowTable, Step
from ._tailrace import Database as NativeDatabase
from .changes import Content, Together, ViewChange
from .errors import UnsupportedError, VerificationError
from .feed import Feed
from .kept import Kept, arrow_schema
from .row import Row
from .subscription import Slow, Source, Subscription, subscribed
from .verification import Verification, verified

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T", bound=Row)


class View(Kept[T]):
    """A view of a database; made by `db.create_view` and found again by `db.view`."""

    def __init__(self, database: NativeDatabase, name: str, number: int, row: type[T], feed: Feed) -> None:
        self._database = database
        self._feed = feed
        self.name = name
        self.number = number
        """No other view of the database ever has it."""
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
        self._check()
        return arrow_schema(self._database.view_schema(self.name))

    @property
    def key(self) -> list[str]:
        """The columns that `events` go by."""
        self._check()
        return self._database.view_key(self.name)

    @property
    def version(self) -> int:
        """The version of the database that the snapshot shows."""
        self._check()
        return self._database.version

    @property
    def hash(self) -> str:
        """The hash of the view's rows: equal for equal rows, in whatever order and steps they came, on every machine.

        From the first call on it is kept at the cost of each change.

        >>> one, other = (db.create_view(name, bids.filter(lambda b: b.price > 0.0)) for name in ("one", "other"))
        >>> one.hash == other.hash
        True
        """
        return self._database.view_hash(self.name, self.number)

    def verify(self) -> Verification:
        """Compute the view anew from the tables and compare it with what is kept; a difference is a `VerificationError`."""
        found = verified(self._database, self.name, self.number)
        if found is None:
            raise UnsupportedError(
                f"View {self.name!r} depends on when changes came (integrate, differentiate, delay): "
                "it cannot be computed anew from the tables."
            )
        if not found:
            raise VerificationError([found])
        return found

    def explain(self) -> str:
        """How the view is kept up to date, one operator a line."""
        self._check()
        return self._database.explain(self.name)

    def _read(self, weighted: bool) -> ArrowTable:
        return self._database.snapshot(self.name, weighted, self.number)

    def _check(self) -> None:
        """Refuse to speak for another view of this name."""
        self._database.view_id(self.name, self.number)

    def _source(self) -> Source[ViewChange[T]]:
        name, number, row, database = self.name, self.number, self.row, self._database

        def change(step: Step) -> ViewChange[T] | None:
            changed = step.view_id(name) == number and name in step.views
            return ViewChange(name, step, row) if changed else None

        def snapshot() -> ViewChange[T]:
            return Content(name, database, row, number)

        self._check()
        return Source(snapshot, change, Together, lambda: database.version, number)

    def __repr__(self) -> str:
        return f"View[{self.row.__name__}]({self.name!r})"
