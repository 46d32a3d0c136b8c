"""Arrow passes the boundary without a copy: the buffers on both sides have the same addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import tailrace as tr

ROWS = 10_000


class Point(tr.Row):
    x: int
    y: float


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


def test_a_delta_leaves_without_a_copy(db: tr.Database) -> None:
    points = db.table(Point)
    view = db.create_view("all", points)
    change = db.insert(points, _points())[view]
    once, again = pa.table(change), pa.table(change)
    assert _address(once["x"]) == _address(again["x"]) == _address(change.delta["x"])


def test_a_snapshot_that_is_handed_on_is_not_copied(db: tr.Database) -> None:
    points = db.table(Point)
    view = db.create_view("all", points)
    db.insert(points, _points())
    snapshot = view.snapshot()
    assert _address(pa.table(snapshot)["x"]) == _address(snapshot["x"])
    assert sorted(snapshot["x"].to_pylist()) == list(range(ROWS))


def test_data_outlive_the_database() -> None:
    with tr.connect() as db:
        points = db.table(Point)
        view = db.create_view("all", points)
        change = db.insert(points, _points())[view]
        delta, snapshot = change.delta, view.snapshot()
    assert sum(delta["x"].to_pylist()) == sum(snapshot["x"].to_pylist()) == sum(range(ROWS))
