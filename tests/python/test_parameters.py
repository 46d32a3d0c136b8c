"""Views with parameters: every value's view equals DuckDB with the value written in, after every step, for several values at once."""

from __future__ import annotations

import gc
import random
from typing import Any

import duckdb
import pytest

import tailrace as tr

SCHEMA = """
CREATE TABLE t (id BIGINT PRIMARY KEY, city TEXT, x BIGINT, d DOUBLE);
CREATE TABLE u (id BIGINT PRIMARY KEY, city TEXT, v BIGINT);
"""

CITIES: list[Any] = ["Rome", "Oslo", "Nowhere", None]
NUMBERS: list[Any] = [0, 1, 3, 99, None]

# A query, and what its parameters take.
QUERIES: list[tuple[str, dict[str, list[Any]]]] = [
    ("SELECT id, x FROM t WHERE city = $city", {"city": CITIES}),
    ("SELECT * FROM t WHERE city = $city AND x = $x", {"city": CITIES, "x": NUMBERS}),
    ("SELECT count(*) AS n, sum(x) AS s, max(x) AS m FROM t WHERE city = $city", {"city": CITIES}),
    ("SELECT x, count(*) AS n FROM t WHERE city = $city GROUP BY x", {"city": CITIES}),
    ("SELECT count(*) AS n FROM t WHERE x > $least", {"least": NUMBERS}),
    ("SELECT id FROM t WHERE city = $city AND x >= $least", {"city": CITIES, "least": NUMBERS}),
    ("SELECT id FROM t WHERE x BETWEEN $low AND $high", {"low": NUMBERS, "high": NUMBERS}),
    ("SELECT id FROM t WHERE x IN ($a, $b)", {"a": NUMBERS, "b": NUMBERS}),
    ("SELECT id, city FROM t WHERE city LIKE $pattern", {"pattern": ["R%", "%o%", "x"]}),
    ("SELECT id, x * $factor AS y FROM t", {"factor": NUMBERS}),
    ("SELECT id FROM t WHERE x = $x + 1", {"x": NUMBERS}),
    ("SELECT id FROM t WHERE city = $city OR x = $x", {"city": CITIES, "x": NUMBERS}),
    ("SELECT id FROM t WHERE $city IS NULL OR city = $city", {"city": CITIES}),
    ("SELECT id FROM t WHERE x > (SELECT avg(x) FROM t u WHERE u.city = $city)", {"city": CITIES}),
    ("SELECT id FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.city = u.city AND t.x = $x)", {"x": NUMBERS}),
    ("SELECT id FROM t WHERE x NOT IN (SELECT v FROM u WHERE city = $city)", {"city": CITIES}),
    ("SELECT id, x FROM t WHERE city = $city ORDER BY x DESC NULLS LAST, id LIMIT 2", {"city": CITIES}),
    ("SELECT id, row_number() OVER (ORDER BY x, id) AS n FROM t WHERE city = $city", {"city": CITIES}),
    ("SELECT id, row_number() OVER (ORDER BY x, id) AS n FROM t WHERE x >= $least", {"least": NUMBERS}),
    ("SELECT t.id, u.id AS other FROM t JOIN u ON u.city = t.city AND u.v > $v", {"v": NUMBERS}),
    (
        "SELECT t.id, u.id AS other FROM t JOIN u ON u.city = t.city WHERE t.x = $x AND u.v = $x",
        {"x": NUMBERS},
    ),
    ("SELECT t.id, u.id AS other FROM t LEFT JOIN u ON u.city = t.city AND u.v = $v", {"v": NUMBERS}),
    ("SELECT city, count(*) AS n FROM t GROUP BY city HAVING count(*) > $least", {"least": NUMBERS}),
    ("SELECT count(*) AS n FROM t HAVING count(*) > $least", {"least": NUMBERS}),
    ("SELECT count(*) AS n FROM t HAVING $least > 1", {"least": NUMBERS}),
    (
        "SELECT id FROM t WHERE city = $city UNION SELECT id FROM u WHERE v = $v",
        {"city": CITIES, "v": NUMBERS},
    ),
    ("SELECT id FROM t UNION ALL SELECT id FROM u WHERE v = $v", {"v": NUMBERS}),
    ("SELECT id FROM t EXCEPT SELECT id FROM u WHERE v > $v", {"v": NUMBERS}),
    ("SELECT DISTINCT x FROM t WHERE city = $city", {"city": CITIES}),
    (
        "SELECT u.id, array(SELECT t.id FROM t WHERE t.city = u.city AND t.x > $x ORDER BY t.id) AS ids FROM u",
        {"x": NUMBERS},
    ),
    ("SELECT CAST($x AS BIGINT) + 1 AS y, 2 AS two", {"x": NUMBERS}),
    ("SELECT id, CASE WHEN x < $x THEN 'less' ELSE 'more' END AS side FROM t", {"x": NUMBERS}),
    ("SELECT sum(x) AS s FROM (SELECT x FROM t WHERE city = $city ORDER BY x, id LIMIT 2)", {"city": CITIES}),
    ("SELECT id FROM t WHERE d > $d", {"d": [0.5, 2.0, None]}),
    (
        "SELECT (SELECT count(*) FROM t WHERE city = $city) AS a, (SELECT count(*) FROM u WHERE v < $v) AS b",
        {"city": CITIES, "v": NUMBERS},
    ),
    (
        "WITH few AS (SELECT * FROM t WHERE x < $x) SELECT a.id, b.id AS other FROM few a JOIN few b ON a.city = b.city",
        {"x": NUMBERS},
    ),
]


