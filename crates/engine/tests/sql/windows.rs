//! Window functions over frames.

use crate::harness::{check, content, database, failure, run, select};

const TABLES: &str = "CREATE TABLE s (id BIGINT PRIMARY KEY, g VARCHAR, v BIGINT, d DOUBLE, t TIMESTAMP, day DATE, p DECIMAL(10, 2), f BOOLEAN, n VARCHAR); \
    CREATE TABLE bag (g VARCHAR, v BIGINT)";
const DATA: &str = "INSERT INTO s VALUES \
    (1, 'a', 10, 0.5, '2024-01-01 00:00:00', '2024-01-01', 1.10, true, 'x'), \
    (2, 'a', 20, 1.5, '2024-01-01 00:00:04', '2024-01-02', 2.20, false, NULL); \
    INSERT INTO s VALUES (3, 'a', 20, NULL, '2024-01-01 00:00:10', '2024-01-04', 3.30, true, 'y'), \
    (4, 'b', 5, 2.5, '2024-01-01 00:01:00', '2024-02-01', 4.40, NULL, 'z'); \
    INSERT INTO s VALUES (5, 'b', NULL, 4.0, '2024-01-01 00:01:01', '2024-03-01', 5.50, false, NULL); \
    INSERT INTO bag VALUES ('a', 1), ('a', 1), ('a', 2), ('b', 3)";

fn holds(query: &str, expected: &str) {
    check(TABLES, DATA, query, expected);
}

fn refused(query: &str, reason: &str) {
    let error = failure(&mut database(TABLES), query).to_string();
    assert!(error.contains(reason), "{query}: {error}");
}

#[test]
fn running_aggregates() {
    holds(
        "SELECT id, sum(v) OVER (PARTITION BY g ORDER BY id) AS s, count(*) OVER (PARTITION BY g ORDER BY id) AS n, count(v) OVER (ORDER BY id) AS c FROM s",
        "1|10|1|1\n2|30|2|2\n3|50|3|3\n4|5|1|4\n5|5|2|4",
    );
    holds("SELECT id, avg(d) OVER (ORDER BY id) AS a FROM s", "1|0.5\n2|1.0\n3|1.0\n4|1.5\n5|2.125");
    holds("SELECT id, sum(p) OVER (ORDER BY id) AS s FROM s", "1|1.10\n2|3.30\n3|6.60\n4|11.00\n5|16.50");
}

#[test]
fn peers_share_the_default_frame() {
    holds("SELECT id, sum(v) OVER (PARTITION BY g ORDER BY v) AS s FROM s", "1|10\n2|50\n3|50\n4|5\n5|5");
    holds("SELECT id, count(*) OVER (ORDER BY g) AS n FROM s", "1|3\n2|3\n3|3\n4|5\n5|5");
    holds(
        "SELECT id, count(*) OVER (PARTITION BY g ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM s",
        "1|1\n2|2\n3|3\n4|1\n5|2",
    );
}

#[test]
fn whole_partitions() {
    holds(
        "SELECT id, sum(v) OVER (PARTITION BY g) AS s, max(v) OVER () AS m, count(*) OVER () AS n FROM s",
        "1|50|20|5\n2|50|20|5\n3|50|20|5\n4|5|20|5\n5|5|20|5",
    );
    holds(
        "SELECT id, v - min(v) OVER (PARTITION BY g) AS above FROM s WHERE v IS NOT NULL",
        "1|0\n2|10\n3|10\n4|0",
    );
}

#[test]
fn frames_of_rows() {
    holds(
        "SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM s",
        "1|30\n2|50\n3|45\n4|25\n5|5",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING) AS n, sum(v) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS s FROM s",
        "1|3|NULL\n2|2|10\n3|1|30\n4|0|40\n5|0|25",
    );
    holds(
        "SELECT id, max(v) OVER (ORDER BY id DESC ROWS 1 PRECEDING) AS m FROM s",
        "1|20\n2|20\n3|20\n4|5\n5|NULL",
    );
    holds(
        "SELECT id, min(v) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS m FROM s",
        "1|10\n2|20\n3|5\n4|5\n5|NULL",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING) AS n FROM s",
        "1|0\n2|0\n3|0\n4|0\n5|0",
    );
}

