"""Aggregates: what a lambda may ask of a group of rows.

A `Group` hands out a symbol per aggregate and writes the aggregate down. The lambda may go on computing
with these symbols; its row becomes a projection over the aggregated columns. So `g.sum(f) / g.count()`
needs no special form.

NULLs are left out of every aggregate except `count()`. With `where`, only the rows that satisfy it count,
and since there may be none the result is optional; so are the statistics, which need a second row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Generic, TypeVar, overload

from ._tailrace import Aggregate, Expr, Plan
from .datatype import DECIMAL, FLOAT, INT, NUMBERS, STR, TIMEDELTA, DataType, list_type
from .errors import TypeMismatchError
from .order import NativeOrder, native_order
from .row import Row
from .symbols import Scope, Symbol, as_symbol, plain, symbolic_row, symbolic_value
from .symbols.base import cast, column
from .symbols.temporal import microseconds
from .tracing import Shape, output_row, owned, predicate, project

T = TypeVar("T", bound=Row)
V = TypeVar("V")
N = TypeVar("N", bound="float | Decimal | timedelta | None")
D = TypeVar("D", bound="Decimal | timedelta")


class Group(Generic[T]):
    """The rows of one group, inside the lambda of `aggregate`."""

    def __init__(self, row: type[T], scope: Scope) -> None:
        self._row = row
        self._scope = scope
        self.aggregates: list[tuple[str, Aggregate]] = []

    def count(
        self, value: Callable[[T], object] | None = None, *, where: Callable[[T], bool] | None = None
    ) -> int:
        """How many rows, or how many values that are not NULL."""
        args = [] if value is None else [self._value(value, "count")]
        return plain(self._add("count", args, INT, where))

    def count_distinct(
        self, value: Callable[[T], object], *, where: Callable[[T], bool] | None = None
    ) -> int:
        """How many different values."""
        return plain(self._add("count", [self._value(value, "count_distinct")], INT, where, distinct=True))

    @overload
    def sum(self, value: Callable[[T], N], *, distinct: bool = False) -> N: ...
    @overload
    def sum(
        self, value: Callable[[T], N], *, where: Callable[[T], bool], distinct: bool = False
    ) -> N | None: ...
    def sum(self, value: Callable[[T], Any], *, where: Any = None, distinct: bool = False) -> Any:
        """The sum; over floats it is exact, and does not depend on the order of the rows."""
        symbol = self._number(value, "sum", "timedelta")
        if symbol.type.kind == "timedelta":
            total = self._add(
                "sum", [microseconds(symbol)], _optional(INT, symbol, where), where, distinct=distinct
            )
            return _as_duration(total)
        type = DECIMAL if symbol.type.kind == "decimal" else INT if symbol.type.kind == "int" else FLOAT
        return self._add("sum", [symbol], _optional(type, symbol, where), where, distinct=distinct)

    @overload
    def avg(self, value: Callable[[T], float]) -> float: ...
    @overload
    def avg(self, value: Callable[[T], D]) -> D: ...
    @overload
    def avg(  # type: ignore[overload-overlap]  # a lambda that gives None alone fits both
        self, value: Callable[[T], float | None], *, where: Callable[[T], bool] | None = None
    ) -> float | None: ...
    @overload
    def avg(
        self, value: Callable[[T], D | None], *, where: Callable[[T], bool] | None = None
    ) -> D | None: ...
    def avg(self, value: Callable[[T], Any], *, where: Any = None) -> Any:
        """The mean: a float for numbers, a Decimal for Decimals, a duration for durations."""
        symbol = self._number(value, "avg", "timedelta")
        if symbol.type.kind == "timedelta":
            mean = self._add("avg", [microseconds(symbol)], _optional(FLOAT, symbol, where), where)
            return _as_duration(cast(mean, INT.optional(mean.type.nullable)))
        type = DECIMAL if symbol.type.kind == "decimal" else FLOAT
        return self._add("avg", [symbol], _optional(type, symbol, where), where)

    @overload
    def min(self, value: Callable[[T], V]) -> V: ...
    @overload
    def min(self, value: Callable[[T], V], *, where: Callable[[T], bool]) -> V | None: ...
    def min(self, value: Callable[[T], Any], *, where: Any = None) -> Any:
        """The smallest value."""
        return self._same("min", [self._value(value, "min")], where)

    @overload
    def max(self, value: Callable[[T], V]) -> V: ...
    @overload
    def max(self, value: Callable[[T], V], *, where: Callable[[T], bool]) -> V | None: ...
    def max(self, value: Callable[[T], Any], *, where: Any = None) -> Any:
        """The largest value."""
        return self._same("max", [self._value(value, "max")], where)

    @overload
    def arg_min(self, value: Callable[[T], V], by: Callable[[T], object]) -> V: ...
    @overload
    def arg_min(
        self, value: Callable[[T], V], by: Callable[[T], object], *, where: Callable[[T], bool]
    ) -> V | None: ...
    def arg_min(self, value: Callable[[T], Any], by: Callable[[T], object], *, where: Any = None) -> Any:
        """The value in the row where `by` is smallest, among rows where neither is NULL."""
        return self._same("arg_min", [self._value(value, "arg_min"), self._value(by, "arg_min")], where)

    @overload
    def arg_max(self, value: Callable[[T], V], by: Callable[[T], object]) -> V: ...
    @overload
    def arg_max(
        self, value: Callable[[T], V], by: Callable[[T], object], *, where: Callable[[T], bool]
    ) -> V | None: ...
    def arg_max(self, value: Callable[[T], Any], by: Callable[[T], object], *, where: Any = None) -> Any:
        """The value in the row where `by` is largest, among rows where neither is NULL."""
        return self._same("arg_max", [self._value(value, "arg_max"), self._value(by, "arg_max")], where)

    @overload
    def first(self, value: Callable[[T], V], order_by: Callable[[T], object]) -> V: ...
    @overload
    def first(
        self, value: Callable[[T], V], order_by: Callable[[T], object], *, where: Callable[[T], bool]
    ) -> V | None: ...
    def first(self, value: Callable[[T], Any], order_by: Callable[[T], object], *, where: Any = None) -> Any:
        """The value in the first row of an order."""
        return self._same("first", [self._value(value, "first")], where, order_by)

    @overload
    def last(self, value: Callable[[T], V], order_by: Callable[[T], object]) -> V: ...
    @overload
    def last(
        self, value: Callable[[T], V], order_by: Callable[[T], object], *, where: Callable[[T], bool]
    ) -> V | None: ...
    def last(self, value: Callable[[T], Any], order_by: Callable[[T], object], *, where: Any = None) -> Any:
        """The value in the last row of an order."""
        return self._same("last", [self._value(value, "last")], where, order_by)

    def var(
        self,
        value: Callable[[T], float | None],
        *,
        population: bool = False,
        where: Callable[[T], bool] | None = None,
    ) -> float | None:
        """The variance: of a sample, or of a whole population."""
        return self._statistic("var", population, where, value)

    def stddev(
        self,
        value: Callable[[T], float | None],
        *,
        population: bool = False,
        where: Callable[[T], bool] | None = None,
    ) -> float | None:
        """The standard deviation: of a sample, or of a whole population."""
        return self._statistic("stddev", population, where, value)

    def covar(
        self,
        left: Callable[[T], float | None],
        right: Callable[[T], float | None],
        *,
        population: bool = False,
        where: Callable[[T], bool] | None = None,
    ) -> float | None:
        """The covariance of two values: of a sample, or of a whole population."""
        return self._statistic("covar", population, where, left, right)

    def corr(
        self,
        left: Callable[[T], float | None],
        right: Callable[[T], float | None],
        *,
        where: Callable[[T], bool] | None = None,
    ) -> float | None:
        """The correlation of two values, from -1 to 1."""
        return plain(
            self._add(
                "corr", [self._float(left, "corr"), self._float(right, "corr")], FLOAT.optional(), where
            )
        )

    @overload
    def array_agg(
        self,
        value: Callable[[T], V],
        *,
        order_by: Callable[[T], object] | None = None,
        distinct: bool = False,
    ) -> list[V]: ...
    @overload
    def array_agg(
        self,
        value: Callable[[T], V],
        *,
        where: Callable[[T], bool],
        order_by: Callable[[T], object] | None = None,
        distinct: bool = False,
    ) -> list[V] | None: ...
    def array_agg(
        self, value: Callable[[T], Any], *, where: Any = None, order_by: Any = None, distinct: bool = False
    ) -> Any:
        """All values as a list, NULLs too; without `order_by` they are in ascending order."""
        symbol = self._value(value, "array_agg")
        type = list_type(symbol.type).optional(where is not None)
        return self._add("array_agg", [symbol], type, where, order_by=order_by or value, distinct=distinct)

    @overload
    def string_agg(
        self,
        value: Callable[[T], str],
        separator: str = ",",
        *,
        order_by: Callable[[T], object] | None = None,
        distinct: bool = False,
    ) -> str: ...
    @overload
    def string_agg(
        self,
        value: Callable[[T], str | None],
        separator: str = ",",
        *,
        where: Callable[[T], bool] | None = None,
        order_by: Callable[[T], object] | None = None,
        distinct: bool = False,
    ) -> str | None: ...
    def string_agg(
        self,
        value: Callable[[T], Any],
        separator: str = ",",
        *,
        where: Any = None,
        order_by: Any = None,
        distinct: bool = False,
    ) -> Any:
        """All texts in one, with a separator between; without `order_by` they are in ascending order."""
        symbol = self._typed(value, "string_agg", "str")
        args = [symbol, as_symbol(separator)]
        type = _optional(STR, symbol, where)
        return self._add("string_agg", args, type, where, order_by=order_by or value, distinct=distinct)

    @overload
    def bool_and(self, value: Callable[[T], bool]) -> bool: ...
    @overload
    def bool_and(self, value: Callable[[T], bool | None], *, where: Callable[[T], bool]) -> bool | None: ...
    def bool_and(self, value: Callable[[T], Any], *, where: Any = None) -> Any:
        """Whether a condition holds for all rows."""
        return self._same("bool_and", [self._typed(value, "bool_and", "bool")], where)

    @overload
    def bool_or(self, value: Callable[[T], bool]) -> bool: ...
    @overload
    def bool_or(self, value: Callable[[T], bool | None], *, where: Callable[[T], bool]) -> bool | None: ...
    def bool_or(self, value: Callable[[T], Any], *, where: Any = None) -> Any:
        """Whether a condition holds for any row."""
        return self._same("bool_or", [self._typed(value, "bool_or", "bool")], where)

    def bit_and(self, value: Callable[[T], int], *, where: Callable[[T], bool] | None = None) -> int:
        """The bits that all values have."""
        return plain(self._bits("bit_and", value, where))

    def bit_or(self, value: Callable[[T], int], *, where: Callable[[T], bool] | None = None) -> int:
        """The bits that any value has."""
        return plain(self._bits("bit_or", value, where))

    def bit_xor(self, value: Callable[[T], int], *, where: Callable[[T], bool] | None = None) -> int:
        """The bits that an odd number of values have."""
        return plain(self._bits("bit_xor", value, where))

    def _bits(self, name: str, value: Callable[[T], int], where: Any) -> Symbol:
        return self._add(name, [self._typed(value, name, "int")], INT, where)

    def _same(
        self, name: str, args: list[Symbol], where: Any, order_by: Callable[[T], object] | None = None
    ) -> Any:
        """An aggregate that gives one of the values."""
        return symbolic_value(
            self._add(name, args, _optional(args[0].type, args[0], where), where, order_by=order_by)
        )

    def _statistic(
        self, name: str, population: bool, where: Any, *values: Callable[[T], float | None]
    ) -> float | None:
        args = [self._float(value, name) for value in values]
        return plain(self._add(f"{name}_{'pop' if population else 'samp'}", args, FLOAT.optional(), where))

    def _add(
        self,
        function: str,
        args: list[Symbol],
        type: DataType,
        where: Callable[[T], bool] | None,
        *,
        order_by: Callable[[T], object] | None = None,
        distinct: bool = False,
    ) -> Symbol:
        name = f"_a{len(self.aggregates)}"
        exprs = [arg.expr for arg in args]
        found = Aggregate(
            function, exprs, distinct=distinct, filter=self._where(where), order_by=self._order(order_by)
        )
        self.aggregates.append((name, found))
        return column(name, type, self._scope)

    def _value(self, function: Callable[[T], object], place: str) -> Symbol:
        scope = Scope(f"{place}()")
        return owned(as_symbol(scope.call(function, symbolic_row(self._row, scope))), scope)

    def _where(self, where: Callable[[T], bool] | None) -> Expr | None:
        scope = Scope("`where` of an aggregate")
        return None if where is None else predicate(where, scope, symbolic_row(self._row, scope))

    def _order(self, order_by: Callable[[T], object] | None) -> NativeOrder:
        scope = Scope("`order_by` of an aggregate")
        return [] if order_by is None else native_order(order_by, scope, symbolic_row(self._row, scope))

    def _typed(self, function: Callable[[T], object], place: str, *kinds: str) -> Symbol:
        symbol = self._value(function, place)
        if symbol.type.kind not in kinds:
            raise TypeMismatchError(f"{place}() takes {' or '.join(kinds)}, not {symbol.type}: {symbol!r}.")
        return symbol

    def _number(self, function: Callable[[T], object], place: str, *more: str) -> Symbol:
        return self._typed(function, place, *sorted(NUMBERS), *more)

    def _float(self, function: Callable[[T], object], place: str) -> Symbol:
        symbol = self._number(function, place)
        return cast(symbol, FLOAT.optional(symbol.type.nullable))


def aggregated(
    plan: Plan, row: type[Row], key: Shape | None, function: Callable[[Any, Group[Any]], object]
) -> tuple[Plan, type[Row]]:
    """The plan of an aggregate lambda: group, aggregate, then project what the lambda made of it."""
    scope = Scope("aggregate")
    group: Group[Any] = Group(row, scope)
    names = [f"_k{i}" for i in range(len(key.symbols))] if key else []
    keys = (
        [column(name, symbol.type, scope) for name, symbol in zip(names, key.symbols, strict=True)]
        if key
        else []
    )
    built = output_row(scope.call(function, key.rebuild(keys) if key else None, group), scope)
    native_keys = (
        [(name, symbol.expr) for name, symbol in zip(names, key.symbols, strict=True)] if key else []
    )
    return project(_grouped(plan, native_keys, group.aggregates), built, scope), type(built)


def _grouped(plan: Plan, keys: list[tuple[str, Expr]], aggregates: list[tuple[str, Aggregate]]) -> Plan:
    if keys and not aggregates:
        return plan.project(keys).distinct()
    return plan.aggregate(keys, aggregates)


def _optional(type: DataType, symbol: Symbol, where: object) -> DataType:
    return type.optional(symbol.type.nullable or where is not None)


def _as_duration(count: Symbol) -> Symbol:
    return cast(count, TIMEDELTA.optional(count.type.nullable))
