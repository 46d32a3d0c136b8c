"""The law for random SQL: after any changes a view equals DuckDB's answer over the tables, and the sum of its changes.

`make test` draws the same cases every time; `make soak` draws new ones, as many as its time allows. Beside this file, `choices` draws,
`kinds` and `schema` make tables, `scope`, `scalars`, `conditions`, `subqueries`, `sources`, `grouping`, `windows` and `queries` are the
grammar, `changes` moves the tables, `life` holds a view to DuckDB through all of it, `refusals` lists what may be refused.
"""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from ..oracle.effort import count_steps, examples
from .cases import case
from .choices import Choices
from .life import Life, Peer

EXAMPLES = examples(40)
STEPS = 5
PARTS = 6
SOAK = "TAILRACE_RANDOM_FACTOR" in os.environ


@pytest.fixture(scope="module")
def peer() -> Peer:
    """One DuckDB for all cases of a process."""
    return Peer()


@pytest.mark.parametrize("part", range(PARTS))
def test_oracle_random_queries_follow_duckdb(part: int, peer: Peer) -> None:
    """In parts, so that they run beside each other; each part has seeds of its own."""

    @seed(SystemRandom().getrandbits(64) if SOAK else part)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(data=st.data(), changes=st.integers(0, 2**32 - 1))
    def law(data: st.DataObject, changes: int) -> None:
        choose = Choices(lambda bound: int(data.draw(st.integers(0, bound - 1))))
        drawn = case(choose)
        note(drawn.text)
        life = Life(drawn, peer)
        life.run(Random(changes), STEPS)
        count_steps(life.steps)

    law()