#[test]
fn frames_of_ranges() {
    holds(
        "SELECT id, count(*) OVER (ORDER BY v NULLS FIRST RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) AS n FROM s",
        "1|2\n2|3\n3|3\n4|1\n5|1",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY v DESC NULLS LAST RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING) AS n FROM s",
        "1|4\n2|2\n3|2\n4|2\n5|1",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY d NULLS LAST RANGE BETWEEN 1.0 PRECEDING AND 1.0 FOLLOWING) AS n FROM s",
        "1|2\n2|3\n3|1\n4|2\n5|1",
    );
    holds(
        "SELECT id, sum(v) OVER (ORDER BY t RANGE BETWEEN INTERVAL '6 seconds' PRECEDING AND CURRENT ROW) AS s FROM s",
        "1|10\n2|30\n3|40\n4|5\n5|5",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL '1 month' PRECEDING AND CURRENT ROW) AS n FROM s",
        "1|1\n2|2\n3|3\n4|4\n5|2",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL '36 hours' PRECEDING AND INTERVAL '12 hours' PRECEDING) AS n FROM s",
        "1|0\n2|1\n3|0\n4|0\n5|0",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY p RANGE BETWEEN 1.10 PRECEDING AND CURRENT ROW) AS n FROM s",
        "1|1\n2|2\n3|2\n4|2\n5|2",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY v NULLS LAST RANGE BETWEEN UNBOUNDED PRECEDING AND 5 FOLLOWING) AS n FROM s",
        "1|2\n2|4\n3|4\n4|2\n5|5",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 FOLLOWING) AS n FROM s",
        "1|5\n2|5\n3|5\n4|5\n5|5",
    );
}

#[test]
fn frames_of_groups() {
    holds(
        "SELECT id, count(*) OVER (ORDER BY g GROUPS BETWEEN CURRENT ROW AND CURRENT ROW) AS n FROM s",
        "1|3\n2|3\n3|3\n4|2\n5|2",
    );
    holds(
        "SELECT id, array_agg(id) OVER (PARTITION BY g ORDER BY v NULLS FIRST GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS ids FROM s",
        "1|[1]\n2|[1, 2, 3]\n3|[1, 2, 3]\n4|[5, 4]\n5|[5]",
    );
    holds(
        "SELECT id, count(*) OVER (ORDER BY g GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS n FROM s",
        "1|2\n2|2\n3|2\n4|0\n5|0",
    );
}

#[test]
fn values_of_frames() {
    holds(
        "SELECT id, first_value(v) OVER (PARTITION BY g ORDER BY id) AS a, last_value(v) OVER (PARTITION BY g ORDER BY id) AS b, nth_value(v, 2) OVER (PARTITION BY g ORDER BY id) AS c FROM s",
        "1|10|10|NULL\n2|10|20|20\n3|10|20|20\n4|5|5|NULL\n5|5|NULL|NULL",
    );
    holds(
        "SELECT id, last_value(id) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM s",
        "1|3\n2|3\n3|3\n4|5\n5|5",
    );
    holds(
        "SELECT id, last_value(n) IGNORE NULLS OVER (ORDER BY id) AS l, first_value(n) IGNORE NULLS OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS f FROM s",
        "1|x|y\n2|x|y\n3|y|z\n4|z|NULL\n5|z|NULL",
    );
    holds(
        "SELECT id, lag(n) IGNORE NULLS OVER (ORDER BY id) AS p, lead(n, 2, 'none') IGNORE NULLS OVER (ORDER BY id) AS q FROM s",
        "1|NULL|z\n2|x|z\n3|x|none\n4|y|none\n5|z|none",
    );
}

