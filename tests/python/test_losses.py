"""Nothing is lost on the way in: a value that the column cannot hold as it is, is refused with its row, column and value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tailrace as tr


class Wide(tr.Row):
    id: int = tr.key()
    n: int | None
    f: float | None
    d: Decimal | None = tr.field(default=None, type=tr.decimal(10, 2))
    small: float | None = tr.field(default=None, type=tr.sized("float32"))
    at: dt.datetime | None = None
    day: dt.date | None = None
    time: dt.time | None = None
    span: dt.timedelta | None = None
    ns: list[int] | None = None


def column(values: list[Any], type: pa.DataType) -> pa.Array:
    return pa.array(values, type)


ARROW: dict[str, tuple[str, pa.Array, str]] = {
    "a decimal into an int": ("n", column([Decimal("1.00"), Decimal("1.75")], pa.decimal128(5, 2)), "1.75"),
    "a decimal of a larger scale": (
        "d",
        column([Decimal("1.500"), Decimal("1.755")], pa.decimal128(9, 3)),
        "1.755",
    ),
    "an int that is no float": ("f", column([2**53, 2**53 + 1], pa.int64()), "9007199254740993"),
    "a large unsigned int": ("f", column([1, 2**64 - 1], pa.uint64()), "18446744073709551615"),
    "an int out of range": ("n", column([1, 2**64 - 1], pa.uint64()), "18446744073709551615"),
    "nanoseconds into microseconds": ("at", column([1_000, 1_001], pa.timestamp("ns")), "000001001"),
    "a float64 into a float32": ("small", column([0.5, 0.1], pa.float64()), "0.1"),
    "a date64 with a time": ("day", pa.array([0, 1], pa.int64()).view(pa.date64()), "1970-01-01"),
    "a time of nanoseconds": ("time", column([1_000, 1_001], pa.time64("ns")), "000001001"),
    "a duration of nanoseconds": ("span", column([1_000, 1_001], pa.duration("ns")), "0.000001001"),
    "an element of a list": ("ns", column([[1], [2**64 - 1]], pa.list_(pa.uint64())), "18446744073709551615"),
}


@pytest.mark.parametrize("case", ARROW)
def test_arrow_values_that_do_not_fit(db: tr.Database, case: str) -> None:
    name, values, shown = ARROW[case]
    table = db.table(Wide)
    data = pa.table({"id": [1, 2], name: values})
    with pytest.raises(tr.TypeMismatchError) as error:
        db.insert(table, data)
    assert f"'{name}'" in str(error.value)
    assert "row 1" in str(error.value)
    assert shown in str(error.value)
    assert table.rows() == []
    db.insert(table, data.slice(0, 1))
    assert len(table.rows()) == 1


PYTHON: dict[str, tuple[str, object]] = {
    "a datetime into a date": ("day", dt.datetime(2024, 5, 6, 7, 8)),
    "a datetime at midnight into a date": ("day", dt.datetime(2024, 5, 6)),
    "a time with a zone": ("time", dt.time(7, 8, tzinfo=dt.timezone.utc)),
    "a datetime into a time": ("time", dt.datetime(2024, 5, 6, 7, 8)),
    "an int that is no float": ("f", 2**53 + 1),
    "a float32 out of range": ("small", 1e300),
    "a decimal with too many digits": ("d", Decimal("123456789.00")),
    "a timestamp with nanoseconds": ("at", pd.Timestamp(1_001)),
    "a timedelta with nanoseconds": ("span", pd.Timedelta(1_001, "ns")),
}


@pytest.mark.parametrize("case", PYTHON)
def test_python_values_that_do_not_fit(db: tr.Database, case: str) -> None:
    name, value = PYTHON[case]
    table = db.table(Wide)
    good = {"id": 1, "n": None, "f": None}
    with pytest.raises(tr.TypeMismatchError) as error:
        db.insert(table, [good, {**good, "id": 2, name: value}])
    assert f"'{name}'" in str(error.value)
    assert "row 1" in str(error.value)
    assert repr(value) in str(error.value)
    assert table.rows() == []


def test_what_fits_is_kept(db: tr.Database) -> None:
    table = db.table(Wide)
    data = pa.table(
        {
            "id": pa.array([1], pa.int8()),
            "n": column([Decimal("7.00")], pa.decimal128(5, 2)),
            "f": column([2**53], pa.int64()),
            "d": column([3], pa.int32()),
            "small": column([0.5], pa.float64()),
            "at": column([dt.datetime(2024, 5, 6, 7, 8)], pa.timestamp("ns")),
            "day": column([dt.date(2024, 5, 6)], pa.date64()),
            "time": column([dt.time(7, 8)], pa.time32("s")),
            "span": column([dt.timedelta(seconds=1)], pa.duration("s")),
            "ns": column([[1, None]], pa.list_(pa.uint8())),
        }
    )
    db.insert(table, data)
    (row,) = table.snapshot().to_pylist()
    assert row == {
        "id": 1,
        "n": 7,
        "f": float(2**53),
        "d": Decimal("3.00"),
        "small": 0.5,
        "at": dt.datetime(2024, 5, 6, 7, 8),
        "day": dt.date(2024, 5, 6),
        "time": dt.time(7, 8),
        "span": dt.timedelta(seconds=1),
        "ns": [1, None],
    }
