//! Consolidation sorts rows, adds the weights of equal ones and drops those that cancel, exactly as the reference Z-set does.

use std::sync::Arc;

use proptest::prelude::*;
use tailrace_trace::{ChangeBatch, Layout};

use crate::columns::{any_type, changes, entries, indexed, ordered, rows, schema, types, zset_of};
use crate::random::Random;

fn check(changes: &ChangeBatch) {
    let expected = ordered(&zset_of(changes));
    let layout = Layout::rows(Arc::clone(changes.schema()), 0).unwrap();
    let batch = indexed(&layout, changes);
    assert_eq!(entries(&batch), expected);
    let types =
        |columns: &[arrow_array::ArrayRef]| columns.iter().map(|c| c.data_type().clone()).collect::<Vec<_>>();
    assert_eq!(types(batch.columns()), types(changes.columns()));
    let consolidated = changes.consolidate().unwrap();
    let found: Vec<_> = rows(consolidated.columns(), consolidated.len())
        .into_iter()
        .zip(consolidated.weights().iter().map(|w| i128::from(*w)))
        .collect();
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn oracle_one_column_of_every_type(seed: u64, len in 0usize..60) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check(&changes(&schema(&[data_type]), len, &mut random));
        }
    }

    #[test]
    fn oracle_several_columns(seed: u64, len in 0usize..200, width in 0usize..5) {
        let mut random = Random::new(seed);
        let types: Vec<_> = (0..width).map(|_| any_type(&mut random)).collect();
        check(&changes(&schema(&types), len, &mut random));
    }

    #[test]
    fn prop_consolidation_is_idempotent_and_cancels_its_negative(seed: u64, len in 0usize..100) {
        let mut random = Random::new(seed);
        let types = [any_type(&mut random), any_type(&mut random)];
        let once = changes(&schema(&types), len, &mut random).consolidate().unwrap();
        let twice = once.consolidate().unwrap();
        prop_assert_eq!(zset_of(&once), zset_of(&twice));
        let both = ChangeBatch::concat(Arc::clone(once.schema()), &[once.clone(), once.negate().unwrap()]).unwrap();
        prop_assert!(both.consolidate().unwrap().is_empty());
    }
}
