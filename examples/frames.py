"""pandas, Polars and Arrow in, Arrow out: data pass the boundary as columns, without a copy where they can.

Run it with `python examples/frames.py`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa

import tailrace as tr


class Reading(tr.Row, table="readings"):
    sensor: str = tr.key()
    at: datetime = tr.key()
    celsius: float | None


class Hour(tr.Row):
    sensor: str = tr.key()
    hour: datetime = tr.key()
    mean: float | None
    readings: int


def hourly(readings: tr.Stream[Reading]) -> tr.Stream[Hour]:
    """The mean of each sensor per hour; a reading without value counts but does not weigh in."""
    return readings.group_by(lambda r: (r.sensor, tr.date_trunc("hour", r.at))).aggregate(
        lambda key, g: Hour(sensor=key[0], hour=key[1], mean=g.avg(lambda r: r.celsius), readings=g.count())
    )


def columns(start: datetime) -> dict[str, list[Any]]:
    """Four readings of two sensors, half an hour apart."""
    return {
        "sensor": ["roof", "roof", "cellar", "cellar"],
        "at": [start, start + timedelta(minutes=30), start, start + timedelta(minutes=30)],
        "celsius": [21.0, 23.0, None, 12.5],
    }


def main() -> None:
    with tr.connect() as db:
        readings = db.table(Reading)
        view = db.create_view("hourly", hourly(readings))
        nine = datetime(2026, 7, 1, 9)

        db.insert(readings, pa.table(columns(nine)))
        db.insert(readings, pl.DataFrame(columns(nine + timedelta(hours=1))))
        changes = db.insert(readings, columns(nine + timedelta(hours=2)))

        print("What the last step changed:")
        print(pl.DataFrame(changes[view]).sort("sensor", "hour"))
        print("All hours:")
        print(pl.DataFrame(view).sort("sensor", "hour"))


if __name__ == "__main__":
    main()
