"""NULL and negation: the two things that Python's typing cannot say about a plain value."""

from __future__ import annotations

from typing import TypeVar

from .._tailrace import Expr
from ..datatype import BOOL
from ..errors import TypeMismatchError
from ..symbols import MaybeRow, as_symbol, plain
from ..symbols.base import make

V = TypeVar("V")


def not_(value: bool) -> bool:
    """Negate a condition; to a type checker `~` of a bool is an int.

    >>> open_bids = bids.filter(lambda b: tr.not_(b.price > 100.0))
    """
    symbol = as_symbol(value)
    if symbol.type.kind != "bool":
        raise TypeMismatchError(f"tr.not_ takes a bool, not {symbol.type}: {symbol!r}.")
    return plain(make(Expr.unary("not", symbol.expr), BOOL, symbol.scope))


def is_null(value: object) -> bool:
    """Whether a value is NULL, or the row of an outer join absent.

    >>> silent = bids.filter(lambda b: tr.is_null(b.note))
    """
    if isinstance(value, MaybeRow):
        return plain(make(Expr.unary("not", value.present.expr), BOOL, value.present.scope))
    symbol = as_symbol(value)
    return plain(make(Expr.unary("is null", symbol.expr), BOOL, symbol.scope))


def is_not_null(value: object) -> bool:
    """Whether there is a value, or a row.

    >>> noted = bids.filter(lambda b: tr.is_not_null(b.note))
    """
    if isinstance(value, MaybeRow):
        return plain(value.present)
    symbol = as_symbol(value)
    return plain(make(Expr.unary("is not null", symbol.expr), BOOL, symbol.scope))


def some(value: V | None) -> V:
    """An optional value as a plain one. Nothing is checked: a NULL passes through all that is done with it.

    >>> shouted = bids.filter(lambda b: tr.some(b.note).upper() == "HELLO")
    """
    if isinstance(value, MaybeRow):
        return plain(value.row)
    symbol = as_symbol(value)
    return plain(make(symbol.expr, symbol.type.optional(False), symbol.scope))
