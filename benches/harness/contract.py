"""What an engine's module and the runner agree on.

An engine module (`duckdb_peer`, `tailrace_runs`, ...) offers two mappings from benchmark names:
`RUNS`: measure it, `ANSWERS`: compute its result as an Arrow table, unmeasured, so that results can be compared.
A benchmark that an engine cannot do is absent from its mappings.

Timing is wall time plus the CPU seconds of the whole process: on a busy machine the second is the steadier one.
Inputs are built before the clock starts; a query ends when its result is there as a whole.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

QUERIES = ("q4", "q9", "q18", "q20")
"""The Nexmark queries that are also typed programs."""
NEXMARK = tuple(f"nexmark_q{number:02}" for number in range(23))
"""All of them as SQL."""
TPCH = tuple(f"q{number:02}" for number in range(1, 23))

_REPEAT_SECONDS = 3.0


@dataclass(frozen=True)
class Settings:
    """The sizes of one run; equal for all engines."""

    data: Path
    """Where generated inputs are kept between processes."""
    events: int = 1_000_000
    """Nexmark events, and rows loaded before churn, join and sort."""
    repeats: int = 3
    """How often one process measures a whole query; it reports its best."""
    batches: int = 200
    """How many changes are applied and timed one by one."""
    chains: int = 5
    """How many chains the graph of the transitive closure has."""
    depth: int = 1_000
    """How long each of them is."""
    scale: float = 1.0
    """The scale factor of TPC-H."""
    tpch: tuple[str, ...] = TPCH
    """Which of its queries are measured."""
    seed: int = 1


@dataclass(frozen=True)
class Measurement:
    """What one process found: the best time, or the median and tail of many steps."""

    seconds: float
    """The headline: the whole query's best time, or the median step."""
    cpu_seconds: float | None = None
    p99_seconds: float | None = None
    load_seconds: float | None = None
    """Time to the first result, where the headline is about the steps after it."""
    details: dict[str, float] = field(default_factory=dict)
    """Further figures by name, in the unit that the name ends with."""


Run: TypeAlias = Callable[[Settings], Measurement]
Answer: TypeAlias = Callable[[Settings], Any]


def best_of(repeats: int, query: Callable[[], object]) -> Measurement:
    """Run `query` several times and keep the fastest; slow ones are repeated by the rounds of the runner alone."""
    found = [timed(query)]
    while len(found) < repeats and sum(one.seconds for one in found) < _REPEAT_SECONDS:
        found.append(timed(query))
    return min(found, key=lambda one: one.seconds)


def timed(query: Callable[[], object]) -> Measurement:
    """Run `query` once. What it returns is kept until the clock has stopped, so that freeing it costs nothing."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = query()
    found = Measurement(time.perf_counter() - wall, time.process_time() - cpu)
    del result
    return found


def latencies(steps: Iterable[Callable[[], object]], load_seconds: float | None = None) -> Measurement:
    """Time every step by itself. The collector stays off in between: its pauses belong to the harness's own garbage."""
    gc.collect()
    gc.disable()
    try:
        cpu = time.process_time()
        seconds = [_seconds(step) for step in steps]
        return spread(seconds, load_seconds, time.process_time() - cpu)
    finally:
        gc.enable()


def spread(seconds: Sequence[float], load_seconds: float | None, cpu_seconds: float) -> Measurement:
    """Median and 99th percentile of steps that were timed elsewhere."""
    if not seconds:
        raise ValueError("no step was timed; is the number of batches 0?")
    ordered = sorted(seconds)
    return Measurement(
        seconds=_percentile(ordered, 0.5),
        cpu_seconds=cpu_seconds / len(ordered),
        p99_seconds=_percentile(ordered, 0.99),
        load_seconds=load_seconds,
    )


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of factors: twice as fast here and half as fast there is no change."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def _seconds(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    result = step()
    elapsed = time.perf_counter() - start
    del result
    return elapsed


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest value that at least `share` of all do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
