//! Scans, filters, projections, joins.

use crate::harness::check;

const TABLES: &str = "CREATE TABLE t (id BIGINT PRIMARY KEY, k VARCHAR, x BIGINT); CREATE TABLE u (id BIGINT PRIMARY KEY, tid BIGINT, y DOUBLE)";
const DATA: &str =
    "INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20); INSERT INTO t VALUES (3, 'a', NULL), (4, NULL, 0);
    INSERT INTO u VALUES (1, 1, 1.5), (2, 1, 2.5), (3, 3, 4.0), (4, 9, 8.0), (5, NULL, 16.0)";

fn holds(query: &str, expected: &str) {
    check(TABLES, DATA, query, expected);
}

#[test]
fn select_filters_and_computes() {
    holds("SELECT * FROM t", "1|a|10\n2|b|20\n3|a|NULL\n4|NULL|0");
    holds("SELECT id, x + 1 AS z FROM t WHERE x > 5", "1|11\n2|21");
    holds("SELECT id FROM t WHERE k = 'a'", "1\n3");
    holds("SELECT id, coalesce(x, -1) AS x FROM t", "1|10\n2|20\n3|-1\n4|0");
    holds("SELECT upper(k) AS u, length(k) AS l FROM t WHERE k IS NOT NULL", "A|1\nB|1\nA|1");
    holds(
        "SELECT CASE WHEN x > 15 THEN 'big' WHEN x IS NULL THEN 'none' ELSE 'small' END AS size FROM t",
        "small\nbig\nnone\nsmall",
    );
}

#[test]
fn a_failing_conjunct_sees_only_the_rows_that_are_left() {
    holds("SELECT id FROM t WHERE x <> 0 AND 100 / x > 6", "1");
    holds("SELECT t.id FROM t JOIN u ON t.id = u.tid WHERE t.x <> 0 AND 100 / t.x > 6 AND y > 2", "1");
}

#[test]
fn joins_of_all_kinds() {
    holds("SELECT t.id, y FROM t JOIN u ON t.id = u.tid", "1|1.5\n1|2.5\n3|4.0");
    holds("SELECT t.id, y FROM t, u WHERE t.id = u.tid AND y > 2", "1|2.5\n3|4.0");
    holds("SELECT t.id, y FROM t LEFT JOIN u ON t.id = u.tid", "1|1.5\n1|2.5\n3|4.0\n2|NULL\n4|NULL");
    holds("SELECT t.id, y FROM t RIGHT JOIN u ON t.id = u.tid", "1|1.5\n1|2.5\n3|4.0\nNULL|8.0\nNULL|16.0");
    holds(
        "SELECT t.id, u.id FROM t FULL JOIN u ON t.id = u.tid",
        "1|1\n1|2\n3|3\nNULL|4\nNULL|5\n2|NULL\n4|NULL",
    );
    holds("SELECT t.id, u.id FROM t LEFT JOIN u ON t.id = u.tid AND y > 2", "1|2\n3|3\n2|NULL\n4|NULL");
    holds("SELECT t.id, u.id FROM t JOIN u ON t.id < u.id WHERE u.id < 3", "1|2");
    holds("SELECT count(*) AS n FROM t CROSS JOIN u", "20");
    holds("SELECT t.id FROM t LEFT SEMI JOIN u ON t.id = u.tid", "1\n3");
    holds("SELECT t.id FROM t LEFT ANTI JOIN u ON t.id = u.tid", "2\n4");
    holds("SELECT a.id, b.id FROM t a JOIN t b ON a.k IS NOT DISTINCT FROM b.k AND a.id < b.id", "1|3");
    holds("SELECT a.id FROM t a WHERE a.k IS DISTINCT FROM 'a' AND a.id > 1", "2\n4");
}

#[test]
fn join_where_group_by() {
    let query = "SELECT t.k, sum(u.y) AS s, count(*) AS n FROM t JOIN u ON t.id = u.tid WHERE t.k IS NOT NULL GROUP BY t.k HAVING count(*) > 1";
    holds(query, "a|8.0|3");
}

