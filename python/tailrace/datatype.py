"""Column types: what a Python annotation means to the engine.

| annotation | column |
|---|---|
| `bool`, `int`, `float`, `str`, `bytes` | bool, int64, float64, utf8, binary |
| `Decimal` | decimal(38, 10); `tr.field(type=tr.decimal(p, s))` chooses |
| `date`, `time`, `timedelta` | date, time, duration, both in microseconds |
| `datetime` | timestamp in microseconds without zone; `tr.field(type=tr.timestamp("UTC"))` chooses a zone |
| `UUID` | fixed-size binary of 16 bytes: half the size of text, and in the same order |
| `X \\| None` | the column of `X`, nullable |
| `list[X]`, `dict[K, V]`, a `Row` class | list, map, struct |

A `DataType` carries both sides, the Python kind (which decides what methods a symbolic value has) and the
engine's type (which decides how it is stored), so that neither has to be guessed from the other.
"""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ._tailrace import Type
from .errors import SchemaError

if TYPE_CHECKING:
    from .row import Row

NUMBERS = frozenset({"int", "float", "decimal"})
"""The kinds that take part in arithmetic with one another."""


@dataclass(frozen=True)
class DataType:
    """The type of a column or of a symbolic value."""

    kind: str
    native: Type
    nullable: bool = False
    item: DataType | None = None
    """Of a list: its elements; of a map: its values."""
    key: DataType | None = None
    """Of a map: its keys."""
    row: type[Row] | None = None
    """Of a struct: its row class."""
    tz: str | None = None

    def optional(self, nullable: bool = True) -> DataType:
        """The same type, with or without NULL."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def __str__(self) -> str:
        return _name(self) + (" | None" if self.nullable else "")


@dataclass(frozen=True)
class TypeSpec:
    """An engine type that an annotation alone cannot say; made by `tr.decimal`, `tr.timestamp` and `tr.sized`."""

    kind: str
    native: Type
    tz: str | None = None


def decimal(precision: int = 38, scale: int = 10) -> TypeSpec:
    """A decimal column with that many digits, `scale` of them behind the point.

    >>> class Price(tr.Row):
    ...     amount: Decimal = tr.field(type=tr.decimal(12, 2))
    """
    return TypeSpec("decimal", Type.decimal(precision, scale))


def timestamp(tz: str | None = None) -> TypeSpec:
    """A timestamp column, with a zone such as `"UTC"` or without one.

    >>> class Event(tr.Row):
    ...     at: datetime = tr.field(type=tr.timestamp("UTC"))
    """
    return TypeSpec("datetime", Type.timestamp(tz), tz)


def sized(name: str) -> TypeSpec:
    """A number column narrower than 64 bits: int8 .. int32, uint8 .. uint64, float32.

    >>> class Pixel(tr.Row):
    ...     red: int = tr.field(type=tr.sized("uint8"))
    """
    if name not in _SIZED:
        raise SchemaError(f"{name!r} is not a sized number type. Existing types: {', '.join(_SIZED)}.")
    return TypeSpec("float" if name.startswith("float") else "int", Type.of(name))


def data_type(annotation: Any, spec: TypeSpec | None = None, where: str = "this place") -> DataType:
    """The column type of an annotation; `spec` refines it and `where` names the place in an error."""
    plain, nullable = _split_optional(annotation, where)
    found = _data_type(plain, where)
    if spec is not None:
        found = _refined(found, spec, where)
    return found.optional(nullable)


def type_of_value(value: object) -> DataType | None:
    """The type of a plain Python value, or nothing for what cannot be a constant."""
    if value is None:
        return DataType("null", Type.of("null"), nullable=True)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return DataType("datetime", Type.timestamp("UTC"), tz="UTC")
    return _PLAIN.get(type(value))


def comparable(left: DataType, right: DataType) -> bool:
    """Whether two values may stand on the two sides of `==` or of a join."""
    if "null" in (left.kind, right.kind) or (left.kind in NUMBERS and right.kind in NUMBERS):
        return True
    if left.kind != right.kind or (left.tz is None) != (right.tz is None):
        return False
    return left.kind in ("datetime", "decimal", "list", "map", "struct") or left.native == right.native


def _name(found: DataType) -> str:
    match found.kind:
        case "list":
            return f"list[{found.item}]"
        case "map":
            return f"dict[{found.key}, {found.item}]"
        case "struct" if found.row is not None:
            return found.row.__name__
        case "datetime" if found.tz is not None:
            return f"datetime in {found.tz}"
        case _:
            return _SPELLINGS.get(found.kind, found.kind)


def _split_optional(annotation: Any, where: str) -> tuple[Any, bool]:
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation, False
    rest = [choice for choice in typing.get_args(annotation) if choice is not type(None)]
    if len(rest) != 1:
        raise SchemaError(f"{where}: {annotation} mixes types. A column has one type, or `X | None`.")
    return rest[0], len(rest) < len(typing.get_args(annotation))


def _data_type(annotation: Any, where: str) -> DataType:
    if isinstance(annotation, type) and annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list and len(args) == 1:
        return _list(data_type(args[0], None, where))
    if origin is dict and len(args) == 2:
        return _map(data_type(args[0], None, where), data_type(args[1], None, where))
    if isinstance(annotation, type) and hasattr(annotation, "__tailrace__"):
        return struct_type(annotation)
    raise SchemaError(
        f"{where}: {getattr(annotation, '__name__', annotation)} is not a column type. Existing types: "
        f"{', '.join(plain.__name__ for plain in _PLAIN)}, list[X], dict[K, V], a Row class, each also as `X | None`."
    )


def struct_type(row: type[Row]) -> DataType:
    """The struct type of a row class that stands in a column; NOT NULL is checked for columns, not inside of them."""
    fields = [(column.name, column.type.native, True) for column in row.__tailrace__.columns]
    return DataType("struct", Type.struct(fields), row=row)


def _list(item: DataType) -> DataType:
    return DataType("list", Type.list(item.native, True), item=item)


def list_type(item: DataType) -> DataType:
    """The type of a list with such elements."""
    return _list(item)


def _map(key: DataType, value: DataType) -> DataType:
    return DataType("map", Type.map(key.native, value.native, True), item=value, key=key)


def _refined(found: DataType, spec: TypeSpec, where: str) -> DataType:
    if spec.kind != found.kind:
        raise SchemaError(
            f"{where}: the type given is for {_SPELLINGS[spec.kind]}, the annotation says {found}."
        )
    return replace(found, native=spec.native, tz=spec.tz)


_SIZED = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_SPELLINGS = {"decimal": "Decimal", "uuid": "UUID", "null": "None"}

_PLAIN: dict[type, DataType] = {
    bool: DataType("bool", Type.of("bool")),
    int: DataType("int", Type.of("int64")),
    float: DataType("float", Type.of("float64")),
    str: DataType("str", Type.of("utf8")),
    bytes: DataType("bytes", Type.of("binary")),
    Decimal: DataType("decimal", Type.decimal(38, 10)),
    date: DataType("date", Type.of("date")),
    time: DataType("time", Type.of("time")),
    datetime: DataType("datetime", Type.timestamp()),
    timedelta: DataType("timedelta", Type.of("duration")),
    UUID: DataType("uuid", Type.fixed_size_binary(16)),
}

BOOL, INT, FLOAT, STR, BYTES = (_PLAIN[plain] for plain in (bool, int, float, str, bytes))
DECIMAL, DATE, TIME, DATETIME, TIMEDELTA = (
    _PLAIN[plain] for plain in (Decimal, date, time, datetime, timedelta)
)
