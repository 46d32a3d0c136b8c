"""The engines by name: which module drives each, and which installed distribution it measures."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, cast

from .contract import NEXMARK, QUERIES, Answer, Run

OURS: Final = "tailrace"
ORACLE: Final = "duckdb"


class EngineModule(Protocol):
    """What every engine's module offers."""

    RUNS: Mapping[str, Run]
    ANSWERS: Mapping[str, Answer]


@dataclass(frozen=True)
class Engine:
    """One engine; its module is imported in the process that measures it and nowhere else."""

    name: str
    module: str
    benches: tuple[str, ...]

    def load(self) -> EngineModule:
        """Import the module that drives it."""
        return cast("EngineModule", importlib.import_module(f".{self.module}", __package__))

    @property
    def version(self) -> str:
        """As its distribution states it."""
        return importlib.metadata.version(self.name)


_OWN: Final = ("views1000", "merge", "growth", "memory", "import", "create_view", "plan")
_NOT_IN_PATHWAY: Final = ("nexmark_q06",)
"""A frame of the last ten rows of a partition."""
_PATHWAY_NEXMARK: Final = tuple(name for name in NEXMARK if name not in _NOT_IN_PATHWAY)

ENGINES: Final = {
    engine.name: engine
    for engine in (
        Engine(
            OURS, "tailrace_runs", (*QUERIES, "churn", "join3", "closure", "sort", *_OWN, "tpch", *NEXMARK)
        ),
        Engine(ORACLE, "duckdb_peer", (*QUERIES, "churn", "join3", "closure", "tpch", *NEXMARK)),
        Engine("polars", "polars_peer", (*QUERIES, "churn", "sort")),
        Engine("pathway", "pathway_peer", (*QUERIES, "churn", "closure", *_PATHWAY_NEXMARK)),
        Engine("bytewax", "bytewax_peer", (*QUERIES, "churn")),
    )
}
BENCHES: Final = ENGINES[OURS].benches
"""All benchmarks, in the order in which they run."""
