"""What a SQL text gave back: the rows of its last query, and the changes that its statements made.

The rows are the engine's own buffers; every form is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ._tailrace import ArrowTable, Step
from .arrow import as_polars
from .changes import Changes
from .row import Row

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Outcome = tuple[ArrowTable | None, tuple[int, Step] | None, str | None]


class Result:
    """The outcome of `db.execute`.

    >>> db.execute("SELECT 1 AS one, 'x' AS letter").fetchall()
    [(1, 'x')]
    """

    def __init__(self, outcomes: Sequence[Outcome], classes: Mapping[int, type[Row]]) -> None:
        self._rows = next((rows for rows, _, _ in reversed(outcomes) if rows is not None), None)
        self._steps = [step for _, step, _ in outcomes if step is not None]
        self._classes = classes
        self.statements = len(outcomes)
        self._cursor: Iterator[tuple[Any, ...]] | None = None

    @property
    def changes(self) -> list[Changes]:
        """What each INSERT, UPDATE or DELETE changed in the views, in order."""
        return [Changes(step, self._classes) for _, step in self._steps]

    @property
    def rowcount(self) -> int:
        """How many rows the statements inserted, updated or deleted."""
        return sum(count for count, _ in self._steps)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table; without a query, a table without columns."""
        import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

        return pa.table({}) if self._rows is None else pa.table(self._rows)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return as_polars(self.to_arrow())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples."""
        columns = [_plain(column) for column in self.to_arrow().columns]
        return list(zip(*columns, strict=True))

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None behind the last."""
        if self._cursor is None:
            self._cursor = iter(self)
        return next(self._cursor, None)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    def __len__(self) -> int:
        return 0 if self._rows is None else len(self._rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._rows is None:
            stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)
            return stream
        return self._rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Result({len(self)} rows, {self.rowcount} changed)"

    def _repr_html_(self) -> str:
        from .notebook import table_html  # noqa: PLC0415 (for notebooks alone)

        return table_html(self.to_arrow())


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; the 16 bytes of a UUID as one."""
    values: list[Any] = column.to_pylist()
    if str(column.type) != "fixed_size_binary[16]":
        return values
    return [None if value is None else UUID(bytes=value) for value in values]
