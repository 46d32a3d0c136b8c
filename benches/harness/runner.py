"""Runs the benchmarks: all engines in turn, round after round, and keeps each engine's best round.

Engines take turns within a round, so that a busy minute of the machine hits all of them and ratios stay fair. Who took longer
than a minute is not asked again: its best would be no faster by much, and the others' rounds would drift apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .engines import ENGINES
from .process import Workers

_TOO_SLOW_TO_REPEAT_SECONDS: Final = 60.0


@dataclass
class Results:
    """The best round of every benchmark and engine, and what went wrong."""

    found: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)

    def keep(self, bench: str, engine: str, values: dict[str, Any]) -> None:
        """Keep a round if it is the fastest so far."""
        best = self.found.setdefault(bench, {}).get(engine)
        if best is None or values["seconds"] < best["seconds"]:
            self.found[bench][engine] = values


def run(
    workers: Workers, benches: Sequence[str], engines: Sequence[str], rounds: int, say: Callable[[str], None]
) -> Results:
    """Measure everything that was asked for."""
    results = Results()
    for bench in benches:
        able = [engine for engine in engines if bench in ENGINES[engine].benches]
        for _ in range(rounds):
            able = [engine for engine in able if _again(workers, bench, engine, results, say)]
    return results


def _again(workers: Workers, bench: str, engine: str, results: Results, say: Callable[[str], None]) -> bool:
    """Measure once; whether it is worth another round."""
    start = time.perf_counter()
    found = workers.measure(engine, bench)
    took = time.perf_counter() - start
    if found.trouble:
        results.troubles.append(f"{bench}, {engine}: {found.trouble}")
        say(results.troubles[-1])
        return False
    results.keep(bench, engine, found.values)
    say(f"{bench}, {engine}: {found.values['seconds']:.4g} s (the process took {took:.1f} s)")
    return took < _TOO_SLOW_TO_REPEAT_SECONDS
