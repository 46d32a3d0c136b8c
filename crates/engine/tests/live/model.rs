//! A plain model of two tables, and random changes of both it and a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;
use tailrace_engine::{Database, Operation, OperationKind, StatementOutcome};

pub const TABLES: &str = "CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT, y BIGINT);
    CREATE TABLE e (a BIGINT, b BIGINT);";

/// Views of many kinds over both tables.
pub const VIEWS: [(&str, &str); 8] = [
    ("picked", "SELECT id, y FROM t WHERE x = 1"),
    ("sums", "SELECT x, count(*) AS n, sum(y) AS s, min(y) AS low FROM t GROUP BY x"),
    ("total", "SELECT count(*) AS n, max(y) AS high FROM t"),
    ("pairs", "SELECT t.id, e.b FROM t JOIN e ON t.x = e.a"),
    ("kinds", "SELECT DISTINCT x FROM t"),
    ("best", "SELECT id, x, row_number() OVER (PARTITION BY x ORDER BY y, id) AS r FROM t"),
    ("lone", "SELECT id FROM t WHERE x NOT IN (SELECT a FROM e WHERE a IS NOT NULL)"),
    (
        "reach",
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT a, b FROM r",
    ),
];

pub type Row = (Option<i64>, Option<i64>);

/// A change of one table.
#[derive(Clone, Debug)]
pub enum Move {
    Put(i64, Row),
    Take(i64),
    Add(Row),
    Remove(usize),
}

/// The rows of both tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub t: BTreeMap<i64, Row>,
    pub e: Vec<Row>,
}

fn small() -> impl Strategy<Value = Option<i64>> {
    proptest::option::weighted(0.85, 0i64..4)
}

fn one_move() -> impl Strategy<Value = Move> {
    let row = || (small(), small());
    prop_oneof![
        3 => (0i64..8, row()).prop_map(|(id, row)| Move::Put(id, row)),
        2 => (0i64..8).prop_map(Move::Take),
        2 => row().prop_map(Move::Add),
        1 => (0usize..8).prop_map(Move::Remove),
    ]
}

pub fn moves(most: usize) -> impl Strategy<Value = Vec<Move>> {
    vec(one_move(), 0..most)
}

impl Model {
    /// Does a move here and in the database.
    pub fn apply(&mut self, db: &mut Database, one: &Move) {
        match one {
            Move::Put(id, row) => {
                self.t.insert(*id, *row);
                run(db, &format!("INSERT OR REPLACE INTO t VALUES ({id}, {}, {})", text(row.0), text(row.1)));
            }
            Move::Take(id) => {
                self.t.remove(id);
                run(db, &format!("DELETE FROM t WHERE id = {id}"));
            }
            Move::Add(row) => {
                self.e.push(*row);
                run(db, &format!("INSERT INTO e VALUES ({}, {})", text(row.0), text(row.1)));
            }
            Move::Remove(place) => {
                let Some(row) = (!self.e.is_empty()).then(|| self.e[place % self.e.len()]) else { return };
                self.e.retain(|other| *other != row);
                let same = |name, value: Option<i64>| match value {
                    None => format!("{name} IS NULL"),
                    Some(value) => format!("{name} = {value}"),
                };
                run(db, &format!("DELETE FROM e WHERE {} AND {}", same("a", row.0), same("b", row.1)));
            }
        }
    }

    /// A database that gets these rows at once, before its views are made.
    pub fn database(&self) -> Database {
        let mut db = Database::new();
        run(&mut db, TABLES);
        for (id, row) in &self.t {
            run(&mut db, &format!("INSERT INTO t VALUES ({id}, {}, {})", text(row.0), text(row.1)));
        }
        for row in &self.e {
            run(&mut db, &format!("INSERT INTO e VALUES ({}, {})", text(row.0), text(row.1)));
        }
        create_views(&mut db);
        db
    }

    /// Compares all views of a database with those of one that was made from these rows, and lets it verify itself.
    pub fn check(&self, db: &mut Database) {
        let mut fresh = self.database();
        for (view, _) in VIEWS {
            assert_eq!(lines(db, view), lines(&mut fresh, view), "{view}");
            assert_eq!(db.view_hash(view).unwrap(), fresh.view_hash(view).unwrap(), "{view}");
            let verified = db.verify(view).unwrap();
            assert!(verified.is_ok(), "{verified:?}");
        }
        for table in ["t", "e"] {
            assert_eq!(lines(db, table), lines(&mut fresh, table), "{table}");
        }
    }
}

pub fn create_views(db: &mut Database) {
    for (name, query) in VIEWS {
        run(db, &format!("CREATE VIEW {name} AS {query}"));
    }
}

pub fn run(db: &mut Database, sql: &str) -> Vec<StatementOutcome> {
    db.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The rows of a view or table with their weights, as sorted texts.
pub fn lines(db: &mut Database, name: &str) -> Vec<String> {
    let rows = db.snapshot(name).unwrap();
    let values: Vec<Vec<String>> = rows
        .columns()
        .iter()
        .map(|column| {
            let show = |row| arrow_cast::display::array_value_to_string(column, row).unwrap();
            (0..rows.len()).map(|row| if column.is_null(row) { "NULL".into() } else { show(row) }).collect()
        })
        .collect();
    let line = |row: usize| {
        let cells: Vec<&str> = values.iter().map(|column| column[row].as_str()).collect();
        format!("{} x{}", cells.join("|"), rows.weights()[row])
    };
    let mut lines: Vec<String> = (0..rows.len()).map(line).collect();
    lines.sort();
    lines
}

fn text(value: Option<i64>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

/// New rows of three integers.
pub fn insertion(table: &str, rows: &[(i64, i64, i64)]) -> Operation {
    let column = |get: fn(&(i64, i64, i64)) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(get)))
    };
    let columns = [("id", column(|row| row.0)), ("x", column(|row| row.1)), ("y", column(|row| row.2))];
    Operation::new(OperationKind::Insert, table, RecordBatch::try_from_iter(columns).unwrap())
}