class Both:
    """Tailrace and DuckDB with the same rows."""

    def __init__(self) -> None:
        self.ours, self.theirs = tr.connect(), duckdb.connect()
        self.ours.execute(SCHEMA)
        self.theirs.execute(SCHEMA)
        self.alive: dict[str, set[int]] = {"t": set(), "u": set()}

    def step(self, rng: random.Random) -> tr.Changes:
        batch = tr.Batch()
        for _ in range(rng.randint(1, 4)):
            table = rng.choice(["t", "t", "u"])
            if self.alive[table] and rng.random() < 0.35:
                key = rng.choice(sorted(self.alive[table]))
                self.alive[table].discard(key)
                batch.delete(table, [key])
                self.theirs.execute(f"DELETE FROM {table} WHERE id = ?", [key])
                continue
            row = {"id": rng.randint(0, 9), "city": rng.choice([None, "Rome", "Oslo", "Pisa"])}
            numbers = (
                {"x": _small(rng), "d": rng.choice([None, 0.0, 1.5, 3.0])}
                if table == "t"
                else {"v": _small(rng)}
            )
            row |= numbers
            self.alive[table].add(row["id"])
            batch.upsert(table, row)
            self.theirs.execute(
                f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' for _ in row)})", list(row.values())
            )
        return self.ours.apply(batch)

    def expected(self, query: str, values: dict[str, Any]) -> list[Any]:
        answer = self.theirs.execute(query, values)
        names = [column[0] for column in answer.description or ()]
        return _sorted([dict(zip(names, row, strict=True)) for row in answer.fetchall()])


@pytest.mark.parametrize(("query", "choices"), QUERIES)
def test_prop_every_value_equals_the_query_with_the_value(query: str, choices: dict[str, list[Any]]) -> None:
    rng = random.Random(query)
    both = Both()
    for _ in range(6):
        both.step(rng)
    base = both.ours.create_view("v", query)
    views: list[tuple[dict[str, Any], tr.View[Any]]] = []
    held: list[dict[tuple[Any, ...], Any]] = []
    for number in range(30):
        if number % 6 == 0:
            values = {name: rng.choice(found) for name, found in choices.items()}
            views.append((values, base.with_params(**values)))
            held.append(_by_key(views[-1][1]))
        changes = both.step(rng)
        for (values, view), rows in zip(views, held, strict=True):
            found = _sorted(view.snapshot().to_pylist())
            assert found == both.expected(query, values), (number, values)
            if view.key is not None:
                _follow(rows, changes[view].events, view.key)
                assert rows == _by_key(view), (number, values)


def _small(rng: random.Random) -> int | None:
    return rng.choice([None, 0, 1, 2, 3])


def _sorted(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=repr)


