//! Merging two indexed batches gives what consolidating their rows together gives, in however many pieces of fuel.

use std::sync::Arc;

use proptest::prelude::*;
use tailrace_trace::{IndexedBatch, Layout, Merger};

use crate::columns::{any_type, changes, entries, indexed, ordered, schema, types, zset_of};
use crate::random::Random;

fn merge_in_pieces(left: &Arc<IndexedBatch>, right: &Arc<IndexedBatch>, random: &mut Random) -> IndexedBatch {
    let mut merger = Merger::new(Arc::clone(left), Arc::clone(right));
    let most = random.pick(&[1, 5, 50, 10_000]);
    loop {
        let (before, fuel) = (merger.remaining(), random.below(most) + 1);
        let mut left_over = fuel;
        let done = merger.work(&mut left_over).unwrap();
        let spent = before - merger.remaining();
        assert!(spent <= 2 * fuel, "fuel of {fuel} paid for {spent} rows");
        assert_eq!(done, merger.remaining() == 0);
        if done {
            return merger.finish().unwrap();
        }
    }
}

fn check(types: &[arrow_schema::DataType], sizes: (usize, usize), random: &mut Random) {
    let schema = schema(types);
    let layout = Layout::rows(Arc::clone(&schema), 0).unwrap();
    let (a, b) = (changes(&schema, sizes.0, random), changes(&schema, sizes.1, random));
    let expected = ordered(&zset_of(&a).plus(&zset_of(&b)));
    let (left, right) = (indexed(&layout, &a), indexed(&layout, &b));
    for merged in [Merger::merge(&left, &right).unwrap(), merge_in_pieces(&left, &right, random)] {
        assert_eq!(entries(&merged), expected);
        assert_eq!(i128::from(merged.mass()), expected.iter().map(|(_, weight)| weight.abs()).sum::<i128>());
    }
    let twice = Arc::new(Merger::merge(&left, &right).unwrap());
    let again = Merger::merge(&twice, &left).unwrap();
    assert_eq!(
        entries(&again),
        ordered(&zset_of(&a).scale(2).plus(&zset_of(&b))),
        "a merged batch merges again"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn oracle_one_column_of_every_type(seed: u64, left in 0usize..40, right in 0usize..40) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check(&[data_type], (left, right), &mut random);
        }
    }

    #[test]
    fn oracle_several_columns(seed: u64, left in 0usize..150, right in 0usize..150, width in 0usize..4) {
        let mut random = Random::new(seed);
        let types: Vec<_> = (0..width).map(|_| any_type(&mut random)).collect();
        check(&types, (left, right), &mut random);
    }
}

#[test]
fn batches_of_more_than_one_piece() {
    let mut random = Random::new(3);
    for types in [
        [arrow_schema::DataType::Int64, arrow_schema::DataType::Int64],
        [arrow_schema::DataType::Utf8View, arrow_schema::DataType::Boolean],
    ] {
        check(&types, (20_000, 9_000), &mut random);
    }
}
