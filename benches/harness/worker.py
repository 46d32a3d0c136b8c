"""One engine, one benchmark, one process: `python -m harness.worker ENGINE BENCH SETTINGS [ANSWER_FILE]`.

A process of its own keeps engines from sharing threads, memory or a warm allocator, makes the peak of memory meaningful,
and lets an engine live in another interpreter. The last line of its output is a JSON object; whatever an engine
prints stands before it.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .contract import Settings
from .engines import ENGINES, Engine
from .nexmark import write_arrow


def main(arguments: list[str]) -> None:
    """Measure, or compute the answer into a file."""
    name, bench, settings_text, *answer_file = arguments
    engine = ENGINES[name]
    settings = _settings(settings_text)
    if answer_file:
        write_arrow(engine.load().ANSWERS[bench](settings), Path(answer_file[0]))
        _report({"answer": answer_file[0]})
    else:
        _report(_measured(engine, bench, settings))


def _measured(engine: Engine, bench: str, settings: Settings) -> dict[str, Any]:
    found = engine.load().RUNS[bench](settings)
    return {**asdict(found), "peak_mib": _peak_mib(), "version": engine.version}


def _settings(text: str) -> Settings:
    values = json.loads(text)
    return Settings(**{**values, "data": Path(values["data"]), "tpch": tuple(values["tpch"])})


def _peak_mib() -> float:
    """On Linux the kernel's own mark: what `getrusage` says there starts with the peak of the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def _report(found: dict[str, Any]) -> None:
    print(flush=True)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
