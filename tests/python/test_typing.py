"""mypy --strict and pyright accept right programs and find the wrong lines of wrong ones, exactly those.

The programs stand in `typing/`. A line that must be found carries `# E` (both checkers) or `# E: mypy`, `# E: pyright`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = HERE / "typing"
SOURCE = HERE.parent.parent / "python"

pytest.importorskip("mypy")
pytest.importorskip("pyright")


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_checker_finds_exactly_the_marked_lines(checker: str) -> None:
    found = _mypy() if checker == "mypy" else _pyright()
    for program in ("good.py", "bad.py"):
        assert found.get(program, set()) == _marked(PROGRAMS / program, checker), program


def test_the_bad_programs_cover_what_is_promised() -> None:
    text = (PROGRAMS / "bad.py").read_text()
    for promise in ("misspelt column", "wrong type in a field", "wrong row class", "may be absent"):
        assert promise in text


def _marked(program: Path, checker: str) -> set[int]:
    lines = enumerate(program.read_text().splitlines(), start=1)
    return {number for number, line in lines if re.search(rf"# E(: {checker})?$", line)}


def _mypy() -> dict[str, set[int]]:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-version=3.10",
        "--no-error-summary",
    ]
    files = [str(PROGRAMS / "good.py"), str(PROGRAMS / "bad.py")]
    environment = {**os.environ, "MYPYPATH": str(SOURCE)}
    output = subprocess.run(
        [*command, "--follow-imports=silent", *files],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = re.findall(r"^(?:.*[/\\])?(\w+\.py):(\d+): error: (.*)$", output.stdout, re.MULTILINE)
    assert lines, output.stdout + output.stderr
    return _grouped([(name, int(number)) for name, number, _ in lines])


def _pyright() -> dict[str, set[int]]:
    command = [
        sys.executable,
        "-m",
        "pyright",
        "-p",
        str(PROGRAMS),
        "--pythonpath",
        sys.executable,
        "--outputjson",
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(output.stdout[output.stdout.index("{") :])
    errors = [entry for entry in report["generalDiagnostics"] if entry["severity"] == "error"]
    return _grouped([(Path(entry["file"]).name, entry["range"]["start"]["line"] + 1) for entry in errors])


def _grouped(places: list[tuple[str, int]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for name, line in places:
        found.setdefault(name, set()).add(line)
    return found
