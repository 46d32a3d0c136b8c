"""What may be given as data, and how it is handed to the engine.

Arrow data, pandas and Polars frames go through as they are, by the PyCapsule interface and without a copy.
Rows and dictionaries are handed over as a list. One row alone counts as a list of one. A mapping is a table
of columns if all of its values are columns, and one row otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

from .errors import TypeMismatchError
from .row import Row
from .symbols import is_symbolic

T = TypeVar("T", bound=Row)


class ArrowStream(Protocol):
    """Anything that gives Arrow record batches: pyarrow, pandas, Polars, DuckDB ..."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The batches as a capsule."""


class ArrowArray(Protocol):
    """Anything that gives one Arrow struct array, such as a record batch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The array as a pair of capsules."""


Data: TypeAlias = (
    ArrowStream | ArrowArray | T | Iterable[T] | Mapping[str, object] | Iterable[Mapping[str, object]]
)
"""Rows to write: a frame, Arrow data, a row or rows, a dictionary or dictionaries, or columns."""

Keys: TypeAlias = Data[T] | object
"""Rows to delete: rows as in `Data`, one key, or a list of keys; a key of several columns is a tuple."""


def native_data(data: object, row: type[Row] | None) -> object:
    """The data in a form that the native module takes."""
    if _is_arrow(data):
        return _without_index(data)
    if isinstance(data, Mapping):
        return _native_mapping(data)
    if isinstance(data, Row):
        return _native_rows([data], row)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, tuple)):
        return _native_rows(list(data), row)
    raise TypeMismatchError(
        f"{type(data).__name__} is not data. It takes Arrow, pandas or Polars data, a row or a list of rows, a dictionary "
        "or a list of them, or a dictionary of columns."
    )


def native_keys(data: object, row: type[Row] | None) -> object:
    """Keys or rows to delete, in a form that the native module takes."""
    data = _listed(data)
    if isinstance(data, (Row, Mapping)) or _is_arrow(data):
        return native_data(data, row)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, tuple)):
        return _native_rows(list(data), row, keys=True)
    return [_plain(data)]


def native_defaults(row: type[Row]) -> dict[str, object]:
    """The values of columns that rows of a class need not give, in a form that the native module takes."""
    return {name: _plain(plain(value)) for name, value in row.__tailrace__.defaults.items()}


def plain(value: Any) -> object:
    """A value of NumPy as one of Python."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _listed(data: Any) -> object:
    """A column of keys (a Series, an Arrow array) as a list; frames and other data as they are."""
    if hasattr(data, "columns") or hasattr(data, "schema") or hasattr(data, "num_columns"):
        return data
    for convert in ("to_pylist", "to_list"):
        if hasattr(data, convert):
            return getattr(data, convert)()
    return data


def _native_mapping(data: Mapping[str, object]) -> object:
    if data and all(_is_column(values) for values in data.values()):
        return {name: _plain_column(values) for name, values in data.items()}
    return [_plain(data)]


def _is_column(values: object) -> bool:
    return (
        isinstance(values, list)
        or hasattr(values, "__array__")
        or hasattr(values, "__arrow_c_array__")
        or _is_arrow(values)
    )


def _is_arrow(data: object) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _without_index(data: Any) -> object:
    """A pandas frame exports its index as one more column, which no table has."""
    if type(data).__module__.partition(".")[0] != "pandas":
        return data
    import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

    return pa.Table.from_pandas(data, preserve_index=False)


def _native_rows(items: list[Any], row: type[Row] | None, *, keys: bool = False) -> list[Any]:
    """Rows as dictionaries; where all columns are scalars the engine reads the rows' own ones."""
    for position, item in enumerate(items):
        if not isinstance(item, row or Row) and (
            isinstance(item, Row) or not (keys or isinstance(item, Mapping))
        ):
            raise _wrong_row(item, row, position)
    if items and isinstance(items[0], Row) and is_symbolic(items[0]):
        raise TypeMismatchError("Row 0 is symbolic: it belongs to a lambda and has no values.")
    values = [item.__dict__ if isinstance(item, Row) else item for item in items]
    return values if row is not None and row.__tailrace__.flat else [_plain(item) for item in values]


def _wrong_row(item: object, row: type[Row] | None, position: int) -> TypeMismatchError:
    wanted = f"a dictionary or a row of {row.__name__}" if row is not None else "a dictionary or a row"
    return TypeMismatchError(f"Row {position} is {type(item).__name__}; the table takes {wanted}.")


def _plain(value: Any) -> Any:
    """Values the engine knows: nested rows as dictionaries, UUIDs as their bytes."""
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, Row):
        return _plain(value.__dict__)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(part) for part in value)
    return value


def _plain_column(values: Any) -> Any:
    return [_plain(value) for value in values] if isinstance(values, list) else values
