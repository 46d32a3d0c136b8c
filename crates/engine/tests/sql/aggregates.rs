//! Aggregates and window functions.

use crate::harness::check;

const TABLES: &str = "CREATE TABLE s (id BIGINT PRIMARY KEY, g VARCHAR, h VARCHAR, v BIGINT, d DOUBLE)";
const DATA: &str = "INSERT INTO s VALUES (1, 'a', 'p', 1, 0.5), (2, 'a', 'q', 2, 1.5), (3, 'b', 'p', 3, NULL); INSERT INTO s VALUES (4, 'b', 'p', 3, 2.5), (5, NULL, 'q', NULL, 4.0)";

fn holds(query: &str, expected: &str) {
    check(TABLES, DATA, query, expected);
}

#[test]
fn grouped_and_global() {
    holds(
        "SELECT g, count(*) AS n, count(d) AS m, sum(v) AS s, avg(v) AS a, min(v) AS lo, max(d) AS hi FROM s GROUP BY g",
        "a|2|2|3|1.5|1|1.5\nb|2|1|6|3.0|3|2.5\nNULL|1|1|NULL|NULL|NULL|4.0",
    );
    holds("SELECT count(*) AS n, sum(v) AS s FROM s", "5|9");
    holds("SELECT count(*) AS n, sum(v) AS s FROM s WHERE id > 100", "0|NULL");
    holds(
        "SELECT count(DISTINCT v) AS n, sum(DISTINCT v) AS s, count(*) FILTER (WHERE g = 'a') AS f FROM s",
        "3|6|2",
    );
    holds(
        "SELECT g, string_agg(h, '-' ORDER BY id DESC) AS hs, array_agg(v ORDER BY id) AS vs FROM s GROUP BY g",
        "a|q-p|[1, 2]\nb|p-p|[3, 3]\nNULL|q|[NULL]",
    );
    holds("SELECT g FROM s GROUP BY g HAVING sum(v) > 3", "b");
    holds("SELECT v % 2 AS odd, count(*) AS n FROM s WHERE v IS NOT NULL GROUP BY v % 2", "1|3\n0|1");
}

#[test]
fn grouping_sets() {
    holds(
        "SELECT g, h, count(*) AS n FROM s WHERE g IS NOT NULL GROUP BY ROLLUP (g, h)",
        "a|p|1\na|q|1\nb|p|2\na|NULL|2\nb|NULL|2\nNULL|NULL|4",
    );
    holds(
        "SELECT g, h, count(*) AS n, grouping(g) AS gg, grouping(g, h) AS gh FROM s WHERE g = 'a' GROUP BY CUBE (g, h)",
        "a|p|1|0|0\na|q|1|0|0\na|NULL|2|0|1\nNULL|p|1|1|2\nNULL|q|1|1|2\nNULL|NULL|2|1|3",
    );
    holds("SELECT g, sum(v) AS s FROM s GROUP BY GROUPING SETS ((g), ())", "a|3\nb|6\nNULL|NULL\nNULL|9");
}

#[test]
fn windows() {
    holds(
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id DESC) AS n FROM s",
        "2|1\n1|2\n4|1\n3|2\n5|1",
    );
    holds(
        "SELECT id, rank() OVER (ORDER BY v NULLS LAST) AS r, dense_rank() OVER (ORDER BY v NULLS LAST) AS dr FROM s",
        "1|1|1\n2|2|2\n3|3|3\n4|3|3\n5|5|4",
    );
    holds(
        "SELECT id, lag(v) OVER (ORDER BY id) AS p, lead(v, 2, 0) OVER (ORDER BY id) AS q FROM s",
        "1|NULL|3\n2|1|3\n3|2|NULL\n4|3|0\n5|3|0",
    );
    holds("SELECT id FROM s QUALIFY row_number() OVER (PARTITION BY g ORDER BY v DESC, id) = 1", "2\n3\n5");
    holds(
        "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM s) WHERE n = 2",
        "2\n4",
    );
}