#[test]
fn set_operations_count_copies() {
    holds("SELECT k FROM t UNION SELECT 'z'", "a\nb\nNULL\nz");
    holds("SELECT k FROM t UNION ALL SELECT k FROM t WHERE id = 1", "a\na\na\nb\nNULL");
    holds("SELECT k FROM t EXCEPT ALL SELECT 'a'", "a\nb\nNULL");
    holds("SELECT k FROM t EXCEPT SELECT 'a'", "b\nNULL");
    holds("SELECT k FROM t INTERSECT ALL (VALUES ('a'), ('a'), ('a'), (NULL), ('q'))", "a\na\nNULL");
    holds("SELECT k FROM t INTERSECT SELECT k FROM t WHERE id IN (1, 3, 4)", "a\nNULL");
}

#[test]
fn order_limit_and_distinct() {
    holds("SELECT id FROM t ORDER BY x DESC NULLS LAST LIMIT 2", "2\n1");
    holds("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1", "2\n3");
    holds("SELECT id FROM t ORDER BY x", "4\n1\n2\n3");
    holds("SELECT DISTINCT k FROM t", "a\nb\nNULL");
    holds("SELECT DISTINCT ON (k) k, id FROM t ORDER BY k, id DESC", "a|3\nb|2\nNULL|4");
    holds("SELECT k FROM t ORDER BY id DESC", "NULL\na\nb\na");
    holds("SELECT id, x AS k FROM t ORDER BY k", "4|0\n1|10\n2|20\n3|NULL");
}

#[test]
fn constants_are_there_from_the_start() {
    holds("SELECT 1 AS one, 'x' AS x", "1|x");
    holds("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, s)", "1|a\n2|b");
    holds("SELECT t.id, v.n FROM t JOIN (VALUES ('a', 7)) AS v(s, n) ON t.k = v.s", "1|7\n3|7");
    holds("SELECT id FROM t WHERE false", "");
}

#[test]
fn common_table_expressions_and_aliases() {
    holds(
        "WITH big AS (SELECT * FROM t WHERE x >= 10) SELECT b.id FROM big b JOIN big c ON b.id <> c.id",
        "1\n2",
    );
    holds("SELECT id, id, k AS id2 FROM t WHERE id = 1", "1|1|a");
}

#[test]
fn recursion_over_sets_and_bags() {
    let tables = "CREATE TABLE e (a BIGINT, b BIGINT)";
    let data = "INSERT INTO e VALUES (1, 2), (2, 3); INSERT INTO e VALUES (1, 3), (3, 4)";
    let reach = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT * FROM r";
    check(tables, data, reach, "1|2\n1|3\n1|4\n2|3\n2|4\n3|4");
    let paths = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION ALL SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT a, b, count(*) AS n FROM r GROUP BY a, b";
    check(tables, data, paths, "1|2|1\n1|3|2\n1|4|2\n2|3|1\n2|4|1\n3|4|1");
    let numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10) SELECT sum(n) AS s FROM c";
    check(tables, data, numbers, "55");
}

#[test]
fn lists_become_rows() {
    let tables = "CREATE TABLE l (id BIGINT PRIMARY KEY, xs BIGINT[])";
    let data = "INSERT INTO l VALUES (1, [1, 2]), (2, []); INSERT INTO l VALUES (3, NULL), (4, [2, NULL])";
    check(tables, data, "SELECT id, unnest(xs) AS x FROM l", "1|1\n1|2\n4|2\n4|NULL");
    check(tables, data, "SELECT id, x FROM l, unnest(l.xs) AS u(x)", "1|1\n1|2\n4|2\n4|NULL");
    check(
        tables,
        data,
        "SELECT x, count(*) AS n FROM l CROSS JOIN LATERAL (SELECT unnest(xs) AS x) AS u GROUP BY x",
        "1|1\n2|2\nNULL|1",
    );
    check(tables, data, "SELECT g FROM generate_series(1, 3) AS g", "1\n2\n3");
    check(tables, data, "SELECT id, array_length(xs) AS n, xs[1] AS first FROM l WHERE id < 2", "1|2|1");
}