def _by_key(view: tr.View[Any]) -> dict[tuple[Any, ...], Any]:
    if view.key is None:
        return {}
    found = {tuple(getattr(row, name) for name in view.key): row for row in view.rows()}
    assert len(found) == len(view)
    return found


def _follow(rows: dict[tuple[Any, ...], Any], events: list[tr.Event[Any]], key: list[str]) -> None:
    for event in events:
        now = event.new if isinstance(event, tr.Updated) else event.row
        place = tuple(getattr(now, name) for name in key)
        if isinstance(event, tr.Created):
            assert place not in rows
        else:
            assert rows.pop(place) == (event.old if isinstance(event, tr.Updated) else event.row)
        if not isinstance(event, tr.Deleted):
            rows[place] = now


@pytest.fixture
def cities(db: tr.Database) -> tr.Database:
    db.execute(SCHEMA)
    db.insert("t", [{"id": n, "city": ["Rome", "Oslo"][n % 2], "x": n, "d": 1.0} for n in range(6)])
    return db


def test_subscribers_hear_of_their_value_alone(cities: tr.Database) -> None:
    view = cities.create_view("by_city", "SELECT id, x FROM t WHERE city = $city")
    rome, oslo = view.with_params(city="Rome"), view.with_params(city="Oslo")
    with rome.changes() as to_rome, oslo.changes() as to_oslo:
        assert [next(to_rome).is_snapshot, next(to_oslo).is_snapshot] == [True, True]
        cities.update("t", {"id": 0, "x": 50})
        cities.update("t", {"id": 1, "city": "Rome"})
        cities.update("t", {"id": 1, "city": "Pisa"})
        assert [change.version for change in (next(to_rome), next(to_rome), next(to_rome))] == [2, 3, 4]
        assert [type(event).__name__ for event in next(to_oslo).events] == ["Deleted"]
        assert to_oslo.take(timeout=0.01) is None


def test_resuming_at_a_version_gives_what_came_after(cities: tr.Database) -> None:
    view = cities.create_view("by_city", "SELECT id, x FROM t WHERE city = $city").with_params(city="Rome")
    with view.changes() as changes:
        next(changes)
        since = cities.version
        cities.update("t", {"id": 0, "x": 50})
        cities.update("t", {"id": 1, "x": 50})
    with view.changes(since=since) as changes:
        first = next(changes)
        assert (first.is_snapshot, first.version) == (False, since + 1)
        assert changes.take(timeout=0.01) is None


def test_callbacks_get_the_content_first(cities: tr.Database) -> None:
    view = cities.create_view("n", "SELECT count(*) AS n FROM t WHERE x >= $least").with_params(least=3)
    got: list[Any] = []
    with view.subscribe(
        lambda change: got.append((change.is_snapshot, change.delta["n"].to_pylist()))
    ) as subscription:
        cities.insert("t", {"id": 9, "city": None, "x": 9, "d": None})
    subscription.join()
    assert got[0] == (True, [3]) or got == [(True, [4])]


def test_the_table_of_values_is_there_only_where_rows_do_not_know_them(cities: tr.Database) -> None:
    equal = cities.create_view("equal", "SELECT id FROM t WHERE city = $city")
    version = cities.version
    equal.with_params(city="Rome")
    assert cities.version == version
    other = cities.create_view("other", "SELECT id FROM t WHERE x > $least")
    held = other.with_params(least=1)
    assert cities.version == version + 1
    again = other.with_params(least=1)
    assert cities.version == version + 1
    assert len(held) == len(again) == 4
    assert cities.tables == ["t", "u"]


def test_values_that_nobody_holds_are_given_up(cities: tr.Database) -> None:
    view = cities.create_view("v", "SELECT id FROM t WHERE x > $least")
    kept = view.with_params(least=4)
    for least in range(4):
        view.with_params(least=least)
        gc.collect()
    view.with_params(least=100)
    assert set(view.snapshot()["$least"].to_pylist()) == {4}
    assert kept.snapshot()["id"].to_pylist() == [5]


