"""The symbol itself: an expression with its Python type and the lambda it belongs to.

Operators look up what they mean in one table, by operator and the kinds of both sides; the modules of the
kinds fill it. So a pair that has no meaning is one error, raised in one place, and naming both sides.

Every symbol knows its scope. A value that leaks from one lambda into another would silently name a column
of the wrong stream; mixing scopes is therefore an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias, TypeVar

from .._tailrace import Expr, Type
from ..datatype import BOOL, INT, DataType, comparable, type_of_value
from ..errors import SchemaError, TracingError, TypeMismatchError, did_you_mean, listed

V = TypeVar("V")

Operation: TypeAlias = "Callable[[Symbol, Symbol], Symbol]"

# Filled by the modules of the kinds: the class of each kind, and what an operator means between two of them.
_CLASSES: dict[str, type[Symbol]] = {}
_OPERATIONS: dict[tuple[str, str, str], Operation] = {}


class Scope:
    """One call of one lambda."""

    def __init__(self, place: str) -> None:
        self.place = place

    def call(self, function: Callable[..., V], *args: object) -> V:
        """Call the lambda with symbolic arguments."""
        if not callable(function):
            raise TypeMismatchError(
                f"{self.place} takes a lambda, such as `lambda row: row.price`, and was given {function!r}. "
                "Text is understood as SQL by db.execute and db.create_view alone."
            )
        return function(*args)


class Symbol:
    """A value that will be computed per row."""

    __slots__ = ("constant", "expr", "scope", "type")

    def __init__(self, expr: Expr, type: DataType, scope: Scope | None = None) -> None:
        self.expr = expr
        self.type = type
        self.scope = scope
        self.constant: Any = None

    def __init_subclass__(cls, kinds: Iterable[str] = ()) -> None:
        _CLASSES.update(dict.fromkeys(kinds, cls))

    def __repr__(self) -> str:
        return f"<symbolic {self.type}: {self.expr!r}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        methods = [
            method
            for method in dir(type(self))
            if not method.startswith("_") and method not in Symbol.__slots__
        ]
        raise TracingError(
            f"A symbolic {self.type} has no {name!r}. {did_you_mean(name, methods)}It has: {listed(methods)}."
        )

    def __eq__(self, other: object) -> Any:
        return compare("=", self, other)

    def __ne__(self, other: object) -> Any:
        return compare("<>", self, other)

    def __lt__(self, other: object) -> Symbol:
        return compare("<", self, other)

    def __le__(self, other: object) -> Symbol:
        return compare("<=", self, other)

    def __gt__(self, other: object) -> Symbol:
        return compare(">", self, other)

    def __ge__(self, other: object) -> Symbol:
        return compare(">=", self, other)

    def __hash__(self) -> int:
        raise TracingError(f"{self!r} has no hash: for `x in {{...}}` write `tr.isin(x, [...])`.")

    def __bool__(self) -> NoReturn:
        raise TracingError(
            f"{self!r} has no truth value while a lambda is traced. Instead of `and`, `or`, `not` write `&`, `|`, "
            "`tr.not_(x)`; instead of `if` write `tr.when(condition).then(x).otherwise(y)`; instead of `a < x < b` "
            "`tr.between`; instead of `x in [...]` `tr.isin`; instead of `min`, `max` `tr.least`, `tr.greatest`."
        )

    def __contains__(self, item: object) -> NoReturn:
        raise TracingError(f"`in` cannot be traced: write `tr.contains({self.type}, item)`.")

    def __len__(self) -> NoReturn:
        raise TracingError("`len` cannot be traced: write `tr.length(x)`.")

    def __iter__(self) -> NoReturn:
        raise TracingError(f"A symbolic {self.type} cannot be iterated over: write `stream.flat_map(...)`.")

    def __int__(self) -> NoReturn:
        raise TracingError("`int` cannot be traced: write `tr.cast(x, int)`.")

    def __float__(self) -> NoReturn:
        raise TracingError("`float` cannot be traced: write `tr.cast(x, float)`.")

    def __str__(self) -> NoReturn:
        raise TracingError("`str` cannot be traced: write `tr.cast(x, str)`.")

    def __format__(self, spec: str) -> NoReturn:
        raise TracingError("An f-string cannot be traced: write `tr.concat(a, b)` or `a + b`.")

    def __add__(self, other: object) -> Symbol:
        return operate("+", self, other)

    def __radd__(self, other: object) -> Symbol:
        return operate("+", other, self)

    def __sub__(self, other: object) -> Symbol:
        return operate("-", self, other)

    def __rsub__(self, other: object) -> Symbol:
        return operate("-", other, self)

    def __mul__(self, other: object) -> Symbol:
        return operate("*", self, other)

    def __rmul__(self, other: object) -> Symbol:
        return operate("*", other, self)

    def __truediv__(self, other: object) -> Symbol:
        return operate("/", self, other)

    def __rtruediv__(self, other: object) -> Symbol:
        return operate("/", other, self)

    def __floordiv__(self, other: object) -> Symbol:
        return operate("//", self, other)

    def __rfloordiv__(self, other: object) -> Symbol:
        return operate("//", other, self)

    def __mod__(self, other: object) -> Symbol:
        return operate("%", self, other)

    def __rmod__(self, other: object) -> Symbol:
        return operate("%", other, self)

    def __pow__(self, other: object) -> Symbol:
        return operate("**", self, other)

    def __rpow__(self, other: object) -> Symbol:
        return operate("**", other, self)

    def __and__(self, other: object) -> Symbol:
        return operate("&", self, other)

    def __rand__(self, other: object) -> Symbol:
        return operate("&", other, self)

    def __or__(self, other: object) -> Symbol:
        return operate("|", self, other)

    def __ror__(self, other: object) -> Symbol:
        return operate("|", other, self)

    def __xor__(self, other: object) -> Symbol:
        return operate("^", self, other)

    def __rxor__(self, other: object) -> Symbol:
        return operate("^", other, self)

    def __lshift__(self, other: object) -> Symbol:
        return operate("<<", self, other)

    def __rlshift__(self, other: object) -> Symbol:
        return operate("<<", other, self)

    def __rshift__(self, other: object) -> Symbol:
        return operate(">>", self, other)

    def __rrshift__(self, other: object) -> Symbol:
        return operate(">>", other, self)


class OptionalSymbol(Symbol):
    """A value that may be NULL: it can be compared for equality and handed on; all else needs `tr.some` first."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise may_be_null(self, f".{name}")


