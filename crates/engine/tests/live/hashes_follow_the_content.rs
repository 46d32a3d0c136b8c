//! The hash of a view is a function of its rows, kept from the first call on; two views with the same rows have the same hash.

use proptest::prelude::*;

use crate::model::{Model, VIEWS, lines, moves, run};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(24)))]

    #[test]
    fn prop_hashes_are_equal_when_rows_are(first in moves(10), then in moves(10)) {
        let (mut model, mut db) = (Model::default(), Model::default().database());
        first.iter().for_each(|one| model.apply(&mut db, one));
        let asked: Vec<_> = VIEWS.iter().map(|(view, _)| (db.view_hash(view).unwrap(), lines(&mut db, view))).collect();
        then.iter().for_each(|one| model.apply(&mut db, one));
        for ((view, _), (before, rows)) in VIEWS.iter().zip(asked) {
            prop_assert_eq!(db.view_hash(view).unwrap() == before, lines(&mut db, view) == rows);
        }
        model.check(&mut db);
    }
}

#[test]
fn a_refused_step_leaves_the_hash_alone() {
    let mut db = Model::default().database();
    run(&mut db, "INSERT INTO t VALUES (1, 1, 5); CREATE VIEW quotients AS SELECT id, 10 / y AS q FROM t");
    let before = [db.view_hash("sums").unwrap(), db.view_hash("quotients").unwrap()];
    assert!(db.execute("INSERT INTO t VALUES (2, 1, 0)", &[]).is_err());
    assert_eq!([db.view_hash("sums").unwrap(), db.view_hash("quotients").unwrap()], before);
    assert!(db.verify("sums").unwrap().is_ok());
}
