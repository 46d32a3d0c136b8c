"""The examples run, and the demo tells what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path) -> None:
    found = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


def test_the_demo_shows_changes_and_proves_itself() -> None:
    command = [sys.executable, "-m", "tailrace", "demo", "--orders", "20000"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "Customer 7 moves to Japan" in found.stdout
    assert "the revenue is the same" in found.stdout


def test_the_command_line_lists_its_commands() -> None:
    found = subprocess.run([sys.executable, "-m", "tailrace"], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "demo" in found.stdout


@pytest.mark.parametrize("module", ["pyarrow", "pandas", "numpy", "asyncio"])
def test_import_leaves_what_is_slow_for_later(module: str) -> None:
    """The time itself is measured by the benchmarks."""
    code = f"import sys, tailrace; print({module!r} in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
