"""A table: the place where rows are written, and the stream that programs start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from ._tailrace import Plan
from .arrow import read_table
from .batch import Batch
from .changes import Changes
from .data import Data
from .row import Row
from .stream import Stream
from .view import read_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from .database import Database

T = TypeVar("T", bound=Row)


class Table(Stream[T]):
    """A table of a database, and a stream of its rows; made by `db.table`."""

    def __init__(self, database: Database, name: str, plan: Plan, row: type[T]) -> None:
        super().__init__(plan, row)
        self._database = database
        self.name = name

    def insert(self, data: Data[T]) -> Changes:
        """Add rows; a key that is there already is an error."""
        return self._database.apply(Batch().insert(self, data))

    def upsert(self, data: Data[T]) -> Changes:
        """Add rows, or replace those with the same key."""
        return self._database.apply(Batch().upsert(self, data))

    def update(self, data: Data[T]) -> Changes:
        """Change some columns of the rows with these keys; an unknown key is an error."""
        return self._database.apply(Batch().update(self, data))

    def delete(self, keys_or_rows: object) -> Changes:
        """Remove rows by key, or as whole rows from a table without key."""
        return self._database.apply(Batch().delete(self, keys_or_rows))

    def snapshot(self, *, weighted: bool = False) -> pa.Table:
        """The rows of the table now, as an Arrow table; with `weighted` each row once, and how often it is there in `_weight`."""
        return read_table(self._database.native.snapshot(self.name, weighted))

    def rows(self) -> list[T]:
        """The rows of the table now, as objects of its row class.

        >>> [bid.id for bid in bids.rows()]
        [1, 2]
        """
        return cast("list[T]", read_rows(self.snapshot(), self.row))
