"""Nested views: parents with their children as lists, equal to DuckDB after every step, and patches that make one tree into the next."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tailrace as tr

SCHEMA = """
CREATE TABLE post (id BIGINT PRIMARY KEY, title TEXT, author BIGINT);
CREATE TABLE comment (id BIGINT PRIMARY KEY, post BIGINT, pos BIGINT, body TEXT);
CREATE TABLE mark (id BIGINT PRIMARY KEY, comment BIGINT, kind TEXT);
"""

# Our text, and DuckDB's where it has no word for it. Structs have the same fields in the same order.
NESTED: dict[str, tuple[str, str]] = {
    "values": (
        """SELECT p.id,
           array(SELECT c.body FROM comment c WHERE c.post = p.id ORDER BY c.pos NULLS LAST, c.id DESC) AS bodies
           FROM post p""",
        """SELECT p.id,
           array(SELECT c.body FROM comment c WHERE c.post = p.id ORDER BY c.pos NULLS LAST, c.id DESC) AS bodies
           FROM post p""",
    ),
    "children": (
        """SELECT p.*,
           array(SELECT c.id, c.body FROM comment c WHERE c.post = p.id ORDER BY c.pos, c.id) AS comments
           FROM post p""",
        """SELECT p.*,
           array(SELECT {'id': c.id, 'body': c.body} FROM comment c WHERE c.post = p.id ORDER BY c.pos NULLS LAST, c.id) AS comments
           FROM post p""",
    ),
    "star": (
        """SELECT p.id,
           array(SELECT c.*
           FROM comment AS c WHERE c.post = p.id ORDER BY id) AS comments
           FROM post p""",
        """SELECT p.id,
           array(SELECT {'id': c.id, 'post': c.post, 'pos': c.pos, 'body': c.body}
               FROM comment c WHERE c.post = p.id ORDER BY c.id) AS comments
           FROM post p""",
    ),
    "three levels": (
        """SELECT p.id, p.title, array(
               SELECT c.id, c.body, array(SELECT m.id, m.kind FROM mark m WHERE m.comment = c.id ORDER BY m.kind, m.id) AS marks
               FROM comment c WHERE c.post = p.id ORDER BY c.pos DESC, c.id) AS comments
           FROM post p""",
        """SELECT p.id, p.title, array(
               SELECT {'id': c.id, 'body': c.body, 'marks':
                   array(SELECT {'id': m.id, 'kind': m.kind} FROM mark m WHERE m.comment = c.id ORDER BY m.kind NULLS LAST, m.id)}
               FROM comment c WHERE c.post = p.id ORDER BY c.pos DESC NULLS FIRST, c.id) AS comments
           FROM post p""",
    ),
    "top two": (
        """SELECT p.id,
           array(SELECT c.id, c.body FROM comment c WHERE c.post = p.id ORDER BY c.pos, c.id LIMIT 2) AS first
           FROM post p""",
        """SELECT p.id,
           array(SELECT {'id': c.id, 'body': c.body} FROM comment c WHERE c.post = p.id ORDER BY c.pos NULLS LAST, c.id LIMIT 2) AS first
           FROM post p""",
    ),
    "groups": (
        """SELECT p.id,
           array(SELECT c.body, count(*) AS n FROM comment c WHERE c.post = p.id GROUP BY c.body ORDER BY count(*) DESC, c.body) AS words
           FROM post p""",
        """SELECT p.id,
           array(SELECT {'body': body, 'n': n}
           FROM (SELECT c.body, count(*) AS n FROM comment c WHERE c.post = p.id GROUP BY c.body) ORDER BY n DESC, body NULLS LAST) AS words
           FROM post p""",
    ),
    "distinct": (
        """SELECT p.id,
           array(SELECT DISTINCT c.body FROM comment c WHERE c.post = p.id ORDER BY body) AS words
           FROM post p""",
        """SELECT p.id,
           array(SELECT DISTINCT c.body FROM comment c WHERE c.post = p.id ORDER BY body NULLS LAST) AS words
           FROM post p""",
    ),
    "aggregate": (
        """SELECT c.post, array_agg({'id': c.id, 'body': c.body} ORDER BY c.id) AS comments
           FROM comment c
           WHERE c.post IS NOT NULL GROUP BY c.post""",
        """SELECT c.post, array_agg({'id': c.id, 'body': c.body} ORDER BY c.id) AS comments
           FROM comment c
           WHERE c.post IS NOT NULL GROUP BY c.post""",
    ),
    "named struct": (
        """SELECT c.post, array_agg(struct(c.id, c.body) ORDER BY c.pos DESC, c.id) AS comments
           FROM comment c
           WHERE c.post IS NOT NULL GROUP BY c.post""",
        """SELECT c.post, array_agg({'id': c.id, 'body': c.body} ORDER BY c.pos DESC NULLS FIRST, c.id) AS comments
           FROM comment c
           WHERE c.post IS NOT NULL GROUP BY c.post""",
    ),
    "struct": (
        """SELECT id, {'title': title, 'by': {'author': author, 'known': author IS NOT NULL}} AS head, row(title, author) AS pair
               FROM post""",
        """SELECT id, {'title': title, 'by': {'author': author, 'known': author IS NOT NULL}} AS head,
               {'c0': title, 'c1': author} AS pair FROM post""",
    ),
    "everything": (
        "SELECT array(SELECT p.id, p.title FROM post p ORDER BY p.title DESC, p.id) AS posts",
        """SELECT
           array(SELECT {'id': p.id, 'title': p.title}
           FROM post p ORDER BY p.title DESC NULLS FIRST, p.id) AS posts""",
    ),
    "uncle": (
        """SELECT p.id, array(SELECT c.id, array(SELECT m.kind FROM mark m WHERE m.comment = c.id AND m.id > p.id ORDER BY m.id) AS later
           FROM comment c WHERE c.post = p.id ORDER BY c.id) AS comments FROM post p""",
        """SELECT p.id, array(SELECT {'id': c.id, 'later': array(SELECT m.kind
               FROM mark m WHERE m.comment = c.id AND m.id > p.id ORDER BY m.id)}
           FROM comment c WHERE c.post = p.id ORDER BY c.id) AS comments FROM post p""",
    ),
}

small = st.one_of(st.none(), st.integers(0, 3))
text = st.sampled_from([None, "a", "b", "c"])
rows = st.one_of(
    st.tuples(
        st.just("post"), st.fixed_dictionaries({"id": st.integers(0, 3), "title": text, "author": small})
    ),
    st.tuples(
        st.just("comment"),
        st.fixed_dictionaries({"id": st.integers(0, 7), "post": small, "pos": small, "body": text}),
    ),
    st.tuples(
        st.just("mark"), st.fixed_dictionaries({"id": st.integers(0, 7), "comment": small, "kind": text})
    ),
)
step = st.lists(st.tuples(st.booleans(), rows), min_size=1, max_size=6)


class Both:
    """Tailrace and DuckDB with the same rows."""

    def __init__(self) -> None:
        self.ours, self.theirs = tr.connect(), duckdb.connect()
        self.ours.execute(SCHEMA)
        self.theirs.execute(SCHEMA.replace("PRIMARY KEY", ""))
        self.rows: dict[str, dict[int, dict[str, Any]]] = {"post": {}, "comment": {}, "mark": {}}

    def apply(self, operations: list[tuple[bool, tuple[str, dict[str, Any]]]]) -> tr.Changes:
        batch = tr.Batch()
        for keep, (table, row) in operations:
            if keep:
                self.rows[table][row["id"]] = row
                batch.upsert(table, row)
            elif self.rows[table].pop(row["id"], None) is not None:
                batch.delete(table, [row["id"]])
        for table, kept in self.rows.items():
            self.theirs.execute(f"DELETE FROM {table}")
            if kept:
                names = list(next(iter(kept.values())))
                self.theirs.executemany(
                    f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)})",
                    [[row[name] for name in names] for row in kept.values()],
                )
        return self.ours.apply(batch)

    def expected(self, query: str) -> list[Any]:
        answer = self.theirs.execute(query)
        names = [column[0] for column in answer.description or ()]
        return sorted((dict(zip(names, row, strict=True)) for row in answer.fetchall()), key=repr)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(step, min_size=2, max_size=6))
def test_prop_trees_equal_duckdb_and_patches_lead_from_one_to_the_next(steps: list[Any]) -> None:
    both = Both()
    views = {name: both.ours.create_view(name.replace(" ", "_"), ours) for name, (ours, _) in NESTED.items()}
    trees = {name: view.tree() for name, view in views.items()}
    for operations in steps:
        changes = both.apply(operations)
        for name, view in views.items():
            found = sorted(view.snapshot().to_pylist(), key=repr)
            assert found == both.expected(NESTED[name][1]), name
            trees[name].apply(changes[view].patches)
            assert sorted(trees[name].rows, key=repr) == found, name


def test_a_list_of_no_rows_is_empty(db: tr.Database) -> None:
    db.execute(SCHEMA)
    view = db.create_view("v", NESTED["children"][0])
    db.insert("post", {"id": 1, "title": "a", "author": None})
    assert view.snapshot().to_pylist() == [{"id": 1, "title": "a", "author": None, "comments": []}]
    assert view.schema.field("comments").nullable is False


@pytest.fixture
def thread(db: tr.Database) -> tr.Database:
    db.execute(SCHEMA)
    db.create_view("thread", NESTED["three levels"][0])
    db.insert("post", [{"id": 1, "title": "a", "author": 1}, {"id": 2, "title": "b", "author": 1}])
    db.insert("comment", [{"id": n, "post": 1, "pos": -n, "body": f"c{n}"} for n in (1, 2, 3)])
    db.insert("mark", [{"id": 7, "comment": 2, "kind": "x"}])
    return db


PATCHES: list[tuple[Any, list[dict[str, Any]]]] = [
    (
        tr.Batch().update("post", {"id": 1, "title": "A"}),
        [{"op": "update", "path": [{"id": 1}], "values": {"title": "A"}}],
    ),
    (
        tr.Batch().update("comment", {"id": 2, "body": "new"}),
        [{"op": "update", "path": [{"id": 1}, "comments", {"id": 2}], "values": {"body": "new"}}],
    ),
    (
        tr.Batch().insert("mark", {"id": 9, "comment": 2, "kind": "a"}),
        [
            {
                "op": "insert",
                "path": [{"id": 1}, "comments", {"id": 2}, "marks", {"id": 9}],
                "value": {"id": 9, "kind": "a"},
                "index": 0,
            }
        ],
    ),
    (
        tr.Batch().delete("mark", 7),
        [{"op": "delete", "path": [{"id": 1}, "comments", {"id": 2}, "marks", {"id": 7}]}],
    ),
    (
        tr.Batch().update("comment", {"id": 1, "pos": -9}),
        [{"op": "move", "path": [{"id": 1}, "comments", {"id": 1}], "index": 2}],
    ),
    (
        tr.Batch().update("comment", {"id": 3, "post": 2}),
        [
            {"op": "delete", "path": [{"id": 1}, "comments", {"id": 3}]},
            {
                "op": "insert",
                "path": [{"id": 2}, "comments", {"id": 3}],
                "value": {"id": 3, "body": "c3", "marks": []},
                "index": 0,
            },
        ],
    ),
    (
        tr.Batch().delete("post", 2).insert("post", {"id": 5, "title": None, "author": None}),
        [
            {"op": "delete", "path": [{"id": 2}]},
            {
                "op": "insert",
                "path": [{"id": 5}],
                "value": {"id": 5, "title": None, "comments": []},
                "index": None,
            },
        ],
    ),
]


@pytest.mark.parametrize(("batch", "expected"), PATCHES)
def test_patches_name_what_changed_and_nothing_else(
    thread: tr.Database, batch: tr.Batch, expected: list[dict[str, Any]]
) -> None:
    patches = [patch.as_dict() for patch in thread.apply(batch)["thread"].patches]
    assert sorted(patches, key=repr) == sorted(expected, key=repr)


def test_a_list_without_a_key_is_replaced(db: tr.Database) -> None:
    db.execute(SCHEMA)
    db.create_view("v", NESTED["values"][0])
    db.insert("post", {"id": 1, "title": "a", "author": 1})
    changes = db.insert("comment", {"id": 1, "post": 1, "pos": 1, "body": "x"})
    assert changes["v"].patches == [tr.UpdatePatch(({"id": 1},), {"bodies": ["x"]})]


def test_a_change_looks_at_its_parent_alone(db: tr.Database) -> None:
    """The step costs the rows of one parent, however many there are."""
    db.execute(SCHEMA)
    db.create_view("v", NESTED["three levels"][0])
    db.insert("post", [{"id": n, "title": "a", "author": 1} for n in range(2000)])
    db.insert("comment", [{"id": n, "post": n // 4, "pos": 1, "body": "x"} for n in range(8000)])
    before = _rows_in(db)
    db.update("comment", {"id": 5, "body": "y"})
    assert _rows_in(db) - before < 60


def _rows_in(db: tr.Database) -> int:
    return sum(db.metrics()["rows_in"].to_pylist())


def test_columns_of_a_star_must_be_known(db: tr.Database) -> None:
    db.execute(SCHEMA)
    query = "WITH w AS (SELECT * FROM comment) SELECT p.id, array(SELECT w.* FROM w WHERE w.post = p.id) AS l FROM post p"
    with pytest.raises(tr.SqlError, match="name the columns"):
        db.create_view("v", query)


def test_structs_are_compared_whatever_their_names(db: tr.Database) -> None:
    db.execute(SCHEMA)
    db.insert("post", [{"id": 1, "title": "a", "author": 2}, {"id": 2, "title": "a", "author": 3}])
    found = db.execute(
        "SELECT id FROM post WHERE struct(id, author) = struct(1, 2) OR row(id, author) = row(2, 3)"
    )
    assert sorted(found.fetchall()) == [(1,), (2,)]
