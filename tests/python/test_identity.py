"""Identity: what looks alike and is not the same is kept apart; what is the same is built once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc
import pytest

import tailrace as tr


class Num(tr.Row):
    id: int = tr.key()
    n: int


class Out(tr.Row):
    id: int = tr.key()
    n: int


class Sum(tr.Row):
    n: int


def scaled(factor: int) -> Callable[[int], int]:
    """Functions of one name, one argument and one result that compute different things."""

    @tr.udf
    def scale(n: tr.Array[int]) -> tr.Array[int]:
        return pc.multiply(n, factor)

    return scale


def filled(db: tr.Database) -> tr.Table[Num]:
    nums = db.table(Num)
    db.insert(nums, [{"id": 1, "n": 10}, {"id": 2, "n": 20}])
    return nums


SHAPES: dict[str, Callable[[tr.Stream[Num], Callable[[int], int]], tr.Stream[Any]]] = {
    "map": lambda nums, f: nums.map(lambda r: Out(id=r.id, n=f(r.n))),
    "filter": lambda nums, f: nums.filter(lambda r: f(r.n) > 25),
    "aggregate": lambda nums, f: nums.aggregate(lambda g: Sum(n=g.sum(lambda r: f(r.n)))),
    "group": lambda nums, f: nums.group_by(lambda r: f(r.n)).aggregate(lambda k, g: Out(id=k, n=g.count())),
    "join": lambda nums, f: nums.join(
        nums, lambda left: f(left.n), lambda right: right.n, lambda left, right: Out(id=left.id, n=right.n)
    ),
    "top_k": lambda nums, f: nums.top_k(1, by=lambda r: f(r.n)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_two_functions_of_one_name_are_two(db: tr.Database, shape: str) -> None:
    nums = filled(db)
    first = db.create_view("first", SHAPES[shape](nums, scaled(-1)))
    second = db.create_view("second", SHAPES[shape](nums, scaled(2)))
    with tr.connect() as alone:
        expected = alone.create_view("second", SHAPES[shape](filled(alone), scaled(2)))
        assert second.rows() == expected.rows()
        assert first.rows() != second.rows()


def test_the_same_function_is_built_once(db: tr.Database) -> None:
    nums, double = filled(db), scaled(2)
    db.create_view("first", SHAPES["map"](nums, double))
    operators = len(db.metrics())
    db.create_view("second", SHAPES["map"](nums, double))
    assert len(db.metrics()) == operators
    assert db.view("second").rows() == [Out(id=1, n=20), Out(id=2, n=40)]
