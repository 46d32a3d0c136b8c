"""Live views: handles, hashes, verification and branches, as a user meets them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tailrace as tr


class Sale(tr.Row):
    id: int = tr.key()
    region: int
    amount: float | None


@pytest.fixture
def sales(db: tr.Database) -> tr.Table[Sale]:
    table = db.table(Sale)
    table.insert([Sale(id=n, region=n % 3, amount=n / 2) for n in range(9)])
    return table


TOTALS = "SELECT region, count(*) AS n, sum(amount) AS total FROM sale GROUP BY region"


class TestContent:
    def test_a_query_over_a_view_reads_its_kept_rows(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        calls = []

        @tr.udf
        def noted(amount: tr.Array[float]) -> tr.Array[float]:
            calls.append(len(amount))
            return amount

        class Noted(tr.Row):
            id: int
            amount: float

        view = db.create_view(
            "noted", sales.map(lambda s: Noted(id=s.id, amount=noted(tr.coalesce(s.amount, 0.0))))
        )
        assert db.execute("SELECT sum(amount) FROM noted").fetchall() == [(18.0,)]
        calls.clear()
        assert db.execute("SELECT sum(amount) FROM noted WHERE id > 3").fetchall() == [(15.0,)]
        assert db.execute("SELECT count(*) FROM noted a JOIN noted b ON a.id = b.id").fetchall() == [(9,)]
        over = db.create_view("over", "SELECT max(amount) AS best FROM noted")
        assert over.snapshot().to_pylist() == [{"best": 4.0}]
        assert calls == [], "the view was computed again"
        db.insert(sales, {"id": 10, "region": 0, "amount": 7.0})
        assert db.execute("SELECT max(amount) FROM noted").fetchall() == [(7.0,)]
        assert calls == [1]
        assert view.verify().rows == 10

    def test_a_query_over_a_view_with_a_history_reads_what_it_holds(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        late = db.create_view("late", sales.delay())
        db.insert(sales, {"id": 20, "region": 0, "amount": 1.0})
        db.insert(sales, {"id": 21, "region": 0, "amount": 1.0})
        held = sorted(late.snapshot().column("id").to_pylist())
        assert 21 not in held
        assert sorted(row[0] for row in db.execute("SELECT id FROM late").fetchall()) == held

    def test_changes_answer_for_views_that_did_not_change(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        few = db.create_view("few", sales.filter(lambda s: s.region == 7))
        db.create_view("totals", TOTALS)
        changes = db.insert(sales, {"id": 10, "region": 0, "amount": 1.0})
        assert few not in changes
        assert set(changes) == {"totals"}
        assert changes["few"].delta.schema.names == ["id", "region", "amount", "_weight"]
        assert len(changes[few]) == 0

    def test_changes_answer_after_the_view_is_gone(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        totals = db.create_view("totals", TOTALS)
        changes = db.insert(sales, {"id": 10, "region": 0, "amount": 1.0})
        db.drop_view(totals)
        assert len(changes["totals"].rows) == 2
        assert len(changes[totals]) == 2
        db.execute("CREATE VIEW totals AS SELECT id FROM sale")
        assert changes["totals"].delta.schema.names == ["region", "n", "total", "_weight"]
        assert "totals" in changes
        assert db.view("totals") not in changes
        with pytest.raises(tr.UnknownViewError, match="at version 2"):
            changes[db.view("totals")]


class TestHandles:
    @pytest.mark.parametrize(
        "again", ["", "CREATE VIEW totals AS SELECT id FROM sale", f"CREATE VIEW totals AS {TOTALS}"]
    )
    def test_a_handle_is_of_one_view(self, db: tr.Database, sales: tr.Table[Sale], again: str) -> None:
        old = db.create_view("totals", TOTALS)
        db.execute(f"DROP VIEW totals; {again}")
        for use in (
            old.snapshot,
            old.rows,
            old.verify,
            old.explain,
            old.changes,
            lambda: old.hash,
            lambda: old.schema,
            lambda: old.key,
            lambda: old.version,
            lambda: len(old),
            lambda: pa.table(old),
            lambda: db.drop_view(old),
        ):
            with pytest.raises(tr.UnknownViewError, match="totals"):
                use()
        if again:
            assert len(db.view("totals")) > 0

    def test_replacing_a_view_makes_another_one(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        old = db.create_view("totals", TOTALS)
        db.execute("CREATE OR REPLACE VIEW totals AS SELECT count(*) AS n FROM sale")
        with pytest.raises(tr.UnknownViewError, match=r"db\.view"):
            old.snapshot()
        changes = db.insert(sales, {"id": 10, "region": 0, "amount": 1.0})
        assert changes["totals"].delta.to_pylist() == [{"n": 9, "_weight": -1}, {"n": 10, "_weight": 1}]

    def test_a_handle_of_a_table_made_anew_does_not_read_the_new_one(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        db.execute("DROP TABLE sale; CREATE TABLE sale (z BIGINT)")
        with pytest.raises(tr.UnknownTableError):
            sales.snapshot()

    def test_who_listens_to_a_dropped_view_gets_what_is_left_and_ends(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        totals = db.create_view("totals", TOTALS)
        followed = totals.changes()
        assert next(followed).is_snapshot
        db.insert(sales, {"id": 10, "region": 0, "amount": 1.0})
        db.execute("DROP VIEW totals; CREATE VIEW totals AS SELECT id FROM sale")
        db.insert(sales, {"id": 11, "region": 0, "amount": 1.0})
        assert [len(change) for change in followed] == [2]

    def test_a_step_is_heard_of_by_those_alone_that_it_concerns(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        views = [db.create_view(f"r{n}", sales.filter(lambda s, n=n: s.region == n)) for n in range(20)]
        heard = [view.changes(since=db.version) for view in views]
        db.insert(sales, {"id": 100, "region": 13, "amount": 1.0})
        db.insert(sales, {"id": 101, "region": 4, "amount": 1.0})
        assert [n for n, changes in enumerate(heard) if changes.take(timeout=0) is not None] == [4, 13]


class TestHash:
    def test_it_is_that_of_the_rows(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        one = db.create_view("one", sales.filter(lambda s: s.region == 1))
        before = one.hash
        assert len(before) == 32
        db.insert(sales, {"id": 100, "region": 1, "amount": None})
        assert one.hash != before
        db.delete(sales, 100)
        assert one.hash == before
        db.insert(sales, {"id": 100, "region": 2, "amount": 1.0})
        assert one.hash == before

    def test_it_does_not_depend_on_steps_and_on_the_process(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        view = db.create_view("totals", TOTALS)
        for n in range(20):
            db.upsert(sales, {"id": n % 5, "region": n % 2, "amount": float("nan") if n % 7 else -0.0})
        rows = pickle.dumps([(row.id, row.region, row.amount) for row in sales.rows()])
        program = (
            "import pickle, sys, tailrace as tr\n"
            "db = tr.connect()\n"
            "db.execute('CREATE TABLE sale (id BIGINT PRIMARY KEY, region BIGINT NOT NULL, amount DOUBLE)')\n"
            f"rows = pickle.loads({rows!r})\n"
            "db.insert('sale', [dict(zip(('id', 'region', 'amount'), row)) for row in rows])\n"
            f"print(db.create_view('totals', {TOTALS!r}).hash)\n"
        )
        found = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        assert found.strip() == view.hash

    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            ("DECIMAL(30, 3)", "1.5, 2"),
            ("VARCHAR", "'', 'a text of some length'"),
            ("DATE", "DATE '2020-01-01', NULL"),
            ("TIMESTAMP", "TIMESTAMP '2020-01-01', NULL"),
            ("BOOLEAN", "true, false"),
            ("BIGINT[]", "[1, NULL], []"),
        ],
    )
    def test_every_type_has_one(self, db: tr.Database, kind: str, values: str) -> None:
        db.execute(f"CREATE TABLE t (a {kind}, b {kind})")
        view = db.create_view("v", "SELECT a FROM t")
        empty = view.hash
        db.execute(f"INSERT INTO t VALUES ({values})")
        assert view.hash != empty
        view.verify()
        db.execute("DELETE FROM t")
        assert view.hash == empty


class TestVerify:
    def test_it_tells_what_it_compared(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        view = db.create_view("totals", TOTALS)
        found = view.verify()
        assert (found.ok, found.view, found.rows, found.differing) == (True, "totals", 3, 0)
        assert found.hash == view.hash
        assert str(found) == "View 'totals': 3 rows, as computed anew."

    def test_a_function_that_changes_its_mind_is_found(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        shift = [0.0]

        @tr.udf
        def shifted(amount: tr.Array[float]) -> tr.Array[float]:
            return pc.add(pa.array(amount), shift[0])

        class Shifted(tr.Row):
            id: int
            amount: float

        view = db.create_view(
            "shifted", sales.map(lambda s: Shifted(id=s.id, amount=shifted(tr.coalesce(s.amount, 0.0))))
        )
        db.create_view("totals", TOTALS)
        view.snapshot()
        shift[0] = 1.0
        with pytest.raises(tr.VerificationError, match="'shifted': 18 rows differ") as raised:
            view.verify()
        (found,) = raised.value.verifications
        assert found.sample.num_rows == 18
        assert {row["_weight"] for row in found.sample.to_pylist()} == {1, -1}
        with pytest.raises(tr.VerificationError):
            db.verify()
        shift[0] = 0.0
        assert {name: one is not None and one.ok for name, one in db.verify().items()} == {
            "shifted": True,
            "totals": True,
        }

    def test_a_view_with_a_history_says_so(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        view = db.create_view("late", sales.delay())
        with pytest.raises(tr.UnsupportedError, match="depends on when"):
            view.verify()
        assert db.verify() == {"late": None}

    def test_it_does_not_show_rows_to_observers(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        seen: list[int] = []
        view = db.create_view("seen", sales.inspect(lambda changes: seen.append(len(pa.table(changes)))))
        seen.clear()
        view.verify()
        assert seen == []


class TestBranch:
    def test_it_tries_changes_and_forgets_them(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        view = db.create_view("totals", TOTALS)
        before = view.hash
        with db.branch() as trial:
            trial.delete("sale", [0, 1, 2])
            trial.execute("CREATE VIEW more AS SELECT * FROM totals WHERE n > 1")
            assert len(trial.view("more")) == 3
            assert trial.view("totals").hash != before
        assert view.hash == before
        assert db.views == ["totals"]
        with pytest.raises(tr.ClosedError):
            trial.view("totals")

    def test_its_tables_and_classes_are_known(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        view = db.create_view("big", sales.filter(lambda s: tr.coalesce(s.amount, 0.0) > 3.0))
        trial = db.branch()
        own = trial.table(Sale)
        assert own is not sales
        changes = own.insert(Sale(id=50, region=1, amount=9.0))
        assert changes["big"].rows == [(Sale(id=50, region=1, amount=9.0), 1)]
        assert trial.view("big").row is Sale
        with pytest.raises(tr.UnknownTableError):
            trial.insert(sales, Sale(id=51, region=1, amount=9.0))
        assert len(view) == 2
        nested = trial.branch()
        nested.delete("sale", 50)
        assert len(trial.view("big")) == 3
        nested.merge()
        assert len(trial.view("big")) == 2

    def test_a_merge_is_one_step_of_the_parent(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        view = db.create_view("totals", TOTALS)
        heard = view.changes(since=db.version)
        trial = db.branch()
        trial.insert("sale", {"id": 50, "region": 9, "amount": 1.0})
        trial.update("sale", {"id": 0, "amount": 100.0})
        trial.delete("sale", 50)
        trial.insert("sale", {"id": 51, "region": 9, "amount": 2.0})
        version = db.version
        changes = trial.merge()
        assert changes.version == db.version == version + 1
        assert {row["region"] for row in changes["totals"].delta.to_pylist()} == {0, 9}
        assert heard.take(timeout=1) is not None
        assert heard.take(timeout=0) is None
        with pytest.raises(tr.ClosedError):
            trial.insert("sale", {"id": 52, "region": 9, "amount": 2.0})
        db.verify()

    def test_a_conflict_names_table_and_key_and_applies_nothing(
        self, db: tr.Database, sales: tr.Table[Sale]
    ) -> None:
        trial = db.branch()
        trial.update(
            "sale", [{"id": 3, "amount": 30.0}, {"id": 4, "amount": 40.0}, {"id": 5, "amount": 50.0}]
        )
        db.update(sales, [{"id": 4, "amount": -4.0}, {"id": 5, "amount": 50.0}])
        version = db.version
        with pytest.raises(tr.MergeConflictError, match=r"'sale': key \(id=4\)") as raised:
            trial.merge()
        assert "on_conflict" in str(raised.value)
        assert db.version == version
        with pytest.raises(tr.PlanError, match="Choices: error, branch, parent"):
            trial.merge("mine")  # type: ignore[arg-type]
        trial.merge("parent")
        amounts = {row.id: row.amount for row in sales.rows()}
        assert [amounts[id] for id in (3, 4, 5)] == [30.0, -4.0, 50.0]

    def test_the_branch_may_win(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        trial = db.branch()
        trial.update("sale", {"id": 4, "amount": 40.0})
        trial.delete("sale", 6)
        db.delete(sales, 4)
        db.update(sales, {"id": 6, "amount": 60.0})
        trial.merge("branch")
        assert {row.id: row.amount for row in sales.rows() if row.id in (4, 6)} == {4: 40.0}

    def test_functions_and_recursion_go_along(self, db: tr.Database) -> None:
        db.execute("CREATE TABLE edge (a BIGINT, b BIGINT)")
        reach = (
            "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM edge UNION SELECT r.a, edge.b FROM r "
            "JOIN edge ON r.b = edge.a) SELECT a, b FROM r"
        )
        view = db.create_view("reach", reach)
        db.execute("INSERT INTO edge VALUES (1, 2), (2, 3), (3, 4)")
        trial = db.branch()
        trial.execute("DELETE FROM edge WHERE a = 2; INSERT INTO edge VALUES (4, 1)")
        db.execute("INSERT INTO edge VALUES (4, 5)")
        assert len(view) == 10
        assert sorted(trial.execute("SELECT * FROM reach").fetchall()) == [
            (1, 2), (3, 1), (3, 2), (3, 4), (4, 1), (4, 2),
        ]  # fmt: skip
        trial.merge()
        db.verify()

    def test_observers_look_at_the_parent_alone(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        seen: list[int] = []
        db.create_view("seen", sales.inspect(lambda changes: seen.append(len(pa.table(changes)))))
        seen.clear()
        with db.branch() as trial:
            trial.delete("sale", [1, 2])
        assert seen == []
        db.delete(sales, 1)
        assert seen == [1]

    def test_both_sides_work_on_threads_of_their_own(self, db: tr.Database, sales: tr.Table[Sale]) -> None:
        view = db.create_view("totals", TOTALS)
        trials = [db.branch() for _ in range(4)]

        def work(trial: tr.Branch, n: int) -> None:
            for step in range(20):
                trial.insert("sale", {"id": 1000 + 100 * n + step, "region": n, "amount": 1.0})

        threads = [threading.Thread(target=work, args=(trial, n)) for n, trial in enumerate(trials)]
        for thread in threads:
            thread.start()
        for n in range(20):
            db.insert(sales, {"id": 100 + n, "region": 0, "amount": 1.0})
        for thread in threads:
            thread.join()
        for trial in trials:
            trial.verify()
            trial.merge()
        assert db.execute("SELECT sum(n) FROM totals").fetchall() == [(9 + 20 + 80,)]
        view.verify()