def make(expr: Expr, type: DataType, scope: Scope | None) -> Symbol:
    """A symbol of the class that has the methods of its type."""
    found = OptionalSymbol if type.nullable else _CLASSES.get(type.kind, Symbol)
    return found(expr, type, scope)


def column(name: str, type: DataType, scope: Scope, relation: str | None = None) -> Symbol:
    """A column of the plan that the lambda is about."""
    return make(Expr.column(name, relation), type, scope)


def as_symbol(value: object, like: DataType | None = None) -> Symbol:
    """Any value as a symbol: a constant becomes a literal, fitted to the type it will meet."""
    if isinstance(value, Symbol):
        return value
    value = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    found = type_of_value(value)
    if found is not None:
        return literal(value, found, like)
    from .nested import nested_symbol  # noqa: PLC0415 (rows and lists are made of symbols, and symbols of them)

    return nested_symbol(value, like)


def literal(value: Any, found: DataType, like: DataType | None = None) -> Symbol:
    """A constant."""
    if value is None:
        return make(Expr.literal(None, like.native if like else found.native), found, None)
    if found.kind == "int" and like is not None and like.kind == "float":
        return make(Expr.literal(float(value), like.native), like.optional(False), None)
    if found.kind == "decimal":
        found = DataType("decimal", _decimal_type(value))
    if found.tz is not None and like is not None and like.tz is not None:
        found = like.optional(False)
    made = make(Expr.literal(value, found.native), found, None)
    made.constant = value
    return made


def call(name: str, returns: DataType, *args: object) -> Symbol:
    """A function of the engine over symbols and constants; no argument may be NULL by its type."""
    symbols = [as_symbol(arg) for arg in args]
    for symbol in symbols:
        require_some(symbol, f"{name}()")
    return make(Expr.call(name, [symbol.expr for symbol in symbols]), returns, merge(symbols))


