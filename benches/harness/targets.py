"""The bounds that Tailrace has set itself, as pure functions of what a run found.

A target whose figures are missing in a run is not judged. All are ratios within one run or limits in seconds and bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, TypeAlias

from .contract import NEXMARK, QUERIES, TPCH, geometric_mean
from .engines import OURS

Findings: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Benchmark, engine, values of the best round."""


@dataclass(frozen=True)
class Target:
    """One claim: a figure and its bound."""

    claim: str
    bench: str
    figure: Callable[[Mapping[str, Mapping[str, Any]]], float]
    bound: float
    at_most: bool
    unit: str

    def judge(self, found: Findings) -> Verdict | None:
        """None if the run has not measured what this needs."""
        try:
            value = self.figure(found[self.bench])
        except KeyError:
            return None
        return Verdict(self, value, value <= self.bound if self.at_most else value >= self.bound)


@dataclass(frozen=True)
class Verdict:
    """A target with the figure that a run gave."""

    target: Target
    value: float
    met: bool


def verdicts(found: Findings) -> Iterator[Verdict]:
    """Of all targets that can be judged."""
    judged = (target.judge(found) for target in TARGETS)
    return (verdict for verdict in judged if verdict is not None)


def _ratio(over: str, under: str) -> Callable[[Mapping[str, Mapping[str, Any]]], float]:
    return lambda engines: float(engines[over]["seconds"]) / float(engines[under]["seconds"])


def _ours(name: str, scale: float = 1.0) -> Callable[[Mapping[str, Mapping[str, Any]]], float]:
    return lambda engines: float(engines[OURS][name]) * scale


def _detail(name: str, scale: float = 1.0) -> Callable[[Mapping[str, Mapping[str, Any]]], float]:
    return lambda engines: float(engines[OURS]["details"][name]) * scale


def _tpch_ratios(engines: Mapping[str, Mapping[str, Any]]) -> list[float]:
    """DuckDB's recomputation against our step, query by query."""
    ours, theirs = engines[OURS]["details"], engines["duckdb"]["details"]
    names = [f"{name}_seconds" for name in TPCH]
    return [theirs[name] / ours[name] for name in names if name in ours and name in theirs]


def _slowest_plan(prefix: str) -> Callable[[Mapping[str, Mapping[str, Any]]], float]:
    return lambda engines: 1e3 * max(_plans(engines, prefix))


def _median_plan(prefix: str) -> Callable[[Mapping[str, Mapping[str, Any]]], float]:
    return lambda engines: 1e3 * median(_plans(engines, prefix))


def _plans(engines: Mapping[str, Mapping[str, Any]], prefix: str) -> list[float]:
    return [seconds for name, seconds in engines[OURS]["details"].items() if name.startswith(prefix)]


TARGETS: Final = (
    Target(
        "TPC-H: DuckDB's recompute against our step, geometric mean",
        "tpch",
        lambda engines: geometric_mean(_tpch_ratios(engines)),
        20.0,
        False,
        "x",
    ),
    Target("TPC-H: the worst of them", "tpch", lambda engines: min(_tpch_ratios(engines)), 1.0, False, "x"),
    Target("planning: the slowest Nexmark view", "plan", _slowest_plan("nexmark"), 10.0, True, "ms"),
    Target("planning: the median TPC-H view", "plan", _median_plan("tpch"), 10.0, True, "ms"),
    Target("planning: the slowest TPC-H view", "plan", _slowest_plan("tpch"), 30.0, True, "ms"),
    *(Target(f"{q}: rate against Pathway's", q, _ratio("pathway", OURS), 10.0, False, "x") for q in NEXMARK),
    *(Target(f"{q}: time against DuckDB's", q, _ratio(OURS, "duckdb"), 5.0, True, "x") for q in QUERIES),
    *(Target(f"{q}: rate against Pathway's", q, _ratio("pathway", OURS), 10.0, False, "x") for q in QUERIES),
    Target("churn: median step", "churn", _ours("seconds", 1e3), 1.5, True, "ms"),
    Target("churn: 99th percentile", "churn", _ours("p99_seconds", 1e3), 5.0, True, "ms"),
    Target("3-way join: median one-row step", "join3", _ours("seconds", 1e6), 150.0, True, "us"),
    Target(
        "closure: DuckDB's recompute against our step", "closure", _ratio("duckdb", OURS), 100.0, False, "x"
    ),
    Target("consolidate and index against Polars' sort", "sort", _ratio(OURS, "polars"), 1.5, True, "x"),
    Target(
        "merge of two indexed batches", "merge", _detail("rows_per_second", 1e-6), 60.0, False, "M rows/s"
    ),
    Target(
        "1,000 views, 3 of them concerned: a step against 3 views alone",
        "views1000",
        _detail("factor_of_three_alone"),
        3.0,
        True,
        "x",
    ),
    Target("growth: a step against 10x the state", "growth", _detail("worst_tenfold_factor"), 1.3, True, "x"),
    Target("memory: an (i64, i64) row", "memory", _detail("integer_pair_bytes"), 32.0, True, "bytes"),
    Target(
        "memory: a string beyond its bytes", "memory", _detail("beyond_string_bytes"), 24.0, True, "bytes"
    ),
    Target("import tailrace", "import", _ours("seconds", 1e3), 100.0, True, "ms"),
    Target("creating a view", "create_view", _ours("seconds", 1e3), 10.0, True, "ms"),
)
