"""Keys of SQL views: what is inferred, and the law that events by that key, applied to a dictionary, give the snapshot."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import tailrace as tr
from tailrace.identity import identity

SCHEMA = """
CREATE TABLE p (id BIGINT PRIMARY KEY, name TEXT, grp BIGINT);
CREATE TABLE c (id BIGINT PRIMARY KEY, parent BIGINT, pos BIGINT, note TEXT);
CREATE TABLE k (a BIGINT, b BIGINT, v BIGINT, PRIMARY KEY (a, b));
CREATE TABLE bag (x BIGINT, y TEXT);
"""

KEYS: dict[str, list[str] | None] = {
    # Filters keep keys, and constants leave them.
    "SELECT * FROM p": ["id"],
    "SELECT name, id FROM p WHERE grp > 1": ["id"],
    "SELECT b, v FROM k WHERE a = 1": ["b"],
    "SELECT v FROM k WHERE a = 1 AND b = 2": [],
    "SELECT a, v FROM k WHERE a = b": ["a"],
    "SELECT id + 1 AS next, name FROM p": None,
    "SELECT name FROM p": None,
    "SELECT * FROM bag": None,
    # Groups and distinct rows.
    "SELECT grp, count(*) AS n FROM p GROUP BY grp": ["grp"],
    "SELECT count(*) AS n FROM p GROUP BY grp": None,
    "SELECT count(*) AS n, sum(x) AS s FROM bag": [],
    "SELECT DISTINCT x, y FROM bag": ["x", "y"],
    "SELECT DISTINCT id, name FROM p": ["id"],
    "SELECT x, y, count(*) AS n FROM bag GROUP BY x, y": ["x", "y"],
    "SELECT p.id, p.name, count(c.id) AS n FROM p LEFT JOIN c ON c.parent = p.id GROUP BY p.id, p.name": [
        "id"
    ],
    "SELECT p.id, upper(p.name) AS big, max(pos) AS m FROM p JOIN c ON c.parent = p.id GROUP BY 1, 2": ["id"],
    "SELECT a % 2 AS odd, sum(v) AS s FROM k GROUP BY a % 2": ["odd"],
    # Joins.
    "SELECT c.id, c.note, p.name FROM c JOIN p ON p.id = c.parent": ["id"],
    "SELECT c.id, c.note, p.name FROM c LEFT JOIN p ON p.id = c.parent": ["id"],
    "SELECT p.name, c.id FROM p RIGHT JOIN c ON p.id = c.parent": ["id"],
    "SELECT p.id, c.id AS child FROM p JOIN c ON c.pos = p.grp": ["child", "id"],
    "SELECT p.id, c.id AS child FROM p LEFT JOIN c ON c.pos = p.grp": ["child", "id"],
    "SELECT p.id, c.id AS child FROM p FULL JOIN c ON c.parent = p.id": ["child", "id"],
    "SELECT p.id, p.name, q.n FROM p JOIN (SELECT parent, count(*) AS n FROM c GROUP BY parent) q ON q.parent = p.id": [
        "id"
    ],
    "SELECT q.parent, p.name FROM p JOIN (SELECT DISTINCT parent FROM c) q ON q.parent = p.id": ["parent"],
    "SELECT p.id, k.v FROM p JOIN k ON k.a = p.id AND k.b = p.grp": ["id"],
    "SELECT p.id, k.a, k.b FROM p JOIN k ON k.v = p.grp": ["a", "b", "id"],
    "SELECT k.a, k.b, c.id FROM k LEFT JOIN c ON c.pos = k.v": ["a", "b", "id"],
    "SELECT p.id, x FROM p CROSS JOIN (SELECT count(*) AS x FROM bag)": ["id"],
    "SELECT id FROM p WHERE id IN (SELECT parent FROM c)": ["id"],
    "SELECT * FROM p WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.parent = p.id)": ["id"],
    "SELECT id, (SELECT max(pos) FROM c WHERE c.parent = p.id) AS last FROM p": ["id"],
    "SELECT id, EXISTS (SELECT 1 FROM c WHERE c.parent = p.id) AS has FROM p": ["id"],
    "SELECT p.id, x.y FROM p JOIN bag x ON x.x = p.grp": None,
    # Windows and first rows.
    "SELECT id, row_number() OVER (PARTITION BY grp ORDER BY name, id) AS n FROM p": ["id"],
    "SELECT grp, id FROM (SELECT *, row_number() OVER (PARTITION BY grp ORDER BY id) AS n FROM p) WHERE n = 1": [
        "grp"
    ],
    "SELECT x, y FROM (SELECT *, row_number() OVER (PARTITION BY x ORDER BY y) AS n FROM bag) WHERE n <= 1": [
        "x"
    ],
    "SELECT x, y, n FROM (SELECT *, row_number() OVER (PARTITION BY x ORDER BY y) AS n FROM bag)": ["n", "x"],
    "SELECT id, sum(pos) OVER (PARTITION BY parent ORDER BY id) AS s FROM c": ["id"],
    "SELECT DISTINCT ON (grp) grp, id, name FROM p ORDER BY grp, id": ["grp"],
    "SELECT id, name FROM p ORDER BY grp, id LIMIT 3": ["id"],
    "SELECT x, y FROM bag ORDER BY x LIMIT 1": [],
    # Set operations, views of views, constants, recursion.
    "SELECT id FROM p UNION ALL SELECT id FROM c": None,
    "SELECT id FROM p UNION SELECT id FROM c": ["id"],
    "SELECT id, name FROM p EXCEPT SELECT id, note FROM c": ["id"],
    "SELECT id, name FROM p INTERSECT SELECT id, note FROM c": ["id"],
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, s)": ["n", "s"],
    "SELECT 1 AS one": [],
    "SELECT grp, g.id FROM (SELECT * FROM p WHERE grp = 2) g": ["id"],
    "WITH RECURSIVE r(n) AS (SELECT id FROM p UNION SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r": ["n"],
    "SELECT c.id, u FROM c, unnest([1, 2]) AS t(u)": None,
}

KEYED = [query for query, key in KEYS.items() if key is not None]


@pytest.mark.parametrize("query", KEYS)
def test_keys_follow_from_the_keys_of_tables(db: tr.Database, query: str) -> None:
    db.execute(SCHEMA)
    found = db.create_view("v", query).key
    wanted = KEYS[query]
    assert (found if found is None else sorted(found)) == (wanted if wanted is None else sorted(wanted))


def test_events_without_a_key_say_how_to_get_one(db: tr.Database) -> None:
    db.execute(SCHEMA)
    db.create_view("v", "SELECT name FROM p")
    changes = db.insert("p", {"id": 1, "name": "a", "grp": 1})
    with pytest.raises(tr.PlanError, match="primary keys") as error:
        changes["v"].events
    assert "GROUP BY" in str(error.value)
    assert "'v'" in str(error.value)


def test_describe_shows_the_key(db: tr.Database) -> None:
    db.execute(SCHEMA + "CREATE VIEW v AS SELECT grp, count(*) AS n FROM p GROUP BY grp")
    assert [(row[0], row[3]) for row in db.execute("DESCRIBE v")] == [("grp", "yes"), ("n", "no")]


@pytest.mark.parametrize("seed", range(4))
def test_prop_events_applied_by_key_give_the_snapshot(db: tr.Database, seed: int) -> None:
    db.execute(SCHEMA)
    views = [db.create_view(f"v{place}", query) for place, query in enumerate(KEYED)]
    held: list[dict[tuple[Any, ...], Any]] = [_contents(view) for view in views]
    for batch in _batches(random.Random(seed), steps=25):
        changes = db.apply(batch)
        for view, rows in zip(views, held, strict=True):
            _follow(rows, changes[view].events, view.key or [])
            assert rows == _contents(view), view.name


def _contents(view: tr.View[Any]) -> dict[tuple[Any, ...], Any]:
    rows = view.rows()
    found = {_key(row, view.key or []): row for row in rows}
    assert len(found) == len(rows), f"{view.name}: {view.key} is no key"
    return found


def _follow(rows: dict[tuple[Any, ...], Any], events: list[tr.Event[Any]], key: list[str]) -> None:
    """A row is created where there was none, and updated or deleted where it was as the event says."""
    seen = set()
    for event in events:
        now = event.new if isinstance(event, tr.Updated) else event.row
        place = _key(now, key)
        assert place not in seen
        seen.add(place)
        if isinstance(event, tr.Created):
            assert place not in rows
        else:
            assert rows.pop(place) == (event.old if isinstance(event, tr.Updated) else event.row)
        if not isinstance(event, tr.Deleted):
            rows[place] = now


def _key(row: Any, key: list[str]) -> tuple[Any, ...]:
    return tuple(identity(getattr(row, name)) for name in key)


def _batches(rng: random.Random, steps: int) -> Iterator[tr.Batch]:
    """Upserts and deletes of few keys, with NULLs, so that rows meet, go and come back."""
    alive: dict[str, set[Any]] = {"p": set(), "c": set(), "k": set()}
    bag: list[dict[str, Any]] = []
    for _ in range(steps):
        batch = tr.Batch()
        for _ in range(rng.randint(1, 5)):
            table = rng.choice(["p", "c", "k", "bag"])
            if table == "bag":
                if bag and rng.random() < 0.4:
                    batch.delete("bag", [bag.pop(rng.randrange(len(bag)))])
                else:
                    bag.append({"x": _small(rng), "y": rng.choice([None, "a", "b"])})
                    batch.insert("bag", bag[-1])
            elif alive[table] and rng.random() < 0.35:
                key = rng.choice(sorted(alive[table]))
                alive[table].discard(key)
                batch.delete(table, [key])
            else:
                row = _row(rng, table)
                alive[table].add((row["a"], row["b"]) if table == "k" else row["id"])
                batch.upsert(table, row)
        yield batch


def _row(rng: random.Random, table: str) -> dict[str, Any]:
    text = rng.choice([None, "a", "b", "c"])
    if table == "p":
        return {"id": rng.randint(0, 6), "name": text, "grp": _small(rng)}
    if table == "c":
        return {"id": rng.randint(0, 8), "parent": _small(rng), "pos": _small(rng), "note": text}
    return {"a": rng.randint(0, 3), "b": rng.randint(0, 3), "v": _small(rng)}


def _small(rng: random.Random) -> int | None:
    return rng.choice([None, 0, 1, 2, 3])
