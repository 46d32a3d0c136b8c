"""The life of a view: random steps, and after each the view, the sum of its deltas and DuckDB's answer agree."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import tailrace as tr

from .answers import Bag, ask, bag
from .changes import Model, bad_batch, good_batch
from .operators import Node
from .relations import COLUMNS, Keyed, Rel
from .relations import Bag as BagRow


def tables(db: tr.Database) -> dict[str, tr.Table[Any]]:
    """Both tables of the oracle."""
    return {"keyed": db.table(Keyed), "bag": db.table(BagRow)}


def load_some(db: tr.Database, rng: Random) -> Model:
    """A view is made over tables that may hold rows already."""
    tables(db)
    batch, after = good_batch(rng, Model(), 12)
    db.apply(batch)
    return after


class Life:
    """One view through many steps, with the sum of its deltas kept beside it."""

    def __init__(self, db: tr.Database, view: tr.View[Rel], program: Node, model: Model) -> None:
        self.db, self.view, self.program, self.model = db, view, program, model
        self.summed = self.snapshot()
        self.check()

    def step(self, rng: Random) -> None:
        """Apply a batch, mostly a good one."""
        if rng.random() < 0.1:
            self.refuse(bad_batch(rng, self.model))
        else:
            self.apply(*good_batch(rng, self.model))
        self.check()

    def apply(self, batch: tr.Batch, after: Model) -> None:
        """A good batch: the view's delta goes into the sum."""
        self.take(self.db.apply(batch), after)

    def take(self, changes: tr.Changes, after: Model) -> None:
        """A step was applied."""
        delta = changes[self.view].delta.to_pylist()
        for row in delta:
            assert row["_weight"] != 0
            (key,) = bag([tuple(row[name] for name in COLUMNS)])
            self.summed[key] += row["_weight"]
        self.model = after

    def refuse(self, batch: tr.Batch) -> None:
        """A bad batch: an error, and nothing else."""
        version = self.db.version
        with pytest.raises((tr.DuplicateKeyError, tr.KeyNotFoundError)):
            self.db.apply(batch)
        assert self.db.version == version

    def check(self) -> None:
        """The snapshot, the sum of deltas and DuckDB agree."""
        expected = ask(self.program.sql, self.model)
        assert self.snapshot() == expected
        assert Counter({key: weight for key, weight in self.summed.items() if weight}) == expected

    def snapshot(self) -> Bag:
        """The view now."""
        return bag(tuple(row[name] for name in COLUMNS) for row in self.view.snapshot().to_pylist())
