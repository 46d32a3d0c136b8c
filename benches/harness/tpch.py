"""TPC-H at any scale, and changes of it that can be taken back.

Promises: equal for all engines of one scale. A change concerns a thousandth of the rows of every table but nation and region: a half of
a thousandth of the orders leaves with its lines and as much comes in; customers, parts, suppliers and what they supply get new values.
Every change has a way back, so that any number of steps can be timed for any number of queries and the data is the same afterwards.

Which rows: a hash of the key decides, so that no random state is shared between processes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

SQL: Final = Path(__file__).resolve().parents[2] / "tests" / "sql" / "tpch"
CHANGES: Final = 4
"""How many different changes there are; each is also taken back."""
KEYS: Final = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "customer": ("c_custkey",),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
_EXCHANGED: Final = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
_NEW_VALUES: Final = {
    "customer": "-c_acctbal AS c_acctbal, (c_nationkey + 1) % 25 AS c_nationkey",
    "part": "p_size % 50 + 1 AS p_size, p_retailprice + 1 AS p_retailprice",
    "supplier": "s_acctbal + 1 AS s_acctbal, (s_nationkey + 1) % 25 AS s_nationkey",
    "partsupp": "ps_availqty + 1 AS ps_availqty, ps_supplycost + 1 AS ps_supplycost",
}
_MILLION: Final = 1_000_000
_SHARE: Final = 1_000  # of a million


@dataclass(frozen=True)
class TableChange:
    """Keys that leave, and rows that are put in place of those with the same key."""

    gone: pa.Table
    rows: pa.Table


Change = dict[str, TableChange]


@dataclass(frozen=True)
class Tpch:
    """The generated files of one scale; nothing is read before it is asked for."""

    directory: Path

    def base(self, table: str) -> pa.Table:
        """The rows before any change."""
        kept = f"{_bucket(table)} >= {CHANGES * _SHARE // 2}" if table in _EXCHANGED else "true"
        return self._rows(table, "*", kept)

    def steps(self, queries: Iterable[str]) -> list[Change]:
        """Every change there and back, of the tables that these queries read."""
        read = {table for name in queries for table in tables_of(name)}
        concerned = [table for table in KEYS if table in read & {*_EXCHANGED, *_NEW_VALUES}]
        pairs = [{table: self._change(table, number) for table in concerned} for number in range(CHANGES)]
        ways = [[{t: pair[t][way] for t in pair} for way in (0, 1)] for pair in pairs]
        return [step for there_and_back in ways for step in there_and_back]

    def _change(self, table: str, number: int) -> tuple[TableChange, TableChange]:
        """One table's part of a change, and the way back."""
        if table in _EXCHANGED:
            half = _SHARE // 2
            incoming = self._rows(table, "*", _within(table, number * half, half))
            leaving = self._rows(table, "*", _within(table, _MILLION // 2 + number * half, half))
            return _exchange(table, leaving, incoming), _exchange(table, incoming, leaving)
        chosen = _within(table, number * _SHARE, _SHARE)
        before = self._rows(table, "*", chosen)
        after = self._rows(table, f"* REPLACE ({_NEW_VALUES[table]})", chosen).cast(before.schema)
        none = before.select(list(KEYS[table])).slice(0, 0)
        return TableChange(none, after), TableChange(none, before)

    def _rows(self, table: str, columns: str, where: str) -> pa.Table:
        """In the types of the schema: the generator's files have narrower ones here and there."""
        with duckdb.connect() as db:
            db.execute(schema())
            types = db.sql(f"SELECT * FROM {table}").to_arrow_table().schema
            listed = f"SELECT {', '.join(types.names)} FROM '{self.directory}/{table}.parquet'"
            found = db.sql(f"SELECT {columns} FROM ({listed}) WHERE {where}").to_arrow_table()
            return found.cast(types).combine_chunks()


def stored(scale: float, directory: Path) -> Tpch:
    """The data of a scale, generated at the first call."""
    path = directory / f"tpch-{scale:g}"
    if not (path / "lineitem.parquet").exists():
        generate(scale, path)
    return Tpch(path)


def generate(scale: float, directory: Path) -> None:
    """Let `tpchgen-cli` write all tables as Parquet files; they appear all at once, so that a stopped run leaves none."""
    beside = Path(sys.executable).parent
    tool = shutil.which("tpchgen-cli", path=str(beside)) or shutil.which("tpchgen-cli")
    if tool is None:
        raise FileNotFoundError("tpchgen-cli is missing: requirements/dev.txt names it")
    unfinished = directory.with_name(directory.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = [tool, "parquet", "-s", f"{scale:g}", "--output-dir", str(unfinished)]
    subprocess.run(command, check=True, capture_output=True)
    unfinished.rename(directory)


def schema() -> str:
    """The statements that make all tables."""
    return (SQL / "schema.sql").read_text()


def query(name: str) -> str:
    """The text of a query."""
    return (SQL / f"{name}.sql").read_text()


def tables_of(name: str) -> list[str]:
    """The tables that a query reads."""
    words = set(re.findall(r"\w+", query(name).lower()))
    return [table for table in KEYS if table in words]


def part_of(change: Change, name: str) -> Change:
    """What a query has to do with of a change."""
    return {table: change[table] for table in tables_of(name) if table in change}


def _exchange(table: str, leaving: pa.Table, incoming: pa.Table) -> TableChange:
    return TableChange(leaving.select(list(KEYS[table])), incoming)


def _bucket(table: str) -> str:
    """A number below a million that belongs to a row; a line has the one of its order."""
    return f"hash({_EXCHANGED.get(table, KEYS[table][0])}) % {_MILLION}"


def _within(table: str, first: int, count: int) -> str:
    return f"{_bucket(table)} BETWEEN {first} AND {first + count - 1}"
