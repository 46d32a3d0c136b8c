"""A view: a query whose result is there at any time.

The handle holds no data. Its snapshot is made of the engine's own buffers when it is asked for. A handle is of one view: when that is
dropped, the handle says so, also if another view has its name by then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ._tailrace import ArrowTable, Step
from ._tailrace import Database as NativeDatabase
from .changes import Content, Together, ViewChange
from .errors import PlanError, UnsupportedError, VerificationError
from .feed import Feed
from .kept import Kept, arrow_schema
from .patches import Tree, plain_row
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
        self._released: deque[tuple[object, ...]] = deque()
        self.name = name
        self.number = number
        """No other view of the database ever has it."""
        self.row = row

    def tree(self) -> Tree:
        """The rows of the view now as nested dictionaries and lists by key, to be kept up to date by the `patches` of its changes.

        >>> _ = db.execute("CREATE TABLE auction (id BIGINT PRIMARY KEY, title TEXT)")
        >>> _ = db.execute("INSERT INTO auction VALUES (7, 'lamp')")
        >>> nested = db.create_view("nested", '''
        ...     SELECT a.id, a.title, array(SELECT b.id, b.price FROM bid b WHERE b.auction = a.id ORDER BY b.id) AS bids
        ...     FROM auction a''')
        >>> tree = nested.tree()
        >>> changes = db.update("bid", {"id": 1, "price": 15.0})
        >>> changes["nested"].patches
        [UpdatePatch(path=({'id': 7}, 'bids', {'id': 1}), values={'price': 15.0})]
        >>> tree.apply(changes["nested"].patches)
        >>> tree[7]["bids"][0]
        {'id': 1, 'price': 15.0}
        """
        layout = self.row.__tailrace__
        if not layout.keyed:
            raise PlanError(f"The tree of view {self.name!r} needs a key. {layout.without_key}")
        return Tree((plain_row(row) for row in self.rows()), layout.key)

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
    def key(self) -> list[str] | None:
        """The columns that `events` go by: those of the row class, or what follows from the keys of the tables.

        None if no columns are known to tell the rows apart; an empty list if there is at most one row.

        >>> _ = db.execute("CREATE VIEW best_bids AS SELECT auction, max(price) AS price FROM bid GROUP BY auction")
        >>> db.view("best_bids").key
        ['auction']
        """
        self._check()
        return self._database.view_key(self.name)

    @property
    def params(self) -> list[str]:
        """The names of the parameters, in the order of their first use in the text of the view."""
        return [name for name, _, _ in self._database.view_parameters(self.name)]

    def with_params(self, **values: object) -> View[Any]:
        """The view of these values of the parameters that its text names `$name`: with snapshot, changes and subscriptions of its own.

        All values share one dataflow. The view itself holds the rows of all values that are kept, with the parameters as columns `$name`.

        >>> by_auction = db.create_view("by_auction", "SELECT id, price FROM bid WHERE auction = $auction")
        >>> by_auction.with_params(auction=7).snapshot().num_rows
        2
        >>> dearer = db.create_view("dearer", "SELECT count(*) AS n FROM bid WHERE price > $least")
        >>> [dearer.with_params(least=least).rows()[0].n for least in (10.0, 100.0, 1000.0)]
        [2, 1, 0]
        """
        from .parameters import value_view  # noqa: PLC0415 (it is a view, too)

        self._check()
        return value_view(self, values, self._released)

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

    def change_in(self, step: Step) -> ViewChange[T]:
        """What a step changed in the view."""
        return ViewChange(self.name, step, self.row)

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
