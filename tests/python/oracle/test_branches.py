"""Branches by law: a branch and its parent, each changed at random, each equal DuckDB; a merge gives what both models say, or is refused.

Beside it the other ways to look at the same state: the view verifies itself, and its hash is that of a view made now.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import tailrace as tr

from .changes import Model, Values
from .effort import count_steps, examples
from .life import Life, load_some, tables
from .operators import Node
from .programs import OPERATORS, programs

EXAMPLES = examples(6)
STEPS = 6


@pytest.mark.parametrize("root", OPERATORS)
def test_oracle_branches_equal_their_queries_from_scratch(root: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        print_blob=True,
    )
    @given(program=OPERATORS[root](programs(2)), seed=st.integers(0, 2**32 - 1))
    def law(program: Node, seed: int) -> None:
        note(f"program: {program.sql}")
        _part_and_meet(program, Random(seed))

    law()


def _part_and_meet(program: Node, rng: Random) -> None:
    with tr.connect() as db:
        model = load_some(db, rng)
        parent = Life(db, db.create_view("view", program.build(tables(db))), program, model)
        for _ in range(rng.randrange(STEPS)):
            parent.step(rng)
        at_fork = parent.model
        branch = db.branch()
        child = Life(branch, branch.view("view"), program, at_fork)
        for _ in range(STEPS):
            rng.choice([parent, child]).step(rng)
        for life in (parent, child):
            _look_closer(life)
        _merge(branch, parent, child.model, at_fork)
        _look_closer(parent)
    count_steps(2 * STEPS)


def _look_closer(life: Life) -> None:
    life.check()
    life.view.verify()
    again = life.db.create_view("again", life.program.build(tables(life.db)))
    assert life.view.hash == again.hash
    life.db.drop_view(again)
    life.view.verify()


def _merge(branch: tr.Branch, parent: Life, ours: Model, at_fork: Model) -> None:
    keyed, conflicts = _merged_keyed(at_fork.keyed, parent.model.keyed, ours.keyed)
    bag, lacks = _merged_bag(at_fork.bag, parent.model.bag, ours.bag)
    version = parent.db.version
    if conflicts or lacks:
        with pytest.raises(tr.MergeConflictError):
            branch.merge()
        assert parent.db.version == version
        if lacks:
            return
    parent.take(branch.merge("branch"), Model(keyed, bag))
    assert parent.db.version == version + 1


def _merged_keyed(
    at_fork: dict[int, Values], theirs: dict[int, Values], ours: dict[int, Values]
) -> tuple[dict[int, Values], bool]:
    """What the branch changed goes into the parent's rows; whether both changed a key, not to the same row."""
    merged, conflicts = dict(theirs), False
    for key in at_fork.keys() | ours.keys():
        before, mine, other = at_fork.get(key), ours.get(key), theirs.get(key)
        if mine == before:
            continue
        conflicts |= other not in (before, mine)
        if mine is None:
            merged.pop(key, None)
        else:
            merged[key] = mine
    return merged, conflicts


def _merged_bag(at_fork: list[Values], theirs: list[Values], ours: list[Values]) -> tuple[list[Values], bool]:
    """The branch's change added to the parent's rows; whether more of a row goes than there is."""
    before, mine, other = (_counted(rows) for rows in (at_fork, ours, theirs))
    change = {row: mine[row] - before[row] for row in before.keys() | mine.keys()}
    total = Counter(other)
    for row, count in change.items():
        total[row] += count
    lacks = any(count < 0 and change.get(row, 0) < 0 for row, count in total.items())
    return [dict(row) for row in total.elements()], lacks


def _counted(rows: list[Values]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(row.items()) for row in rows)
