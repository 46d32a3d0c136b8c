"""Row classes: the schema of a table, a stream or a view, written as a class.

A subclass of `Row` is a frozen, keyword-only dataclass, and a type checker sees it as one
(`dataclass_transform`). Its instances are plain values: equal by value, hashable, printable. The same class
also serves while a lambda is traced; then its attributes hold symbolic values instead of real ones, so that
methods and properties of the class work in both modes.

Promises: an annotation that cannot be a column is refused when the class is first used, with the class and
the column in the message; an attribute that is no column raises an error that lists the columns.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from uuid import UUID

from .datatype import DataType, TypeSpec, data_type
from .errors import SchemaError, missing_column

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options):
        """Stand in for the marker of the same name: it has a meaning to type checkers alone."""
        return lambda marked: marked


RowT = TypeVar("RowT", bound="Row")

_KEY, _TYPE = "tailrace.key", "tailrace.type"
_WEIGHT = "_weight"


def key(*, default: Any = dataclasses.MISSING, type: TypeSpec | None = None) -> Any:
    """A column of the primary key.

    >>> class Bid(tr.Row):
    ...     id: int = tr.key()
    ...     price: float
    >>> Bid(id=1, price=9.5)
    Bid(id=1, price=9.5)
    """
    return dataclasses.field(default=default, metadata={_KEY: True, _TYPE: type})


def field(*, default: Any = dataclasses.MISSING, type: TypeSpec | None = None) -> Any:
    """A column with a default value or an exact engine type.

    >>> class Price(tr.Row):
    ...     amount: Decimal = tr.field(type=tr.decimal(12, 2))
    ...     currency: str = tr.field(default="EUR")
    >>> Price(amount=Decimal("9.50")).currency
    'EUR'
    """
    return dataclasses.field(default=default, metadata={_TYPE: type})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key, field))
class Row:
    """The base of all row classes; `class Bid(tr.Row, table="bids")` also names the table.

    >>> class Point(tr.Row, table="points"):
    ...     x: int
    ...     y: int | None
    >>> Point(x=1, y=None) == Point(x=1, y=None)
    True
    """

    __tailrace__: ClassVar[Layout]

    def __init_subclass__(cls, *, table: str | None = None) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)
        frame = sys._getframe(1)
        cls.__tailrace__ = Layout(cls, table or _snake_case(cls.__name__), frame.f_globals, frame.f_locals)
        _explain_arguments(cls)

    if not TYPE_CHECKING:  # a checker must not take every attribute for granted

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise missing_column(name, type(self).__name__, self.__tailrace__.names)


@dataclass(frozen=True)
class Column:
    """One column of a row class."""

    name: str
    type: DataType
    key: bool


class Layout:
    """What the engine needs to know about a row class: its columns, its key, the name of its table."""

    written = True
    """Whether somebody wrote the class, so that no other may take its place."""

    def __init__(
        self, row: type[Row], table: str, module_names: dict[str, Any], local_names: Mapping[str, Any]
    ) -> None:
        self.row = row
        self.table = table
        self.fields = dataclasses.fields(row)  # type: ignore[arg-type]
        if _WEIGHT in self.names:
            raise SchemaError(
                f"{row.__name__} cannot have a column {_WEIGHT!r}: it is the name of the weight in changes."
            )
        self._names = module_names
        # Classes inside a function may name each other; what cannot be resolved yet is tried again at the first use.
        self._hints = _hints(row, {**module_names, **local_names})

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.fields]

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, in order."""
        if not self.fields:
            raise SchemaError(f"{self.row.__name__} has no columns; write them as annotations: `id: int`.")
        hints = _hints(self.row, self._names) if isinstance(self._hints, NameError) else self._hints
        if isinstance(hints, NameError):
            raise SchemaError(
                f"{self.row.__name__}: {hints}. The types of columns must be known when the program runs."
            ) from hints
        return [self._column(found, hints[found.name]) for found in self.fields]

    @cached_property
    def key(self) -> list[str]:
        """The names of the key columns."""
        return [found.name for found in self.fields if found.metadata.get(_KEY)]

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of columns that rows need not give."""
        return {
            found.name: found.default for found in self.fields if found.default is not dataclasses.MISSING
        }

    @cached_property
    def keyed(self) -> bool:
        """Whether the key tells all rows apart; without key columns there is then at most one row."""
        return bool(self.key)

    @property
    def without_key(self) -> str:
        """How to get a key, for errors."""
        return f"Mark columns of {self.row.__name__} with tr.key(). Without one use `delta` or `rows`."

    @cached_property
    def lists(self) -> Mapping[tuple[str, ...], Sequence[str]]:
        """For each list of rows, by the names that lead to it: the columns that tell its rows apart."""
        return dict(_list_keys(self.columns, ()))

    @cached_property
    def types(self) -> dict[str, DataType]:
        """The type of each column."""
        return {column.name: column.type for column in self.columns}

    @cached_property
    def native_fields(self) -> list[tuple[str, Any, bool]]:
        """The columns as the native module takes them."""
        return [(column.name, column.type.native, column.type.nullable) for column in self.columns]

    @cached_property
    def flat(self) -> bool:
        """Whether the engine takes the values of all columns as they are."""
        return all(column.type.kind not in ("uuid", "struct", "list", "map") for column in self.columns)

    @cached_property
    def readers(self) -> dict[str, Callable[[Any], Any]]:
        """How to turn the engine's plain values into richer ones, for the columns that need it."""
        found = ((column.name, _reader(column.type)) for column in self.columns)
        return {name: reader for name, reader in found if reader is not None}

    def read(self, values: dict[str, Any]) -> Row:
        """A real row of the engine's plain values. The dictionary becomes the row's own."""
        for name, reader in self.readers.items():
            values[name] = reader(values[name])
        return fill(self.row, values)

    def _column(self, found: dataclasses.Field[Any], hint: Any) -> Column:
        spec = found.metadata.get(_TYPE)
        found_type = data_type(hint, spec, f"{self.row.__name__}.{found.name}")
        return Column(found.name, found_type, bool(found.metadata.get(_KEY)))


