//! Recent changes: what the running step of a nested scope has added to a trace so far, iteration by iteration.
//!
//! # Promises
//! * Adding a change costs no more than keeping it: thousands of iterations may each add one row.
//! * Who reads gets all changes of the iterations before a given one, without their iterations, in at most `SMALL_BATCHES + log2(n)` batches. If
//!   nobody reads, nothing is merged.
//! * In the end everything is taken out at once, sorted, each row with its iteration.
//!
//! # Why it is a shared handle
//! A value on a stream is made before anybody knows whether its reader will look at the changes of earlier iterations; most do not. So the merging
//! is left to the reader. What a reader sees depends on the iteration it asks for and on nothing else, as long as it asks in the iteration in which
//! it got the handle, since later changes have later iterations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_buffer::ScalarBuffer;
use arrow_select::concat::concat;

use crate::{DiffColumn, IndexedBatch, Layout, Merger, TraceError};

/// Rows below which a batch is small.
const SMALL: usize = 64;
/// Small batches that gather before they are sorted together.
const SMALL_BATCHES: usize = 8;

/// The changes of the running step.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    parts: Arc<Mutex<Parts>>,
}

#[derive(Debug, Default)]
struct Parts {
    /// All changes in the order of their iterations.
    log: Vec<(i32, Arc<IndexedBatch>)>,
    /// How many of them are in the tiers.
    read: usize,
    /// Merged for readers, oldest first.
    tiers: Vec<Arc<IndexedBatch>>,
}

impl Recent {
    /// Adds the change of an iteration, which is later than all before.
    pub fn push(&self, at: i32, delta: Arc<IndexedBatch>) {
        self.parts().log.push((at, delta));
    }

    /// The changes of the iterations before `at`.
    pub fn before(&self, at: i32) -> Result<Vec<Arc<IndexedBatch>>, TraceError> {
        let mut parts = self.parts();
        parts.catch_up(at)?;
        Ok(parts.tiers.clone())
    }

    /// Takes everything out, in a timed layout: as one batch, or change by change if one batch cannot hold them. If it fails, everything stays.
    pub fn drain(&self, timed: &Arc<Layout>) -> Result<Vec<Arc<IndexedBatch>>, TraceError> {
        let mut parts = self.parts();
        let log = &parts.log;
        let sorted = match sort_together(timed, log, true) {
            Ok(whole) => vec![whole],
            Err(_) => {
                let alone = |change: &(i32, Arc<IndexedBatch>)| {
                    sort_together(timed, std::slice::from_ref(change), true)
                };
                log.iter().map(alone).collect::<Result<_, _>>()?
            }
        };
        *parts = Parts::default();
        Ok(sorted)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.parts() = Parts::default();
    }

