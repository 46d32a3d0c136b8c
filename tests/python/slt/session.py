"""One run of a `.slt` file: every record once as a statement, and every query as a view that lives through random changes.

Promises: `failures` gives for every record that does not behave the reason. A query is right if (a) its ad-hoc answer is the file's,
(b) its ad-hoc answer is DuckDB's, and (c) a view made of it on empty tables equals DuckDB after each step of a random road to the
file's data, and the file's rows at its end; a view made half-way on that road is held to the same. Where DuckDB does not have the
query (`skipif duckdb`), the view is held to the ad-hoc answer on the way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import duckdb
import pyarrow as pa

import tailrace as tr

from .answers import Row, difference, lines, matches, rendered
from .parse import Record
from .replay import Contents, Road

DEFINES = re.compile(r"\s*(CREATE|DROP|ALTER)\b", re.IGNORECASE)
HALF_WAY = 2


def failures(records: list[Record], seed: int = 0) -> dict[int, str]:
    """The reason of each record that does not behave, by its line."""
    session = Session(seed)
    for record in records:
        session.take(record)
    session.replay_group()
    return session.failed


def peer() -> duckdb.DuckDBPyConnection:
    """DuckDB with the division of integers that PostgreSQL and we have."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET integer_division = true")
    return connection


@dataclass
class Session:
    """Both engines in the middle of a file."""

    seed: int
    failed: dict[int, str] = field(default_factory=dict)
    definitions: list[Record] = field(default_factory=list)
    group: list[Record] = field(default_factory=list)
    ours: tr.Database = field(default_factory=tr.connect)
    theirs: duckdb.DuckDBPyConnection = field(default_factory=peer)

    def take(self, record: Record) -> None:
        """Run one record; queries also wait for their replay."""
        if "tailrace" in record.skips:
            return
        if not record.is_query:
            self.replay_group()
            self.note(record, self.stated(record))
            return
        if self.group and self.group[-1].detours != record.detours:
            self.replay_group()
        fault = self.asked(record)
        self.note(record, fault)
        if not fault:
            self.group.append(record)

    def note(self, record: Record, fault: str) -> None:
        if fault:
            self.failed.setdefault(record.line, fault)

    def stated(self, record: Record) -> str:
        """A statement on both engines, which then hold the same tables."""
        told = attempt(lambda: self.ours.execute(record.sql))
        if "duckdb" not in record.skips:
            theirs = attempt(lambda: self.theirs.execute(record.sql))
            if bool(theirs) != (record.kind == "error") and record.kind != "maybe":
                return f"the file is wrong: DuckDB says {theirs or 'nothing'}"
        if record.kind == "ok" and not told and DEFINES.match(record.sql):
            self.definitions.append(record)
        return judged(record, told) or self.tables_differ()

    def tables_differ(self) -> str:
        """The first table whose rows are not the same on both sides."""
        for name in table_names(self.theirs):
            wanted = self.theirs.execute(f'SELECT * FROM "{name}"').fetchall()
            try:
                fault = difference(self.ours.execute(f'SELECT * FROM "{name}"').fetchall(), wanted)
            except tr.Error as error:
                fault = str(error)
            if fault:
                return f"table {name}: {fault}"
        return ""

    def asked(self, record: Record) -> str:
        """A query as a statement, against the file and against DuckDB."""
        try:
            rows = self.ours.execute(record.sql).fetchall()
        except tr.Error as error:
            return f"refused: {error}"
        if record.expected is not None and (fault := unlike(rows, record)):
            return f"ad hoc: {fault}"
        if "duckdb" in record.skips:
            return ""
        return prefixed(
            "ad hoc against DuckDB: ", difference(rows, self.theirs.execute(record.sql).fetchall())
        )

    def replay_group(self) -> None:
        """The queries since the last statement as views."""
        group, self.group = self.group, []
        if group:
            tables = [contents(self.theirs, name) for name in table_names(self.theirs)]
            self.replayed(group, tables)

    def replayed(self, group: list[Record], tables: list[Contents]) -> None:
        try:
            replay = Replay(self.definitions, group, tables, self.seed)
            self.failed.update(replay.run())
        except tr.Error as error:
            if len(group) == 1:
                self.note(group[0], f"a step failed: {type(error).__name__}: {error}")
                return
            middle = len(group) // 2
            self.replayed(group[:middle], tables)
            self.replayed(group[middle:], tables)


