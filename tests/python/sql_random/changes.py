"""Random changes of random tables: mixed batches with detours, made against a model that knows what is there.

Promises: every batch is right, and `Model` holds the rows after it. Changes come from a seed, not value by value: a view lives through
many of them, and the seed is enough to see them again.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import tailrace as tr

from .kinds import VALUES
from .schema import Column, Table

Row = dict[str, Any]
Operation = Callable[[tr.Batch], None]
MOST_ROWS = 9


class Model:
    """The tables as plain Python."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = tables
        self.rows: dict[str, list[Row]] = {table.name: [] for table in tables}

    def tuples(self, table: Table) -> list[tuple[Any, ...]]:
        """The rows of a table in the order of its columns."""
        return [tuple(row[column.name] for column in table.columns) for row in self.rows[table.name]]

    def batch(self, rng: Random, most: int) -> tr.Batch:
        """A batch of up to `most` operations, done to the model as well."""
        batch = tr.Batch()
        for _ in range(rng.randint(1, most)):
            self._change(rng, batch, rng.choice(self.tables))
        return batch

    def _change(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        rows = self.rows[table.name]
        if len(rows) > MOST_ROWS or (rows and rng.random() < 0.3):
            self._remove(rng, batch, table)
        elif table.key:
            rng.choice((self._insert, self._insert, self._upsert, self._update, self._detour))(
                rng, batch, table
            )
        else:
            rng.choice((self._append, self._append, self._weigh, self._detour))(rng, batch, table)

    def _insert(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        row = random_row(rng, table)
        if self._at(table, row) is None:
            self.rows[table.name].append(row)
            batch.insert(table.name, [row])

    def _upsert(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        row = random_row(rng, table)
        self._put(table, row)
        batch.upsert(table.name, [row])

    def _update(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        """Some columns of a row that is there."""
        rows = self.rows[table.name]
        others = [column for column in table.columns if column.name not in table.key]
        if not rows or not others:
            return
        row = rng.choice(rows)
        changed = {
            column.name: random_value(rng, column)
            for column in rng.sample(others, rng.randint(1, len(others)))
        }
        self._put(table, {**row, **changed})
        batch.update(table.name, [{**{name: row[name] for name in table.key}, **changed}])

    def _append(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        rows = [random_row(rng, table)] * rng.choice((1, 1, 2, 3))
        self.rows[table.name].extend(rows)
        batch.insert(table.name, rows)

    def _weigh(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        row, weight = random_row(rng, table), rng.randint(1, 3)
        self.rows[table.name].extend([row] * weight)
        batch.weighted(table.name, [{**row, "_weight": weight + 2}, {**row, "_weight": -2}])

    def _detour(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        """A row that comes and goes within the batch."""
        row = random_row(rng, table)
        if table.key and self._at(table, row) is not None:
            return
        batch.insert(table.name, [row]).delete(table.name, [named(table, row)])

    def _remove(self, rng: Random, batch: tr.Batch, table: Table) -> None:
        """A few rows; a row of a bag goes once for each time that it is named."""
        rows = self.rows[table.name]
        for _ in range(rng.randint(1, min(len(rows), 4))):
            gone = rows.pop(rng.randrange(len(rows)))
            batch.delete(table.name, [named(table, gone)])

    def _at(self, table: Table, row: Row) -> int | None:
        keys = [[other[name] for name in table.key] for other in self.rows[table.name]]
        wanted = [row[name] for name in table.key]
        return keys.index(wanted) if wanted in keys else None

    def _put(self, table: Table, row: Row) -> None:
        at = self._at(table, row)
        if at is None:
            self.rows[table.name].append(row)
        else:
            self.rows[table.name][at] = row


def named(table: Table, row: Row) -> Any:
    """How a batch names a row that goes: by its key, or as a whole."""
    if not table.key:
        return row
    key = tuple(row[name] for name in table.key)
    return key[0] if len(key) == 1 else key


def random_row(rng: Random, table: Table) -> Row:
    """A row of values from the domains of its columns."""
    return {column.name: random_value(rng, column) for column in table.columns}


def random_value(rng: Random, column: Column) -> Any:
    if column.nullable and rng.random() < 0.2:
        return None
    return rng.choice(VALUES[column.kind])