def int_call(name: str, *args: object) -> Symbol:
    """A function of the engine that counts; whatever width it answers in, the result is an int."""
    found = call(name, INT, *args)
    return make(Expr.cast(found.expr, INT.native), INT, found.scope)


def cast(symbol: Symbol, to: DataType, on_error: str = "raise") -> Symbol:
    """The value in another type; nothing is done where it has that type."""
    if symbol.type.native == to.native and symbol.type.kind == to.kind:
        return make(symbol.expr, to, symbol.scope)
    return make(Expr.cast(symbol.expr, to.native, on_error), to, symbol.scope)


def operation(operator: str, *pairs: tuple[str, str]) -> Callable[[Operation], Operation]:
    """Say what an operator means between these kinds."""

    def register(function: Operation) -> Operation:
        _OPERATIONS.update({(operator, left, right): function for left, right in pairs})
        return function

    return register


def operate(operator: str, left: object, right: object) -> Symbol:
    """Apply a binary operator; at least one side is a symbol."""
    left_symbol = as_symbol(left, right.type if isinstance(right, Symbol) else None)
    right_symbol = as_symbol(right, left.type if isinstance(left, Symbol) else None)
    for side in (left_symbol, right_symbol):
        require_some(side, operator)
    found = _OPERATIONS.get((operator, left_symbol.type.kind, right_symbol.type.kind))
    if found is None:
        raise TypeMismatchError(
            f"`{left_symbol.type} {operator} {right_symbol.type}` has no meaning: {left_symbol!r}, {right_symbol!r}."
        )
    return found(left_symbol, right_symbol)


def compare(operator: str, left: Symbol, other: object) -> Symbol:
    """Compare two values; a NULL on either side makes the answer NULL, which a filter drops."""
    right = as_symbol(other, left.type)
    if right.type.kind == "null":
        raise TracingError("A comparison with None is never true in the engine: write `tr.is_null(x)`.")
    if operator not in ("=", "<>"):
        require_some(left, operator)
        require_some(right, operator)
    if not comparable(left.type, right.type):
        raise TypeMismatchError(f"Cannot compare {left.type} with {right.type}: {left!r}, {right!r}.")
    return binary(operator, *aligned(left, right), BOOL)


def binary(operator: str, left: Symbol, right: Symbol, type: DataType) -> Symbol:
    """An operator of the engine between two symbols."""
    return make(Expr.binary(operator, left.expr, right.expr), type, merge((left, right)))


def aligned(left: Symbol, right: Symbol) -> tuple[Symbol, Symbol]:
    """Two sides of a comparison, an int beside a float as a float. Numbers of different widths are the engine's business."""
    kinds = {left.type.kind, right.type.kind}
    if kinds == {"int", "float"}:
        target = left.type if left.type.kind == "float" else right.type
        return _to_kind(left, target), _to_kind(right, target)
    return left, right


def merge(symbols: Iterable[Symbol]) -> Scope | None:
    """The one scope that all symbols share; constants have none."""
    found: Scope | None = None
    for symbol in symbols:
        if symbol.scope is not None and found is not None and symbol.scope is not found:
            raise TracingError(
                f"{symbol!r} belongs to {symbol.scope.place}, and is used together with a value of {found.place}. "
                "A lambda can use its own arguments and constants."
            )
        found = found or symbol.scope
    return found


def require_some(symbol: Symbol, use: str) -> None:
    """Refuse a value that may be NULL."""
    if symbol.type.nullable:
        raise may_be_null(symbol, use)


def may_be_null(symbol: Symbol, use: str) -> TracingError:
    """The error for an optional value in a place that needs a plain one."""
    return TracingError(
        f"{symbol!r} may be NULL and cannot be used with `{use}`. Write `tr.some(x)` to let NULL pass through, "
        "`tr.coalesce(x, default)` to replace it, or `tr.is_null(x)` to test for it."
    )


def _to_kind(symbol: Symbol, target: DataType) -> Symbol:
    return symbol if symbol.type.kind == target.kind else cast(symbol, target.optional(symbol.type.nullable))


def _decimal_type(value: Decimal) -> Type:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise SchemaError(f"{value} cannot be a constant: a decimal column holds finite numbers.")
    scale = max(0, -exponent)
    digits = len(value.as_tuple().digits) + max(0, exponent)
    return Type.decimal(max(digits, scale, 1), scale)