def test_a_step_costs_what_it_touches_however_many_values_are_followed(cities: tr.Database) -> None:
    view = cities.create_view("by_x", "SELECT id, city FROM t WHERE x = $x")
    followed = [view.with_params(x=n).changes() for n in range(500)]
    for subscription in followed:
        next(subscription)
    before = sum(cities.metrics()["rows_in"].to_pylist())
    offered = _offers(followed)
    cities.insert("t", {"id": 100, "city": "Rome", "x": 7, "d": None})
    assert sum(cities.metrics()["rows_in"].to_pylist()) - before < 20
    assert _offers(followed) - offered == 1
    assert next(followed[7]).delta["id"].to_pylist() == [100]


def _offers(subscriptions: list[tr.Subscription[Any]]) -> int:
    return sum(len(subscription._pending) for subscription in subscriptions)


def test_trees_with_parameters_have_patches(cities: tr.Database) -> None:
    cities.insert("u", {"id": 1, "city": "Rome", "v": 1})
    view = cities.create_view(
        "v",
        "SELECT u.id, array(SELECT t.id, t.x FROM t WHERE t.city = u.city AND t.x > $x ORDER BY t.id) AS l FROM u",
    )
    high, low = view.with_params(x=3), view.with_params(x=0)
    tree = low.tree()
    changes = cities.update("t", {"id": 2, "x": 3})
    assert changes[high].patches == []
    assert (high in changes, low in changes) == (False, True)
    assert changes[low].patches == [tr.UpdatePatch(({"id": 1}, "l", {"id": 2}), {"x": 3})]
    tree.apply(changes[low].patches)
    assert tree.rows == low.tree().rows


def test_the_view_itself_holds_all_values(cities: tr.Database) -> None:
    view = cities.create_view("by_city", "SELECT id FROM t WHERE city = $city")
    assert view.params == ["city"]
    assert view.key == ["$city", "id"]
    assert len(view) == 6
    assert view.schema.names == ["$city", "id"]


def test_create_view_in_sql_takes_parameters_and_names(cities: tr.Database) -> None:
    cities.execute("CREATE VIEW v (number) AS SELECT id FROM t WHERE city = :city")
    assert cities.view("v").with_params(city="Oslo").snapshot().to_pydict() == {"number": [1, 3, 5]}
    cities.execute("CREATE OR REPLACE VIEW v AS SELECT count(*) AS n FROM t WHERE x > $least")
    assert cities.view("v").with_params(least=4).snapshot().to_pydict() == {"n": [1]}
    cities.drop_view("v")
    assert cities.tables == ["t", "u"]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("SELECT id FROM t WHERE city = $city", {}, "needs a value for: city"),
    ("SELECT id FROM t WHERE city = $city", {"town": "Rome", "city": "x"}, "no parameter 'town'"),
    ("SELECT id FROM t", {"city": "Rome"}, "no parameter"),
    ("SELECT id FROM t WHERE x = $x", {"x": "seven"}, "seven"),
]


@pytest.mark.parametrize(("query", "values", "message"), WRONG)
def test_wrong_values_are_refused(
    cities: tr.Database, query: str, values: dict[str, Any], message: str
) -> None:
    view = cities.create_view("v", query)
    with pytest.raises(tr.Error, match=message):
        view.with_params(**values)


REFUSED: list[tuple[str, str]] = [
    ("SELECT $x AS x", "CAST"),
    ("SELECT id FROM t ORDER BY x LIMIT $n", "LIMIT"),
    ("SELECT id FROM t WHERE x = $1", "parameter"),
    ("SELECT id FROM t WHERE x = $v AND city = $v", "CAST"),
]


@pytest.mark.parametrize(("query", "message"), REFUSED)
def test_what_cannot_be_is_refused_with_the_reason(cities: tr.Database, query: str, message: str) -> None:
    with pytest.raises(tr.SqlError, match=message):
        cities.create_view("v", query)
    assert cities.views == []


def test_queries_cannot_read_a_view_with_parameters(cities: tr.Database) -> None:
    cities.create_view("v", "SELECT id FROM t WHERE city = $city")
    with pytest.raises(tr.SqlError, match=r"\$city"):
        cities.execute("SELECT * FROM v")
    with pytest.raises(tr.SqlError, match="belong to views"):
        cities.execute("SELECT * FROM t WHERE city = $city")
