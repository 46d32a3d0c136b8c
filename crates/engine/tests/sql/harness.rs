//! Runs a query in every way and compares the rows with those of the test.

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use tailrace_engine::{Database, EngineError, StatementOutcome};

/// The rows of a batch as texts: values joined by `|`, NULL as `NULL`.
pub fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|"))
        .collect()
}

/// The rows of a query.
pub fn select(db: &mut Database, sql: &str) -> Vec<String> {
    let outcomes = db.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}\n{error}"));
    match outcomes.into_iter().last() {
        Some(StatementOutcome::Rows(batch)) => lines(&batch),
        _ => panic!("{sql} gives no rows"),
    }
}

/// The rows of a view, each as often as its weight says, in any order.
pub fn content(db: &mut Database, view: &str) -> Vec<String> {
    let rows = db.snapshot(view).unwrap();
    let texts = lines(&rows.rows().unwrap());
    let copies = texts.into_iter().zip(rows.weights().iter()).flat_map(|(text, weight)| {
        assert!(*weight > 0, "{view} holds {text} with weight {weight}");
        std::iter::repeat_n(text, *weight as usize)
    });
    sorted(copies.collect())
}

pub fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// A database after a script.
pub fn database(script: &str) -> Database {
    let mut db = Database::new();
    run(&mut db, script);
    db
}

pub fn run(db: &mut Database, sql: &str) {
    db.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}\n{error}"));
}

/// The error of a text.
pub fn failure(db: &mut Database, sql: &str) -> EngineError {
    match db.execute(sql, &[]) {
        Ok(_) => panic!("{sql} should fail"),
        Err(error) => error,
    }
}

/// Checks a query over tables and data; `expected` is one row a line. Rows are compared in order if the query has an ORDER BY at its end.
pub fn check(tables: &str, data: &str, query: &str, expected: &str) {
    let expected: Vec<String> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let mut once = database(&format!("{tables}; {data}"));
    let rows = select(&mut once, query);
    let in_order = query.rsplit(')').next().is_some_and(|tail| tail.to_lowercase().contains("order by"));
    if in_order {
        assert_eq!(rows, expected, "once: {query}");
    }
    let expected = sorted(expected);
    assert_eq!(sorted(rows), expected, "once: {query}");

    let mut live = database(tables);
    run(&mut live, &format!("CREATE VIEW checked AS {query}"));
    for statement in data.split(';').filter(|statement| !statement.trim().is_empty()) {
        run(&mut live, statement);
    }
    assert_eq!(content(&mut live, "checked"), expected, "live: {query}");
    let empty = select(&mut database(tables), query);
    for table in live.tables() {
        run(&mut live, &format!("DELETE FROM \"{table}\""));
    }
    assert_eq!(content(&mut live, "checked"), sorted(empty), "emptied: {query}");
    let statements: Vec<&str> = data.split(';').filter(|statement| !statement.trim().is_empty()).collect();
    for statement in statements.iter().rev() {
        run(&mut live, statement);
    }
    assert_eq!(content(&mut live, "checked"), expected, "filled again: {query}");
}
