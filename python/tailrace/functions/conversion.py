"""Changing the type of a value, and calling any function of the engine by its name."""

from __future__ import annotations

from typing import TypeVar

from .._tailrace import Expr
from ..datatype import TypeSpec, data_type
from ..symbols import as_symbol, plain
from ..symbols.base import make, merge

V = TypeVar("V")


def cast(value: object, to: type[V], *, type: TypeSpec | None = None) -> V:
    """The value in another type; one that does not fit is an `EvaluationError` when it happens.

    >>> round_prices = bids.filter(lambda b: tr.cast(b.price, int) == 10)
    """
    symbol, target = as_symbol(value), data_type(to, type, "tr.cast")
    return plain(make(Expr.cast(symbol.expr, target.native), target, symbol.scope))


def try_cast(value: object, to: type[V], *, type: TypeSpec | None = None) -> V | None:
    """The value in another type, or NULL where it does not fit.

    >>> numbered = bids.filter(lambda b: tr.is_not_null(tr.try_cast(tr.some(b.note), int)))
    """
    symbol, target = as_symbol(value), data_type(to, type, "tr.try_cast")
    return plain(make(Expr.cast(symbol.expr, target.native, "null"), target.optional(), symbol.scope))


def call(function: str, *args: object, returns: type[V]) -> V:
    """Any scalar function of the engine by its SQL name; `returns` says what it gives.

    >>> reversed_notes = bids.filter(lambda b: tr.call("reverse", tr.some(b.note), returns=str) == "olleh")
    """
    symbols, target = [as_symbol(arg) for arg in args], data_type(returns, None, "tr.call")
    found = Expr.cast(Expr.call(function, [symbol.expr for symbol in symbols]), target.native)
    return plain(make(found, target, merge(symbols)))
