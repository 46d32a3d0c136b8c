"""The law of the whole system: after any changes, in any split into steps, a view equals its query run from scratch.

Each test puts one operator at the root of random programs, so that none is left out. Every program lives through `STEPS` steps.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import tailrace as tr

from .effort import count_steps, examples
from .life import Life, load_some, tables
from .operators import Node
from .programs import OPERATORS, programs

EXAMPLES = examples(22)
STEPS = 20


@pytest.mark.parametrize("root", OPERATORS)
def test_oracle_a_view_equals_its_query_from_scratch(root: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        print_blob=True,
    )
    @given(
        program=OPERATORS[root](programs(2)),
        seed=st.integers(0, 2**32 - 1),
        steps=st.just(STEPS) | st.integers(0, STEPS),
    )
    def law(program: Node, seed: int, steps: int) -> None:
        note(f"program: {program.sql}")
        _live_through(program, Random(seed), steps)

    law()


def _live_through(program: Node, rng: Random, steps: int) -> None:
    with tr.connect() as db:
        model = load_some(db, rng)
        view = db.create_view("view", program.build(tables(db)))
        life = Life(db, view, program, model)
        for _ in range(steps):
            life.step(rng)
    count_steps(steps)
