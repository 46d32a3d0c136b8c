"""Arrow passes the boundary without a copy: buffers inside and behind the engine have the addresses of those that came in.

What is copied, and why, is tested too. Rows that come out of order are sorted for the delta and for the index of a view, and so
are copied once. Texts are views inside and plain text outside: the views are made over the buffer that came in, and plain text is
written anew when it goes out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tailrace as tr

ROWS = 10_000


class Point(tr.Row):
    x: int
    y: float


class Note(tr.Row):
    x: int
    text: str


def _address(array: Any) -> int:
    """Where the values of an array, or of the only chunk of a column, lie."""
    if isinstance(array, pa.ChunkedArray):
        assert array.num_chunks == 1
        array = array.chunk(0)
    address: int = array.buffers()[1].address
    return address


def _points() -> pa.Table:
    return pa.table({"x": np.arange(ROWS), "y": np.linspace(0.0, 1.0, ROWS)})


def test_a_udf_sees_the_buffers_that_came_in(db: tr.Database) -> None:
    seen: list[int] = []

    @tr.udf
    def watched(y: tr.Array[float]) -> tr.Array[float]:
        seen.append(_address(y))
        return y

    points = db.table(Point)
    db.create_view("watched", points.map(lambda p: Point(x=p.x, y=watched(p.y))))
    seen.clear()
    table = _points()
    db.insert(points, table)
    assert seen == [_address(table["y"])]


def test_inspect_sees_the_buffers_that_came_in(db: tr.Database) -> None:
    seen: list[pa.Table] = []
    points = db.table(Point)
    db.create_view("seen", points.inspect(seen.append))
    seen.clear()
    table = _points()
    db.insert(points, table)
    full = [found for found in seen if found.num_rows]
    assert [(_address(found["x"]), _address(found["y"])) for found in full] == [
        (_address(table["x"]), _address(table["y"]))
    ]


@pytest.mark.parametrize("name", ["table", "filter", "map"])
def test_a_delta_is_the_buffers_that_came_in(db: tr.Database, name: str) -> None:
    points = db.table(Point)
    streams = {
        "table": points,
        "filter": points.filter(lambda p: p.x >= 0),
        "map": points.map(lambda p: Point(x=p.x, y=p.y)),
    }
    view = db.create_view(name, streams[name])
    table = _points()
    delta = db.insert(points, table)[view].delta
    assert [_address(delta[column]) for column in "xy"] == [_address(table[column]) for column in "xy"]


def test_a_snapshot_is_the_buffers_that_came_in(db: tr.Database) -> None:
    points = db.table(Point)
    view = db.create_view("all", points)
    table = _points()
    db.insert(points, table)
    for snapshot in (view.snapshot(), pa.table(view.snapshot())):
        assert [_address(snapshot[column]) for column in "xy"] == [_address(table[column]) for column in "xy"]


def test_rows_out_of_order_are_copied_once_and_then_shared(db: tr.Database) -> None:
    points = db.table(Point)
    view = db.create_view("all", points)
    table = _points().take(pa.array(np.arange(ROWS)[::-1]))
    change = db.insert(points, table)[view]
    delta, exported = change.delta, pa.table(change)
    assert _address(delta["x"]) not in {_address(table["x"]), 0}
    assert _address(exported["x"]) == _address(delta["x"])
    assert _address(view.snapshot()["x"]) == _address(view.snapshot()["x"])
    assert delta["x"].to_pylist() == view.snapshot()["x"].to_pylist() == list(range(ROWS))


def test_texts_are_written_anew_when_they_leave(db: tr.Database) -> None:
    notes = db.table(Note)
    view = db.create_view("all", notes)
    table = pa.table(
        {"x": np.arange(ROWS), "text": [f"a text too long for a view: {i}" for i in range(ROWS)]}
    )
    delta = db.insert(notes, table)[view].delta
    assert _address(delta["x"]) == _address(table["x"])
    assert delta["text"].type == pa.string()
    assert delta["text"].chunk(0).buffers()[2].address != table["text"].chunk(0).buffers()[2].address
    assert delta["text"].to_pylist() == table["text"].to_pylist()


def test_data_outlive_the_database() -> None:
    with tr.connect() as db:
        points = db.table(Point)
        view = db.create_view("all", points)
        change = db.insert(points, _points())[view]
        delta, snapshot = change.delta, view.snapshot()
    assert sum(delta["x"].to_pylist()) == sum(snapshot["x"].to_pylist()) == sum(range(ROWS))
