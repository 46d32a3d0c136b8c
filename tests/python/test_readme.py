"""The documents are true: every Python block of README.md and docs/*.md runs, in order, and prints what it says.

The blocks of one document share one namespace, as a reader would type them one after the other. A block fenced as `text` right
after a Python block is what that block prints.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A Python block: its code, the line it starts at, and what it prints, if the document says so."""

    code: str
    line: int
    prints: str | None


def blocks(text: str) -> list[Block]:
    """The Python blocks of a document."""
    fences = list(FENCE.finditer(text))
    return [
        Block(fence[2], text.count("\n", 0, fence.start(2)) + 1, printed(text, fence, after))
        for fence, after in zip_longest(fences, fences[1:])
        if fence[1] == "python"
    ]


def printed(text: str, fence: re.Match[str], after: re.Match[str] | None) -> str | None:
    """The text block that follows with nothing but white space between, else None."""
    if after is None or after[1] != "text" or text[fence.end() : after.start()].strip():
        return None
    return after[2]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_python_of_a_document_runs_and_prints_what_it_says(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Classes look up their annotations through the module they name, so the namespace has to be a real module.
    module = types.ModuleType("document")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(document.read_text(encoding="utf-8")):
        output = io.StringIO()
        # Blank lines before the code make line numbers in a traceback those of the document.
        code = compile("\n" * (block.line - 1) + block.code, str(document), "exec")
        with contextlib.redirect_stdout(output):
            exec(code, module.__dict__)
        if block.prints is not None:
            assert output.getvalue() == block.prints, f"{document.name}, line {block.line}"


def test_blocks_are_found_with_their_line_and_output() -> None:
    text = "# T\n```python\nprint(1)\n```\n\n```text\n1\n```\nand\n```python\nx = 2\n```\n"
    assert blocks(text) == [Block("print(1)\n", 3, "1\n"), Block("x = 2\n", 11, None)]


def test_the_readme_has_an_example() -> None:
    assert blocks(DOCUMENTS[0].read_text(encoding="utf-8"))