    /// A reader that panicked has left nothing half done that a rollback does not clear.
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Parts {
    /// Merges the changes before `at` that no reader has seen.
    fn catch_up(&mut self, at: i32) -> Result<(), TraceError> {
        let ready = self.log[self.read..].partition_point(|(iteration, _)| *iteration < at);
        let unread = &self.log[self.read..self.read + ready];
        let Some((_, first)) = unread.first() else { return Ok(()) };
        let fresh = match unread {
            [(_, single)] => Arc::clone(single),
            several => sort_together(first.layout(), several, false)?,
        };
        self.read += ready;
        self.tiers.extend((!fresh.is_empty()).then_some(fresh));
        self.merge()
    }

    fn merge(&mut self) -> Result<(), TraceError> {
        loop {
            let count = choose(self.tiers.iter().rev().map(|batch| batch.len()));
            let merged = match &self.tiers[self.tiers.len() - count..] {
                [] => return Ok(()),
                [older, newer] => Arc::new(Merger::merge(older, newer)?),
                small => {
                    let small: Vec<_> = small.iter().map(|batch| (0, Arc::clone(batch))).collect();
                    sort_together(small[0].1.layout(), &small, false)?
                }
            };
            self.tiers.truncate(self.tiers.len() - count);
            self.tiers.extend((!merged.is_empty()).then_some(merged));
        }
    }
}

/// How many of the newest batches to merge into one, by their sizes, newest first; zero is none.
///
/// Small ones gather and are sorted together, since a merge of two single rows is nearly all overhead. Larger ones are merged in pairs when the
/// older is at most twice the newer, so that sizes halve from old to new.
fn choose(sizes: impl Iterator<Item = usize> + Clone) -> usize {
    let small = sizes.clone().take_while(|size| *size < SMALL).count();
    if small >= SMALL_BATCHES {
        return small;
    }
    let mut large = sizes.skip(small);
    match (small, large.next(), large.next()) {
        (0, Some(newer), Some(older)) if older <= 2 * newer => 2,
        _ => 0,
    }
}

/// All changes as one batch, with or without the iterations as the last column.
fn sort_together(
    layout: &Arc<Layout>,
    changes: &[(i32, Arc<IndexedBatch>)],
    timed: bool,
) -> Result<Arc<IndexedBatch>, TraceError> {
    let width = layout.schema().fields().len() - usize::from(timed);
    let mut columns = (0..width).map(|index| column(changes, index)).collect::<Result<Vec<_>, _>>()?;
    if timed {
        columns.push(iterations(changes));
    }
    Ok(Arc::new(match changes {
        [(_, single)] => IndexedBatch::from_sorted(layout, columns, single.diffs().to_vec())?,
        several => {
            let weights = several.iter().flat_map(|(_, batch)| batch.weights().iter().copied());
            let weights: ScalarBuffer<i64> = weights.collect();
            IndexedBatch::build(layout, &columns, &[DiffColumn::Weight(weights)])?
        }
    }))
}

fn column(changes: &[(i32, Arc<IndexedBatch>)], index: usize) -> Result<ArrayRef, TraceError> {
    match changes {
        [(_, single)] => Ok(Arc::clone(&single.columns()[index])),
        several => {
            let parts: Vec<&dyn Array> =
                several.iter().map(|(_, batch)| batch.columns()[index].as_ref()).collect();
            Ok(concat(&parts)?)
        }
    }
}

fn iterations(changes: &[(i32, Arc<IndexedBatch>)]) -> ArrayRef {
    let each = changes.iter().flat_map(|(at, batch)| std::iter::repeat_n(*at, batch.len()));
    Arc::new(each.collect::<Int32Array>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_schema::{DataType, Field, Schema};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn layout() -> Arc<Layout> {
        Layout::rows(Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)])), 1).unwrap()
    }

    fn batch(layout: &Arc<Layout>, rows: &[(i64, i64)]) -> Arc<IndexedBatch> {
        let column: ArrayRef = Arc::new(rows.iter().map(|(x, _)| *x).collect::<Int64Array>());
        let weights: ScalarBuffer<i64> = rows.iter().map(|(_, weight)| *weight).collect();
        Arc::new(IndexedBatch::build(layout, &[column], &[DiffColumn::Weight(weights)]).unwrap())
    }

    fn sum<'a, T: Ord>(rows: impl Iterator<Item = (T, &'a i64)>) -> BTreeMap<T, i64> {
        let mut sums = BTreeMap::new();
        rows.for_each(|(row, weight)| *sums.entry(row).or_default() += *weight);
        sums.retain(|_, weight| *weight != 0);
        sums
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

        #[test]
        fn oracle_readers_see_what_came_before(
            steps in vec((vec((0i64..30, -2i64..3), 0..90), any::<bool>()), 0..60),
        ) {
            let (layout, recent) = (layout(), Recent::default());
            let mut pushed: Vec<(i64, i32, i64)> = Vec::new();
            for (at, (rows, read)) in steps.iter().enumerate() {
                recent.push(at as i32, batch(&layout, rows));
                if *read {
                    let before = recent.before(at as i32).unwrap();
                    prop_assert!(before.len() < SMALL_BATCHES + 8);
                    let rows = before.iter().flat_map(|batch| batch.columns()[0].as_primitive::<Int64Type>().values().iter().copied().zip(batch.weights().iter()));
                    prop_assert_eq!(sum(rows), sum(pushed.iter().map(|(x, _, weight)| (*x, weight))));
                }
                pushed.extend(rows.iter().map(|(x, weight)| (*x, at as i32, *weight)));
            }
            let all = recent.drain(&layout.timed()).unwrap();
            let rows = all.iter().flat_map(|batch| {
                let (x, at) = (batch.columns()[0].as_primitive::<Int64Type>(), batch.columns()[1].as_primitive::<Int32Type>());
                x.values().iter().copied().zip(at.values().iter().copied()).zip(batch.weights().iter())
            });
            prop_assert_eq!(sum(rows), sum(pushed.iter().map(|(x, at, weight)| ((*x, *at), weight))));
            prop_assert!(recent.before(1_000).unwrap().is_empty());
        }
    }

    #[test]
    fn what_cannot_be_sorted_stays() {
        let (layout, recent) = (layout(), Recent::default());
        recent.push(0, batch(&layout, &[(1, 1), (2, 1)]));
        // A batch whose weights overflow, which nothing but a test can make.
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let weights = DiffColumn::Weight(vec![i64::MAX; 2].into());
        let broken = IndexedBatch::from_weighed(&layout, vec![column], vec![weights], 0).unwrap();
        recent.push(1, Arc::new(broken));
        assert!(matches!(recent.drain(&layout.timed()), Err(TraceError::WeightOverflow)));
        assert_eq!(recent.before(1).unwrap().iter().map(|batch| batch.len()).sum::<usize>(), 2);
        assert_eq!(recent.parts().log.len(), 2);
    }
}
