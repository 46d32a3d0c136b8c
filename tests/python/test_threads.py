"""Threads and signals: the engine lets other Python threads run, takes calls from several, and Ctrl-C interrupts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import tailrace as tr


class Point(tr.Row):
    id: int = tr.key()
    x: int


class Total(tr.Row):
    x: int = tr.key()
    n: int


def _points(count: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({"id": rng.permutation(count), "x": rng.integers(0, 1000, count)})


def _ticks_inside_a_step(rows: int) -> list[float]:
    """The moments at which another thread ran while the engine worked on that many rows."""
    started, done = threading.Event(), threading.Event()
    ticks: list[float] = []

    def tick() -> None:
        started.set()
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    with tr.connect() as db:
        points = db.table(Point)
        db.create_view("pairs", _pairs(points))
        data = _points(rows)
        ticker = threading.Thread(target=tick)
        ticker.start()
        started.wait()
        start = time.perf_counter()
        db.insert(points, data)
        end = time.perf_counter()
        done.set()
        ticker.join()
    # Had the engine kept the lock, no tick would lie inside the step; its very ends belong to Python.
    return [at for at in ticks if start + (end - start) * 0.1 < at < end - (end - start) * 0.1]


def test_another_thread_runs_while_the_engine_works() -> None:
    # A step may be too short for a tick on a fast machine or a busy one, so longer ones are tried too.
    assert any(len(_ticks_inside_a_step(rows)) >= 5 for rows in (60_000, 120_000, 240_000, 480_000))


def test_several_threads_write(db: tr.Database) -> None:
    points = db.table(Point)
    totals = db.create_view(
        "totals", points.group_by(lambda p: p.x).aggregate(lambda k, g: Total(x=k, n=g.count()))
    )
    errors: list[BaseException] = []

    def write(part: int) -> None:
        try:
            for i in range(50):
                db.insert(points, {"id": part * 1000 + i, "x": i % 5})
        except BaseException as error:  # the main thread must know of it
            errors.append(error)

    threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert db.version == 200
    assert sorted((row.x, row.n) for row in totals.rows()) == [(x, 40) for x in range(5)]


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
def test_control_c_interrupts_a_long_step_and_leaves_the_database_whole() -> None:
    program = textwrap.dedent(
        """
        import sys, time
        import tailrace as tr

        class N(tr.Row):
            n: int

        db = tr.connect()
        start = db.table(N)
        grown = start.recursive(lambda r: r.map(lambda x: N(n=x.n + 1)), limit=1_000_000_000)
        view = db.create_view("grown", grown)
        print("ready", flush=True)
        try:
            db.insert(start, N(n=0))
        except KeyboardInterrupt:
            assert db.version == 0 and start.rows() == [] and view.rows() == []
            print("interrupted", flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert output == "interrupted\n"
    assert process.returncode == 0


def _pairs(points: tr.Stream[Point]) -> tr.Stream[Total]:
    """A join that takes a while: every point with all others of its x."""
    paired = points.join(points, lambda a: a.x, lambda b: b.x, lambda a, b: Total(x=a.x, n=b.id))
    return paired.group_by(lambda t: t.x).aggregate(lambda k, g: Total(x=k, n=g.count()))


@pytest.mark.parametrize("where", ["udf", "inspect", "map_rows"])
def test_closing_from_inside_a_function_is_refused(db: tr.Database, where: str) -> None:
    points = db.table(Point)

    def close() -> None:
        with pytest.raises(tr.PlanError, match="from inside"):
            db.close()

    @tr.udf
    def closing(x: tr.Array[int]) -> tr.Array[int]:
        close()
        return x

    def row(point: Point) -> Point:
        close()
        return point

    streams = {
        "udf": lambda: points.map(lambda p: Point(id=p.id, x=closing(p.x))),
        "inspect": lambda: points.inspect(lambda _changes: close()),
        "map_rows": lambda: points.map_rows(row),
    }
    view = db.create_view("v", streams[where]())
    db.insert(points, {"id": 1, "x": 2})
    assert view.rows() == [Point(id=1, x=2)]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_that_is_no_error_leaves_a_function_as_it_is(
    db: tr.Database, raised: type[BaseException]
) -> None:
    points = db.table(Point)

    @tr.udf
    def leaving(x: tr.Array[int]) -> tr.Array[int]:
        raise raised("enough")

    view = db.create_view("v", points.map(lambda p: Point(id=p.id, x=leaving(p.x))))
    with pytest.raises(raised, match="enough"):
        db.insert(points, {"id": 1, "x": 2})
    assert points.rows() == view.rows() == []


def test_views_are_made_while_another_thread_writes(db: tr.Database) -> None:
    points = db.table(Point)
    failures: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for key in range(100_000):
                if done.is_set():
                    return
                db.insert(points, {"id": key, "x": key})
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(200):
        db.create_view(f"v{number}", points.filter(lambda p, n=number: p.x == n))  # type: ignore[misc]
    done.set()
    writer.join()
    assert not failures
