"""Rows and lists among symbols: structs are symbolic rows, and an absent row is a `MaybeRow`.

A symbolic row is an instance of its row class whose attributes are symbols. One that came out of a struct
column remembers that column, so that handing it on copies the column instead of taking it apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from .._tailrace import Expr
from ..datatype import BOOL, INT, DataType, list_type, struct_type
from ..errors import TracingError, TypeMismatchError
from ..row import Row, fill
from .base import Scope, Symbol, as_symbol, column, make, merge

R = TypeVar("R", bound=Row)
V = TypeVar("V")

_ORIGIN = "__origin__"


class ListSymbol(Symbol, kinds=("list",)):
    """A list."""

    __slots__ = ()

    def __getitem__(self, index: object) -> Any:
        position = as_symbol(index)
        if isinstance(index, int):
            position = as_symbol(index + 1 if index >= 0 else index)
        elif position.type.kind == "int":
            position = position + 1
        else:
            raise TypeMismatchError(f"A list is indexed by an int, not by {position.type}.")
        return symbolic_value(make(_call("array_element", self, position), self._item, self.scope))

    def count(self, item: object) -> Symbol:
        """How often `item` is in the list."""
        positions = _call("array_positions", self, as_symbol(item, self._item))
        counted = Expr.cast(Expr.call("cardinality", [positions]), INT.native)
        found = Expr.case([(Expr.unary("is null", counted), Expr.literal(0, INT.native))], counted)
        return make(found, INT, self.scope)

    @property
    def _item(self) -> DataType:
        if self.type.item is None:
            raise TypeMismatchError(f"The elements of {self!r} have no known type.")
        return self.type.item


class MapSymbol(Symbol, kinds=("map",)):
    """A dict."""

    __slots__ = ()

    def __getitem__(self, key: object) -> Any:
        if self.type.item is None:
            raise TypeMismatchError(f"The values of {self!r} have no known type.")
        found = _call(
            "array_element", _symbol_call("map_extract", self, as_symbol(key, self.type.key)), as_symbol(1)
        )
        return symbolic_value(make(found, self.type.item, self.scope))

    def get(self, key: object) -> Any:
        """The value under `key`, or NULL."""
        found = _call(
            "array_element", _symbol_call("map_extract", self, as_symbol(key, self.type.key)), as_symbol(1)
        )
        return make(found, (self.type.item or self.type).optional(), self.scope)


class StructSymbol(Symbol, kinds=("struct",)):
    """A row in a column, as a whole."""

    __slots__ = ()


class MaybeRow:
    """The row of the other side of an outer join, which may be absent."""

    def __init__(self, row: Row, present: Symbol) -> None:
        self.row = row
        self.present = present

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TracingError(
            f"A {type(self.row).__name__} may be absent on this side of the join: write `tr.some(x).{name}` to get NULL "
            "then, or test with `tr.is_null(x)`."
        )

    def __bool__(self) -> NoReturn:
        raise TracingError("Whether a row is absent cannot be asked by `if`: write `tr.when(tr.is_null(x))`.")


def symbolic_row(row: type[R], scope: Scope, relation: str | None = None, prefix: str = "") -> R:
    """A row whose attributes are the columns of the plan."""
    found = row.__tailrace__.columns
    return fill(
        row, {c.name: symbolic_value(column(prefix + c.name, c.type, scope, relation)) for c in found}
    )


def symbolic_value(symbol: Symbol) -> Any:
    """What a lambda sees of a symbol: a struct is a symbolic row, all else the symbol."""
    row = symbol.type.row
    if symbol.type.kind != "struct" or symbol.type.nullable or row is None:
        return symbol
    values = {
        found.name: symbolic_value(_get_field(symbol, found.name, found.type))
        for found in row.__tailrace__.columns
    }
    return fill(row, {**values, _ORIGIN: symbol})


def plain(symbol: Symbol | Row) -> V:  # type: ignore[type-var]
    """A symbol where a signature promises a plain value: the lambda's author sees the type, the engine the symbol."""
    found: Any = symbolic_value(symbol) if isinstance(symbol, Symbol) else symbol
    return found  # type: ignore[no-any-return]


def nested_symbol(value: object, like: DataType | None) -> Symbol:
    """A row, a list or an absent row as one symbol."""
    if isinstance(value, Row):
        return _struct(value)
    if isinstance(value, (list, tuple)):
        return _array(value, like.item if like else None)
    if isinstance(value, MaybeRow):
        raise TracingError("The row as a whole may be absent: write `tr.some(x)` and one of its columns.")
    raise TracingError(
        f"{value!r} ({type(value).__name__}) cannot stand in an expression. It takes symbolic values and constants: None, "
        "bool, int, float, str, bytes, Decimal, date, time, datetime, timedelta, UUID, lists of these, and rows."
    )


def origin(row: Row) -> Symbol | None:
    """The struct column that a symbolic row came from."""
    return row.__dict__.get(_ORIGIN)


def is_symbolic(value: object) -> bool:
    """Whether a value is a symbol or has one inside."""
    if isinstance(value, Row):
        return any(is_symbolic(part) for part in value.__dict__.values())
    if isinstance(value, (list, tuple)):
        return any(is_symbolic(part) for part in value)
    return isinstance(value, (Symbol, MaybeRow))


def fields_of(row: Row) -> Iterable[tuple[str, object, DataType]]:
    """Name, value and declared type of every column of a row that a lambda built."""
    return ((found.name, row.__dict__[found.name], found.type) for found in type(row).__tailrace__.columns)


def _struct(row: Row) -> Symbol:
    known = origin(row)
    if known is not None:
        return known
    from ..tracing import fitted  # noqa: PLC0415 (fitting a value to a column needs every kind of symbol)

    parts = [(name, fitted(value, to, f"{type(row).__name__}.{name}")) for name, value, to in fields_of(row)]
    args = [expr for name, part in parts for expr in (Expr.literal(name), part.expr)]
    found = struct_type(type(row))
    built = Expr.cast(Expr.call("named_struct", args), found.native)
    return make(built, found, merge(part for _, part in parts))


def _array(values: list[object] | tuple[object, ...], item: DataType | None) -> Symbol:
    symbols = [as_symbol(value, item) for value in values]
    if not symbols and item is None:
        raise TracingError("An empty list has no element type here.")
    known = item or symbols[0].type
    found = list_type(known.optional(known.nullable or any(symbol.type.nullable for symbol in symbols)))
    built = Expr.call("make_array", [symbol.expr for symbol in symbols])
    return make(
        Expr.cast(built, found.native) if symbols else Expr.literal([], found.native), found, merge(symbols)
    )


def _get_field(symbol: Symbol, name: str, type: DataType) -> Symbol:
    return make(Expr.call("get_field", [symbol.expr, Expr.literal(name)]), type, symbol.scope)


def _call(name: str, *args: Symbol) -> Expr:
    return Expr.call(name, [arg.expr for arg in args])


def _symbol_call(name: str, *args: Symbol) -> Symbol:
    return Symbol(_call(name, *args), BOOL, merge(args))
