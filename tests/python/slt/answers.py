"""Answers as text, and answers of two engines beside each other.

Promises: `rendered` prints rows as sqllogictest does (an integer column without point, a real one with three places, NULL, `(empty)`),
so that an expectation of a file is compared letter by letter; `difference` compares values of two engines as bags, equal but for the
last digits of floats and of decimal averages, which engines are free to choose.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]


def rendered(rows: Iterable[Row], types: str, sort: str) -> list[list[str]]:
    """The rows as text, in the order that the sort mode asks for."""
    texts = [[value_text(value, kind) for value, kind in zip(row, types, strict=True)] for row in rows]
    if sort == "rowsort":
        return sorted(texts)
    if sort == "valuesort":
        return [[value] for value in sorted(value for row in texts for value in row)]
    return texts


def matches(texts: list[list[str]], expected: Sequence[str]) -> bool:
    """Whether rendered rows are the lines of a file: a hash, a row a line, or a value a line."""
    values = [value for row in texts for value in row]
    if len(expected) == 1 and " values hashing to " in expected[0]:
        return expected[0] == hashed(values)
    return list(expected) in (lines(texts), values, [" ".join(row) for row in texts])


def lines(texts: list[list[str]]) -> list[str]:
    """A row a line, values separated by tabs."""
    return ["\t".join(row) for row in texts]


def hashed(values: list[str]) -> str:
    """The line that stands for many values."""
    digest = hashlib.md5("".join(value + "\n" for value in values).encode()).hexdigest()
    return f"{len(values)} values hashing to {digest}"


def value_text(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    if kind == "I":
        return str(int(value))
    if kind == "R":
        return f"{float(value) + 0.0:.3f}"
    return shown(value)


def shown(value: Any) -> str:
    """A value of a text column."""
    if isinstance(value, str):
        return value.replace("\n", "\\n").replace("\t", "\\t") or "(empty)"
    plain_value = plain(value)
    if isinstance(plain_value, tuple):
        return "[" + ", ".join(value_text(item, "T") for item in plain_value) + "]"
    if isinstance(plain_value, bool):
        return str(plain_value).lower()
    return str(plain_value)


def difference(got: Iterable[Row], wanted: Iterable[Row]) -> str:
    """What is too much and what is missing, or the empty text if both bags hold the same rows."""
    mine, other = bag(got), bag(wanted)
    surplus, missing = list((mine - other).elements()), list((other - mine).elements())
    if not surplus and not missing:
        return ""
    if len(surplus) == len(missing) and paired(surplus, missing):
        return ""
    return f"surplus {surplus[:6]} missing {missing[:6]} (of {sum(mine.values())} and {sum(other.values())} rows)"


def bag(rows: Iterable[Row]) -> Counter[Row]:
    return Counter(tuple(plain(value) for value in row) for row in rows)


def plain(value: Any) -> Any:
    """A value in the one form in which both engines' values are equal."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (float, Decimal)):
        return number(float(value))
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, (list, tuple)) and hasattr(value, "months"):
        return span(value)
    if isinstance(value, timedelta):
        return ("interval", 0, value // timedelta(microseconds=1))
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, plain(item)) for name, item in value.items())
    return value


def number(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    return float(f"{value:.12g}") + 0.0


def span(value: Any) -> tuple[str, int, int]:
    """An interval by its microseconds; DuckDB's Python values have a month as 30 days, so an interval with months does too."""
    days = value.months * 30 + value.days
    return ("interval", 0, days * 86_400_000_000 + value.nanoseconds // 1000)


def paired(surplus: list[Row], missing: list[Row]) -> bool:
    """Whether the rows are equal pair by pair but for rounding."""
    return all(
        near_rows(mine, other)
        for mine, other in zip(sorted(surplus, key=order), sorted(missing, key=order), strict=True)
    )


def order(row: Row) -> list[str]:
    """Exact columns first, so that rounding does not decide who is compared with whom."""
    exact = [repr(value) for value in row if not isinstance(value, float)]
    return exact + [f"{value:+.3e}" for value in row if isinstance(value, float)]


def near_rows(mine: Row, other: Row) -> bool:
    return len(mine) == len(other) and all(near(a, b) for a, b in zip(mine, other, strict=True))


def near(mine: Any, other: Any) -> bool:
    if isinstance(mine, float) and isinstance(other, (int, float)):
        return math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-6)
    return type(mine) is type(other) and mine == other
