"""Whether the engines compute the same thing: every answer against DuckDB's, as bags of rows.

It runs on a smaller input than the measurements, with the same programs. Columns are matched by name, and only those that
the oracle has are compared; floats may be off by rounding in the last place, so they are compared in single precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from .engines import ENGINES, ORACLE
from .nexmark import read_arrow
from .process import Workers


def disagreements(
    workers: Workers, engines: Iterable[str], benches: Iterable[str], directory: Path
) -> Iterator[str]:
    """A sentence for every engine and benchmark that could not be compared or differs."""
    wanted = [engine for engine in engines if engine != ORACLE]
    for bench in benches:
        if bench not in ENGINES[ORACLE].benches:
            continue
        oracle = directory / f"{ORACLE}-{bench}.arrow"
        trouble = workers.answer(ORACLE, bench, oracle).trouble
        if trouble:
            yield f"{bench}: no answer from {ORACLE}: {trouble}"
            continue
        for engine in wanted:
            if bench in ENGINES[engine].benches:
                yield from _compared(workers, engine, bench, oracle)


def difference(oracle: Path, other: Path) -> tuple[int, int]:
    """How many rows of the oracle's answer are missing in the other, and how many of the other's are too many."""
    with duckdb.connect() as db:
        expected, found = read_arrow(oracle), read_arrow(other)
        db.register("expected", expected)
        db.register("found", found)
        columns = ", ".join(_comparable(row[0], row[1]) for row in db.sql("DESCRIBE expected").fetchall())
        sides = [f"SELECT {columns} FROM {table}" for table in ("expected", "found")]
        return _count_except(db, *sides), _count_except(db, *reversed(sides))


def _compared(workers: Workers, engine: str, bench: str, oracle: Path) -> Iterator[str]:
    path = oracle.with_name(f"{engine}-{bench}.arrow")
    trouble = workers.answer(engine, bench, path).trouble
    if trouble:
        yield f"{bench}: no answer from {engine}: {trouble}"
        return
    missing, surplus = difference(oracle, path)
    if missing or surplus:
        yield f"{bench}: {engine} lacks {missing} rows of {ORACLE}'s answer and has {surplus} that are not in it"


def _comparable(name: str, kind: str) -> str:
    real = kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL")
    return f'CAST("{name}" AS FLOAT)' if real else f'"{name}"'


def _count_except(db: duckdb.DuckDBPyConnection, left: str, right: str) -> int:
    row = db.execute(f"SELECT count(*) FROM (({left}) EXCEPT ALL ({right}))").fetchone()
    return int(row[0]) if row else 0
