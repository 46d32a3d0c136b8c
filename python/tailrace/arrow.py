"""Arrow tables of what the engine hands out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from .data import ArrowStream


def read_table(rows: ArrowStream) -> pa.Table:
    """The rows as an Arrow table, without a copy.

    `pa.table` would do, but it imports pandas first, to see whether it was given a frame: a tenth of a second for nothing.
    """
    import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

    return pa.RecordBatchReader.from_stream(rows).read_all()


def as_polars(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a Polars frame."""
    import polars as pl  # noqa: PLC0415

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
