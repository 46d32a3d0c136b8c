"""Bad input: an error that names row, column and choices, and a database that is as it was before the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tailrace as tr


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    price: float
    note: str | None


class Total(tr.Row):
    auction: int = tr.key()
    total: float


class Tick(tr.Row):
    n: int


GOOD = {"id": 1, "auction": 7, "price": 10.0, "note": None}
TABLE = pa.table({"id": [5, 6], "auction": [7, 7], "price": [1.0, 2.0], "note": ["a", "b"]})


class World:
    """A database with a table, a view over it and a row; `unchanged` proves that a call left no trace."""

    def __init__(self, db: tr.Database) -> None:
        self.db = db
        self.bids = db.table(Bid)
        self.ticks = db.table(Tick)
        self.totals = db.create_view(
            "totals",
            self.bids.group_by(lambda b: b.auction).aggregate(
                lambda k, g: Total(auction=k, total=g.sum(lambda b: b.price))
            ),
        )
        db.insert(self.bids, GOOD)
        self.before = self.state()

    def state(self) -> tuple[Any, ...]:
        """All that can be seen of the database."""
        db = self.db
        return (db.version, self.bids.rows(), self.ticks.rows(), self.totals.rows(), db.tables, db.views)

    def unchanged(self) -> None:
        """The state is the one before, and the next good step works on it."""
        assert self.state() == self.before
        self.db.insert(self.bids, {**GOOD, "id": 99, "price": 5.0})
        assert self.totals.rows() == [Total(auction=7, total=15.0)]


@pytest.fixture
def world(db: tr.Database) -> World:
    return World(db)


# What is done, the error, and the words that its message must have.
BAD: dict[str, tuple[Callable[[World], object], type[Exception], tuple[str, ...]]] = {
    "a wrong column in a dictionary": (
        lambda w: w.db.insert(w.bids, [{**GOOD, "id": 2}, {**GOOD, "id": 3, "prise": 1.0}]),
        tr.ColumnError,
        ("prise", "id, auction, price, note"),
    ),
    "a wrong column in Arrow": (
        lambda w: w.db.insert(w.bids, TABLE.rename_columns(["id", "auction", "prise", "note"])),
        tr.ColumnError,
        ("prise", "id, auction, price, note"),
    ),
    "a missing column": (
        lambda w: w.db.insert(w.bids, TABLE.drop_columns(["price"])),
        tr.Error,
        ("price",),
    ),
    "a wrong type in a dictionary": (
        lambda w: w.db.insert(w.bids, [{**GOOD, "id": 2}, {**GOOD, "id": 3, "price": "dear"}]),
        tr.TypeMismatchError,
        ("price", "1", "dear"),
    ),
    "a wrong type in Arrow": (
        lambda w: w.db.insert(w.bids, TABLE.set_column(2, "price", pa.array(["x", "y"]))),
        tr.TypeMismatchError,
        ("price",),
    ),
    "a null in a NOT NULL field": (
        lambda w: w.db.insert(w.bids, [{**GOOD, "id": 2}, {**GOOD, "id": 3, "price": None}]),
        tr.NotNullError,
        ("price", "1"),
    ),
    "a null in a NOT NULL field of Arrow": (
        lambda w: w.db.insert(w.bids, TABLE.set_column(2, "price", pa.array([1.0, None]))),
        tr.NotNullError,
        ("price", "1"),
    ),
    "a null in the key": (
        lambda w: w.db.insert(w.bids, {**GOOD, "id": None}),
        tr.NotNullError,
        ("id", "0"),
    ),
    "a column twice in Arrow": (
        lambda w: w.db.insert(
            w.bids, pa.table([[2], [7], [1.0], [2.0]], ["id", "auction", "price", "price"])
        ),
        tr.ColumnError,
        ("price", "twice", "bid"),
    ),
    "weights in an insert": (
        lambda w: w.db.insert(w.bids, {**GOOD, "id": 2, "_weight": 1}),
        tr.ColumnError,
        ("_weight", "weighted", "insert", "bid"),
    ),
    "weights in an upsert of Arrow": (
        lambda w: w.db.upsert(w.bids, TABLE.append_column("_weight", pa.array([1, -1]))),
        tr.ColumnError,
        ("_weight", "weighted", "upsert", "bid"),
    ),
    "weights in an update": (
        lambda w: w.db.update(w.bids, [{"id": 1, "price": 2.0, "_weight": 1}]),
        tr.ColumnError,
        ("_weight", "weighted", "update", "bid"),
    ),
    "weights in a delete": (
        lambda w: w.db.delete(w.ticks, pa.table({"n": [1], "_weight": [-1]})),
        tr.ColumnError,
        ("_weight", "weighted", "delete", "tick"),
    ),
    "a duplicate key": (
        lambda w: w.db.insert(w.bids, [{**GOOD, "id": 2}, GOOD]),
        tr.DuplicateKeyError,
        ("bid", "id", "1"),
    ),
    "a key twice in one batch": (
        lambda w: w.db.insert(w.bids, pa.concat_tables([TABLE, TABLE])),
        tr.DuplicateKeyError,
        ("5",),
    ),
    "an unknown key to update": (
        lambda w: w.db.update(w.bids, [{"id": 1, "price": 2.0}, {"id": 42, "price": 2.0}]),
        tr.KeyNotFoundError,
        ("42",),
    ),
    "an unknown key to delete": (
        lambda w: w.db.delete(w.bids, [1, 42]),
        tr.KeyNotFoundError,
        ("42",),
    ),
    "a row to delete that a bag does not have": (
        lambda w: w.db.delete(w.ticks, Tick(n=1)),
        tr.Error,
        ("tick",),
    ),
    "an update without key": (
        lambda w: w.db.update(w.bids, {"price": 2.0}),
        tr.Error,
        ("id",),
    ),
    "schema drift between batches": (
        lambda w: w.db.apply(
            tr.Batch().insert(w.bids, TABLE).insert(w.bids, TABLE.append_column("extra", pa.array([1, 2])))
        ),
        tr.ColumnError,
        ("extra", "id, auction, price, note"),
    ),
    "a batch that is half valid": (
        lambda w: w.db.apply(
            tr.Batch().insert(w.bids, TABLE).delete(w.bids, 1).insert(w.ticks, Tick(n=1)).delete(w.bids, 42)
        ),
        tr.KeyNotFoundError,
        ("42",),
    ),
    "weights that overflow": (
        lambda w: w.db.apply(
            tr.Batch()
            .weighted(w.ticks, [{"n": 1, "_weight": 2**63 - 1}])
            .weighted(w.ticks, [{"n": 1, "_weight": 2**63 - 1}])
        ),
        tr.WeightOverflowError,
        (),
    ),
    "a weighted change without weight": (
        lambda w: w.db.apply(tr.Batch().weighted(w.ticks, [{"n": 1}])),
        tr.Error,
        ("_weight",),
    ),
    "an unknown table": (
        lambda w: w.db.insert("bids", GOOD),
        tr.UnknownTableError,
        ("bids", "Did you mean 'bid'", "bid, tick"),
    ),
    "rows of another class": (
        lambda w: w.db.insert(w.bids, [Bid(**GOOD), Tick(n=1)]),  # type: ignore[list-item]
        tr.TypeMismatchError,
        ("Row 1 is Tick", "a row of Bid"),
    ),
    "a number": (lambda w: w.db.insert(w.bids, 7), tr.TypeMismatchError, ("int is not data",)),  # type: ignore[type-var]
    "a list of numbers": (lambda w: w.db.insert(w.bids, [7]), tr.TypeMismatchError, ("Row 0 is int",)),  # type: ignore[list-item]
    "an int that does not fit": (
        lambda w: w.db.insert(w.bids, {**GOOD, "id": 2**64}),
        tr.TypeMismatchError,
        ("id", "0"),
    ),
    "columns of different lengths": (
        lambda w: w.db.insert(
            w.bids, {"id": [2, 3], "auction": [7], "price": [1.0, 2.0], "note": [None, None]}
        ),
        tr.Error,
        ("auction",),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_data_change_nothing(world: World, what: str) -> None:
    act, error, words = BAD[what]
    with pytest.raises(error) as caught:
        act(world)
    for word in words:
        assert word in str(caught.value)
    world.unchanged()


def _raises(_: Any) -> Any:
    raise RuntimeError("no such luck")


UDFS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "raises": (_raises, ("broken", "no such luck")),
    "gives too few values": (lambda array: array.slice(0, 0), ("broken", "0")),
    "gives another type": (lambda array: pc.cast(array, pa.string()), ("broken",)),
    "gives no array": (lambda array: 3, ("broken", "int")),
    "gives None": (lambda array: None, ("broken", "NoneType")),
    "gives a NULL that it did not declare": (
        lambda array: pa.nulls(len(array), pa.float64()),
        ("broken", "row 0", "NOT NULL"),
    ),
}


@pytest.mark.parametrize("what", UDFS)
def test_a_udf_that_fails_changes_nothing(world: World, what: str) -> None:
    function, words = UDFS[what]
    armed = False

    @tr.udf(returns=float)
    def broken(price: Any) -> Any:
        return function(price) if armed else price

    view = world.db.create_view("doubtful", world.bids.filter(lambda b: broken(b.price) > 0.0))
    world.before = world.state()
    armed = True
    with pytest.raises(tr.UdfError) as caught:
        world.db.insert(world.bids, {**GOOD, "id": 2})
    for word in words:
        assert word in str(caught.value)
    armed = False
    world.unchanged()
    assert len(view) == 2


def test_a_udf_that_fails_while_a_view_is_made_leaves_no_view(world: World) -> None:
    @tr.udf(returns=float)
    def broken(price: Any) -> Any:
        raise RuntimeError("no such luck")

    with pytest.raises(tr.UdfError, match="no such luck"):
        world.db.create_view("doubtful", world.bids.filter(lambda b: broken(b.price) > 0.0))
    world.unchanged()


def test_the_error_of_a_udf_keeps_its_cause(world: World) -> None:
    def bad(bid: Bid) -> Tick:
        raise LookupError(f"nothing about {bid.id}")

    with pytest.raises(tr.UdfError) as caught:
        world.db.create_view("doubtful", world.bids.map_rows(bad))
    assert isinstance(caught.value.__cause__, LookupError)
    world.unchanged()


def test_map_rows_that_gives_another_class(world: World) -> None:
    def wrong(bid: Bid) -> Tick:
        return bid  # type: ignore[return-value]

    with pytest.raises(tr.UdfError, match="must give Tick, and gave Bid"):
        world.db.create_view("doubtful", world.bids.map_rows(wrong))
    world.unchanged()


def test_an_integer_division_by_zero_changes_nothing(world: World) -> None:
    world.db.create_view("parts", world.bids.map(lambda b: Tick(n=100 // b.auction)))
    world.before = world.state()
    with pytest.raises(tr.EvaluationError):
        world.db.insert(world.bids, {**GOOD, "id": 2, "auction": 0})
    world.unchanged()


def test_an_integer_overflow_changes_nothing(world: World) -> None:
    world.db.create_view("sums", world.ticks.aggregate(lambda g: Tick(n=g.sum(lambda t: t.n))))
    world.before = world.state()
    with pytest.raises(tr.EvaluationError):
        world.db.insert(world.ticks, [Tick(n=2**63 - 1), Tick(n=1)])
    world.unchanged()


def test_a_view_name_that_is_taken_changes_nothing(world: World) -> None:
    with pytest.raises(tr.Error, match="totals"):
        world.db.create_view("totals", world.bids)
    world.unchanged()


def test_a_view_of_something_else(world: World) -> None:
    with pytest.raises(tr.PlanError, match="not of str"):
        world.db.create_view("totals2", "SELECT 1")  # type: ignore[arg-type]
    world.unchanged()


def test_a_table_that_a_view_reads_cannot_be_dropped(world: World) -> None:
    with pytest.raises(tr.Error, match="totals"):
        world.db.drop_table(world.bids)
    world.unchanged()


def test_all_errors_are_tailrace_errors() -> None:
    found = [getattr(tr, name) for name in tr.__all__ if name.endswith("Error")]
    assert len(found) > 15
    assert all(issubclass(error, tr.Error) for error in found)


def test_an_evaluation_error_names_view_operator_and_the_values_of_the_row(world: World) -> None:
    ratios = world.bids.map(lambda b: Tick(n=1000 // (b.auction - 8)))
    world.db.create_view("ratios", ratios)
    with pytest.raises(tr.EvaluationError) as error:
        world.db.insert(world.bids, [{**GOOD, "id": i, "auction": i} for i in range(2, 12)])
    message = str(error.value)
    for word in ("view ratios", "map", "zero", "auction=8"):
        assert word in message
    assert world.totals.rows() == [Total(auction=7, total=10.0)]


def test_weights_that_overflow_name_table_row_and_weight(world: World) -> None:
    for weights in ([2**62, 2**62], [2**63 - 1, -(2**63) + 1]):
        rows = [{"n": n, "_weight": weight} for n, weight in enumerate(weights)]
        with pytest.raises(tr.WeightOverflowError) as error:
            world.db.apply(tr.Batch().weighted(world.ticks, rows))
        message = str(error.value)
        assert "'tick'" in message
        assert "(n=" in message
        assert str(max(map(abs, weights))) in message
    world.unchanged()


def test_weights_that_overflow_in_a_view_name_it(world: World) -> None:
    many = world.ticks.cross_join(world.ticks, lambda a, b: Tick(n=a.n + b.n))
    world.db.create_view("many", many)
    with pytest.raises(tr.WeightOverflowError, match=r"view many: join.*overflow"):
        world.db.apply(tr.Batch().weighted(world.ticks, [{"n": 1, "_weight": 2**40}]))
    assert world.ticks.rows() == []
