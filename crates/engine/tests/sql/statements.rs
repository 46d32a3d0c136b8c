//! Definitions, changes, parameters, and what a wrong text is told.

use tailrace_engine::sql::ScalarValue;
use tailrace_engine::{Database, StatementOutcome};

use crate::harness::{content, database, failure, lines, run, select};

fn shop() -> Database {
    database(
        "CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(10, 2) DEFAULT 1.50, stock INTEGER); CREATE TABLE log (what VARCHAR)",
    )
}

#[test]
fn changes_reach_the_views() {
    let mut db = shop();
    run(&mut db, "CREATE VIEW total AS SELECT sum(price * stock) AS worth, count(*) AS n FROM item");
    run(
        &mut db,
        "INSERT INTO item VALUES (1, 'pen', 2.00, 10), (2, 'ink', 5.25, 4); INSERT INTO item (id, name) VALUES (3, 'cap')",
    );
    assert_eq!(
        select(&mut db, "SELECT * FROM item ORDER BY id"),
        ["1|pen|2.00|10", "2|ink|5.25|4", "3|cap|1.50|NULL"]
    );
    assert_eq!(content(&mut db, "total"), ["41.00|3"]);
    run(&mut db, "UPDATE item SET price = price * 2, stock = stock - 1 WHERE name LIKE 'p%'");
    assert_eq!(content(&mut db, "total"), ["57.00|3"]);
    run(&mut db, "DELETE FROM item WHERE stock IS NULL");
    assert_eq!(content(&mut db, "total"), ["57.00|2"]);
    run(&mut db, "INSERT INTO item SELECT id + 10, name || '!', price, stock FROM item WHERE id = 2");
    assert_eq!(select(&mut db, "SELECT name FROM item ORDER BY id DESC LIMIT 1"), ["ink!"]);
    run(&mut db, "UPDATE item SET id = id + 100");
    assert_eq!(select(&mut db, "SELECT id FROM item ORDER BY id"), ["101", "102", "112"]);
}

#[test]
fn tables_without_a_key_are_bags() {
    let mut db = shop();
    run(&mut db, "INSERT INTO log VALUES ('a'), ('a'), ('b'); UPDATE log SET what = 'c' WHERE what = 'a'");
    assert_eq!(
        select(&mut db, "SELECT what, count(*) AS n FROM log GROUP BY what ORDER BY what"),
        ["b|1", "c|2"]
    );
    run(&mut db, "DELETE FROM log WHERE what = 'c'");
    assert_eq!(select(&mut db, "SELECT * FROM log"), ["b"]);
}

#[test]
fn parameters_take_values() {
    let mut db = shop();
    let values = [ScalarValue::from(7_i64), ScalarValue::from("fan")];
    db.execute("INSERT INTO item (id, name) VALUES (?, ?)", &values).unwrap();
    let outcomes = db.execute("SELECT name FROM item WHERE id = $1 AND name = $2", &values).unwrap();
    let [StatementOutcome::Rows(rows)] = &outcomes[..] else { panic!("no rows") };
    assert_eq!(lines(rows), ["fan"]);
    assert!(db.execute("SELECT $2", &values[..1]).is_err());
}

#[test]
fn definitions_come_and_go() {
    let mut db = shop();
    run(&mut db, "CREATE VIEW v AS SELECT id FROM item; CREATE VIEW w AS SELECT count(*) AS n FROM v");
    run(&mut db, "INSERT INTO item (id, name) VALUES (1, 'x')");
    assert_eq!(content(&mut db, "w"), ["1"]);
    assert!(failure(&mut db, "CREATE VIEW v AS SELECT 1 AS one").to_string().contains("exists"));
    run(
        &mut db,
        "CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS one; CREATE OR REPLACE VIEW v AS SELECT id + 1 AS id FROM item",
    );
    assert_eq!(content(&mut db, "v"), ["2"]);
    assert!(failure(&mut db, "DROP TABLE item").to_string().contains('w'));
    run(
        &mut db,
        "DROP VIEW v; DROP VIEW w; DROP TABLE item; DROP TABLE IF EXISTS item; DROP VIEW IF EXISTS v",
    );
    assert_eq!(select(&mut db, "SHOW TABLES"), ["log"]);
    run(
        &mut db,
        "CREATE TABLE copy AS SELECT * FROM (VALUES (1, 'a')) AS v(n, s); CREATE TABLE two (a INT, b INT, c TEXT, PRIMARY KEY (a, b))",
    );
    assert_eq!(select(&mut db, "SELECT * FROM copy"), ["1|a"]);
    assert_eq!(select(&mut db, "DESCRIBE two"), ["a|INTEGER|no|yes", "b|INTEGER|no|yes", "c|VARCHAR|yes|no"]);
    assert!(select(&mut db, "EXPLAIN SELECT count(*) AS n FROM two")[0].contains("aggregate"));
}

