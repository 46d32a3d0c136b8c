"""Reading what a database keeps: the rows of a table or a view, in every form that people want them.

The handle holds no data. All forms are made of the engine's own buffers when they are asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ._tailrace import ArrowTable, Type
from .arrow import as_polars, read_table
from .row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    import polars as pl
    import pyarrow as pa

T = TypeVar("T", bound=Row)


class Kept(Generic[T]):
    """The rows of a table or view now; the subclass says how the engine hands them out."""

    row: type[T]

    @abstractmethod
    def _read(self, weighted: bool) -> ArrowTable:
        """What the engine hands out."""

    def snapshot(self, *, weighted: bool = False) -> pa.Table:
        """The rows now, as an Arrow table; with `weighted` each row once, and how often it is there in `_weight`.

        >>> dear = db.create_view("dear", bids.filter(lambda b: b.price > 100.0))
        >>> dear.snapshot().num_rows
        1
        """
        return read_table(self._read(weighted))

    def rows(self) -> list[T]:
        """The rows now, as objects of the row class.

        >>> [bid.id for bid in bids.rows()]
        [1, 2]
        """
        found = [self.row.__tailrace__.read(values) for values in self.snapshot().to_pylist()]
        return cast("list[T]", found)

    def to_arrow(self) -> pa.Table:
        """The rows now, as an Arrow table: what `snapshot` gives."""
        return self.snapshot()

    def to_pandas(self) -> pd.DataFrame:
        """The rows now, as a pandas frame."""
        return self.snapshot().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows now, as a Polars frame."""
        return as_polars(self.snapshot())

    def __len__(self) -> int:
        return len(self._read(False))

    def __bool__(self) -> bool:
        return True  # a handle is there even when it has no rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._read(False).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from .notebook import table_html  # noqa: PLC0415 (for notebooks alone)

        return table_html(self.snapshot())


def arrow_schema(fields: Iterable[tuple[str, Type, bool]]) -> pa.Schema:
    """The columns that the engine names, as an Arrow schema."""
    import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

    found: list[Any] = [pa.field(name, pa.field(native).type, nullable) for name, native, nullable in fields]
    return pa.schema(found)