#[test]
fn places_in_partitions() {
    holds(
        "SELECT id, ntile(2) OVER (ORDER BY id) AS n, ntile(10) OVER (PARTITION BY g ORDER BY id) AS m FROM s",
        "1|1|1\n2|1|2\n3|1|3\n4|2|1\n5|2|2",
    );
    holds(
        "SELECT id, percent_rank() OVER (ORDER BY v NULLS LAST) AS p, cume_dist() OVER (ORDER BY v NULLS LAST) AS c FROM s",
        "1|0.25|0.4\n2|0.5|0.8\n3|0.5|0.8\n4|0.0|0.2\n5|1.0|1.0",
    );
    holds(
        "SELECT id, percent_rank() OVER (PARTITION BY id) AS p FROM s",
        "1|0.0\n2|0.0\n3|0.0\n4|0.0\n5|0.0",
    );
}

#[test]
fn other_aggregates() {
    holds(
        "SELECT id, bool_and(f) OVER (ORDER BY id) AS b, bit_or(id) OVER (ORDER BY id ROWS 1 PRECEDING) AS o, string_agg(n, '-') OVER (ORDER BY id) AS t FROM s",
        "1|true|1|x\n2|false|3|x\n3|false|3|x-y\n4|false|7|x-y-z\n5|false|5|x-y-z",
    );
    holds(
        "SELECT id, arg_max(id, v) OVER (ORDER BY id) AS m, var_pop(v) OVER (ORDER BY id ROWS 1 PRECEDING) AS r FROM s",
        "1|1|0.0\n2|2|25.0\n3|3|0.0\n4|3|56.25\n5|3|0.0",
    );
    holds(
        "SELECT id, sum(v) FILTER (WHERE id > 1) OVER (ORDER BY id) AS s, count(*) FILTER (WHERE g = 'b') OVER () AS n FROM s",
        "1|NULL|2\n2|20|2\n3|40|2\n4|45|2\n5|45|2",
    );
}

#[test]
fn copies_have_frames_of_their_own() {
    holds(
        "SELECT v, count(*) OVER (PARTITION BY g ORDER BY v ROWS UNBOUNDED PRECEDING) AS n FROM bag",
        "1|1\n1|2\n2|3\n3|1",
    );
    holds("SELECT v, sum(v) OVER (ORDER BY v) AS s FROM bag", "1|2\n1|2\n2|4\n3|7");
}

#[test]
fn several_windows_and_names() {
    holds(
        "SELECT id, row_number() OVER w AS n, sum(v) OVER w AS s, rank() OVER (ORDER BY g) AS r FROM s WINDOW w AS (PARTITION BY g ORDER BY id)",
        "1|1|10|1\n2|2|30|1\n3|3|50|1\n4|1|5|4\n5|2|5|4",
    );
    holds("SELECT id FROM s QUALIFY sum(v) OVER (PARTITION BY g ORDER BY id) > 20", "2\n3");
    holds("SELECT g, sum(v) AS s, sum(sum(v)) OVER (ORDER BY g) AS r FROM s GROUP BY g", "a|50|50\nb|5|55");
    holds(
        "SELECT id, (SELECT max(r) FROM (SELECT sum(v) OVER (ORDER BY id) AS r FROM s AS i WHERE i.g = o.g) q) AS m FROM s AS o",
        "1|50\n2|50\n3|50\n4|5\n5|5",
    );
}

