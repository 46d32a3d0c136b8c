"""The order of rows: what `by` and `order_by` lambdas give.

A lambda names one value or a tuple of values; each may be wrapped in `tr.asc` or `tr.desc`. NULLs come last
unless asked for first, in both directions, so that they never crowd out values in a top-k. Equal rows are
told apart by all their columns, so that every result is a function of the data alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ._tailrace import Expr
from .symbols import Scope, Symbol, as_symbol
from .tracing import owned

NativeOrder: TypeAlias = "list[tuple[Expr, bool, bool]]"


@dataclass(frozen=True)
class Order:
    """One value to sort by, with its direction."""

    symbol: Symbol
    descending: bool
    nulls_first: bool


def asc(value: object, *, nulls_first: bool = False) -> Order:
    """Small values first."""
    return Order(as_symbol(value), descending=False, nulls_first=nulls_first)


def desc(value: object, *, nulls_first: bool = False) -> Order:
    """Large values first."""
    return Order(as_symbol(value), descending=True, nulls_first=nulls_first)


def native_order(
    function: Callable[..., object], scope: Scope, row: object, *, descending: bool = False
) -> NativeOrder:
    """The order that a lambda states; `descending` is the direction of a bare value."""
    found = scope.call(function, row)
    values = found if isinstance(found, tuple) else (found,)
    return [_native(value, scope, descending) for value in values]


def _native(value: object, scope: Scope, descending: bool) -> tuple[Expr, bool, bool]:
    order = value if isinstance(value, Order) else Order(as_symbol(value), descending, nulls_first=False)
    return owned(order.symbol, scope).expr, order.descending, order.nulls_first
