"""Numbers and truth values: arithmetic with Python's meaning.

`/` is true division, `//` rounds down and `%` has the sign of the divisor, as in Python; the engine's own
integer division truncates, so these are composed. `Decimal` truncates in Python too and needs no such care;
how many digits its results have is the engine's rule, and where a value lands it is fitted to the column's
type. A float division by zero gives an infinity or NaN as IEEE 754 says; an integer division by zero is an
`EvaluationError` when it happens. `round` rounds halves away from zero, as SQL does.
"""

from __future__ import annotations

from .._tailrace import Expr
from ..datatype import BOOL, DECIMAL, FLOAT, INT
from ..errors import TracingError
from .base import Symbol, as_symbol, binary, call, cast, int_call, make, operation

_EXACT = (("decimal", "decimal"), ("decimal", "int"), ("int", "decimal"))
_FLOATS = (("float", "float"), ("float", "int"), ("int", "float"))
_INTS = (("int", "int"),)
# Powers up to this one are products, which are exact; the engine's own power goes through floats.
_EXACT_POWER = 64


class NumberSymbol(Symbol, kinds=("int", "float", "decimal")):
    """An int, float or Decimal."""

    __slots__ = ()

    def __neg__(self) -> Symbol:
        return make(Expr.unary("-", self.expr), self.type, self.scope)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return call("abs", self.type, self)

    def __invert__(self) -> Symbol:
        return -self - 1

    def __round__(self, digits: int | None = None) -> Symbol:
        if self.type.kind == "int":
            return self
        if digits is None:
            return int_call("round", self)
        return call("round", self.type, self, digits)

    def __floor__(self) -> Symbol:
        return self if self.type.kind == "int" else int_call("floor", self)

    def __ceil__(self) -> Symbol:
        return self if self.type.kind == "int" else int_call("ceil", self)

    def __trunc__(self) -> Symbol:
        return self if self.type.kind == "int" else int_call("trunc", self)

    def is_integer(self) -> Symbol:
        """Whether nothing stands behind the point."""
        whole: Symbol = self == call("floor", self.type, self)
        return whole

    def sqrt(self) -> Symbol:
        """The square root."""
        return cast(call("sqrt", FLOAT, cast(self, FLOAT)), self.type)


class BoolSymbol(Symbol, kinds=("bool",)):
    """A truth value; `&`, `|`, `^` and `tr.not_` follow SQL's logic of three values."""

    __slots__ = ()

    def __invert__(self) -> Symbol:
        return make(Expr.unary("not", self.expr), BOOL, self.scope)


@operation("&", ("bool", "bool"))
def _and(left: Symbol, right: Symbol) -> Symbol:
    return binary("and", left, right, BOOL)


@operation("|", ("bool", "bool"))
def _or(left: Symbol, right: Symbol) -> Symbol:
    return binary("or", left, right, BOOL)


@operation("^", ("bool", "bool"))
def _xor(left: Symbol, right: Symbol) -> Symbol:
    return binary("<>", left, right, BOOL)


def _arithmetic(operator: str) -> None:
    operation(operator, *_INTS)(lambda left, right: binary(operator, left, right, INT))
    operation(operator, *_FLOATS)(lambda left, right: binary(operator, _float(left), _float(right), FLOAT))
    operation(operator, *_EXACT)(lambda left, right: binary(operator, left, right, DECIMAL))


def _bitwise(operator: str) -> None:
    operation(operator, *_INTS)(lambda left, right: binary(operator, left, right, INT))


for _operator in ("+", "-", "*"):
    _arithmetic(_operator)
for _operator in ("&", "|", "^", "<<", ">>"):
    _bitwise(_operator)


@operation("/", *_INTS, *_FLOATS)
def _divide(left: Symbol, right: Symbol) -> Symbol:
    return binary("/", _float(left), _float(right), FLOAT)


@operation("/", *_EXACT)
def _divide_exact(left: Symbol, right: Symbol) -> Symbol:
    return binary("/", left, right, DECIMAL)


@operation("//", *_INTS)
def _floor_divide(left: Symbol, right: Symbol) -> Symbol:
    return binary("/", binary("-", left, _modulo(left, right), INT), right, INT)


@operation("//", *_FLOATS)
def _floor_divide_floats(left: Symbol, right: Symbol) -> Symbol:
    return call("floor", FLOAT, binary("/", _float(left), _float(right), FLOAT))


@operation("//", *_EXACT)
def _truncate_divide(left: Symbol, right: Symbol) -> Symbol:
    return call("trunc", DECIMAL, binary("/", left, right, DECIMAL))


@operation("%", *_INTS)
def _modulo(left: Symbol, right: Symbol) -> Symbol:
    return _with_sign_of(binary("%", left, right, INT), right)


@operation("%", *_FLOATS)
def _modulo_floats(left: Symbol, right: Symbol) -> Symbol:
    return _with_sign_of(binary("%", _float(left), _float(right), FLOAT), _float(right))


@operation("%", *_EXACT)
def _remainder(left: Symbol, right: Symbol) -> Symbol:
    return binary("%", left, right, DECIMAL)


@operation("**", *_INTS)
def _power(left: Symbol, right: Symbol) -> Symbol:
    times = right.constant
    if times is None or not 0 < times <= _EXACT_POWER:
        return int_call("power", left, right)
    product = left
    for _ in range(times - 1):
        product = binary("*", product, left, INT)
    return product


@operation("**", *_FLOATS, ("decimal", "int"))
def _power_floats(left: Symbol, right: Symbol) -> Symbol:
    if left.type.kind == "decimal":
        raise TracingError(
            "`Decimal ** int` is not exact in the engine: write `x * x` or `tr.cast(x, float) ** n`."
        )
    return call("power", FLOAT, _float(left), _float(right))


def _with_sign_of(remainder: Symbol, divisor: Symbol) -> Symbol:
    """The engine's remainder has the sign of the dividend; adding the divisor to one of the other sign cannot overflow."""
    zero = as_symbol(0, remainder.type)
    differs = remainder < zero
    if divisor.constant is None or divisor.constant < 0:
        differs = (differs != (divisor < zero)) & (remainder != zero)
    moved = binary("+", remainder, divisor, remainder.type)
    return make(Expr.case([(differs.expr, moved.expr)], remainder.expr), remainder.type, moved.scope)


def _float(symbol: Symbol) -> Symbol:
    return symbol if symbol.type.kind == "float" else cast(symbol, FLOAT)
