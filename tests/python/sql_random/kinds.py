"""The types of random columns, and their values.

Promises: domains are small, so that joins meet and groups gather; decimals and doubles are multiples of a quarter, so that every
engine computes them without rounding in any order.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any


class Kind(Enum):
    """A type by its name in SQL."""

    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DECIMAL = "DECIMAL(9, 2)"
    DOUBLE = "DOUBLE"
    VARCHAR = "VARCHAR"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    BOOLEAN = "BOOLEAN"


NUMBERS = (Kind.INTEGER, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)
INTEGERS = (Kind.INTEGER, Kind.BIGINT)
TEXTS = ("a", "b", "", "ab", "B", "é", "a b", "abc", "10")
DAYS = tuple(date(2024, 2, 27) + timedelta(days=days) for days in (0, 1, 2, 3, 40))
MOMENTS = tuple(datetime(2024, 2, 28, 12) + timedelta(hours=hours) for hours in (0, 6, 12, 30, 31))
PATTERNS = ("%", "a%", "%b", "_", "%a%", "a_", "")

VALUES: dict[Kind, tuple[Any, ...]] = {
    Kind.INTEGER: (0, 1, 2, 3, -1, 7),
    Kind.BIGINT: (0, 1, 2, 3, -2, 5_000_000_000),
    Kind.DECIMAL: tuple(Decimal(quarters) / 4 for quarters in (0, 4, 5, 6, -2, 12)),
    Kind.DOUBLE: (0.0, 1.0, 0.5, 1.25, -2.0, 3.0),
    Kind.VARCHAR: TEXTS,
    Kind.DATE: DAYS,
    Kind.TIMESTAMP: MOMENTS,
    Kind.BOOLEAN: (False, True),
}


def literal(kind: Kind, value: Any) -> str:
    """A value as SQL writes it."""
    if kind is Kind.VARCHAR:
        return "'" + str(value).replace("'", "''") + "'"
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        return f"{kind.value} '{value}'"
    if kind is Kind.DOUBLE:
        return f"CAST({value} AS DOUBLE)"
    if kind is Kind.DECIMAL:
        return f"{value:.2f}"
    return str(value).upper() if kind is Kind.BOOLEAN else str(value)


def family(kind: Kind) -> str:
    """Kinds that may be compared and set beside each other in one column."""
    return "number" if kind in NUMBERS else kind.name
