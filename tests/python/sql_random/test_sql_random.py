"""The law for random SQL: after any changes a view equals DuckDB's answer over the tables, and the sum of its changes.

`make test` draws the same cases every time; `make soak` draws new ones, as many as its time allows.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from ..oracle.effort import count_steps, examples
from .cases import case
from .choices import Choices
from .life import Life, Peer

EXAMPLES = examples(60)
STEPS = 5
SOAK = "TAILRACE_RANDOM_FACTOR" in os.environ
PARTS = 4


@pytest.fixture(scope="module")
def peer() -> Peer:
    """One DuckDB for all cases of a process."""
    return Peer()


@pytest.mark.parametrize("part", range(PARTS))
def test_oracle_random_queries_follow_duckdb(part: int, peer: Peer) -> None:
    """In parts, so that they run beside each other; each part has seeds of its own."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=not SOAK,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(data=st.data(), seed=st.integers(0, 2**32 - 1))
    def law(data: st.DataObject, seed: int) -> None:
        choose = Choices(lambda bound: int(data.draw(st.integers(0, bound - 1))))
        drawn = case(choose)
        note(drawn.text)
        life = Life(drawn, peer)
        life.run(Random(seed + part), STEPS)
        count_steps(life.steps)

    law()