def fill(row: type[RowT], values: dict[str, Any]) -> RowT:
    """An instance with these attributes, real or symbolic, past the constructor and its freezing."""
    made = object.__new__(row)
    made.__dict__.update(values)
    return made


def replace(row: RowT, **changes: Any) -> RowT:
    """The same row with some columns changed; works on real rows and in lambdas.

    >>> class Point(tr.Row):
    ...     x: int
    ...     y: int
    >>> tr.replace(Point(x=1, y=2), y=3)
    Point(x=1, y=3)
    """
    layout = type(row).__tailrace__
    for name in changes:
        if name not in layout.names:
            raise missing_column(name, type(row).__name__, layout.names)
    return type(row)(**{name: changes.get(name, getattr(row, name)) for name in layout.names})


def _list_keys(columns: list[Column], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    for column in columns:
        inner = column.type.item if column.type.kind == "list" and column.type.item else column.type
        if inner.kind != "struct" or inner.row is None:
            continue
        below = (*path, column.name)
        if inner is not column.type and inner.row.__tailrace__.key:
            yield below, inner.row.__tailrace__.key
        yield from _list_keys(inner.row.__tailrace__.columns, below)


def _reader(found: DataType) -> Callable[[Any], Any] | None:
    plain = _plain_reader(found)
    if plain is None:
        return None
    return lambda value: None if value is None else plain(value)


def _plain_reader(found: DataType) -> Callable[[Any], Any] | None:
    item = _reader(found.item) if found.item is not None else None
    if found.kind == "uuid":
        return lambda value: value if isinstance(value, UUID) else UUID(bytes=bytes(value))
    if found.kind == "struct" and found.row is not None:
        return found.row.__tailrace__.read
    if found.kind == "list" and item is not None:
        return lambda values: [item(value) for value in values]
    if found.kind == "map":
        return lambda values: _read_map(values, _reader(found.key) if found.key else None, item)
    return None


def _read_map(
    values: Any, key_reader: Callable[[Any], Any] | None, item_reader: Callable[[Any], Any] | None
) -> dict[Any, Any]:
    pairs = values.items() if isinstance(values, dict) else values
    return {
        key_reader(name) if key_reader else name: item_reader(value) if item_reader else value
        for name, value in pairs
    }


def _hints(row: type[Row], names: dict[str, Any]) -> dict[str, Any] | NameError:
    try:
        return typing.get_type_hints(row, localns=names)
    except NameError as error:
        return error


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _explain_arguments(row: type[Row]) -> None:
    """Let the generated constructor answer a wrong column with the columns there are."""
    generated = row.__init__

    @functools.wraps(generated)
    def __init__(self: Row, **values: Any) -> None:  # noqa: N807
        try:
            generated(self, **values)
        except TypeError:
            names = row.__tailrace__.names
            for name in values:
                if name not in names:
                    raise missing_column(name, row.__name__, names) from None
            raise

    row.__init__ = __init__  # type: ignore[method-assign,assignment]
