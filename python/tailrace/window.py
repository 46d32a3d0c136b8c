"""Rows in order: ranks, and the values of neighbours.

`stream.over(partition_by=..., order_by=...)` names the order; `.map(lambda row, w: ...)` builds a row of
each row and of what `w` tells about its place. Ranks count from 1. Each call on `w` adds a column to one
window operator, so that several functions over one order cost one index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ._tailrace import Expr
from .datatype import INT, DataType
from .errors import PlanError, TypeMismatchError
from .order import NativeOrder
from .row import Row
from .symbols import Scope, Symbol, as_symbol, plain, symbolic_row, symbolic_value
from .symbols.base import column
from .tracing import fitted, output_row, owned, project

if TYPE_CHECKING:
    from .stream import Stream

T = TypeVar("T", bound=Row)
U = TypeVar("U", bound=Row)
V = TypeVar("V")


class Over(Generic[T]):
    """Rows in an order, within partitions; made by `Stream.over` and `Grouped.over`."""

    def __init__(self, stream: Stream[T], partition: Sequence[Expr], order: NativeOrder) -> None:
        self._stream = stream
        self._partition = partition
        self._order = order

    def map(self, function: Callable[[T, Window[T]], U]) -> Stream[U]:
        """One row out of each row and its place in the order.

        >>> class Ranked(tr.Row):
        ...     id: int = tr.key()
        ...     place: int
        >>> ranked = bids.over(order_by=lambda b: tr.desc(b.price)).map(
        ...     lambda b, w: Ranked(id=b.id, place=w.row_number()))
        """
        scope = Scope("over(...).map")
        window: Window[T] = Window(self._stream.row, scope)
        built = scope.call(function, symbolic_row(self._stream.row, scope), window)
        output_row(built, scope)
        plan = self._stream.plan
        if window.functions:
            plan = plan.window(self._partition, self._order, window.functions)
        return self._stream._of(project(plan, built, scope), type(built))


class Window(Generic[T]):
    """The place of a row in its partition, inside the lambda of `Over.map`."""

    def __init__(self, row: type[T], scope: Scope) -> None:
        self._row = row
        self._scope = scope
        self.functions: list[tuple[str, str, list[Expr]]] = []

    def row_number(self) -> int:
        """1, 2, 3 ...; rows with equal values get different numbers."""
        return plain(self._add("row_number", [], INT))

    def rank(self) -> int:
        """1, 1, 3 ...; rows with equal values share a rank, and the next one leaves a gap."""
        return plain(self._add("rank", [], INT))

    def dense_rank(self) -> int:
        """1, 1, 2 ...; rows with equal values share a rank, without gaps."""
        return plain(self._add("dense_rank", [], INT))

    @overload
    def lag(self, value: Callable[[T], V], offset: int = 1) -> V | None: ...
    @overload
    def lag(self, value: Callable[[T], V], offset: int, default: V) -> V: ...
    def lag(self, value: Callable[[T], Any], offset: int = 1, default: Any = None) -> Any:
        """The value `offset` rows before; NULL or the default where there is none."""
        return self._neighbour("lag", value, offset, default)

    @overload
    def lead(self, value: Callable[[T], V], offset: int = 1) -> V | None: ...
    @overload
    def lead(self, value: Callable[[T], V], offset: int, default: V) -> V: ...
    def lead(self, value: Callable[[T], Any], offset: int = 1, default: Any = None) -> Any:
        """The value `offset` rows after; NULL or the default where there is none."""
        return self._neighbour("lead", value, offset, default)

    def _neighbour(self, name: str, value: Callable[[T], object], offset: int, default: object) -> Any:
        if offset < 0:
            raise PlanError(f"The offset of {name}() counts rows and cannot be negative: {offset}.")
        scope = Scope(f"{name}()")
        symbol = owned(as_symbol(scope.call(value, symbolic_row(self._row, scope))), scope)
        type = symbol.type.optional(symbol.type.nullable or default is None)
        args = [symbol, as_symbol(offset), _default(name, default, type)]
        return symbolic_value(self._add(name, args, type))

    def _add(self, function: str, args: list[Symbol], type: DataType) -> Symbol:
        name = f"_w{len(self.functions)}"
        self.functions.append((name, function, [arg.expr for arg in args]))
        return column(name, type, self._scope)


def _default(name: str, default: object, type: DataType) -> Symbol:
    if isinstance(default, (Symbol, Row)):
        raise TypeMismatchError(
            f"The default of {name}() is a constant: use `tr.coalesce` for a value of the row."
        )
    return fitted(default, type, f"the default of {name}()")
