"""Traced expressions: the engine computes what Python computes, checked value by value against Python itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

import tailrace as tr


class In(tr.Row):
    id: int = tr.key()
    i: int
    j: int
    x: float
    d: Decimal = tr.field(type=tr.decimal(12, 2))
    s: str
    b: bool
    at: datetime
    day: date
    span: timedelta
    note: str | None
    tags: list[str]


class OutInt(tr.Row):
    id: int = tr.key()
    value: int | None


class OutFloat(tr.Row):
    id: int = tr.key()
    value: float | None


class OutDecimal(tr.Row):
    id: int = tr.key()
    value: Decimal | None = tr.field(type=tr.decimal(38, 6))


class OutStr(tr.Row):
    id: int = tr.key()
    value: str | None


class OutBool(tr.Row):
    id: int = tr.key()
    value: bool | None


class OutDatetime(tr.Row):
    id: int = tr.key()
    value: datetime | None


class OutDate(tr.Row):
    id: int = tr.key()
    value: date | None


class OutTime(tr.Row):
    id: int = tr.key()
    value: time | None


class OutSpan(tr.Row):
    id: int = tr.key()
    value: timedelta | None


class OutList(tr.Row):
    id: int = tr.key()
    value: list[str] | None


def _row(id: int, numbers: tuple[int, int, float], s: str, at: datetime, note: str | None) -> In:
    i, j, x = numbers
    return In(
        id=id,
        i=i,
        j=j,
        x=x,
        d=Decimal(i) / 4,
        s=s,
        b=i > 0,
        at=at,
        day=at.date(),
        span=at - datetime(2026, 1, 1),
        note=note,
        tags=s.split(" "),
    )


ROWS = [
    _row(1, (7, 2, 2.5), "  Hello world ", datetime(2026, 1, 31, 23, 59, 58, 123456), "n"),
    _row(2, (-7, 2, -2.25), "aXbXa", datetime(2024, 2, 29, 0, 0, 0), None),
    _row(3, (7, -3, 0.0), "", datetime(1969, 12, 28, 12, 30, 15, 1), "note é"),
    _row(4, (-9, -4, 1e3), "éé ß-prefix.suffix", datetime(2026, 3, 1, 6), None),
]

# Each expression is traced for the engine and called with real rows for the answer.
SAME: list[tuple[type[tr.Row], Callable[[In], Any]]] = [
    (OutInt, lambda r: r.i + r.j * 2 - 1),
    (OutInt, lambda r: r.i // r.j),
    (OutInt, lambda r: r.i % r.j),
    (OutInt, lambda r: 100 // r.j),
    (OutInt, lambda r: r.i % 3),
    (OutInt, lambda r: r.i % -3),
    (OutInt, lambda r: -r.i),
    (OutInt, lambda r: abs(r.i)),
    (OutInt, lambda r: r.j**2),
    (OutInt, lambda r: r.i & r.j),
    (OutInt, lambda r: r.i | r.j),
    (OutInt, lambda r: r.i ^ r.j),
    (OutInt, lambda r: ~r.i),
    (OutInt, lambda r: r.i << 2),
    (OutInt, lambda r: r.i >> 1),
    (OutInt, lambda r: math.floor(r.x)),
    (OutInt, lambda r: math.ceil(r.x)),
    (OutInt, lambda r: math.trunc(r.x)),
    (OutFloat, lambda r: r.i / r.j),
    (OutFloat, lambda r: r.x * r.i + 1),
    (OutFloat, lambda r: r.x // 0.75),
    (OutFloat, lambda r: r.x % 0.75),
    (OutFloat, lambda r: r.x**2),
    (OutFloat, lambda r: 1 - r.x),
    (OutFloat, lambda r: abs(r.x)),
    (OutBool, lambda r: r.x.is_integer()),
    (OutDecimal, lambda r: r.d + Decimal("0.25")),
    (OutDecimal, lambda r: r.d * 3 - r.d),
    (OutDecimal, lambda r: r.d / 2),
    (OutDecimal, lambda r: r.d % 2),
    (OutBool, lambda r: r.d > Decimal("0.3")),
    (OutBool, lambda r: (r.i > r.j) & r.b),
    (OutBool, lambda r: (r.i > r.j) | r.b),
    (OutBool, lambda r: (r.i > r.j) ^ r.b),
    (OutBool, lambda r: r.i == r.x),
    (OutBool, lambda r: r.s >= "a"),
    (OutStr, lambda r: r.s + "!"),
    (OutStr, lambda r: "<" + r.s),
    (OutStr, lambda r: r.s * 2),
    (OutStr, lambda r: r.s.upper()),
    (OutStr, lambda r: r.s.lower()),
    (OutStr, lambda r: r.s.strip()),
    (OutStr, lambda r: r.s.lstrip()),
    (OutStr, lambda r: r.s.rstrip("a ")),
    (OutStr, lambda r: r.s.replace("X", "--")),
    (OutStr, lambda r: r.s.removeprefix("aX")),
    (OutStr, lambda r: r.s.removesuffix("Xa")),
    (OutStr, lambda r: r.s[0:3]),
    (OutStr, lambda r: r.s[1:]),
    (OutStr, lambda r: r.s[-3:]),
    (OutStr, lambda r: r.s[2:4]),
    (OutStr, lambda r: r.s.rjust(8, ".")),
    (OutStr, lambda r: r.s.ljust(8)),
    (OutStr, lambda r: r.s.capitalize()),
    (OutBool, lambda r: r.s.startswith("a")),
    (OutBool, lambda r: r.s.endswith("suffix")),
    (OutInt, lambda r: r.s.find("X")),
    (OutInt, lambda r: r.s.count("X")),
    (OutList, lambda r: r.s.split("X")),
    (OutInt, lambda r: r.tags.count("")),
    (OutInt, lambda r: r.at.year * 10_000 + r.at.month * 100 + r.at.day),
    (OutInt, lambda r: r.at.hour * 10_000 + r.at.minute * 100 + r.at.second),
    (OutInt, lambda r: r.at.microsecond),
    (OutInt, lambda r: r.at.weekday()),
    (OutInt, lambda r: r.day.isoweekday()),
    (OutDate, lambda r: r.at.date()),
    (OutTime, lambda r: r.at.time()),
    (OutInt, lambda r: r.day.year),
    (OutStr, lambda r: r.day.isoformat()),
    (OutStr, lambda r: r.at.strftime("%Y/%m %H")),
    (OutDatetime, lambda r: r.at + timedelta(hours=25)),
    (OutDatetime, lambda r: r.at - r.span),
    (OutDate, lambda r: r.day + timedelta(days=30)),
    (OutDate, lambda r: r.day - timedelta(hours=36)),
    (OutSpan, lambda r: r.at - datetime(2000, 1, 1)),
    (OutSpan, lambda r: r.day - date(2000, 1, 1)),
    (OutSpan, lambda r: r.span * 2 + timedelta(seconds=1)),
    (OutSpan, lambda r: -r.span),
    (OutSpan, lambda r: abs(r.span)),
    (OutSpan, lambda r: r.span // 7),
    (OutSpan, lambda r: r.span % timedelta(hours=5)),
    (OutInt, lambda r: r.span // timedelta(hours=5)),
    (OutFloat, lambda r: r.span / timedelta(hours=1)),
    (OutFloat, lambda r: r.span.total_seconds()),
    (OutInt, lambda r: r.span.days),
    (OutInt, lambda r: r.span.seconds),
    (OutInt, lambda r: r.span.microseconds),
    (OutBool, lambda r: r.at > datetime(2025, 1, 1)),
    (OutBool, lambda r: r.day <= date(2024, 2, 29)),
]

# What Python cannot say about a plain value: a function, and what it must give for a real row.
FUNCTIONS: list[tuple[type[tr.Row], Callable[[In], Any], Callable[[In], Any]]] = [
    (OutBool, lambda r: tr.not_(r.b), lambda r: not r.b),
    (OutBool, lambda r: tr.is_null(r.note), lambda r: r.note is None),
    (OutBool, lambda r: tr.is_not_null(r.note), lambda r: r.note is not None),
    (OutStr, lambda r: tr.coalesce(r.note, "none"), lambda r: r.note or "none"),
    (OutStr, lambda r: tr.some(r.note).upper(), lambda r: r.note and r.note.upper()),
    (OutInt, lambda r: tr.nullif(r.j, 2), lambda r: None if r.j == 2 else r.j),
    (OutBool, lambda r: tr.isin(r.i, [7, 8]), lambda r: r.i in (7, 8)),
    (OutBool, lambda r: tr.isin(r.i, []), lambda r: False),
    (OutBool, lambda r: tr.between(r.i, -7, 7), lambda r: -7 <= r.i <= 7),
    (OutInt, lambda r: tr.least(r.i, r.j, 0), lambda r: min(r.i, r.j, 0)),
    (OutFloat, lambda r: tr.greatest(r.i, r.x), lambda r: max(r.i, r.x)),
    (OutInt, lambda r: tr.length(r.s), lambda r: len(r.s)),
    (OutInt, lambda r: tr.length(r.tags), lambda r: len(r.tags)),
    (OutBool, lambda r: tr.contains(r.s, "X"), lambda r: "X" in r.s),
    (OutBool, lambda r: tr.contains(r.tags, "aXbXa"), lambda r: "aXbXa" in r.tags),
    (OutStr, lambda r: tr.concat(r.s, "/", r.s), lambda r: f"{r.s}/{r.s}"),
    (OutBool, lambda r: tr.like(r.s, "a_b%"), lambda r: r.s == "aXbXa"),
    (OutBool, lambda r: tr.ilike(r.s, "A_B%"), lambda r: r.s == "aXbXa"),
    (OutBool, lambda r: tr.regex_matches(r.s, "^a.*a$"), lambda r: r.s == "aXbXa"),
    (OutStr, lambda r: tr.regex_replace(r.s, "[Xo]", "_"), lambda r: r.s.replace("X", "_").replace("o", "_")),
    (OutInt, lambda r: tr.cast(r.x, int), lambda r: int(r.x)),
    (OutStr, lambda r: tr.cast(r.i, str), lambda r: str(r.i)),
    (OutInt, lambda r: tr.try_cast(r.s, int), lambda r: None),
    (OutFloat, lambda r: tr.sqrt(abs(r.x)), lambda r: math.sqrt(abs(r.x))),
    (OutFloat, lambda r: tr.exp(r.x / 1000), lambda r: math.exp(r.x / 1000)),
    (OutFloat, lambda r: tr.ln(abs(r.i)), lambda r: math.log(abs(r.i))),
    (OutFloat, lambda r: tr.sin(r.x), lambda r: math.sin(r.x)),
    (OutFloat, lambda r: tr.sign(r.x), lambda r: (r.x > 0) - (r.x < 0)),
    (OutStr, lambda r: tr.call("reverse", r.s, returns=str), lambda r: r.s[::-1]),
    (OutStr, lambda r: r.tags[0], lambda r: r.tags[0]),
    (OutStr, lambda r: r.tags[-1], lambda r: r.tags[-1]),
    (
        OutDatetime,
        lambda r: tr.date_trunc("hour", r.at),
        lambda r: r.at.replace(minute=0, second=0, microsecond=0),
    ),
    (OutDate, lambda r: tr.date_trunc("month", r.day), lambda r: r.day.replace(day=1)),
    (OutInt, lambda r: round(r.x), lambda r: int(math.copysign(math.floor(abs(r.x) + 0.5), r.x))),
    (
        OutStr,
        lambda r: tr.when(r.i > 0).then("up").when(r.j < -3).then("low").otherwise("down"),
        lambda r: "up" if r.i > 0 else "low" if r.j < -3 else "down",
    ),
    (OutFloat, lambda r: tr.when(r.b).then(1).otherwise(0.5), lambda r: 1.0 if r.b else 0.5),
    (OutInt, lambda r: tr.when(r.b).then(r.i).otherwise(None), lambda r: r.i if r.b else None),
]


def _check(db: tr.Database, out: Any, traced: Callable[[In], Any], expected: Callable[[In], Any]) -> None:
    table = db.table(In)
    view = db.create_view("view", table.map(lambda r: out(id=r.id, value=traced(r))))
    db.insert(table, ROWS)
    got = {row.id: row.value for row in view.rows()}
    for row in ROWS:
        want = expected(row)
        if isinstance(want, float):
            want = pytest.approx(want, rel=1e-12)
        assert got[row.id] == want, row


@pytest.mark.parametrize("case", range(len(SAME)))
def test_the_engine_computes_what_python_computes(db: tr.Database, case: int) -> None:
    out, expression = SAME[case]
    _check(db, out, expression, expression)


@pytest.mark.parametrize("case", range(len(FUNCTIONS)))
def test_functions_give_what_they_promise(db: tr.Database, case: int) -> None:
    _check(db, *FUNCTIONS[case])


CANNOT: list[tuple[Callable[[In], Any], str]] = [
    (lambda r: r.b and r.b, "`&`"),
    (lambda r: r.b or r.b, r"`\|`"),
    (lambda r: not r.b, "tr.not_"),
    (lambda r: r.b if r.i > 0 else r.j > 0, "tr.when"),
    (lambda r: 0 < r.i < 5, "tr.between"),
    (lambda r: r.i in [1, 2], "tr.isin"),
    (lambda r: r.i in {1, 2}, "tr.isin"),
    (lambda r: max(r.i, r.j) > 0, "tr.greatest"),
    (lambda r: "a" in r.s, "tr.contains"),
    (lambda r: len(r.s) > 1, "tr.length"),
    (lambda r: int(r.x) > 1, "tr.cast"),
    (lambda r: f"{r.s}" == "", "tr.concat"),
    (lambda r: str(r.i) == "1", "tr.cast"),
    (lambda r: [tag for tag in r.tags] == [], "flat_map"),  # noqa: C416
    (lambda r: r.note.upper() == "", "tr.some"),  # type: ignore[union-attr]
    (lambda r: r.note > "a", "tr.coalesce"),  # type: ignore[operator]
    (lambda r: r.note == None, "tr.is_null"),  # noqa: E711
    (lambda r: r.s.uper() == "", "'upper'"),  # type: ignore[attr-defined]
    (lambda r: tr.when(r.b).then(1), "otherwise"),
]


@pytest.mark.parametrize("case", range(len(CANNOT)))
def test_what_cannot_be_traced_says_what_to_write(db: tr.Database, case: int) -> None:
    expression, hint = CANNOT[case]
    with pytest.raises(tr.TracingError, match=hint):
        db.table(In).filter(expression)


MISMATCHES: list[tuple[Callable[[In], Any], str]] = [
    (lambda r: r.i == r.s, "Cannot compare int with str"),
    (lambda r: r.at > r.day, "Cannot compare datetime with date"),
    (lambda r: r.i + r.s == 1, r"`int \+ str` has no meaning"),
    (lambda r: r.x + r.d == 1, r"`float \+ Decimal` has no meaning"),
    (lambda r: r.i, "must give a bool, and gives int"),
    (lambda r: tr.not_(r.i), "takes a bool"),  # type: ignore[arg-type]
    (lambda r: tr.coalesce(r.note, 1) == 1, "one type"),
    (lambda r: tr.length(r.i) == 1, "tr.length takes"),  # type: ignore[arg-type]
    (lambda r: tr.sqrt(r.s) == 1, "takes a number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("case", range(len(MISMATCHES)))
def test_a_type_mismatch_is_found_when_the_stream_is_made(db: tr.Database, case: int) -> None:
    expression, message = MISMATCHES[case]
    with pytest.raises(tr.TypeMismatchError, match=message):
        db.table(In).filter(expression)


def test_a_value_of_another_lambda_is_refused(db: tr.Database) -> None:
    leaked: list[In] = []
    table = db.table(In)
    table.filter(lambda r: leaked.append(r) or r.b)  # type: ignore[func-returns-value]
    with pytest.raises(tr.TracingError, match="A lambda can use its own arguments"):
        table.filter(lambda r: leaked[0].i == r.i)
    with pytest.raises(tr.TracingError, match="cannot be used in map"):
        table.map(lambda r: OutInt(id=r.id, value=leaked[0].i))
