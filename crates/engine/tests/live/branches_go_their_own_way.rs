//! A branch and its parent see their own changes alone: for any changes before and after the fork, the views of each equal those of its own tables.

use proptest::prelude::*;

use crate::model::{Model, TABLES, create_views, lines, moves, run};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(24)))]

    #[test]
    fn prop_branch_and_parent_are_independent(
        before in moves(12), left in moves(8), right in moves(8), late in any::<bool>(),
    ) {
        let (mut db, mut model) = (tailrace_engine::Database::new(), Model::default());
        run(&mut db, TABLES);
        if !late {
            create_views(&mut db);
        }
        before.iter().for_each(|one| model.apply(&mut db, one));
        if late {
            create_views(&mut db);
        }
        let (mut branch, mut own) = (db.branch().unwrap(), model.clone());
        // Taken in turns, so that neither is done before the other begins.
        let longest = left.len().max(right.len());
        for place in 0..longest {
            left.get(place).into_iter().for_each(|one| model.apply(&mut db, one));
            right.get(place).into_iter().for_each(|one| own.apply(&mut branch, one));
        }
        model.check(&mut db);
        own.check(&mut branch);
        tailrace_tests::count_steps(before.len() + left.len() + right.len());
    }
}

#[test]
fn a_branch_makes_and_drops_views_and_tables_of_its_own() {
    let mut model = Model::default();
    let mut db = model.database();
    run(&mut db, "INSERT INTO t VALUES (1, 1, 10), (2, 2, 20)");
    model.t.extend([(1, (Some(1), Some(10))), (2, (Some(2), Some(20)))]);
    let mut branch = db.branch().unwrap();
    run(
        &mut branch,
        "DROP VIEW sums; CREATE VIEW sums AS SELECT sum(y) AS all_of_it FROM t; CREATE TABLE u (z BIGINT)",
    );
    run(&mut branch, "INSERT INTO u VALUES (1); DELETE FROM t WHERE id = 1");
    assert_eq!(lines(&mut branch, "sums"), ["20 x1"]);
    assert!(db.snapshot("u").is_err());
    model.check(&mut db);
}

#[test]
fn a_branch_of_a_branch_shares_nothing_that_changes() {
    let mut model = Model::default();
    let mut db = model.database();
    let mut one = db.branch().unwrap();
    run(&mut one, "INSERT INTO t VALUES (1, 1, 1)");
    let mut two = one.branch().unwrap();
    run(&mut two, "DELETE FROM t WHERE id = 1");
    run(&mut one, "INSERT INTO e VALUES (1, 2)");
    model.check(&mut db);
    model.check(&mut two);
    model.t.insert(1, (Some(1), Some(1)));
    model.e.push((Some(1), Some(2)));
    model.check(&mut one);
}
