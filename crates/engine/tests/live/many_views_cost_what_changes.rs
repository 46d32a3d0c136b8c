//! Many views that ask one column for one value each are right at every step, come and go at any time, and a change runs those alone that it concerns.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use tailrace_engine::Database;

use crate::model::{Move, Row, lines, moves, run};

/// One of the views over `t`: what it asks, and what of.
fn query(view: i64) -> String {
    let asked = match view % 4 {
        0 => format!("x = {}", view / 4),
        1 => format!("{} = x AND y > 1", view / 4),
        2 => format!("10 / (y + 1) > 2 AND x = {}", view / 4),
        _ => format!("x IN ({}, 9)", view / 4),
    };
    format!("SELECT id, y FROM t WHERE {asked}")
}

fn expected(view: i64, rows: &BTreeMap<i64, Row>) -> Vec<String> {
    let holds = |(x, y): &Row| {
        *x == Some(view / 4)
            && match view % 4 {
                1 => y.is_some_and(|y| y > 1),
                2 => y.is_some_and(|y| 10 / (y + 1) > 2),
                _ => true,
            }
    };
    let show = |y: Option<i64>| y.map_or("NULL".to_owned(), |y| y.to_string());
    let rows = rows.iter().filter(|(_, row)| holds(row));
    rows.map(|(id, (_, y))| format!("{id}|{} x1", show(*y))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(32)))]

    #[test]
    fn oracle_views_that_ask_for_equality(turns in vec((vec(0i64..16, 0..8), moves(4)), 1..8)) {
        let (mut db, mut rows, mut alive) = (Database::new(), BTreeMap::new(), BTreeSet::new());
        run(&mut db, "CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT, y BIGINT)");
        let empty = db.metrics().len();
        for (toggled, moves) in turns {
            for view in toggled {
                if alive.remove(&view) {
                    run(&mut db, &format!("DROP VIEW v{view}"));
                } else {
                    alive.insert(view);
                    run(&mut db, &format!("CREATE VIEW v{view} AS {}", query(view)));
                }
            }
            for one in &moves {
                match one {
                    Move::Put(id, (x, y)) => {
                        rows.insert(*id, (*x, *y));
                        let [x, y] = [x, y].map(|v| v.map_or("NULL".to_owned(), |v| v.to_string()));
                        run(&mut db, &format!("INSERT OR REPLACE INTO t VALUES ({id}, {x}, {y})"));
                    }
                    Move::Take(id) => {
                        rows.remove(id);
                        run(&mut db, &format!("DELETE FROM t WHERE id = {id}"));
                    }
                    _ => {}
                }
            }
            for view in &alive {
                let name = format!("v{view}");
                prop_assert_eq!(lines(&mut db, &name), expected(*view, &rows), "{}", query(*view));
                prop_assert!(db.verify(&name).unwrap().is_ok());
            }
            tailrace_tests::count_steps(moves.len());
        }
        for view in alive {
            run(&mut db, &format!("DROP VIEW v{view}"));
        }
        prop_assert_eq!(db.metrics().len(), empty, "views leave nothing behind");
    }
}

#[test]
fn a_change_runs_the_views_that_it_concerns() {
    let mut db = Database::new();
    run(&mut db, "CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT, y BIGINT)");
    for view in 0..200 {
        run(&mut db, &format!("CREATE VIEW v{view} AS SELECT id, y FROM t WHERE x = {view}"));
    }
    let before: Vec<u64> = db.metrics().iter().map(|node| node.rows_in).collect();
    let step = db.apply(&[crate::model::insertion("t", &[(1, 150, 7)])]).unwrap();
    assert_eq!(step.changed().unwrap(), ["v150"]);
    let woken = db.metrics().iter().zip(before).filter(|(node, before)| node.rows_in > *before).count();
    assert!(woken < 10, "{woken} operators ran");
    assert_eq!(step.shape("v3").unwrap().schema.fields().len(), 2, "views that did not change are known");
    assert!(step.get("v3").unwrap().is_none());
}
