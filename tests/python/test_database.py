"""The database: tables, views, steps and what they tell, in all forms that data may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tailrace as tr


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    price: float
    note: str | None = None


class Best(tr.Row):
    auction: int = tr.key()
    price: float
    n: int


class Tick(tr.Row):
    symbol: str
    price: float


def best(bids: tr.Stream[Bid]) -> tr.Stream[Best]:
    return bids.group_by(lambda b: b.auction).aggregate(
        lambda k, g: Best(auction=k, price=g.max(lambda b: b.price), n=g.count())
    )


ONE = {"id": 1, "auction": 7, "price": 10.0, "note": None}
TWO = {"id": 2, "auction": 7, "price": 12.0, "note": "x"}
COLUMNS = {"id": [1, 2], "auction": [7, 7], "price": [10.0, 12.0], "note": [None, "x"]}

FORMS: dict[str, Callable[[], Any]] = {
    "rows": lambda: [Bid(**ONE), Bid(**TWO)],
    "a generator of rows": lambda: (row for row in [Bid(**ONE), Bid(**TWO)]),
    "dictionaries": lambda: [ONE, TWO],
    "columns": lambda: COLUMNS,
    "an Arrow table": lambda: pa.table(COLUMNS),
    "a record batch": lambda: pa.record_batch(COLUMNS),
    "a reader": lambda: pa.table(COLUMNS).to_reader(),
    "a chunked table": lambda: pa.concat_tables(
        [pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS).slice(1, 1)]
    ),
    "columns in another order": lambda: pa.table({name: COLUMNS[name] for name in reversed(COLUMNS)}),
    "narrow types": lambda: pa.table(
        {**COLUMNS, "id": pa.array([1, 2], pa.int8()), "note": pa.array([None, "x"], pa.large_string())}
    ),
    "a dictionary-encoded column": lambda: pa.table(
        {**COLUMNS, "note": pa.array([None, "x"]).dictionary_encode()}
    ),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda: pd.DataFrame(COLUMNS, index=["p", "q"]),
    "Polars": lambda: pl.DataFrame(COLUMNS),
}


@pytest.mark.parametrize("form", FORMS)
def test_data_come_in_many_forms(db: tr.Database, form: str) -> None:
    bids = db.table(Bid)
    db.insert(bids, FORMS[form]())
    assert sorted(bids.rows(), key=lambda row: row.id) == [Bid(**ONE), Bid(**TWO)]


def test_one_row_alone(db: tr.Database) -> None:
    bids = db.table(Bid)
    db.insert(bids, ONE)
    db.upsert(bids, Bid(**TWO))
    assert len(bids.rows()) == 2


def test_columns_with_defaults_may_be_left_out(db: tr.Database) -> None:
    bids = db.table(Bid)
    db.insert(bids, [{"id": 1, "auction": 7, "price": 10.0}])
    assert bids.rows() == [Bid(**ONE)]


@pytest.mark.parametrize("name", ["bid", "Bid"])
def test_a_table_is_named_by_string_class_or_handle(db: tr.Database, name: str) -> None:
    bids = db.table(Bid)
    assert db.table(Bid) is bids
    assert db.table(name) is bids
    db.insert(name, ONE)
    db.upsert(Bid, ONE)
    db.update(bids, {"id": 1, "price": 11.0})
    assert bids.rows()[0].price == 11.0


def test_a_table_may_have_another_name(db: tr.Database) -> None:
    bids, asks = db.table(Bid), db.table(Bid, name="asks")
    db.insert("asks", ONE)
    assert db.tables == ["asks", "bid"] or set(db.tables) == {"asks", "bid"}
    assert (len(bids.rows()), len(asks.rows())) == (0, 1)


def test_writes_by_key(db: tr.Database) -> None:
    bids = db.table(Bid)
    view = db.create_view("best", best(bids))
    assert db.insert(bids, [ONE, TWO])[view].events == [tr.Created(Best(auction=7, price=12.0, n=2))]
    assert db.update(bids, {"id": 2, "price": 9.0})[view].events == [
        tr.Updated(Best(auction=7, price=12.0, n=2), Best(auction=7, price=10.0, n=2))
    ]
    assert len(db.update(bids, {"id": 2, "price": 9.0})[view]) == 0
    assert db.upsert(bids, {**TWO, "auction": 8})[view].rows != []
    assert sorted(row.auction for row in view.rows()) == [7, 8]
    assert db.delete(bids, [1, 2])[view].events != []
    assert view.rows() == []


def test_an_update_changes_only_what_each_row_gives(db: tr.Database) -> None:
    bids = db.table(Bid)
    db.insert(bids, [ONE, {"id": 2, "auction": 8, "price": 20.0, "note": "two"}])
    changes = db.update(bids, [{"id": 1, "price": 11.0}, {"id": 2, "note": "new"}])
    assert changes.version == 2
    assert bids.rows() == [
        Bid(id=1, auction=7, price=11.0, note=None),
        Bid(id=2, auction=8, price=20.0, note="new"),
    ]
    # Rows of one key follow each other, and a NULL that is given is NULL.
    db.update(bids, [{"id": 2, "price": 1.0, "note": None}, {"id": 2, "auction": 9}, {"id": 2, "price": 2.0}])
    assert bids.rows()[1] == Bid(id=2, auction=9, price=2.0, note=None)
    with pytest.raises(tr.NotNullError, match=r"price.*row 1"):
        db.update(bids, [{"id": 1, "note": "x"}, {"id": 2, "price": None}])
    with pytest.raises(tr.KeyNotFoundError, match=r"row 1.*id=9"):
        db.update(bids, [{"id": 1, "note": "x"}, {"id": 9, "price": 1.0}])


def test_a_delete_compares_only_what_each_row_gives(db: tr.Database) -> None:
    bids = db.table(Bid)
    db.insert(bids, [ONE, {"id": 2, "auction": 8, "price": 20.0, "note": "two"}])
    db.delete(bids, [{"id": 1}, {"id": 2, "note": "two"}])
    assert bids.rows() == []


def test_the_methods_of_a_table_are_steps_too(db: tr.Database) -> None:
    bids = db.table(Bid)
    assert bids.insert([ONE]).version == 1
    assert bids.upsert([TWO]).version == 2
    assert bids.update([{"id": 1, "note": "n"}]).version == 3
    assert bids.delete(2).version == 4
    assert bids.rows() == [Bid(**{**ONE, "note": "n"})]


def test_a_table_without_key_is_a_bag(db: tr.Database) -> None:
    ticks = db.table(Tick)
    view = db.create_view("ticks", ticks)
    tick = Tick(symbol="a", price=1.0)
    db.insert(ticks, [tick, tick, tick])
    assert view.rows() == [tick] * 3
    changes = db.delete(ticks, tick)
    assert changes[view].rows == [(tick, -1)]
    assert ticks.rows() == [tick] * 2


def test_a_key_of_several_columns_is_a_tuple(db: tr.Database) -> None:
    class Edge(tr.Row):
        src: str = tr.key()
        dst: str = tr.key()
        cost: int

    edges = db.table(Edge)
    db.insert(edges, {"src": ["a", "a", "b"], "dst": ["b", "c", "c"], "cost": [1, 2, 3]})
    db.delete(edges, ("a", "b"))
    db.delete(edges, [{"src": "a", "dst": "c"}])
    assert edges.rows() == [Edge(src="b", dst="c", cost=3)]


def test_a_batch_is_one_step_over_many_tables(db: tr.Database) -> None:
    bids, ticks = db.table(Bid), db.table(Tick)
    view = db.create_view("best", best(bids))
    batch = (
        tr.Batch()
        .insert(bids, ONE)
        .insert("tick", [{"symbol": "a", "price": 1.0}])
        .update(bids, {"id": 1, "price": 11.0})
        .upsert(bids, TWO)
        .delete(bids, 2)
        .weighted(ticks, [{"symbol": "b", "price": 2.0, "_weight": 2}])
    )
    changes = db.apply(batch)
    assert changes.version == db.version == 1
    assert changes[view].events == [tr.Created(Best(auction=7, price=11.0, n=1))]
    assert len(ticks.rows()) == 3


def test_changes_tell_which_views_changed(db: tr.Database) -> None:
    bids, ticks = db.table(Bid), db.table(Tick)
    view, other = db.create_view("best", best(bids)), db.create_view("ticks", ticks)
    changes = db.insert(bids, ONE)
    assert list(changes) == ["best"]
    assert len(changes) == 1
    assert view in changes
    assert "ticks" not in changes
    assert len(changes["ticks"]) == 0
    assert changes[other].delta.num_rows == 0
    assert changes[other].delta.column_names == ["symbol", "price", "_weight"]
    with pytest.raises(KeyError, match=r"Did you mean 'best'\? Existing views: best, ticks"):
        changes["bst"]
    assert "best: 1 rows" in repr(changes)
    assert "<table>" in changes._repr_html_()


def test_a_delta_is_arrow_with_a_weight(db: tr.Database) -> None:
    bids = db.table(Bid)
    view = db.create_view("best", best(bids))
    db.insert(bids, ONE)
    change = db.insert(bids, TWO)["best"]
    assert change.delta.column_names == ["auction", "price", "n", "_weight"]
    assert sorted(change.delta.to_pylist(), key=lambda row: row["_weight"]) == [
        {"auction": 7, "price": 10.0, "n": 1, "_weight": -1},
        {"auction": 7, "price": 12.0, "n": 2, "_weight": 1},
    ]
    assert pa.table(change).equals(change.delta)
    assert pl.DataFrame(view).rows() == [(7, 12.0, 2)]
    assert view.schema.names == ["auction", "price", "n"]
    assert view.key == ["auction"]
    assert "<td>12.0</td>" in view._repr_html_()


def test_events_need_a_key(db: tr.Database) -> None:
    ticks = db.table(Tick)
    view = db.create_view("ticks", ticks)
    changes = db.insert(ticks, Tick(symbol="a", price=1.0))
    with pytest.raises(tr.PlanError, match=r"tr\.key\(\)"):
        changes[view].events


def test_a_view_is_filled_from_what_is_there(db: tr.Database) -> None:
    bids = db.table(Bid)
    db.insert(bids, [ONE, TWO])
    assert db.create_view("best", best(bids)).rows() == [Best(auction=7, price=12.0, n=2)]


def test_views_are_found_and_dropped_by_name(db: tr.Database) -> None:
    bids = db.table(Bid)
    view = db.create_view("best", best(bids))
    assert db.view("best") is view
    assert db.views == ["best"]
    db.drop_view("best")
    assert db.views == []
    with pytest.raises(tr.UnknownViewError, match="'best' is not found"):
        db.view("best")
    db.create_view("best", best(bids))
    assert len(db.insert(bids, ONE)["best"]) == 1


def test_a_name_is_taken_once(db: tr.Database) -> None:
    bids = db.table(Bid)
    db.create_view("best", best(bids))
    with pytest.raises(tr.Error, match="best"):
        db.create_view("best", best(bids))

    class Other(tr.Row, table="bid"):
        id: int = tr.key()

    with pytest.raises(tr.SchemaError, match="rows of Bid already, not of Other"):
        db.table(Other)


def test_an_unknown_table_lists_the_tables(db: tr.Database) -> None:
    db.table(Bid)
    with pytest.raises(KeyError, match=r"'bids' is not found\. Did you mean 'bid'\? Existing tables: bid"):
        db.insert("bids", ONE)


def test_the_circuit_can_be_looked_at(db: tr.Database) -> None:
    bids = db.table(Bid)
    view = db.create_view("best", best(bids))
    db.insert(bids, [ONE, TWO])
    assert db.graph()
    assert db.graph("dot").startswith("digraph")
    drawn = ElementTree.fromstring(db.graph("svg"))
    titles = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == db.metrics().num_rows
    assert any(title is not None and title.startswith("aggregate") for title in titles)
    assert {"operator", "rows_in", "rows_out", "seconds", "state_rows"} <= set(db.metrics().column_names)
    assert view.explain()
    assert "version=1" in repr(db)


def test_tables_and_views_come_in_every_form(db: tr.Database) -> None:
    bids = db.table(Bid)
    view = db.create_view("all", bids.filter(lambda b: b.id > 0))
    assert bids
    assert len(bids) == 0
    db.insert(bids, [ONE, TWO])
    for kept in (bids, view):
        assert len(kept) == 2
        assert kept.schema.names == ["id", "auction", "price", "note"]
        assert kept.key == ["id"]
        assert kept.to_arrow().num_rows == 2
        assert kept.to_polars()["id"].to_list() == [1, 2]
        assert list(kept.to_pandas()["id"]) == [1, 2]
        assert pa.table(kept).num_rows == 2
        assert "<th>auction</th>" in kept._repr_html_()
    copy = db.table(Bid, name="copy")
    db.insert(copy, bids)
    assert copy.rows() == bids.rows()


def test_a_class_may_come_after_the_name(db: tr.Database) -> None:
    db.execute(
        "CREATE TABLE bid (id BIGINT PRIMARY KEY, auction BIGINT NOT NULL, price DOUBLE NOT NULL, note TEXT)"
    )
    by_name = db.table("bid")
    bids = db.table(Bid)
    db.insert(by_name, [ONE])
    assert by_name.rows() == bids.rows() == [Bid(**ONE)]


def test_defaults_stand_in_for_what_rows_do_not_give(db: tr.Database) -> None:
    class Price(tr.Row):
        id: int = tr.key()
        amount: float
        currency: str = tr.field(default="EUR")
        rate: float | None = 1.5

    prices = db.table(Price)
    db.insert(prices, {"id": 1, "amount": 2.0})
    db.insert(prices, [{"id": 2, "amount": 2.0, "currency": "USD"}, {"id": 3, "amount": 3.0, "rate": None}])
    db.upsert(prices, pa.table({"id": [4], "amount": [4.0]}))
    db.update(prices, [{"id": 2, "amount": 9.0}])
    assert [(row.currency, row.rate) for row in prices.rows()] == [
        ("EUR", 1.5),
        ("USD", 1.5),
        ("EUR", None),
        ("EUR", 1.5),
    ]


def test_a_closed_database_says_so() -> None:
    with tr.connect() as db:
        bids = db.table(Bid)
        view = db.create_view("best", best(bids))
    db.close()
    assert repr(db) == "Database(closed)"
    for use in (
        lambda: db.insert(bids, ONE),
        lambda: db.version,
        lambda: db.table(Bid),
        lambda: db.view("best"),
        bids.rows,
        view.snapshot,
    ):
        with pytest.raises(tr.ClosedError):
            use()


@pytest.mark.parametrize(
    ("options", "supported"),
    [
        ({"path": "somewhere"}, "lives in memory"),
        ({"workers": 4}, "workers=1"),
        ({"memory_limit": "1GB"}, "no limit"),
        ({"durability": "checkpoint"}, "durability='commit'"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, Any], supported: str) -> None:
    with pytest.raises(NotImplementedError, match=supported):
        tr.connect(**options)