#[test]
fn a_statement_that_fails_changes_nothing() {
    let mut db = shop();
    run(
        &mut db,
        "CREATE VIEW v AS SELECT 10 / stock AS q FROM item WHERE stock IS NOT NULL; INSERT INTO item VALUES (1, 'a', 1, 5)",
    );
    failure(&mut db, "INSERT INTO item VALUES (2, 'b', 1, 2), (1, 'c', 1, 1)");
    failure(&mut db, "INSERT INTO item VALUES (2, 'b', 1, 0)");
    failure(&mut db, "INSERT INTO item VALUES (3, NULL, 1, 1)");
    failure(&mut db, "UPDATE item SET stock = 0");
    failure(&mut db, "UPDATE item SET nonsense = 0");
    failure(&mut db, "INSERT INTO v VALUES (1)");
    assert_eq!(select(&mut db, "SELECT id, stock FROM item"), ["1|5"]);
    assert_eq!(content(&mut db, "v"), ["2"]);
    failure(&mut db, "INSERT INTO log VALUES ('first'); SELEC 1");
    assert_eq!(select(&mut db, "SELECT * FROM log"), Vec::<String>::new());
}

#[test]
fn errors_show_the_place_and_the_choices() {
    let mut db = shop();
    let told = |db: &mut Database, sql: &str| failure(db, sql).to_string();
    let error = told(&mut db, "SELECT id,\n  prise FROM item");
    assert!(error.contains("Did you mean 'price'?"), "{error}");
    assert!(error.ends_with("LINE 2:   prise FROM item\n          ^"), "{error}");
    assert!(told(&mut db, "SELECT * FROM itm").contains("Did you mean 'item'?"));
    assert!(told(&mut db, "SELECT uper(name) FROM item").contains("'upper'"));
    assert!(told(&mut db, "SELEC 1").contains("LINE 1: SELEC 1"));
    assert!(told(&mut db, "CREATE VIEW v AS SELECT now() AS n FROM item").contains("now"));
    assert!(told(&mut db, "SELECT 1 +").contains("LINE 1"));
    assert!(told(&mut db, "CREATE TABLE x (a INT UNIQUE)").contains("UNIQUE"));
}

#[test]
fn deep_and_wide_texts_are_answered_or_refused() {
    let mut db = shop();
    let chain = vec!["1"; 400].join(" + ");
    assert_eq!(select(&mut db, &format!("SELECT {chain} AS n")), ["400"]);
    let deep = |text: String| failure(&mut shop(), &text).to_string();
    assert!(deep(format!("SELECT {}", vec!["id"; 100_000].join(" + "))).contains("deep"));
    assert!(deep(format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000))).contains("deep"));
    let ors = (0..2000).map(|n| format!("id = {n}")).collect::<Vec<_>>().join(" OR ");
    assert_eq!(select(&mut db, &format!("SELECT count(*) AS n FROM item WHERE {ors}")), ["0"]);
    let rows = (0..20_000).map(|n| format!("({n}, 'x')")).collect::<Vec<_>>().join(", ");
    run(&mut db, &format!("INSERT INTO item (id, name) VALUES {rows}"));
    assert_eq!(select(&mut db, "SELECT count(*) AS n FROM item"), ["20000"]);
}

#[test]
fn arithmetic_on_constants_is_checked_like_any_other() {
    let mut db = shop();
    for sql in [
        "SELECT 9223372036854775807 + 1",
        "SELECT 9223372036854775807 * 2 AS x",
        "SELECT CAST(100 AS TINYINT) * CAST(2 AS TINYINT)",
        "SELECT id FROM item WHERE id < 9223372036854775807 + 1",
        "INSERT INTO item VALUES (9223372036854775807 + 1, 'a', 1, 1)",
        "CREATE VIEW w AS SELECT id, 9223372036854775807 + 1 AS big FROM item",
    ] {
        let message = failure(&mut db, sql).to_string();
        assert!(message.to_lowercase().contains("overflow"), "{sql}\n{message}");
    }
    assert_eq!(select(&mut db, "SELECT 9223372036854775806 + 1, 3 * 4 - 5"), ["9223372036854775807|7"]);
}

#[test]
fn a_null_that_is_not_wanted_is_told_by_its_column() {
    let mut db = shop();
    let message = failure(&mut db, "INSERT INTO item (id, name) VALUES (7, NULL)").to_string();
    assert!(message.contains("'name'") && message.contains("item"), "{message}");
}
