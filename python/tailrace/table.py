"""A table: the place where rows are written, and the stream that programs start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ._tailrace import ArrowTable, Plan
from .batch import Batch
from .changes import Changes
from .data import Data
from .kept import Kept, arrow_schema
from .row import Row
from .stream import Stream

if TYPE_CHECKING:
    import pyarrow as pa

    from .database import Database

T = TypeVar("T", bound=Row)


class Table(Kept[T], Stream[T]):
    """A table of a database, and a stream of its rows; made by `db.table`."""

    def __init__(self, database: Database, name: str, plan: Plan, row: type[T]) -> None:
        Stream.__init__(self, plan, row)
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

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table, as an Arrow schema."""
        return arrow_schema(self._database.native.table_schema(self._own_name()))

    @property
    def key(self) -> list[str]:
        """The columns of the primary key; none for a bag of rows."""
        return self._database.native.table_key(self._own_name())

    def _read(self, weighted: bool) -> ArrowTable:
        return self._database.native.snapshot(self._own_name(), weighted)

    def _own_name(self) -> str:
        """Refuse to speak for another table of this name."""
        return self._database._table(self).name
