"""A batch: several operations over several tables, applied as one atomic step.

Operations on one key fold in order. A batch holds its data until it is applied and checks nothing before,
so that one place, the engine, decides whether the whole of it is good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .data import ArrowStream, Data
from .row import Row

if TYPE_CHECKING:
    from .table import Table

T = TypeVar("T", bound=Row)

TableRef: TypeAlias = "str | Table[T] | type[T]"
"""A table by its name, by its handle or by its row class."""


class Batch:
    """Operations in order; each method adds one and returns the batch.

    >>> batch = tr.Batch().insert(bids, {"id": 8, "auction": 7, "price": 5.0}).delete(bids, 8)
    >>> len(batch)
    2
    """

    def __init__(self) -> None:
        self.operations: list[tuple[str, TableRef[Any], object]] = []

    def __len__(self) -> int:
        return len(self.operations)

    def insert(self, table: TableRef[T], data: Data[T]) -> Batch:
        """Add rows; a key that is there already is an error."""
        return self._add("insert", table, data)

    def upsert(self, table: TableRef[T], data: Data[T]) -> Batch:
        """Add rows, or replace those with the same key."""
        return self._add("upsert", table, data)

    def update(self, table: TableRef[T], data: Data[T]) -> Batch:
        """Change some columns of the rows with these keys; an unknown key is an error."""
        return self._add("update", table, data)

    def delete(self, table: TableRef[T], keys_or_rows: object) -> Batch:
        """Remove rows by key, or as whole rows from a table without key."""
        return self._add("delete", table, keys_or_rows)

    def weighted(
        self, table: TableRef[T], data: ArrowStream | list[dict[str, object]] | dict[str, list[object]]
    ) -> Batch:
        """Raw changes: rows with a column `_weight` that says how many to add, or below zero to remove."""
        return self._add("weighted", table, data)

    def _add(self, operation: str, table: TableRef[Any], data: object) -> Batch:
        self.operations.append((operation, table, data))
        return self
