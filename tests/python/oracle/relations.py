"""The rows of the oracle: a table with a key, a bag without one, and the relation that all operators pass on."""

from __future__ import annotations

import tailrace as tr


class Keyed(tr.Row, table="keyed"):
    id: int = tr.key()
    a: int | None
    b: int | None
    f: float | None
    s: str | None


class Bag(tr.Row, table="bag"):
    a: int | None
    b: int | None
    f: float | None
    s: str | None


class Rel(tr.Row):
    a: int | None
    b: int | None
    f: float | None
    s: str | None


COLUMNS = ("a", "b", "f", "s")
SQL_TYPES = {"a": "BIGINT", "b": "BIGINT", "f": "DOUBLE", "s": "VARCHAR"}
KINDS = {"a": "int", "b": "int", "f": "float", "s": "str"}
