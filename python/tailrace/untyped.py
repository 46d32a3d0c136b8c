"""Row classes of tables and views that were made by SQL: their columns are known when the program runs, not before.

Such a class has the same layout as a written one, so that streams, changes and rows work alike. Column names
may be any text; those that are no Python names are read with `getattr`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._tailrace import Type
from .datatype import DataType
from .row import Column, Layout, Row

Fields = Sequence[tuple[str, Type, bool]]
Lists = Sequence[tuple[Sequence[str], Sequence[str]]]


def row_class(name: str, fields: Fields, key: Sequence[str] | None, lists: Lists = ()) -> type[Row]:
    """A row class with these columns. No columns are the key of a view of at most one row; None says that rows cannot be told apart.

    >>> row = row_class("point", [("x", Type.of("int64"), False)], ["x"])
    >>> row.__tailrace__.names
    ['x']
    """
    body = {"__repr__": _repr, "__eq__": _equal, "__hash__": _hash, "__init__": _init}
    made: type[Row] = type(name, (Row,), body)
    made.__init__ = _init  # type: ignore[method-assign,assignment]
    made.__tailrace__ = KnownLayout(made, name, fields, key, lists)
    return made


class KnownLayout(Layout):
    """A layout that is given, not read from annotations."""

    written = False

    def __init__(
        self, row: type[Row], table: str, fields: Fields, key: Sequence[str] | None, lists: Lists
    ) -> None:
        super().__init__(row, table, {}, {})
        self.names = [name for name, _, _ in fields]
        self.key = list(key or ())
        self.keyed = key is not None
        self.lists = {tuple(path): names for path, names in lists}
        self.columns = [
            Column(name, _data_type(native, nullable), name in self.key) for name, native, nullable in fields
        ]

    @property
    def without_key(self) -> str:
        """How to get a key, for errors."""
        return (
            "None follows from its query: two of its rows may be equal in all columns. Select the primary keys of the tables that it "
            "reads, or use GROUP BY or DISTINCT. Without one use `delta` or `rows`."
        )


def _data_type(native: Type, nullable: bool) -> DataType:
    import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

    return _of_arrow(pa.field(native).type, native, nullable)


def _of_arrow(arrow: Any, native: Type, nullable: bool) -> DataType:
    import pyarrow.types as kinds  # noqa: PLC0415

    tests = {
        "bool": kinds.is_boolean,
        "int": kinds.is_integer,
        "float": kinds.is_floating,
        "decimal": kinds.is_decimal,
        "str": kinds.is_string,
        "date": kinds.is_date,
        "time": kinds.is_time,
        "datetime": kinds.is_timestamp,
        "timedelta": kinds.is_duration,
        "list": kinds.is_list,
        "struct": kinds.is_struct,
        "map": kinds.is_map,
    }
    kind = next((name for name, test in tests.items() if test(arrow)), "bytes")
    return DataType(kind, native, nullable, tz=getattr(arrow, "tz", None))


def _init(self: Row, **values: Any) -> None:
    self.__dict__.update({name: values.get(name) for name in self.__tailrace__.names})


def _repr(self: Row) -> str:
    values = ", ".join(f"{name}={self.__dict__.get(name)!r}" for name in self.__tailrace__.names)
    return f"{type(self).__name__}({values})"


def _equal(self: Row, other: object) -> bool:
    return type(self) is type(other) and self.__dict__ == other.__dict__


def _hash(self: Row) -> int:
    return hash(tuple(self.__dict__.get(name) for name in self.__tailrace__.names))