#[test]
fn sessions_and_running_averages() {
    let tables = "CREATE TABLE bid (bidder BIGINT NOT NULL, date_time TIMESTAMP NOT NULL); \
        CREATE TABLE sale (id BIGINT PRIMARY KEY, seller BIGINT, final BIGINT)";
    let data = "INSERT INTO bid VALUES (1, '2024-01-01 00:00:00'), (1, '2024-01-01 00:00:30'), (2, '2024-01-01 00:00:00'); \
        INSERT INTO bid VALUES (1, '2024-01-01 00:00:10'), (1, '2024-01-01 00:00:41'), (1, '2024-01-01 00:00:10'); \
        INSERT INTO sale VALUES (1, 7, 10), (2, 7, 20), (3, 7, 60), (4, 8, 5)";
    let sessions = include_str!("../../../../tests/sql/nexmark/q11.sql");
    check(
        tables,
        data,
        sessions,
        "1|3|2024-01-01T00:00:00|2024-01-01T00:00:10\n1|1|2024-01-01T00:00:30|2024-01-01T00:00:30\n\
         1|1|2024-01-01T00:00:41|2024-01-01T00:00:41\n2|1|2024-01-01T00:00:00|2024-01-01T00:00:00",
    );
    check(
        tables,
        data,
        "SELECT id, avg(final) OVER (PARTITION BY seller ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM sale",
        "1|10.0\n2|15.0\n3|40.0\n4|5.0",
    );
}

#[test]
fn updates_move_rows_between_partitions_and_places() {
    let mut db = database(&format!("{TABLES}; {DATA}"));
    run(&mut db, "CREATE VIEW w AS SELECT id, sum(v) OVER (PARTITION BY g ORDER BY id) AS s FROM s");
    run(&mut db, "UPDATE s SET g = 'b' WHERE id = 2");
    assert_eq!(content(&mut db, "w"), ["1|10", "2|20", "3|30", "4|25", "5|25"]);
    run(&mut db, "UPDATE s SET v = 1 WHERE id = 1; DELETE FROM s WHERE id = 4");
    assert_eq!(content(&mut db, "w"), ["1|1", "2|20", "3|21", "5|20"]);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    refused(
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT sum(n) OVER () FROM r) SELECT n FROM r",
        "uses a window over it",
    );
    refused("SELECT count(DISTINCT v) OVER (PARTITION BY g) FROM s", "DISTINCT");
    refused("SELECT array_agg(v ORDER BY id) OVER () FROM s", "ORDER BY inside OVER");
    refused("SELECT sum(v) OVER (ORDER BY g RANGE 1 PRECEDING) FROM s", "orders by numbers");
    refused("SELECT sum(v) OVER (ORDER BY 1 RANGE 1 PRECEDING) FROM s", "one ORDER BY term");
    refused("SELECT ntile(0) OVER (ORDER BY id) FROM s", "at least 1");
    refused("SELECT nth_value(v, 0) OVER (ORDER BY id) FROM s", "counts from 1");
    refused("SELECT rank() FILTER (WHERE id > 1) OVER (ORDER BY id) FROM s", "FILTER is for aggregates");
    refused("SELECT count(*) OVER (ORDER BY t RANGE INTERVAL '-1 second' PRECEDING) FROM s", "negative");
}

#[test]
fn a_sum_that_does_not_fit_is_an_error() {
    let script = format!("{TABLES}; INSERT INTO s (id, v) VALUES (1, 9223372036854775807), (2, 1)");
    let error = failure(&mut database(&script), "SELECT sum(v) OVER (ORDER BY id) FROM s").to_string();
    assert!(error.contains("does not fit"), "{error}");
}

#[test]
fn explain_tells_the_cost() {
    let rows = select(
        &mut database(TABLES),
        "EXPLAIN SELECT id, sum(v) OVER (PARTITION BY g ORDER BY id) AS s FROM s",
    );
    assert!(rows.iter().any(|row| row.contains("whole partition")), "{rows:?}");
}

#[test]
fn orders_of_any_type() {
    let tables = "CREATE TABLE o (id BIGINT PRIMARY KEY, b BYTEA, f BOOLEAN, w TIME)";
    let data = "INSERT INTO o VALUES (1, X'02', true, '10:00:00'), (2, X'01', false, '09:00:00')";
    let query = |order: &str| format!("SELECT id, sum(id) OVER (ORDER BY {order}) AS s FROM o");
    check(tables, data, &query("b"), "1|3\n2|2");
    check(tables, data, &query("f"), "1|3\n2|2");
    check(tables, data, &query("w"), "1|3\n2|2");
}
