"""Streams: typed descriptions of relations that change.

A `Stream[T]` is a plan and a row class; nothing runs before `db.create_view`. Each method traces its
lambdas at once and asks the engine to check the result, so that a mistake shows at the line that made it.
Streams are values: they can be used many times, and views that share a stream share the work.

Relations are bags of rows: `map`, `union` and `join` keep duplicates; `distinct` removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from . import join as joins
from . import recursion, rowwise
from ._tailrace import Expr, Plan
from .errors import PlanError, missing_column
from .flatten import flat_map_rows, flat_map_values
from .group import Group, aggregated
from .grouped import Grouped
from .indexed import Indexed
from .order import native_order
from .row import Row, fill
from .symbols import Scope, symbolic_row
from .tracing import predicate, project, same_rows, shape
from .window import Over

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T", bound=Row)
U = TypeVar("U", bound=Row)
R = TypeVar("R", bound=Row)
K = TypeVar("K")
V = TypeVar("V")


class Stream(Generic[T]):
    """A relation of rows of class `T` that is kept up to date."""

    def __init__(self, plan: Plan, row: type[T]) -> None:
        self.plan = plan
        self.row = row

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.type}" for column in self.row.__tailrace__.columns)
        return f"{type(self).__name__}[{self.row.__name__}]({columns})"

    def filter(self, predicate: Callable[[T], bool]) -> Stream[T]:
        """The rows for which a condition holds.

        >>> dear = bids.filter(lambda b: (b.price > 100.0) & (b.auction == 7))
        """
        return Stream(self.plan.filter(self._predicate("filter", predicate)), self.row)

    def map(self, function: Callable[[T], U]) -> Stream[U]:
        """One row out of each row.

        >>> class Cents(tr.Row):
        ...     id: int = tr.key()
        ...     cents: int
        >>> cents = bids.map(lambda b: Cents(id=b.id, cents=round(b.price * 100)))
        """
        scope = Scope("map")
        return self._projected(scope.call(function, symbolic_row(self.row, scope)), scope)

    def select(self, row: type[U], **computed: Callable[[T], object]) -> Stream[U]:
        """The columns of another row class: those of the same name are taken over, the others computed.

        >>> class Priced(tr.Row):
        ...     id: int = tr.key()
        ...     price: float
        ...     double: float
        >>> priced = bids.select(Priced, double=lambda b: b.price * 2)
        """
        scope = Scope("select")
        source = symbolic_row(self.row, scope)
        for name in computed:
            if name not in row.__tailrace__.names:
                raise missing_column(name, row.__name__, row.__tailrace__.names)
        values = {name: self._selected(name, source, computed, scope) for name in row.__tailrace__.names}
        return self._projected(fill(row, values), scope)

    @overload
    def flat_map(self, items: Callable[[T], Iterable[U]], /) -> Stream[U]: ...
    @overload
    def flat_map(self, items: Callable[[T], Iterable[V]], output: Callable[[T, V], U], /) -> Stream[U]: ...
    def flat_map(
        self, items: Callable[[T], Iterable[Any]], output: Callable[[T, Any], Any] | None = None, /
    ) -> Any:
        """Several rows out of each row: one per element of a list.

        >>> class Part(tr.Row):
        ...     id: int
        ...     side: str
        >>> parts = bids.flat_map(lambda b: [Part(id=b.id, side="left"), Part(id=b.id, side="right")])
        >>> class Word(tr.Row):
        ...     id: int
        ...     word: str
        >>> words = bids.flat_map(lambda b: tr.some(b.note).split(" "), lambda b, word: Word(id=b.id, word=word))
        """
        if output is None:
            plan, row = flat_map_rows(self.plan, self.row, items)
        else:
            plan, row = flat_map_values(self.plan, self.row, items, output)
        return Stream(plan, row)

    def group_by(self, key: Callable[[T], K]) -> Grouped[K, T]:
        """Rows that share a key: one value, a tuple of values, or a row.

        >>> class Best(tr.Row):
        ...     auction: int = tr.key()
        ...     price: float
        >>> best = bids.group_by(lambda b: b.auction).aggregate(
        ...     lambda auction, g: Best(auction=auction, price=g.max(lambda b: b.price)))
        """
        scope = Scope("group_by")
        return Grouped(self, shape(key, scope, symbolic_row(self.row, scope)))

    def index_by(self, key: Callable[[T], K]) -> Indexed[K, T]:
        """Rows under a key, to be joined with others under a key of the same type.

        >>> by_auction = bids.index_by(lambda b: b.auction)
        """
        return Indexed(self, key)

    def aggregate(self, function: Callable[[Group[T]], U]) -> Stream[U]:
        """One row over all rows, present also when there are none: then `count` is 0 and the others are NULL.

        >>> class Total(tr.Row):
        ...     bids: int
        >>> total = bids.aggregate(lambda g: Total(bids=g.count()))
        """
        scope = Scope("aggregate")
        plan, row = aggregated(self.plan, self.row, None, lambda _, group: scope.call(function, group))
        return Stream(plan, cast("type[U]", row))

    def join(
        self,
        other: Stream[R],
        left_on: Callable[[T], K],
        right_on: Callable[[R], K],
        output: Callable[[T, R], U],
        *,
        where: Callable[[T, R], bool] | None = None,
    ) -> Stream[U]:
        """Pairs of rows with equal keys, for which `where` also holds.

        >>> class Pair(tr.Row):
        ...     bid: int
        ...     other: int
        >>> pairs = bids.join(bids, lambda a: a.auction, lambda b: b.auction,
        ...     lambda a, b: Pair(bid=a.id, other=b.id), where=lambda a, b: a.id < b.id)
        """
        return self._joined("inner", other, (left_on, right_on), output, where)

    def left_join(
        self,
        other: Stream[R],
        left_on: Callable[[T], K],
        right_on: Callable[[R], K],
        output: Callable[[T, R | None], U],
        *,
        where: Callable[[T, R], bool] | None = None,
    ) -> Stream[U]:
        """Like `join`; a row of the left side without partner comes with None.

        >>> class Answer(tr.Row):
        ...     id: int = tr.key()
        ...     answer: float | None
        >>> answers = bids.left_join(bids, lambda a: a.id, lambda b: b.auction,
        ...     lambda a, b: Answer(id=a.id, answer=tr.some(b).price))
        """
        return self._joined("left", other, (left_on, right_on), output, where)

    def right_join(
        self,
        other: Stream[R],
        left_on: Callable[[T], K],
        right_on: Callable[[R], K],
        output: Callable[[T | None, R], U],
        *,
        where: Callable[[T, R], bool] | None = None,
    ) -> Stream[U]:
        """Like `join`; a row of the right side without partner comes with None."""
        return self._joined("right", other, (left_on, right_on), output, where)

    def full_join(
        self,
        other: Stream[R],
        left_on: Callable[[T], K],
        right_on: Callable[[R], K],
        output: Callable[[T | None, R | None], U],
        *,
        where: Callable[[T, R], bool] | None = None,
    ) -> Stream[U]:
        """Like `join`; a row of either side without partner comes with None."""
        return self._joined("full", other, (left_on, right_on), output, where)

    def cross_join(
        self, other: Stream[R], output: Callable[[T, R], U], *, where: Callable[[T, R], bool] | None = None
    ) -> Stream[U]:
        """All pairs of rows, for which `where` also holds."""
        plan, row = joins.joined(joins.Join("cross", self, other, (), ()), output, where)
        return Stream(plan, cast("type[U]", row))

    def semi_join(
        self,
        other: Stream[R],
        left_on: Callable[[T], K],
        right_on: Callable[[R], K],
        *,
        where: Callable[[T, R], bool] | None = None,
    ) -> Stream[T]:
        """The rows that have a partner on the other side, once each.

        >>> answered = bids.semi_join(bids, lambda a: a.id, lambda b: b.auction)
        """
        return Stream(joins.kept(joins.keyed("semi", self, other, left_on, right_on), where), self.row)

    def anti_join(
        self,
        other: Stream[R],
        left_on: Callable[[T], K],
        right_on: Callable[[R], K],
        *,
        where: Callable[[T, R], bool] | None = None,
    ) -> Stream[T]:
        """The rows that have no partner on the other side."""
        return Stream(joins.kept(joins.keyed("anti", self, other, left_on, right_on), where), self.row)

    def distinct(self) -> Stream[T]:
        """Every row once."""
        return Stream(self.plan.distinct(), self.row)

    def union(self, *others: Stream[T]) -> Stream[T]:
        """The rows of all; duplicates stay. Also written `a + b`."""
        for other in others:
            same_rows(self.row, other.row, "union")
        return Stream(self.plan.union_all([other.plan for other in others]), self.row)

    def minus(self, other: Stream[T]) -> Stream[T]:
        """The difference of weights: a row that only the other side has gets a negative one. Also written `a - b`.

        `positive` afterwards keeps what SQL calls EXCEPT ALL.
        """
        same_rows(self.row, other.row, "minus")
        return Stream(self.plan.minus(other.plan), self.row)

    def neg(self) -> Stream[T]:
        """The same rows with the opposite weights. Also written `-a`."""
        return Stream(self.plan.negate(), self.row)

    def positive(self) -> Stream[T]:
        """The rows with a positive weight, with that weight."""
        return Stream(self.plan.positive(), self.row)

    def intersect(self, other: Stream[T]) -> Stream[T]:
        """The rows that both have, once each. For sets, A ∩ B = A + B - A ∪ B."""
        return (self.distinct() + other.distinct()) - (self + other).distinct()

    def except_(self, other: Stream[T]) -> Stream[T]:
        """The rows that the other side does not have, once each. For sets, A without B = A ∪ B - B."""
        return (self + other).distinct() - other.distinct()

    def __add__(self, other: Stream[T]) -> Stream[T]:
        return self.union(other)

    def __sub__(self, other: Stream[T]) -> Stream[T]:
        return self.minus(other)

    def __neg__(self) -> Stream[T]:
        return self.neg()

    def top_k(self, k: int, by: Callable[[T], object], *, offset: int = 0) -> Stream[T]:
        """The `k` rows with the largest values, after the first `offset`.

        >>> dearest = bids.top_k(3, by=lambda b: b.price)
        """
        return self._ranked([], k, by, offset, descending=True)

    def bottom_k(self, k: int, by: Callable[[T], object], *, offset: int = 0) -> Stream[T]:
        """The `k` rows with the smallest values, after the first `offset`.

        >>> page = bids.bottom_k(10, by=lambda b: (tr.desc(b.price), b.id), offset=20)
        """
        return self._ranked([], k, by, offset, descending=False)

    def over(
        self, *, partition_by: Callable[[T], object] | None = None, order_by: Callable[[T], object]
    ) -> Over[T]:
        """Rows in order, within partitions, for ranks and for looking at neighbours.

        >>> class Ranked(tr.Row):
        ...     id: int = tr.key()
        ...     rank: int
        ...     step: float | None
        >>> ranked = bids.over(partition_by=lambda b: b.auction, order_by=lambda b: tr.desc(b.price)).map(
        ...     lambda b, w: Ranked(id=b.id, rank=w.rank(), step=w.lag(lambda b: b.price)))
        """
        scope = Scope("over")
        row = symbolic_row(self.row, scope)
        partition = shape(partition_by, scope, row).symbols if partition_by is not None else []
        return Over(self, [symbol.expr for symbol in partition], native_order(order_by, scope, row))

    def window(
        self, *, partition_by: Callable[[T], object] | None = None, order_by: Callable[[T], object]
    ) -> Over[T]:
        """Another name of `over`, for those who look for windows under that word."""
        return self.over(partition_by=partition_by, order_by=order_by)

    def integrate(self) -> Stream[T]:
        """The running sum of all changes so far, as a change of its own in every step."""
        return Stream(self.plan.integrate(), self.row)

    def differentiate(self) -> Stream[T]:
        """What came in this step minus what came in the one before; undoes `integrate`."""
        return Stream(self.plan.differentiate(), self.row)

    def delay(self) -> Stream[T]:
        """The changes of the step before."""
        return Stream(self.plan.delay(), self.row)

    def recursive(self, body: Callable[[Stream[T]], Stream[T]], *, limit: int = 10_000) -> Stream[T]:
        """The smallest set that holds these rows and all that `body` derives from it.

        >>> class Edge(tr.Row):
        ...     src: int
        ...     dst: int
        >>> edges = db.table(Edge)
        >>> reach = edges.recursive(lambda r: r.join(edges, lambda a: a.dst, lambda b: b.src,
        ...     lambda a, b: Edge(src=a.src, dst=b.dst)))
        """
        (found,) = recursion.fixpoint([self.row], lambda step: (self + body(step),), limit)
        return cast("Stream[T]", found)

    def map_rows(self, function: Callable[[T], U], output: type[U] | None = None) -> Stream[U]:
        """One row out of each row by plain Python, called with real rows; it must be deterministic.

        The row class is read from the function's return annotation, or given as `output`.
        """
        plan, row = rowwise.mapped(self.plan, self.row, function, output, flat=False)
        return Stream(plan, cast("type[U]", row))

    def flat_map_rows(self, function: Callable[[T], Iterable[U]], output: type[U]) -> Stream[U]:
        """Any number of rows out of each row by plain Python, called with real rows; it must be deterministic."""
        plan, row = rowwise.mapped(self.plan, self.row, function, output, flat=True)
        return Stream(plan, cast("type[U]", row))

    def inspect(self, function: Callable[[pa.Table], object]) -> Stream[T]:
        """Call `function` with the changes of each step, as an Arrow table with `_weight`; the rows pass unchanged."""
        return Stream(self.plan.inspect(rowwise.arrow_callback(function)), self.row)

    def explain(self) -> str:
        """The plan as text, one operator a line."""
        return self.plan.explain()

    def _of(self, plan: Plan, row: type[U]) -> Stream[U]:
        """A stream, for the modules that this one imports."""
        return Stream(plan, row)

    def _predicate(self, place: str, function: Callable[[T], bool]) -> Expr:
        scope = Scope(place)
        return predicate(function, scope, symbolic_row(self.row, scope))

    def _projected(self, row: U, scope: Scope) -> Stream[U]:
        return Stream(project(self.plan, row, scope), type(row))

    def _selected(
        self, name: str, source: T, computed: dict[str, Callable[[T], object]], scope: Scope
    ) -> object:
        if name in computed:
            return scope.call(computed[name], source)
        if name not in self.row.__tailrace__.names:
            raise missing_column(name, self.row.__name__, self.row.__tailrace__.names)
        return getattr(source, name)

    def _joined(
        self,
        kind: str,
        other: Stream[R],
        on: tuple[Callable[[T], K], Callable[[R], K]],
        output: Callable[[Any, Any], U],
        where: Callable[[T, R], bool] | None,
    ) -> Stream[U]:
        plan, row = joins.joined(joins.keyed(kind, self, other, *on), output, where)
        return Stream(plan, cast("type[U]", row))

    def _ranked(
        self, partition: list[Expr], k: int, by: Callable[[T], object], offset: int, *, descending: bool
    ) -> Stream[T]:
        if k < 0 or offset < 0:
            raise PlanError(f"k and offset count rows and cannot be negative: k={k}, offset={offset}.")
        scope = Scope("top_k" if descending else "bottom_k")
        order = native_order(by, scope, symbolic_row(self.row, scope), descending=descending)
        return Stream(self.plan.top_k(partition, order, k, offset), self.row)
