"""The sqllogictest format: a text becomes a list of records.

Promises: every record of the public dialects that the corpora use is read (`statement ok|error|maybe`, `query` with types, sort
mode and label, `----`, results by value, by row or as a hash, `skipif`, `onlyif`, `halt`, `hash-threshold`, `control`); what is not
understood is an error with its line, never skipped in silence.

Two additions are our own: the comment `# xfail: reason` before a record says that it fails today and why, and `control detours off`
says that queries after it see no invented rows, because they are only defined on rows of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

SORTS = ("nosort", "rowsort", "valuesort")
OPENERS = ("statement", "query", "skipif", "onlyif", "halt", "hash-threshold", "control", "mode", "#")


@dataclass(frozen=True)
class Record:
    """One statement or query, with what is expected of it."""

    line: int
    kind: str
    sql: str
    types: str = ""
    sort: str = "nosort"
    expected: tuple[str, ...] | None = None
    error: str = ""
    xfail: str = ""
    skips: frozenset[str] = frozenset()
    detours: bool = True

    @property
    def is_query(self) -> bool:
        """Whether rows are expected."""
        return self.kind == "query"


class FormatError(ValueError):
    """A line that the format does not have."""


@dataclass(frozen=True)
class Marks:
    """What the lines before a record say about it."""

    xfail: str = ""
    skips: frozenset[str] = frozenset()


def read(path: Path, engines: tuple[str, ...] = ("tailrace", "duckdb")) -> list[Record]:
    """The records of a file; `engines` are the names that `skipif` and `onlyif` may tell apart."""
    return parse(path.read_text(), engines)


def parse(text: str, engines: tuple[str, ...] = ("tailrace", "duckdb")) -> list[Record]:
    """The records of a text, up to `halt`."""
    records: list[Record] = []
    marks, detours = Marks(), True
    for line, block in blocks(text):
        body = list(block)
        while body and body[0].split()[0] in {"skipif", "onlyif", "#", "control", "hash-threshold", "mode"}:
            head = body.pop(0)
            line += 1  # noqa: PLW2901 (the record starts after its marks)
            marks = marked(marks, head, engines)
            detours = {"control detours off": False, "control detours on": True}.get(head.strip(), detours)
        if body and body[0].split()[0] == "halt":
            if not halted(marks, engines):
                marks = Marks()
                continue
            break
        if body:
            found = record(line, body)
            records.append(replace(found, xfail=marks.xfail, skips=marks.skips, detours=detours))
            marks = Marks()
    return records


def blocks(text: str) -> list[tuple[int, list[str]]]:
    """The paragraphs of a text with the number of their first line."""
    found: list[tuple[int, list[str]]] = []
    fresh = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            fresh = True
            continue
        if fresh:
            found.append((number, []))
        found[-1][1].append("# " + line[1:].strip() if line.startswith("#") else line)
        fresh = False
    return found


def marked(marks: Marks, line: str, engines: tuple[str, ...]) -> Marks:
    """The marks with one line more."""
    words = line.split()
    if words[0] == "skipif":
        return replace(marks, skips=marks.skips | {words[1]})
    if words[0] == "onlyif":
        return replace(marks, skips=marks.skips | {name for name in engines if name != words[1]})
    if line.startswith("# xfail:"):
        return replace(marks, xfail=line.removeprefix("# xfail:").strip())
    return marks


def halted(marks: Marks, engines: tuple[str, ...]) -> bool:
    return engines[0] not in marks.skips


def record(line: int, block: list[str]) -> Record:
    """One statement or query."""
    words = block[0].split()
    if words[0] == "statement" and len(words) >= 2 and words[1] in {"ok", "error", "maybe", "count"}:
        return statement(line, words, block[1:])
    if words[0] == "query" and len(words) >= 2:
        return query(line, words, block[1:])
    raise FormatError(f"line {line}: {block[0]!r} is no record; a record starts with one of {OPENERS}")


def statement(line: int, words: list[str], body: list[str]) -> Record:
    sql, told = split(body)
    pattern = " ".join(words[2:]) if words[1] == "error" else ""
    return Record(line, words[1], sql, error=pattern or "\n".join(told or ()))


def query(line: int, words: list[str], body: list[str]) -> Record:
    sql, expected = split(body)
    if words[1] == "error":
        return Record(line, "error", sql, error=" ".join(words[2:]) or "\n".join(expected or ()))
    sort = next((word for word in words[2:] if word in SORTS), "nosort")
    return Record(line, "query", sql, words[1], sort, None if expected is None else tuple(expected))


def split(body: list[str]) -> tuple[str, list[str] | None]:
    """The SQL before `----` and the lines after it; None if there is no such line."""
    if "----" not in body:
        return "\n".join(body), None
    at = body.index("----")
    return "\n".join(body[:at]), body[at + 1 :]
