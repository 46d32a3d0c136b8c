"""Mathematics over floats. `abs`, `round`, `math.floor` and `math.ceil` work on symbolic numbers as they are."""

from __future__ import annotations

from ..datatype import FLOAT, NUMBERS
from ..errors import TypeMismatchError
from ..symbols import as_symbol, plain
from ..symbols.base import call, cast


def sqrt(value: float) -> float:
    """The square root; NaN below zero.

    >>> near = bids.filter(lambda b: tr.sqrt(b.price) < 3.0)
    """
    return _call("sqrt", value)


def exp(value: float) -> float:
    """The exponential."""
    return _call("exp", value)


def ln(value: float) -> float:
    """The natural logarithm."""
    return _call("ln", value)


def log2(value: float) -> float:
    """The logarithm to base 2."""
    return _call("log2", value)


def log10(value: float) -> float:
    """The logarithm to base 10."""
    return _call("log10", value)


def sin(value: float) -> float:
    """The sine of an angle in radians."""
    return _call("sin", value)


def cos(value: float) -> float:
    """The cosine of an angle in radians."""
    return _call("cos", value)


def tan(value: float) -> float:
    """The tangent of an angle in radians."""
    return _call("tan", value)


def asin(value: float) -> float:
    """The angle whose sine it is."""
    return _call("asin", value)


def acos(value: float) -> float:
    """The angle whose cosine it is."""
    return _call("acos", value)


def atan(value: float) -> float:
    """The angle whose tangent it is."""
    return _call("atan", value)


def sign(value: float) -> float:
    """-1.0, 0.0 or 1.0."""
    return _call("signum", value)


def _call(name: str, value: object) -> float:
    symbol = as_symbol(value)
    if symbol.type.kind not in NUMBERS:
        raise TypeMismatchError(f"{name} takes a number, not {symbol.type}: {symbol!r}.")
    return plain(call(name, FLOAT, cast(symbol, FLOAT.optional(symbol.type.nullable))))
