"""A case lived through in both engines: after every step the views, the sums of their changes and DuckDB agree.

`DisagreementError` says what differs. Where DuckDB's answer with its optimizer is another one than without, DuckDB contradicts itself;
ours must then be one of the two. What DuckDB cannot run is compared with our own ad-hoc answer alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import tailrace as tr

from ..slt.answers import Row, bag, difference
from .cases import Case
from .changes import Model
from .refusals import allowed
from .schema import Table

HALF_WAY = 2
FAMILIES = {
    "bool": "boolean", "varchar": "text", "string": "text", "large_string": "text", "date": "date", "timestamp": "timestamp",
    "decimal": "number", "double": "number", "float": "number", "int": "number", "uint": "number", "bigint": "number",
    "hugeint": "number", "ubigint": "number", "uinteger": "number", "smallint": "number", "tinyint": "number",
}  # fmt: skip


class DisagreementError(AssertionError):
    """Both engines do not agree, or we refuse what we should not."""


class Peer:
    """DuckDB, kept from case to case: to open one costs more than a case."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET integer_division = true; SET order_by_non_integer_literal = true")

    def start(self, case: Case) -> bool:
        """Make the tables and views anew; whether DuckDB has all that the case needs."""
        self._open()
        try:
            for table in case.tables:
                self.connection.execute(table.definition)
            for name, view in case.views:
                self.connection.execute(f"CREATE VIEW {name} AS {view.text}")
            self.connection.execute(f"EXPLAIN {case.query.text}")
        except duckdb.Error:
            return False
        return True

    def fill(self, table: Table, rows: list[tuple[Any, ...]]) -> None:
        """Replace the rows of a table."""
        self.connection.execute(f"DELETE FROM {table.name}")
        if rows:
            marks = ", ".join("?" for _ in table.columns)
            self.connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)

    def answers(self, sql: str) -> Iterator[list[Row]]:
        """What it says with its optimizer and, if anybody asks on, without; nothing where it fails."""
        for optimizer in ("enable_optimizer", "disable_optimizer"):
            try:
                self.connection.execute(f"PRAGMA {optimizer}")
                yield self.connection.execute(sql).fetchall()
            except duckdb.Error:
                return


class Life:
    """One case in both engines."""

    def __init__(self, case: Case, peer: Peer) -> None:
        self.case, self.peer = case, peer
        self.known = peer.start(case)
        self.model = Model(case.tables)
        self.summed: Counter[Row] = Counter()
        self.steps = 0

    def run(self, rng: Random, steps: int) -> str:
        """Take all steps; the reason if the case was refused, for one that is allowed."""
        with tr.connect() as self.ours:
            for table in self.case.tables:
                self.ours.execute(table.definition)
            refused = self._define()
            if refused:
                return refused
            for number in range(steps):
                if number == HALF_WAY:
                    self.ours.create_view("late", self.case.query.text)
                self._step(rng, most=12 if number == 0 else 4)
            self._ask()
        return ""

    def _define(self) -> str:
        """Make the views; a refusal must be one that DuckDB shares or that is listed."""
        try:
            for name, view in self.case.views:
                self.ours.execute(f"CREATE VIEW {name} AS {view.text}")
            self.ours.create_view("early", self.case.query.text)
        except tr.Error as error:
            if isinstance(error, tr.InternalError):
                raise DisagreementError(f"{error}") from error
            if self.known and not allowed(str(error)):
                raise DisagreementError(f"only we refuse it: {type(error).__name__}: {error}") from error
            return str(error)
        self._compare_types()
        self._sum(self.ours.view("early").snapshot(weighted=True))
        return ""

    def _compare_types(self) -> None:
        """Values that print alike may differ in type; all numbers are one family, because engines widen them differently."""
        if not self.known:
            return
        described = self.peer.connection.execute(f"DESCRIBE {self.case.query.text}").fetchall()
        wanted = [family(str(row[1])) for row in described]
        found = [family(str(field.type)) for field in self.ours.view("early").schema]
        if found != wanted:
            raise DisagreementError(f"the types are {found}, DuckDB's are {wanted}")

    def _step(self, rng: Random, most: int) -> None:
        batch = self.model.batch(rng, most)
        for table in self.case.tables:
            self.peer.fill(table, self.model.tuples(table))
        changes = self.ours.apply(batch)
        if "early" in changes:
            self._sum(changes["early"].delta)
        self._compare()
        self.steps += 1

    def _sum(self, delta: pa.Table) -> None:
        """Add a change to the sum of all changes."""
        for *row, weight in rows_of(delta):
            if weight == 0:
                raise DisagreementError(f"a row of weight 0 in a change: {row}")
            (key,) = bag([tuple(row)])
            self.summed[key] += weight

    def _compare(self) -> None:
        early = rows_of(self.ours.view("early").snapshot())
        summed = Counter({row: weight for row, weight in self.summed.items() if weight})
        if summed != bag(early):
            raise DisagreementError(
                f"the sum of changes is not the view: {summed - bag(early)} {bag(early) - summed}"
            )
        self._hold(early, "early")
        if "late" in self.ours.views:
            late = rows_of(self.ours.view("late").snapshot())
            if bag(late) != bag(early):
                raise DisagreementError(f"a view made later differs: {difference(late, early)}")

    def _ask(self) -> None:
        """The query as a statement."""
        asked = self.ours.execute(self.case.query.text).fetchall()
        early = rows_of(self.ours.view("early").snapshot())
        if fault := difference(asked, early):
            raise DisagreementError(f"the statement differs from the view: {fault}")

    def _hold(self, rows: list[Row], view: str) -> None:
        """Our rows must be DuckDB's."""
        faults = []
        for wanted in self.peer.answers(self.case.query.text) if self.known else ():
            fault = difference(rows, wanted)
            if not fault:
                return
            faults.append(fault)
        if faults:
            raise DisagreementError(f"{view} differs from DuckDB: {faults[0]}")


def family(name: str) -> str:
    """What a type is called in both engines, without its width."""
    plain = name.lower().partition("(")[0].partition("[")[0]
    for prefix, known in FAMILIES.items():
        if plain.startswith(prefix):
            return known
    return plain


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
