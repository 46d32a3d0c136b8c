//! Subqueries of all kinds, correlated and not, in every place.

use crate::harness::{check, database, failure};

const TABLES: &str =
    "CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT, x BIGINT); CREATE TABLE u (k BIGINT, y BIGINT)";
const DATA: &str = "INSERT INTO t VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30), (4, NULL, 40); INSERT INTO u VALUES (1, 10), (1, 15);
    INSERT INTO u VALUES (2, NULL), (3, 30), (NULL, 40)";

fn holds(query: &str, expected: &str) {
    check(TABLES, DATA, query, expected);
}

#[test]
fn exists_and_in_as_conditions() {
    holds("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", "1\n2\n3");
    holds("SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", "4");
    holds("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.y < t.x)", "2");
    holds("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.y > t.x)", "1\n2\n3");
    holds("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u)", "1\n2\n3\n4");
    holds("SELECT id FROM t WHERE x IN (SELECT y FROM u)", "1\n3\n4");
    holds("SELECT id FROM t WHERE x NOT IN (SELECT y FROM u)", "");
    holds("SELECT id FROM t WHERE x NOT IN (SELECT y FROM u WHERE y IS NOT NULL)", "2");
    holds("SELECT id FROM t WHERE k NOT IN (SELECT y FROM u WHERE y > 100)", "1\n2\n3\n4");
    holds("SELECT id FROM t WHERE k NOT IN (SELECT y FROM u WHERE y = 15)", "1\n2\n3");
    holds("SELECT id FROM t WHERE x NOT IN (SELECT y FROM u WHERE u.k = t.k)", "2\n4");
    holds("SELECT id FROM t WHERE x IN (SELECT y FROM u WHERE u.k = t.k)", "1");
    holds("SELECT id FROM t WHERE x + 5 IN (SELECT y FROM u)", "1");
}

#[test]
fn exists_and_in_as_values() {
    holds(
        "SELECT id, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS e FROM t",
        "1|true\n2|true\n3|true\n4|false",
    );
    holds("SELECT id, x IN (SELECT y FROM u) AS i FROM t", "1|true\n2|NULL\n3|true\n4|true");
    holds(
        "SELECT id, x NOT IN (SELECT y FROM u WHERE y IS NOT NULL) AS i FROM t",
        "1|false\n2|true\n3|false\n4|false",
    );
    holds(
        "SELECT id, k IN (SELECT k FROM u WHERE k IS NOT NULL) AS i FROM t",
        "1|true\n2|true\n3|true\n4|NULL",
    );
    holds("SELECT id FROM t WHERE id = 4 OR x IN (SELECT y FROM u WHERE u.k = t.k)", "1\n4");
    holds("SELECT id FROM t WHERE id = 1 OR x NOT IN (SELECT y FROM u)", "1");
    holds("SELECT id FROM t WHERE NOT (id > 2 AND EXISTS (SELECT 1 FROM u WHERE u.k = t.k))", "1\n2\n4");
    holds(
        "SELECT sum(CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.k = t.k) THEN x ELSE 0 END) AS s FROM t",
        "60",
    );
}

#[test]
fn scalar_subqueries() {
    holds("SELECT id FROM t WHERE x > (SELECT avg(y) FROM u)", "3\n4");
    holds("SELECT id, (SELECT max(y) FROM u WHERE u.k = t.k) AS m FROM t", "1|15\n2|15\n3|NULL\n4|NULL");
    holds("SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t", "1|2\n2|2\n3|1\n4|0");
    holds("SELECT id, (SELECT count(*) + 1 FROM u WHERE u.k = t.k) AS n FROM t", "1|3\n2|3\n3|2\n4|1");
    holds("SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.k = t.k) = 0", "4");
    holds("SELECT id, (SELECT sum(y) FROM u WHERE u.y < t.x) AS s FROM t", "1|NULL\n2|25\n3|25\n4|55");
    holds("SELECT id, (SELECT count(*) FROM u WHERE u.y < t.x) AS s FROM t", "1|0\n2|2\n3|2\n4|3");
    holds(
        "SELECT id, (SELECT y FROM u WHERE u.k = t.k ORDER BY y DESC NULLS LAST LIMIT 1) AS y FROM t",
        "1|15\n2|15\n3|NULL\n4|NULL",
    );
    holds("SELECT id, (SELECT y FROM u WHERE u.k = t.id + 2) AS y FROM t", "1|30\n2|NULL\n3|NULL\n4|NULL");
    holds("SELECT id, (SELECT count(*) FROM u HAVING count(*) > t.x) AS c FROM t WHERE id < 2", "1|NULL");
}

#[test]
fn nested_correlation() {
    let query = "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.y = (SELECT min(v.y) FROM u v WHERE v.k = u.k AND v.y >= t.x))";
    holds(query, "1");
    holds(
        "SELECT id FROM t WHERE x = (SELECT max(x) FROM t s WHERE s.k = t.k AND s.id IN (SELECT y - 9 FROM u))",
        "1",
    );
    holds(
        "SELECT id, (SELECT count(*) FROM (SELECT DISTINCT k FROM u WHERE y < t.x)) AS n FROM t",
        "1|0\n2|1\n3|1\n4|2",
    );
    holds(
        "SELECT id, (SELECT count(*) FROM (SELECT y FROM u WHERE u.k = t.k UNION ALL SELECT t.x)) AS n FROM t",
        "1|3\n2|3\n3|2\n4|1",
    );
}

#[test]
fn lateral_joins() {
    holds(
        "SELECT t.id, l.y FROM t, LATERAL (SELECT y FROM u WHERE u.k = t.k) l",
        "1|10\n1|15\n2|10\n2|15\n3|NULL",
    );
    holds(
        "SELECT t.id, l.y FROM t LEFT JOIN LATERAL (SELECT y FROM u WHERE u.k = t.k ORDER BY y DESC LIMIT 1) l ON true",
        "1|15\n2|15\n3|NULL\n4|NULL",
    );
    holds(
        "SELECT t.id, l.n FROM t CROSS JOIN LATERAL (SELECT count(*) AS n FROM u WHERE u.y > t.x) l",
        "1|3\n2|2\n3|1\n4|0",
    );
}

#[test]
fn comparisons_with_all_and_any() {
    holds("SELECT id FROM t WHERE x >= ALL (SELECT y FROM u WHERE y IS NOT NULL)", "4");
    holds("SELECT id FROM t WHERE x < ANY (SELECT y FROM u WHERE y IS NOT NULL)", "1\n2\n3");
}

#[test]
fn a_scalar_subquery_of_two_rows_is_an_error() {
    let mut db = database(&format!("{TABLES}; {DATA}"));
    let error = failure(&mut db, "SELECT (SELECT y FROM u WHERE u.k = t.k) AS y FROM t").to_string();
    assert!(error.contains("returned 2 rows"), "{error}");
}
