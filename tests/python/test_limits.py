"""Limits: what would not fit, or not end, is an error that says so, and never a wrong value or the end of the process."""

from __future__ import annotations

from decimal import Decimal

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
