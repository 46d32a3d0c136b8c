"""Starts workers and reads what they report.

Promises: a worker that fails or hangs becomes a value that says so; it never ends the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .contract import Settings

_PACKAGE_PARENT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Found:
    """What a worker reported, or why it did not."""

    values: dict[str, Any] = field(default_factory=dict)
    trouble: str | None = None


@dataclass(frozen=True)
class Workers:
    """How to start workers: an engine may have an interpreter of its own."""

    settings: Settings
    interpreters: Mapping[str, str]
    timeout_seconds: float

    def have(self, engine: str) -> bool:
        """Whether the engine is installed where it would run."""
        asks = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({engine!r}) is None)"
        command = [self.interpreters.get(engine, sys.executable), "-c", asks]
        return subprocess.run(command, cwd=_PACKAGE_PARENT, check=False).returncode == 0

    def measure(self, engine: str, bench: str) -> Found:
        """One process, one measurement."""
        return self._start(engine, bench)

    def answer(self, engine: str, bench: str, path: Path) -> Found:
        """One process that writes its result to `path`."""
        return self._start(engine, bench, str(path))

    def _start(self, engine: str, bench: str, *more: str) -> Found:
        interpreter = self.interpreters.get(engine, sys.executable)
        settings = json.dumps({**asdict(self.settings), "data": str(self.settings.data)})
        command = [interpreter, "-m", "harness.worker", engine, bench, settings, *more]
        try:
            done = subprocess.run(
                command,
                cwd=_PACKAGE_PARENT,
                capture_output=True,
                text=True,
                timeout=self.timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Found(trouble=f"gave up after {self.timeout_seconds:.0f} s")
        return _read(done)


def _read(done: subprocess.CompletedProcess[str]) -> Found:
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Found(trouble=last[0])
    return Found(json.loads(done.stdout.strip().splitlines()[-1]))
