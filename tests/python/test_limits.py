"""Limits: what would not fit, or not end, is an error that says so, and never a wrong value or the end of the process."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import tailrace as tr


class Money(tr.Row):
    amount: Decimal = tr.field(type=tr.decimal(38, 0))


class Total(tr.Row):
    total: Decimal | None = tr.field(type=tr.decimal(38, 0))


def test_a_decimal_sum_at_the_very_end_of_128_bits(db: tr.Database) -> None:
    money = db.table(Money)
    db.create_view("total", money.aggregate(lambda g: Total(total=g.sum(lambda m: m.amount))))
    # The sum is -(2**127), whose absolute value has no place in 128 bits.
    with pytest.raises(tr.EvaluationError, match="sum"):
        db.apply(tr.Batch().weighted(money, [{"amount": Decimal(-(2**100)), "_weight": 2**27}]))
    assert money.rows() == []


class Tick(tr.Row):
    n: int
    text: str


class Bits(tr.Row):
    ors: int | None
    ands: int | None
    xors: int | None


class Texts(tr.Row):
    texts: str | None


class Lists(tr.Row):
    ns: list[int] | None


def heavy(db: tr.Database, *rows: tuple[int, int]) -> tr.Changes:
    """Writes rows with their weights."""
    changes = [{"n": n, "text": str(n), "_weight": weight} for n, weight in rows]
    return db.apply(tr.Batch().weighted(db.table(Tick), changes))


def test_a_row_of_great_weight_has_no_table_but_a_weighted_one(db: tr.Database) -> None:
    ticks = db.table(Tick)
    view = db.create_view("view", ticks.filter(lambda t: t.n > 0))
    heavy(db, (0, 1), (1, 2), (2, 10**10))
    for name, source in (("view", view), ("tick", ticks)):
        with pytest.raises(tr.Error, match=rf"'{name}' has weight 10000000000.*100000000.*weighted=True"):
            source.snapshot()
        assert source.snapshot(weighted=True).to_pylist()[-1] == {"n": 2, "text": "2", "_weight": 10**10}
    with pytest.raises(tr.Error, match="weighted=True"):
        view.rows()


def test_negative_weights_are_seen_in_the_weighted_form(db: tr.Database) -> None:
    view = db.create_view("view", db.table(Tick).neg())
    heavy(db, (1, 2))
    with pytest.raises(tr.Error, match=r"weight -2.*weighted=True"):
        view.snapshot()
    assert view.snapshot(weighted=True).to_pylist() == [{"n": 1, "text": "1", "_weight": -2}]


def test_bits_do_not_count_copies(db: tr.Database) -> None:
    view = db.create_view(
        "bits",
        db.table(Tick).aggregate(
            lambda g: Bits(
                ors=g.bit_or(lambda t: t.n), ands=g.bit_and(lambda t: t.n), xors=g.bit_xor(lambda t: t.n)
            )
        ),
    )
    heavy(db, (5, 2 * 10**9), (6, 3 * 10**9 + 1))
    assert view.rows() == [Bits(ors=7, ands=4, xors=6)]
    heavy(db, (5, 1))
    assert view.rows() == [Bits(ors=7, ands=4, xors=3)]
    heavy(db, (6, -3 * 10**9 - 1), (5, 1))
    assert view.rows() == [Bits(ors=5, ands=5, xors=0)]


def test_a_list_or_text_of_too_many_copies_is_refused(db: tr.Database) -> None:
    ticks = db.table(Tick)
    db.create_view("lists", ticks.aggregate(lambda g: Lists(ns=g.array_agg(lambda t: t.n))))
    db.create_view("texts", ticks.aggregate(lambda g: Texts(texts=g.string_agg(lambda t: t.text, ", "))))
    for weight in (2 * 10**9, 2**62):
        with pytest.raises(tr.EvaluationError, match=rf"_agg.*16777216.*weight {weight}"):
            heavy(db, (1, weight))
    heavy(db, (1, 3))
    assert db.view("lists").rows() == [Lists(ns=[1, 1, 1])]
    assert db.view("texts").rows() == [Texts(texts="1, 1, 1")]
    with pytest.raises(tr.EvaluationError, match=r"string_agg.*268435456 bytes"):
        db.apply(tr.Batch().weighted(ticks, [{"n": 1, "text": "x" * 1000, "_weight": 10**6}]))


class Flag(tr.Row):
    id: int = tr.key()
    name: str


class Length(tr.Row):
    id: int = tr.key()
    n: int


DEEP: dict[str, Callable[[Flag, int], Any]] = {
    "sum": lambda f, depth: functools.reduce(operator.add, [f.id] * (depth + 1)),
    "call": lambda f, depth: tr.length(
        functools.reduce(lambda name, _: name.upper(), range(depth - 2), f.name)
    ),
    "case": lambda f, depth: functools.reduce(
        lambda value, i: tr.when(f.id == i).then(f.id).otherwise(value), range(depth), f.id
    ),
}


@pytest.mark.parametrize("combine", [operator.or_, operator.and_])
def test_a_long_chain_of_conditions_is_fine(db: tr.Database, combine: Callable[[Any, Any], Any]) -> None:
    flags = db.table(Flag)
    compare = operator.eq if combine is operator.or_ else operator.ne
    chosen = db.create_view(
        "chosen",
        flags.filter(lambda f: functools.reduce(combine, [compare(f.id, 2 * i) for i in range(10_000)])),
    )
    db.insert(flags, [{"id": i, "name": "x"} for i in range(19_990, 20_010)])
    even = [i for i in range(19_990, 20_000) if i % 2 == 0]
    expected = even if combine is operator.or_ else [i for i in range(19_990, 20_010) if i not in even]
    assert [flag.id for flag in chosen.rows()] == expected


def test_a_chain_that_is_too_long_is_refused(db: tr.Database) -> None:
    flags = db.table(Flag)
    with pytest.raises(tr.PlanError, match=r"65537 operations, at most 65536.*isin"):
        flags.filter(lambda f: functools.reduce(operator.or_, [f.id == i for i in range(100_000)]))
    flags.filter(lambda f: tr.isin(f.id, list(range(100_000))))


@pytest.mark.parametrize("shape", DEEP)
def test_an_expression_that_is_too_deep_is_refused(db: tr.Database, shape: str) -> None:
    with pytest.raises(tr.PlanError, match=r"201 operations inside each other, at most 200"):
        db.table(Flag).map(lambda f: Length(id=f.id, n=DEEP[shape](f, 100_000)))


@pytest.mark.parametrize("shape", DEEP)
def test_the_deepest_expressions_fit_the_stack_of_a_small_thread(db: tr.Database, shape: str) -> None:
    flags = db.table(Flag)
    lengths: list[int] = []

    def work() -> None:
        view = db.create_view("deep", flags.map(lambda f: Length(id=f.id, n=DEEP[shape](f, 190))))
        db.insert(flags, {"id": 1, "name": "abc"})
        view.explain(), db.graph(), db.metrics()
        lengths.extend(row.n for row in view.rows())

    before = threading.stack_size(1 << 20)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert lengths == [{"sum": 191, "call": 3, "case": 1}[shape]]


class Shift(tr.Row):
    id: int = tr.key()
    x: int
    n: int


class Shifted(tr.Row):
    id: int = tr.key()
    left: int
    right: int


def test_shifts_are_those_of_python(db: tr.Database) -> None:
    shifts = db.table(Shift)
    view = db.create_view(
        "shifted", shifts.map(lambda s: Shifted(id=s.id, left=s.x << s.n, right=s.x >> (s.n + 60)))
    )
    good = [(1, 3), (-1, 63), (0, 70), (5, 0), (-7, 2), (2**40, 22)]
    db.insert(shifts, [{"id": i, "x": x, "n": n} for i, (x, n) in enumerate(good)])
    expected = [Shifted(id=i, left=x << n, right=x >> (n + 60)) for i, (x, n) in enumerate(good)]
    assert view.rows() == expected
    for x, n in ((1, 63), (1, 70), (-1, 64), (2**40, 23)):
        with pytest.raises(tr.EvaluationError, match=rf"{x} << {n} does not fit"):
            db.insert(shifts, {"id": 99, "x": x, "n": n})
    with pytest.raises(tr.EvaluationError, match="at least 0"):
        db.insert(shifts, {"id": 99, "x": 1, "n": -1})
    assert view.rows() == expected
