//! Tiers: the sorted batches of one step, merged as they come, so that thousands of iterations leave a few batches to search.
//!
//! **Promise.** After `n` rows in any number of batches there are at most `SMALL_BATCHES + log2(n)` batches, and every row was merged
//! `O(log n)` times, which is what one merge of them all at the end of the step would have cost.
//!
//! **Why.** [`choose`] lets small batches gather and sorts them together, since a merge of two single rows is nearly all overhead; larger ones
//! are merged in pairs when the older is at most twice the newer, so that their sizes halve from old to new.

use std::sync::Arc;

use arrow_array::Array;
use arrow_buffer::ScalarBuffer;
use arrow_select::concat::concat;
use tailrace_trace::{DiffColumn, IndexedBatch, Merger, TraceError};

/// Rows below which a batch is small.
const SMALL: usize = 64;
/// Small batches that gather before they are sorted together.
const SMALL_BATCHES: usize = 8;

/// The batches of a step, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Tiers {
    batches: Vec<Arc<IndexedBatch>>,
    mass: i64,
}

impl Tiers {
    pub(crate) fn batches(&self) -> &[Arc<IndexedBatch>] {
        &self.batches
    }

    /// The sum of the absolute weights that were pushed: at least every sum of rows.
    pub(crate) fn mass(&self) -> i64 {
        self.mass
    }

    /// Adds a batch; the caller has seen to it that the mass does not overflow.
    pub(crate) fn push(&mut self, batch: Arc<IndexedBatch>) -> Result<(), TraceError> {
        self.mass = self.mass.checked_add(batch.mass()).ok_or(TraceError::WeightOverflow)?;
        self.batches.push(batch);
        loop {
            let count = choose(self.batches.iter().rev().map(|batch| batch.len()));
            if count == 0 {
                return Ok(());
            }
            let from = self.batches.len() - count;
            let merged = merge(&self.batches[from..])?;
            self.batches.truncate(from);
            self.batches.extend((!merged.is_empty()).then_some(merged));
        }
    }

    /// Takes everything out as one batch; as several if they cannot be merged.
    pub(crate) fn drain(&mut self) -> Vec<Arc<IndexedBatch>> {
        let mut batches = std::mem::take(self).batches;
        while let [.., older, newer] = &batches[..] {
            let Ok(merged) = Merger::merge(older, newer) else { return batches };
            batches.truncate(batches.len() - 2);
            batches.push(Arc::new(merged));
        }
        batches
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// How many of the newest batches to merge into one, by their sizes, newest first; zero is none.
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

fn merge(batches: &[Arc<IndexedBatch>]) -> Result<Arc<IndexedBatch>, TraceError> {
    match batches {
        [older, newer] => Ok(Arc::new(Merger::merge(older, newer)?)),
        _ => sort_together(batches),
    }
}

fn sort_together(batches: &[Arc<IndexedBatch>]) -> Result<Arc<IndexedBatch>, TraceError> {
    let layout = batches[0].layout();
    let column = |index: usize| {
        let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.columns()[index].as_ref()).collect();
        concat(&parts)
    };
    let columns = (0..layout.schema().fields().len()).map(column).collect::<Result<Vec<_>, _>>()?;
    let weights: ScalarBuffer<i64> = batches.iter().flat_map(|batch| batch.weights().iter().copied()).collect();
    Ok(Arc::new(IndexedBatch::build(layout, &columns, &[DiffColumn::Weight(weights)])?))
}
