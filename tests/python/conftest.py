"""What the Python tests share: a database per test, and the count of random steps.

The random tests of Rust and Python append the number of their steps to the file that `TAILRACE_STEPS` names
(`tests/random.rs` says what a step is). Pytest runs last in `make test`: it shows the sum, and fails the run if it is below
`TAILRACE_STEPS_AT_LEAST`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailrace as tr


@pytest.fixture
def db() -> Iterator[tr.Database]:
    """An empty database."""
    with tr.connect() as database:
        yield database


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Too few random steps fail the run; workers leave the judgement to the process that started them."""
    least = os.environ.get("TAILRACE_STEPS_AT_LEAST")
    if least and not hasattr(session.config, "workerinput") and _steps() < int(least):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The sum of all random steps."""
    if os.environ.get("TAILRACE_STEPS"):
        least = os.environ.get("TAILRACE_STEPS_AT_LEAST") or "0"
        terminalreporter.write_line(
            f"random steps compared with a reference: {_steps():,} (at least {int(least):,})"
        )


def _steps() -> int:
    path = Path(os.environ.get("TAILRACE_STEPS") or os.devnull)
    return sum(int(line) for line in path.read_text().split()) if path.exists() else 0
