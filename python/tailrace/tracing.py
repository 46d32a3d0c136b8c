"""From lambdas to expressions: call once with symbolic rows, check what comes back, fit it to the declared columns.

Every stream keeps one invariant that the rest relies on: its plan has exactly the columns of its row class,
in their order and with their engine types. `project` is the place that establishes it; a value that cannot
be put into its column is refused there, with the row class, the column and both types in the message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._tailrace import Expr, Plan
from .datatype import DataType
from .errors import PlanError, TracingError, TypeMismatchError
from .row import Row, fill
from .symbols import MaybeRow, Scope, Symbol, as_symbol, symbolic_value
from .symbols.base import cast
from .symbols.nested import fields_of

_WIDENINGS = {("int", "float"), ("bool", "int"), ("bool", "float")}


class Shape:
    """A key as a lambda wrote it (one value, a tuple or a row), taken apart into columns and put together again."""

    def __init__(self, value: object) -> None:
        self._template = value
        self.symbols = [as_symbol(part) for part in _parts(value)]

    def rebuild(self, symbols: Sequence[Symbol]) -> Any:
        """The same shape over other symbols."""
        seen = [symbolic_value(symbol) for symbol in symbols]
        if isinstance(self._template, Row):
            names = type(self._template).__tailrace__.names
            return fill(type(self._template), dict(zip(names, seen, strict=True)))
        return tuple(seen) if isinstance(self._template, tuple) else seen[0]


def predicate(function: Callable[..., object], scope: Scope, *rows: object) -> Expr:
    """The condition that a lambda states."""
    return condition(scope.call(function, *rows), scope).expr


def condition(value: object, scope: Scope) -> Symbol:
    """A truth value out of a lambda."""
    if isinstance(value, bool):
        raise TracingError(
            f"The lambda of {scope.place} gives {value} for every row. It runs once, with a symbolic row: `is None` and `not` cannot be "
            "seen in it. Write tr.is_null(x) or tr.not_(x)."
        )
    symbol = owned(as_symbol(value), scope)
    if symbol.type.kind != "bool":
        raise TypeMismatchError(
            f"The lambda of {scope.place} must give a bool, and gives {symbol.type}: {symbol!r}."
        )
    return symbol


def shape(function: Callable[..., object], scope: Scope, *rows: object) -> Shape:
    """The key that a lambda names."""
    found = Shape(scope.call(function, *rows))
    for symbol in found.symbols:
        owned(symbol, scope)
    return found


def owned(symbol: Symbol, scope: Scope) -> Symbol:
    """Refuse a symbol that came from another lambda."""
    if symbol.scope is not None and symbol.scope is not scope:
        raise TracingError(
            f"{symbol!r} belongs to {symbol.scope.place}, and cannot be used in {scope.place}. "
            "A lambda can use its own arguments and constants."
        )
    return symbol


def project(plan: Plan, row: object, scope: Scope) -> Plan:
    """The plan of the row that a lambda built."""
    return conformed(plan.project(output_columns(row, scope)), type(output_row(row, scope)))


def output_row(row: object, scope: Scope) -> Row:
    """Check that a lambda gave a row."""
    if isinstance(row, MaybeRow):
        raise TracingError(
            f"The row may be absent: build the output of {scope.place} from the columns of `tr.some(x)`."
        )
    if not isinstance(row, Row):
        raise TypeMismatchError(
            f"The lambda of {scope.place} must build a tr.Row, and gives {_described(row)}. Write a row class for it."
        )
    return row


def output_columns(row: object, scope: Scope) -> list[tuple[str, Expr]]:
    """Name and expression of every column of the row that a lambda built."""
    found = output_row(row, scope)
    place = type(found).__name__
    return [
        (name, owned(fitted(value, to, f"{place}.{name}"), scope).expr)
        for name, value, to in fields_of(found)
    ]


def conformed(plan: Plan, row: type[Row]) -> Plan:
    """Cast what the engine typed differently than the row class declares, such as the digits of a decimal."""
    wanted = row.__tailrace__.columns
    found = plan.schema
    if [column.type.native for column in wanted] == [native for _, native, _ in found]:
        return plan
    return plan.project(
        [
            (column.name, _cast_if(Expr.column(column.name), native != column.type.native, column.type))
            for column, (_, native, _) in zip(wanted, found, strict=True)
        ]
    )


def fitted(value: object, to: DataType, where: str) -> Symbol:
    """A value as it goes into a column, or an error that names the column and both types."""
    symbol = as_symbol(value, to)
    if not _assignable(symbol.type, to):
        raise TypeMismatchError(
            f"{where} is {to} and the value is {symbol.type}: {symbol!r}. Convert it with `tr.cast(x, ...)`."
        )
    if symbol.type.nullable and not to.nullable:
        raise TypeMismatchError(
            f"{where} is {to} and the value is {symbol.type}: {symbol!r}. Declare the column as `{to} | None`, or give "
            "`tr.coalesce(x, default)`, or `tr.some(x)` where NULL cannot happen."
        )
    return cast(symbol, to.optional(symbol.type.nullable)) if symbol.type.kind != "null" else symbol


def same_rows(left: type[Row], right: type[Row], place: str) -> None:
    """Refuse to mix streams of different row classes."""
    if left is not right:
        raise PlanError(
            f"{place} needs rows of one class, and has {left.__name__} and {right.__name__}: map one to the other first."
        )


def _assignable(found: DataType, to: DataType) -> bool:
    if found.kind == "null":
        return True
    if found.kind != to.kind:
        return (found.kind, to.kind) in _WIDENINGS
    if found.kind == "struct":
        return found.row is to.row
    if found.kind == "datetime":
        return (found.tz is None) == (to.tz is None)
    if found.item is not None and to.item is not None:
        return _assignable(found.item, to.item)
    return True


def _parts(value: object) -> list[object]:
    if isinstance(value, Row):
        return [fitted(part, to, f"{type(value).__name__}.{name}") for name, part, to in fields_of(value)]
    if isinstance(value, tuple):
        return list(value)
    return [value]


def _cast_if(expr: Expr, needed: bool, to: DataType) -> Expr:
    return Expr.cast(expr, to.native) if needed else expr


def _described(value: object) -> str:
    return f"a symbolic {value.type}" if isinstance(value, Symbol) else type(value).__name__
