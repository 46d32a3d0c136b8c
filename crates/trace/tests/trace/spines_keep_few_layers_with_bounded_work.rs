//! A reader sees fewer than 2 log2(n) + 4 batches, and a commit looks at a number of rows that is bounded by what it commits, whatever the sizes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType;
use proptest::prelude::*;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Spine};

use crate::columns::{indexed, schema};
use crate::random::Random;

struct Feeder {
    layout: Arc<Layout>,
    spine: Spine,
    random: Random,
    committed: usize,
}

impl Feeder {
    fn new(seed: u64) -> Self {
        let layout = Layout::rows(schema(&[DataType::Int64]), 1).unwrap();
        Self { spine: Spine::new(Arc::clone(&layout)), layout, random: Random::new(seed), committed: 0 }
    }

    fn batch(&mut self, rows: usize) -> Arc<IndexedBatch> {
        let keys: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..rows).map(|_| self.random.number() as i64)));
        let changes =
            ChangeBatch::try_new(Arc::clone(self.layout.schema()), vec![keys], vec![1; rows].into()).unwrap();
        indexed(&self.layout, &changes)
    }

    /// Commits a batch and checks both promises.
    fn commit(&mut self, rows: usize) {
        let batch = self.batch(rows);
        self.spine.stage(batch).unwrap();
        let before = self.spine.merged_rows();
        self.spine.commit();
        let work = (self.spine.merged_rows() - before) as usize;
        self.committed += rows;
        let levels = (usize::BITS - self.committed.leading_zeros()) as usize;
        let layers = self.spine.layers();
        assert!(layers < 2 * levels + 4, "{layers} layers over {} rows", self.committed);
        let bound = levels * (8 * rows + 2_048);
        assert!(
            work <= bound,
            "{work} rows looked at to commit {rows} over {}, at most {bound} were promised",
            self.committed
        );
    }

    /// All merge work so far is within a logarithmic factor of what came.
    fn check_total(&self) {
        let levels = u64::from(u64::BITS - (self.committed as u64).leading_zeros());
        let (total, bound) = (self.spine.merged_rows(), 2 * levels * self.committed as u64);
        assert!(total <= bound, "{total} rows looked at in all, at most {bound} were promised");
    }
}

#[test]
fn many_tiny_batches() {
    let mut feeder = Feeder::new(1);
    (0..20_000).for_each(|_| feeder.commit(1));
    feeder.check_total();
}

#[test]
fn few_large_batches() {
    let mut feeder = Feeder::new(2);
    (0..20).for_each(|_| feeder.commit(20_000));
    feeder.check_total();
}

#[test]
fn tiny_batches_onto_a_large_state() {
    let mut feeder = Feeder::new(3);
    feeder.commit(300_000);
    (0..5_000).for_each(|_| feeder.commit(1));
    (0..200).for_each(|_| feeder.commit(1_500));
    feeder.check_total();
}

#[test]
fn shrinking_and_growing_batches() {
    let mut feeder = Feeder::new(4);
    for round in 0..3 {
        (0..16).for_each(|level| feeder.commit(1 << (16 - level)));
        (0..16).for_each(|level| feeder.commit((1 << level) + round));
    }
    feeder.check_total();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(16)))]

    #[test]
    fn prop_mixed_batches(seed: u64) {
        let mut feeder = Feeder::new(seed);
        for _ in 0..300 {
            let size = feeder.random.pick(&[1, 1, 1, 2, 10, 100, 1_000, 5_000]);
            feeder.commit(size);
        }
        feeder.check_total();
    }

    #[test]
    fn prop_mostly_tiny_with_huge_ones_between(seed: u64) {
        let mut feeder = Feeder::new(seed);
        for _ in 0..1_000 {
            let size = if feeder.random.below(100) == 0 { 10_000 } else { 1 };
            feeder.commit(size);
        }
        feeder.check_total();
    }
}
