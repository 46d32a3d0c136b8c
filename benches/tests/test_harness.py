"""The harness itself: the generator keeps its promises, the graph is what it claims, a wrong answer is found.

Run from `benches/`: `python -m pytest tests`; `make test` does so. All engines are compared by every run of the harness;
here it is our own programs alone, on a small input, so that none of them can break unseen.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from harness import duckdb_peer, duckdb_sql, nexmark, tailrace_runs, tpch, workloads
from harness.agreement import difference
from harness.contract import NEXMARK, Settings, geometric_mean, spread
from harness.engines import BENCHES
from harness.nexmark import write_arrow
from harness.targets import verdicts


def test_events_are_a_function_of_the_seed() -> None:
    first, again, other = nexmark.generate(5_000, 3), nexmark.generate(5_000, 3), nexmark.generate(5_000, 4)
    assert all(getattr(first, name).equals(getattr(again, name)) for name in nexmark.TABLES)
    assert not first.bid.equals(other.bid)


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    events = nexmark.generate(50_000)
    counts = [getattr(events, name).num_rows for name in nexmark.TABLES]
    assert counts == [1_000, 3_000, 46_000]
    assert events.events == 50_000


def test_keys_are_unique_and_no_two_events_share_a_time() -> None:
    events = nexmark.generate(50_000)
    tables = [getattr(events, name) for name in nexmark.TABLES]
    assert all(pc.count_distinct(table["id"]).as_py() == table.num_rows for table in tables)
    times = pa.chunked_array([chunk for table in tables for chunk in table["date_time"].chunks])
    assert pc.count_distinct(times).as_py() == events.events


def test_hot_auctions_take_half_of_the_bids() -> None:
    auction = nexmark.generate(200_000).bid["auction"].to_numpy()
    hot = (auction - nexmark.FIRST_ID) % 100 == 0
    assert hot.mean() == pytest.approx(0.5, abs=0.02)


def test_every_changed_row_exists_and_is_named_once_in_its_batch() -> None:
    work = workloads.churn(10_000, 5)
    for batch in work.batches:
        ids = batch["id"].to_pylist()
        assert len(set(ids)) == len(ids) == workloads.CHANGED_ROWS
        assert set(ids) <= set(range(10_000))


def test_oracle_closure_of_a_tree_has_a_pair_for_each_ancestor(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, chains=3, depth=60)
    work = workloads.graph(3, 60, 1)
    edges = zip(work.edges["src"].to_pylist(), work.edges["dst"].to_pylist(), strict=True)
    parents = {dst: src for src, dst in edges if (src, dst) != work.cuts[0]}
    assert duckdb_peer.ANSWERS["closure"](settings).num_rows == sum(_depth(parents, node) for node in parents)


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    right = pa.table({"category": [10, 11, 11], "price": [1.5, 2.5, 2.5]})
    paths = {name: tmp_path / f"{name}.arrow" for name in ("right", "shuffled", "changed", "once")}
    write_arrow(right, paths["right"])
    write_arrow(right.take([2, 0, 1]), paths["shuffled"])
    write_arrow(pa.table({"category": [10, 11, 11], "price": [1.5, 2.5, 2.6]}), paths["changed"])
    write_arrow(right.slice(0, 2), paths["once"])
    found = [difference(paths["right"], paths[name]) for name in ("shuffled", "changed", "once")]
    assert found == [(0, 0), (1, 1), (1, 0)]


def test_percentiles_are_values_that_occurred() -> None:
    found = spread([float(i) for i in range(1, 101)], None, 0.0)
    assert (found.seconds, found.p99_seconds) == (50.0, 99.0)


@pytest.mark.parametrize("bench", sorted({*tailrace_runs.ANSWERS} - {*NEXMARK[1:]}))
def test_our_program_and_the_oracle_agree(bench: str, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, events=3_000, batches=3, chains=2, depth=40)
    paths = [tmp_path / "ours.arrow", tmp_path / "oracle.arrow"]
    for engine, path in zip((tailrace_runs, duckdb_peer), paths, strict=True):
        write_arrow(engine.ANSWERS[bench](settings), path)
    assert difference(paths[1], paths[0]) == (0, 0)


@pytest.mark.parametrize("bench", ["q18", "sort", "merge", "memory", "create_view", "views1000"])
def test_our_runs_measure_something(bench: str, tmp_path: Path) -> None:
    found = tailrace_runs.RUNS[bench](Settings(data=tmp_path, events=2_000, repeats=1))
    assert found.seconds > 0


def test_tpch_is_as_it_was_after_all_changes_and_their_ways_back(tmp_path: Path) -> None:
    data = tpch.stored(0.01, tmp_path)
    with duckdb.connect() as db:
        base = {table: data.base(table) for table in tpch.tables_of("q13")}
        for table, rows in base.items():
            duckdb_sql.create(db, table, rows)
        for number, change in enumerate(data.steps(["q13"])):
            for table, part in change.items():
                duckdb_sql.apply(db, table, part)
            assert _differs(db, "orders", base["orders"]) == (number % 2 == 0)
        assert not _differs(db, "customer", base["customer"])


def test_tpch_runs_measure_every_wanted_query(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, scale=0.01, tpch=("q06", "q11"))
    found = {
        name: engine.RUNS["tpch"](settings)
        for name, engine in (("tailrace", tailrace_runs), ("duckdb", duckdb_peer))
    }
    assert all({"q06_seconds", "q11_seconds"} <= set(values.details) for values in found.values())
    judged = list(verdicts({"tpch": {name: asdict(values) for name, values in found.items()}}))
    assert [verdict.target.bound for verdict in judged] == [20.0, 1.0]


def test_a_geometric_mean_is_one_of_factors() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_every_benchmark_of_ours_has_a_run() -> None:
    assert set(BENCHES) == set(tailrace_runs.RUNS)


def test_a_target_is_judged_only_with_all_its_figures() -> None:
    alone = {"q4": {"tailrace": {"seconds": 1.0}}}
    beside = {"q4": {"tailrace": {"seconds": 1.0}, "duckdb": {"seconds": 0.1}, "pathway": {"seconds": 20.0}}}
    assert list(verdicts(alone)) == []
    assert [(v.value, v.met) for v in verdicts(beside)] == [(10.0, False), (20.0, True)]


def _differs(db: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> bool:
    db.register("wanted", rows)
    found = db.sql(
        f"(FROM {table} EXCEPT ALL FROM wanted) UNION ALL (FROM wanted EXCEPT ALL FROM {table})"
    ).fetchall()
    db.unregister("wanted")
    return bool(found)


def _depth(parents: dict[int, int], node: int) -> int:
    depth = 0
    while node in parents:
        node, depth = parents[node], depth + 1
    return depth
