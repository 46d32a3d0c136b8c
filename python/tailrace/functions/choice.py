"""Choosing among values: conditions, defaults, membership, the smaller and the larger.

All alternatives of one choice must have one type; ints beside floats become floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NoReturn, TypeVar, overload

from .._tailrace import Expr
from ..datatype import BOOL, DataType, comparable
from ..errors import TracingError, TypeMismatchError
from ..symbols import Symbol, as_symbol, plain
from ..symbols.base import aligned, make, merge

V = TypeVar("V")
W = TypeVar("W")


class When(Generic[V]):
    """A condition that waits for its value."""

    def __init__(self, branches: list[tuple[object, object]], condition: object) -> None:
        self._branches = branches
        self._condition = condition

    def then(self, value: W) -> Then[V | W]:
        """The value where the condition holds."""
        return Then([*self._branches, (self._condition, value)])


class Then(Generic[V]):
    """Conditions with their values; `otherwise` makes the value of it."""

    def __init__(self, branches: list[tuple[object, object]]) -> None:
        self._branches = branches

    def when(self, condition: bool) -> When[V]:
        """A further condition, for where those before do not hold."""
        return When(self._branches, condition)

    def otherwise(self, value: W) -> V | W:
        """The value where no condition holds."""
        conditions = [as_symbol(condition) for condition, _ in self._branches]
        *values, other = unified([*(value for _, value in self._branches), value], "tr.when")
        expr = Expr.case([(c.expr, v.expr) for c, v in zip(conditions, values, strict=True)], other.expr)
        return plain(make(expr, _either([*values, other]), merge([*conditions, *values, other])))

    def __repr__(self) -> str:
        return "An unfinished `tr.when(...).then(...)`, which wants `.otherwise(value)`,"

    def __bool__(self) -> bool:
        raise TracingError(f"{self!r} has no truth value.")


def when(condition: bool) -> When[NoReturn]:
    """Choose by conditions, the first that holds.

    >>> class Size(tr.Row):
    ...     id: int = tr.key()
    ...     size: str
    >>> sizes = bids.map(lambda b: Size(id=b.id, size=tr.when(b.price > 100.0).then("big").otherwise("small")))
    """
    return When([], condition)


@overload
def coalesce(value: V | None, default: V, /) -> V: ...
@overload
def coalesce(*values: V | None) -> V | None: ...
def coalesce(*values: Any) -> Any:
    """The first value that is not NULL.

    >>> named = bids.filter(lambda b: tr.coalesce(b.note, "") == "")
    """
    symbols = unified(values, "tr.coalesce")
    type = symbols[0].type.optional(all(symbol.type.nullable for symbol in symbols))
    *first, last = (symbol.expr for symbol in symbols)
    expr = Expr.case([(Expr.unary("is not null", found), found) for found in first], last) if first else last
    return make(expr, type, merge(symbols))


def nullif(value: V, other: V) -> V | None:
    """NULL where both are equal, else the value.

    >>> priced = bids.filter(lambda b: tr.is_not_null(tr.nullif(b.price, 0.0)))
    """
    symbols = unified([value, other], "tr.nullif")
    expr = Expr.call("nullif", [symbol.expr for symbol in symbols])
    return plain(make(expr, symbols[0].type.optional(), merge(symbols)))


def isin(value: V, values: Iterable[V]) -> bool:
    """Whether a value is one of several.

    >>> few = bids.filter(lambda b: tr.isin(b.auction, [1, 2, 3]))
    """
    choices = list(values)
    if not choices:
        return plain(as_symbol(False))
    operand, *found = unified([value, *choices], "tr.isin")
    return plain(make(Expr.in_list(operand.expr, [s.expr for s in found]), BOOL, merge([operand, *found])))


def between(value: V, low: V, high: V) -> bool:
    """Whether `low <= value <= high`.

    >>> middling = bids.filter(lambda b: tr.between(b.price, 10.0, 20.0))
    """
    symbol = as_symbol(value)
    return plain((symbol >= low) & (symbol <= high))


def least(*values: V) -> V:
    """The smallest of several values.

    >>> capped = bids.filter(lambda b: tr.least(b.price, 100.0) == 100.0)
    """
    return plain(_extreme("least", values))


def greatest(*values: V) -> V:
    """The largest of several values.

    >>> floored = bids.filter(lambda b: tr.greatest(b.price, 10.0) == 10.0)
    """
    return plain(_extreme("greatest", values))


def unified(values: Sequence[object], place: str) -> list[Symbol]:
    """The values as symbols of one type."""
    like = _model(values)
    symbols = [as_symbol(value, like) for value in values]
    wide = next((symbol for symbol in symbols if symbol.type.kind == "float"), None)
    if wide is not None:
        symbols = [aligned(symbol, wide)[0] if symbol.type.kind == "int" else symbol for symbol in symbols]
    _check_unified(symbols, place)
    return symbols


def _model(values: Sequence[object]) -> DataType | None:
    """The type that constants are fitted to: of the first symbol, or of the first constant that has one."""
    first = next((value for value in values if isinstance(value, Symbol)), None)
    if first is not None:
        return first.type
    found = [as_symbol(value).type for value in values if value is not None]
    return found[0] if found else None


def _check_unified(symbols: Sequence[Symbol], place: str) -> None:
    typed = [symbol for symbol in symbols if symbol.type.kind != "null"]
    for symbol in typed[1:]:
        if not comparable(typed[0].type, symbol.type):
            raise TypeMismatchError(
                f"{place} needs values of one type, and has {typed[0].type} and {symbol.type}."
            )


def _either(symbols: Sequence[Symbol]) -> DataType:
    typed = next((symbol.type for symbol in symbols if symbol.type.kind != "null"), symbols[0].type)
    return typed.optional(any(symbol.type.nullable for symbol in symbols))


def _extreme(name: str, values: Sequence[object]) -> Symbol:
    symbols = unified(values, f"tr.{name}")
    return make(Expr.call(name, [symbol.expr for symbol in symbols]), _either(symbols), merge(symbols))
