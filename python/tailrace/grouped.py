"""Streams in groups: what can be done per key.

The key is traced once, when the group is formed; every method here uses its expressions, so that two
aggregates over one `group_by` share the index that the engine keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from ._tailrace import Expr
from .group import Group, aggregated
from .order import native_order
from .row import Row
from .symbols import Scope, symbolic_row
from .tracing import Shape
from .window import Over

if TYPE_CHECKING:
    from .stream import Stream

K = TypeVar("K")
T = TypeVar("T", bound=Row)
U = TypeVar("U", bound=Row)


class Grouped(Generic[K, T]):
    """Rows of class `T` in groups with keys of type `K`; made by `Stream.group_by`."""

    def __init__(self, stream: Stream[T], key: Shape) -> None:
        self._stream = stream
        self._key = key

    def aggregate(self, function: Callable[[K, Group[T]], U]) -> Stream[U]:
        """One row per group, built of the key and of aggregates.

        >>> class Best(tr.Row):
        ...     auction: int = tr.key()
        ...     price: float
        ...     bids: int
        >>> best = bids.group_by(lambda b: b.auction).aggregate(
        ...     lambda k, g: Best(auction=k, price=g.max(lambda b: b.price), bids=g.count()))
        """
        plan, row = aggregated(self._stream.plan, self._stream.row, self._key, function)
        return self._stream._of(plan, cast("type[U]", row))

    def top_k(self, k: int, by: Callable[[T], object], *, offset: int = 0) -> Stream[T]:
        """The `k` rows of each group with the largest values, after the first `offset`.

        >>> two_best = bids.group_by(lambda b: b.auction).top_k(2, by=lambda b: b.price)
        """
        return self._stream._ranked(self._partition, k, by, offset, descending=True)

    def bottom_k(self, k: int, by: Callable[[T], object], *, offset: int = 0) -> Stream[T]:
        """The `k` rows of each group with the smallest values, after the first `offset`."""
        return self._stream._ranked(self._partition, k, by, offset, descending=False)

    def over(self, order_by: Callable[[T], object]) -> Over[T]:
        """The rows of each group in order, for ranks and for looking at neighbours."""
        scope = Scope("over")
        order = native_order(order_by, scope, symbolic_row(self._stream.row, scope))
        return Over(self._stream, self._partition, order)

    @property
    def _partition(self) -> list[Expr]:
        return [symbol.expr for symbol in self._key.symbols]
