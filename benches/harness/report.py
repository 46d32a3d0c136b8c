"""A run as text and as JSON.

The table has a line for each benchmark and engine, with the engine's time as a multiple of ours (or of DuckDB's, while ours
is missing); under it stand the targets. The JSON holds the same and what is needed to repeat the run.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from .contract import NEXMARK, TPCH, Settings
from .engines import ORACLE, OURS
from .targets import Findings, verdicts

_HEADINGS: Final = ("benchmark", "engine", "time", "99 %", "CPU", "load", "peak MiB", "times ours")


def text(found: Findings) -> str:
    """The table and the targets."""
    lines = [_HEADINGS, *(line for bench, engines in found.items() for line in _lines(bench, engines))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADINGS))]
    table = [_aligned(line, widths) for line in lines]
    return "\n".join(
        [
            table[0],
            "-" * len(table[0]),
            *table[1:],
            *_details(found),
            *_tpch(found),
            *_nexmark(found),
            *_targets(found),
        ]
    )


def write(found: Findings, troubles: list[str], settings: Settings, directory: Path) -> Path:
    """Write the run as JSON, named after the time, and say where."""
    now = datetime.now(timezone.utc)
    path = directory / f"{now:%Y%m%dT%H%M%SZ}.json"
    run = {
        "at": now.isoformat(),
        "machine": machine(),
        "settings": {name: value for name, value in asdict(settings).items() if name != "data"},
        "found": found,
        "targets": [
            {
                "claim": v.target.claim,
                "value": v.value,
                "bound": v.target.bound,
                "unit": v.target.unit,
                "met": v.met,
            }
            for v in verdicts(found)
        ],
        "troubles": troubles,
    }
    path.write_text(json.dumps(run, indent=2) + "\n")
    return path


def machine() -> dict[str, Any]:
    """What the figures depend on; the load shows whether others were at work."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def seconds(value: float | None) -> str:
    """A time in the unit that reads best."""
    if value is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def _lines(bench: str, engines: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    base = engines.get(OURS) or engines.get(ORACLE)
    for engine, values in engines.items():
        yield (
            bench,
            f"{engine} {values['version']}",
            seconds(values["seconds"]),
            seconds(values["p99_seconds"]),
            seconds(values["cpu_seconds"]),
            seconds(values["load_seconds"]),
            f"{values['peak_mib']:.0f}",
            f"{values['seconds'] / base['seconds']:.2f}" + ("" if OURS in engines else " (DuckDB's)")
            if base
            else "",
        )


def _details(found: Findings) -> Iterator[str]:
    for bench, engines in found.items():
        for engine, values in engines.items():
            if values["details"] and bench not in ("tpch", *NEXMARK):
                listed = ", ".join(f"{name} {value:.4g}" for name, value in values["details"].items())
                yield f"{bench}, {engine}: {listed}"


def _tpch(found: Findings) -> Iterator[str]:
    """TPC-H query by query, the one with the least gain first."""
    engines = found.get("tpch", {})
    if OURS not in engines or ORACLE not in engines:
        return
    ours, theirs = engines[OURS]["details"], engines[ORACLE]["details"]
    names = [name for name in TPCH if f"{name}_seconds" in ours and f"{name}_seconds" in theirs]
    yield "TPC-H    our step  recompute   ratio   fill"
    for name in sorted(names, key=lambda name: theirs[f"{name}_seconds"] / ours[f"{name}_seconds"]):
        step, again = ours[f"{name}_seconds"], theirs[f"{name}_seconds"]
        times = f"{seconds(step):>10} {seconds(again):>10} {again / step:>7.2f}"
        yield f"{name:6} {times} {seconds(ours[f'{name}_fill_seconds']):>8}"


def _nexmark(found: Findings) -> Iterator[str]:
    """The Nexmark queries in events a second, beside Pathway's rate and DuckDB's whole recomputation."""
    names = [name for name in NEXMARK if OURS in found.get(name, {})]
    if names:
        yield "Nexmark          events/s    MiB  Pathway: events/s   ratio  DuckDB recomputes in"
    for name in names:
        ours, pathway, duckdb = (found[name].get(engine) for engine in (OURS, "pathway", ORACLE))
        rate = ours["details"]["events_per_second"] if ours else 0.0
        other = pathway["details"]["events_per_second"] if pathway else None
        beside = f"{other:>18,.0f} {rate / other:>7.1f}" if other else f"{'':>26}"
        again = seconds(duckdb["seconds"]) if duckdb else ""
        yield f"{name:12} {rate:>12,.0f} {ours['peak_mib'] if ours else 0:>6.0f} {beside} {again:>10}"


def _targets(found: Findings) -> Iterator[str]:
    for verdict in verdicts(found):
        target = verdict.target
        sign = "<=" if target.at_most else ">="
        mark = "met   " if verdict.met else "MISSED"
        yield f"{mark} {target.claim}: {verdict.value:.3g} {target.unit} ({sign} {target.bound:g})"


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    cells = (
        cell.ljust(w) if i < 2 else cell.rjust(w)
        for i, (cell, w) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _processor() -> str:
    """The model's name where the system tells it (Linux), else the kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
