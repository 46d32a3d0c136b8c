//! After any sequence of staging, committing and rolling back, a spine holds the sum of what was committed, and nothing of what was not.

use std::sync::Arc;

use proptest::prelude::*;
use tailrace_algebra::ZSet;
use tailrace_trace::{Layout, Snapshot, Spine};

use crate::columns::{Row, any_type, changes, entries, indexed, ordered, schema, zset_of};
use crate::random::Random;

fn assert_holds(snapshot: &Snapshot, expected: &ZSet<Row>) {
    assert_eq!(entries(&snapshot.consolidate().unwrap()), ordered(expected));
    assert!(snapshot.batches().iter().all(|batch| !batch.is_empty()));
    let parts = snapshot.batches().iter().map(|batch| zset_of(&batch.to_changes()));
    assert_eq!(&parts.fold(ZSet::new(), |sum, part| sum.plus(&part)), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(48)))]

    #[test]
    fn oracle_random_steps(seed: u64, steps in 1usize..60) {
        let mut random = Random::new(seed);
        let types = [any_type(&mut random), any_type(&mut random)];
        let schema = schema(&types);
        let layout = Layout::rows(Arc::clone(&schema), 1).unwrap();
        let mut spine = Spine::new(Arc::clone(&layout));
        let (mut committed, mut staged) = (ZSet::new(), ZSet::new());
        for _ in 0..steps {
            let old = (spine.snapshot().clone(), committed.clone());
            match random.below(10) {
                0 => {
                    spine.rollback();
                    staged = ZSet::new();
                }
                1..=4 => {
                    spine.commit();
                    committed = committed.plus(&staged);
                    staged = ZSet::new();
                }
                _ => {
                    let len = random.pick(&[0, 1, 1, 2, 10, 100, 700]);
                    let batch = changes(&schema, len, &mut random);
                    spine.stage(indexed(&layout, &batch)).unwrap();
                    staged = staged.plus(&zset_of(&batch));
                }
            }
            assert_holds(spine.snapshot(), &committed);
            assert_holds(&old.0, &old.1);
            prop_assert_eq!(spine.len(), spine.snapshot().len());
        }
        tailrace_tests::count_steps(steps);
        let copy = Spine::from_snapshot(spine.snapshot().clone());
        assert_holds(copy.snapshot(), &committed);
    }

    #[test]
    fn prop_a_rolled_back_step_leaves_no_trace(seed: u64) {
        let mut random = Random::new(seed);
        let schema = schema(&[any_type(&mut random)]);
        let layout = Layout::rows(Arc::clone(&schema), 1).unwrap();
        let (mut spine, mut twin) = (Spine::new(Arc::clone(&layout)), Spine::new(Arc::clone(&layout)));
        for _ in 0..20 {
            let batch = indexed(&layout, &changes(&schema, 30, &mut random));
            spine.stage(indexed(&layout, &changes(&schema, 30, &mut random))).unwrap();
            spine.rollback();
            for either in [&mut spine, &mut twin] {
                either.stage(Arc::clone(&batch)).unwrap();
                either.commit();
            }
            let sizes = |spine: &Spine| spine.snapshot().batches().iter().map(|batch| batch.len()).collect::<Vec<_>>();
            prop_assert_eq!(sizes(&spine), sizes(&twin));
        }
    }
}