class Replay:
    """Views of a group of queries on a random road from empty tables to the file's data."""

    def __init__(
        self, definitions: list[Record], group: list[Record], tables: list[Contents], seed: int
    ) -> None:
        self.ours, self.theirs, self.tables = tr.connect(), peer(), tables
        for record in definitions:
            self.ours.execute(record.sql)
            if "duckdb" not in record.skips:
                self.theirs.execute(record.sql)
        self.failed: dict[int, str] = {}
        self.views: dict[str, Record] = {}
        self.group = group
        self.road = Road(tables, crc32(group[0].sql.encode()) + seed, group[0].detours)

    def run(self) -> dict[int, str]:
        """Walk the road; the failures by line."""
        self.create("early")
        for number, (batch, state) in enumerate(self.road):
            if number == HALF_WAY:
                self.create("late")
            self.ours.apply(batch)
            self.mirror(state)
            self.compare(number)
        for name, record in self.views.items():
            if record.expected is not None and record.sort != "nosort":
                self.note(record, unlike(self.rows(name), record), f"view {name} at the end")
        return self.failed

    def create(self, prefix: str) -> None:
        for record in self.group:
            name = f"{prefix}_{record.line}"
            told = attempt(lambda name=name, record=record: self.ours.create_view(name, record.sql))
            self.note(record, told, "as a view")
            if not told:
                self.views[name] = record

    def note(self, record: Record, fault: str, where: str) -> None:
        if fault:
            self.failed.setdefault(record.line, f"{where}: {fault}")

    def mirror(self, state: dict[str, list[Row]]) -> None:
        """Bring DuckDB to the same contents."""
        for table in self.tables:
            fill(self.theirs, table, state[table.name])

    def compare(self, step: int) -> None:
        wanted: dict[int, list[Row]] = {}
        for name, record in self.views.items():
            if record.line not in wanted:
                wanted[record.line] = self.wanted(record)
            self.note(
                record, difference(self.rows(name), wanted[record.line]), f"view {name} after step {step}"
            )

    def wanted(self, record: Record) -> list[Row]:
        engine: Any = self.ours if "duckdb" in record.skips else self.theirs
        return engine.execute(record.sql).fetchall()

    def rows(self, name: str) -> list[Row]:
        table = self.ours.view(name).snapshot()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def attempt(run: Any) -> str:
    """The message of the error that a call ends with, or the empty text."""
    try:
        run()
    except (tr.Error, duckdb.Error) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def judged(record: Record, told: str) -> str:
    if record.kind == "error":
        if not told:
            return "an error was expected"
        return "" if re.search(record.error, told) else f"the error does not match {record.error!r}: {told}"
    return told if record.kind == "ok" else ""


def unlike(rows: list[Row], record: Record) -> str:
    """How an answer is not the file's."""
    expected = record.expected or ()
    try:
        texts = rendered(rows, record.types, record.sort)
    except (ValueError, TypeError) as error:
        return f"not of the types {record.types}: {error}: {rows[:3]}"
    return "" if matches(texts, expected) else f"got {lines(texts)[:8]} expected {list(expected)[:8]}"


def prefixed(prefix: str, fault: str) -> str:
    return prefix + fault if fault else ""


def table_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1"
    ).fetchall()
    return [row[0] for row in rows]


def contents(connection: duckdb.DuckDBPyConnection, name: str) -> Contents:
    """A table of DuckDB with its key and rows."""
    columns = connection.execute(f"PRAGMA table_info('{name}')").fetchall()
    key = tuple(column[0] for column in columns if column[5])
    rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
    return Contents(name, tuple(column[1] for column in columns), key, tuple(rows))


def fill(connection: duckdb.DuckDBPyConnection, table: Contents, rows: list[Row]) -> None:
    """Replace the rows of a table of DuckDB."""
    connection.execute(f'DELETE FROM "{table.name}"')
    if rows:
        schema = connection.sql(f'SELECT * FROM "{table.name}" LIMIT 0').to_arrow_table().schema
        columns = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        incoming = pa.table(columns, schema=schema)
        connection.register("incoming", incoming)
        connection.execute(f'INSERT INTO "{table.name}" SELECT * FROM incoming')
        connection.unregister("incoming")
