"""The road to a table's contents: random change batches with detours.

Promises: `Road` yields batches of changes, each with the contents of all tables after it; the last contents are the wanted ones. On
the way rows are inserted twice and deleted again, replaced and put back, and whole tables emptied. The same seed gives the same road.

Invented rows take every value from the same column of the wanted rows, so that a query that is defined on the data (no zero to divide
by, no text that is no number) stays so on the way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tailrace as tr

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Contents:
    """A table: its columns, the places of its key among them, and its rows."""

    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    rows: tuple[Row, ...]

    def key_of(self, row: Row) -> Row:
        """The row's key; of a table without key the whole row."""
        return tuple(row[place] for place in self.key) if self.key else row

    def named(self, row: Row) -> dict[str, Any]:
        """The row as the engine takes it."""
        return dict(zip(self.columns, row, strict=True))


@dataclass
class Road:
    """Random batches that lead from empty tables to the wanted ones."""

    tables: list[Contents]
    seed: int
    detours: bool = True
    steps: int = 5
    state: dict[str, list[Row]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[tr.Batch, dict[str, list[Row]]]]:
        """Each batch with the contents after it."""
        rng = random.Random(self.seed)
        self.state = {table.name: [] for table in self.tables}
        for step in range(self.steps):
            last = step == self.steps - 1
            batch = tr.Batch()
            for table in self.tables:
                target = list(table.rows) if last else self._waypoint(rng, table)
                self._move(batch, rng, table, target)
                self.state[table.name] = target
            yield batch, {name: list(rows) for name, rows in self.state.items()}

    def _waypoint(self, rng: random.Random, table: Contents) -> list[Row]:
        """Some of the wanted rows and, if detours are allowed, some invented ones; now and then nothing or everything."""
        share = rng.choice([0.0, 0.3, 0.6, 0.9, 1.0])
        kept = [row for row in table.rows if rng.random() < share]
        if not self.detours or not table.rows or rng.random() < 0.2:
            return kept
        mixed = [self._invented(rng, table) if rng.random() < 0.4 else row for row in kept]
        mixed += [self._invented(rng, table) for _ in range(rng.randrange(3))]
        return unique(table, mixed)

    def _invented(self, rng: random.Random, table: Contents) -> Row:
        """A row whose every value stands somewhere in its column; often only one value is another one."""
        base = rng.choice(table.rows)
        changed = set(rng.sample(range(len(base)), rng.choice([1, 1, len(base)])))
        return tuple(rng.choice(table.rows)[i] if i in changed else value for i, value in enumerate(base))

    def _move(self, batch: tr.Batch, rng: random.Random, table: Contents, target: list[Row]) -> None:
        """Add to the batch what turns the present rows into the target."""
        present = self.state[table.name]
        if table.key:
            keyed(batch, rng, table, present, target)
        else:
            counted(batch, rng, table, present, target)


def unique(table: Contents, rows: list[Row]) -> list[Row]:
    """The rows with each key once; those of a table without key as they are."""
    if not table.key:
        return rows
    return list({table.key_of(row): row for row in rows}.values())


def keyed(
    batch: tr.Batch, rng: random.Random, table: Contents, present: list[Row], target: list[Row]
) -> None:
    """Deletes by key, updates, inserts, and rows that come and go within the batch."""
    before = {table.key_of(row): row for row in present}
    after = {table.key_of(row): row for row in target}
    for key in [key for key in before if key not in after]:
        batch.delete(table.name, [key[0] if len(key) == 1 else key])
    for key, row in shuffled(rng, after.items()):
        if key not in before:
            batch.insert(table.name, [table.named(row)])
            if rng.random() < 0.2:
                batch.delete(table.name, [key[0] if len(key) == 1 else key]).insert(
                    table.name, [table.named(row)]
                )
        elif before[key] != row:
            batch.upsert(table.name, [table.named(row)])


def counted(
    batch: tr.Batch, rng: random.Random, table: Contents, present: list[Row], target: list[Row]
) -> None:
    """Whole rows out and in; now and then a row too many that is taken back at once."""
    left = list(target)
    for row in present:
        if row in left:
            left.remove(row)
        else:
            batch.delete(table.name, [table.named(row)])
    for row in shuffled(rng, left):
        batch.insert(table.name, [table.named(row)])
        if rng.random() < 0.2:
            batch.insert(table.name, [table.named(row)]).delete(table.name, [table.named(row)])


def shuffled(rng: random.Random, items: Any) -> list[Any]:
    found = list(items)
    rng.shuffle(found)
    return found
