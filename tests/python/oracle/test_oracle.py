"""The law of the whole system: after any changes, in any split into steps, a view equals its query run from scratch.

Each test puts one operator at the root of random programs, so that none is left out. Every program lives through `STEPS` steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import tailrace as tr

from . import operators
from .aggregates import aggregations
from .answers import Bag, ask, bag
from .changes import Model, bad_batch, good_batch
from .effort import count_steps, examples
from .operators import Children, Node
from .relations import COLUMNS, Keyed, Rel
from .relations import Bag as BagRow

EXAMPLES = examples(22)
STEPS = 20

OPERATORS: dict[str, Callable[[Children], Children]] = {
    "filter": operators.filters,
    "map": operators.maps,
    "flat_map": operators.flat_maps,
    "map_rows": operators.map_rows,
    "join": operators.joins,
    "half_join": operators.half_joins,
    "cross_join": operators.cross_joins,
    "aggregate": aggregations,
    "distinct": operators.distincts,
    "set_operation": operators.set_operations,
    "top_k": operators.top_ks,
    "window": operators.windows,
    "recursion": operators.recursions,
    "mutual_recursion": operators.mutual_recursions,
}
# Below the root: what keeps a random program small. Joins multiply rows, so that two levels of them are enough.
_BELOW = ("filter", "map", "join", "half_join", "aggregate", "distinct", "set_operation", "top_k", "window")


@pytest.mark.parametrize("root", OPERATORS)
def test_oracle_a_view_equals_its_query_from_scratch(root: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        print_blob=True,
    )
    @given(
        program=OPERATORS[root](_programs(2)),
        seed=st.integers(0, 2**32 - 1),
        steps=st.just(STEPS) | st.integers(0, STEPS),
    )
    def law(program: Node, seed: int, steps: int) -> None:
        note(f"program: {program.sql}")
        _live_through(program, Random(seed), steps)

    law()


@cache
def _programs(depth: int) -> Children:
    if depth == 0:
        return operators.sources()
    below = _programs(depth - 1)
    return st.one_of(operators.sources(), *(OPERATORS[name](below) for name in _BELOW))


def _live_through(program: Node, rng: Random, steps: int) -> None:
    with tr.connect() as db:
        model = _load_some(db, rng)
        view = db.create_view("view", program.build(_tables(db)))
        life = _Life(db, view, program, model)
        for _ in range(steps):
            life.step(rng)
    count_steps(steps)


def _tables(db: tr.Database) -> dict[str, tr.Table[Any]]:
    return {"keyed": db.table(Keyed), "bag": db.table(BagRow)}


def _load_some(db: tr.Database, rng: Random) -> Model:
    """A view is made over tables that may hold rows already."""
    _tables(db)
    batch, after = good_batch(rng, Model(), 12)
    db.apply(batch)
    return after


class _Life:
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
        delta = self.db.apply(batch)[self.view].delta.to_pylist()
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
