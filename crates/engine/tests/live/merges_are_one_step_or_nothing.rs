//! A merge gives the parent the branch's changes in one step, or names the key that both have changed and gives it nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tailrace_engine::{Database, EngineError, OnConflict};

use crate::model::{Model, Move, Row, lines, moves, run};

type Rows = BTreeMap<i64, Row>;

/// The keys that both have changed, not to the same row.
fn conflicts(at_fork: &Rows, parent: &Rows, branch: &Rows) -> Vec<i64> {
    let keys = (0..8).filter(|id| {
        let [f, p, b] = [at_fork, parent, branch].map(|rows| rows.get(id));
        f != p && f != b && p != b
    });
    keys.collect()
}

/// The parent's rows with what the branch has changed; in a conflict `wins` says whose row stays.
fn merged(at_fork: &Rows, parent: &Rows, branch: &Rows, branch_wins: bool) -> Rows {
    let row = |id: i64| {
        let [f, p, b] = [at_fork, parent, branch].map(|rows| rows.get(&id).copied());
        if f == b || (f != p && !branch_wins) { p } else { b }
    };
    (0..8).filter_map(|id| Some((id, row(id)?))).collect()
}

fn keyed(moves: Vec<Move>) -> Vec<Move> {
    moves.into_iter().filter(|one| matches!(one, Move::Put(..) | Move::Take(_))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(48)))]

    #[test]
    fn oracle_merge_of_keyed_changes(before in moves(10), left in moves(8), right in moves(8)) {
        let (mut model, mut db) = (Model::default(), Model::default().database());
        before.iter().for_each(|one| model.apply(&mut db, one));
        let (at_fork, mut own) = (model.t.clone(), model.clone());
        let mut branch = db.branch().unwrap();
        keyed(left).iter().for_each(|one| model.apply(&mut db, one));
        keyed(right).iter().for_each(|one| own.apply(&mut branch, one));
        let changes = branch.branch_changes().unwrap();
        let expected = conflicts(&at_fork, &model.t, &own.t);
        let version = db.version();
        match db.merge(&changes, OnConflict::Refuse) {
            Ok(step) => {
                prop_assert!(expected.is_empty(), "{expected:?}");
                prop_assert_eq!(step.version(), version + 1);
                model.t = merged(&at_fork, &model.t, &own.t, true);
                model.check(&mut db);
            }
            Err(EngineError::MergeConflict { table, key, keys }) => {
                prop_assert_eq!((table.as_str(), keys), ("t", expected.len()));
                prop_assert_eq!(key, format!("(id={})", expected[0]));
                prop_assert_eq!(db.version(), version);
                model.check(&mut db);
                for (policy, wins) in [(OnConflict::Branch, true), (OnConflict::Parent, false)] {
                    let mut side = db.branch().unwrap();
                    side.merge(&changes, policy).unwrap();
                    let mut after = model.clone();
                    after.t = merged(&at_fork, &model.t, &own.t, wins);
                    after.check(&mut side);
                }
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }
}

fn one_row_in_a_bag() -> (Database, Database) {
    let mut db = Model::default().database();
    run(&mut db, "INSERT INTO e VALUES (1, 1), (1, 1), (2, 2)");
    let branch = db.branch().unwrap();
    (db, branch)
}

#[test]
fn rows_without_a_key_add_up() {
    let (mut db, mut branch) = one_row_in_a_bag();
    run(&mut branch, "INSERT INTO e VALUES (3, 3), (1, 1); DELETE FROM e WHERE a = 2");
    run(&mut db, "INSERT INTO e VALUES (3, 3), (2, 2)");
    db.merge(&branch.branch_changes().unwrap(), OnConflict::Refuse).unwrap();
    assert_eq!(lines(&mut db, "e"), ["1|1 x3", "2|2 x1", "3|3 x2"]);
}

#[test]
fn a_row_that_both_took_away_is_a_conflict() {
    let (mut db, mut branch) = one_row_in_a_bag();
    run(&mut branch, "DELETE FROM e WHERE a = 2");
    run(&mut db, "DELETE FROM e WHERE a = 2");
    let refused = db.merge(&branch.branch_changes().unwrap(), OnConflict::Branch);
    assert!(matches!(refused, Err(EngineError::MergeLack { rows: 1, .. })));
    assert_eq!(lines(&mut db, "e"), ["1|1 x2"]);
}

#[test]
fn tables_that_the_parent_does_not_have_are_refused() {
    let (mut db, mut branch) = one_row_in_a_bag();
    run(&mut branch, "CREATE TABLE u (z BIGINT)");
    db.merge(&branch.branch_changes().unwrap(), OnConflict::Refuse).unwrap();
    run(&mut branch, "INSERT INTO u VALUES (1)");
    let refused = db.merge(&branch.branch_changes().unwrap(), OnConflict::Refuse).err().unwrap();
    assert!(refused.to_string().contains("'u'"), "{refused}");
    run(&mut branch, "DROP TABLE u; INSERT INTO t VALUES (1, 1, 1)");
    for (view, _) in crate::model::VIEWS {
        run(&mut db, &format!("DROP VIEW {view}"));
    }
    run(&mut db, "DROP TABLE t; CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT, y BIGINT)");
    let refused = db.merge(&branch.branch_changes().unwrap(), OnConflict::Refuse).err().unwrap();
    assert!(refused.to_string().contains("dropped since the fork"), "{refused}");
}

#[test]
fn a_step_that_fails_in_the_parent_merges_nothing() {
    let (mut db, mut branch) = one_row_in_a_bag();
    run(&mut db, "CREATE VIEW quotients AS SELECT id, 10 / y AS q FROM t");
    run(&mut branch, "INSERT INTO t VALUES (1, 1, 0); INSERT INTO e VALUES (5, 5)");
    assert!(db.merge(&branch.branch_changes().unwrap(), OnConflict::Refuse).is_err());
    assert_eq!(lines(&mut db, "e"), ["1|1 x2", "2|2 x1"]);
    assert!(lines(&mut db, "t").is_empty());
}
