//! A spine: the batches of a growing trace in geometric levels, merged with bounded work per step.
//!
//! # Promises
//! * A reader sees O(log n) batches ([`Spine::layers`] stays below `2 log2(n) + 4`).
//! * Committing m rows does O(m log n) merge work; no step waits for a merge of the size of the state.
//! * What a step stages is invisible until it commits, and forgotten if it rolls back.
//! * No addition of weights can overflow: the absolute weights of all batches sum to less than 2^63, or staging is refused.
//! * A merge that fails loses no row: its batches stay, nothing more is merged, and staging is refused from then on.
//!
//! # Why
//! Layers stand oldest first. [`choose`] starts a merge of two neighbours when the older is at most twice a newer one, so finished layers halve in
//! size from old to new and there are at most log2(n) of them. A merge of layers of s rows starts when they have become neighbours, and
//! the next merge that needs its result cannot start before about s more rows have come. Every commit of m rows gives each running merge
//! 4 m rows of fuel, so it ends after s/4 rows, in time. Should it not (many tiny steps, huge ones in between), the commit that finds too many layers
//! finishes the newest merges first: the smallest ones, so the wait is bounded by what came lately.
//!
//! Rows that cancel one another in different batches cost a reader that walks in order, and where the oldest rows go first, as in a queue, it meets all of
//! them. A reader tells what it stepped over ([`Spine::charge`]). Once that adds up to the size of the trace, neighbours merge whatever their sizes, with
//! fuel in proportion: the merge costs no more than the steps that it follows. With m rows going in each step, a walk meets O(sqrt(n m)) cancelled rows.

use std::sync::Arc;

use crate::{IndexedBatch, Layout, Merger, Snapshot, TraceError};

/// Fuel per running merge and committed row.
const FUEL_PER_ROW: usize = 4;
/// Fuel of a commit however small: merges of tiny batches end at once.
const LEAST_FUEL: usize = 512;
/// Row numbers in a batch have 31 bits.
const MOST_ROWS: usize = (1 << 31) - 1;

/// What to do next with the layers of a spine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nothing.
    Wait,
    /// Merge the layer at this position with the next newer one.
    Merge(usize),
}

/// Chooses by the sizes of the layers, oldest first; None is a layer that is being merged.
///
/// Two neighbours may merge when the older of them is at most twice some newer layer, or always if readers are in `need`. Of those, the pair with the fewest rows comes first, so that
/// small layers in front of a large one are put together before the large one is copied.
pub fn choose(layers: &[Option<usize>], need: bool) -> Choice {
    let (mut best, mut fewest) = (Choice::Wait, MOST_ROWS + 1);
    let mut largest_newer = 0;
    for older in (0..layers.len().saturating_sub(1)).rev() {
        largest_newer = largest_newer.max(layers[older + 1].unwrap_or(0));
        if let (Some(old), Some(new)) = (layers[older], layers[older + 1])
            && (need || old <= 2 * largest_newer)
            && old + new < fewest
        {
            (best, fewest) = (Choice::Merge(older), old + new);
        }
    }
    best
}

enum Layer {
    Whole(Arc<IndexedBatch>),
    Merging(Box<Merger>),
}

/// A trace in memory.
pub struct Spine {
    layout: Arc<Layout>,
    layers: Vec<Layer>,
    staged: Vec<Arc<IndexedBatch>>,
    snapshot: Snapshot,
    /// Rows that merges have looked at.
    merged: u64,
    /// Why a merge failed.
    failure: Option<String>,
    debt: Debt,
}

/// Cancelled rows that readers stepped over.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    /// Since the last merge that took them away was begun.
    total: usize,
    /// Since the last commit.
    lately: usize,
}

impl Spine {
    /// An empty trace.
    pub fn new(layout: Arc<Layout>) -> Self {
        let snapshot = Snapshot::empty(&layout);
        Self {
            layout,
            layers: Vec::new(),
            staged: Vec::new(),
            snapshot,
            merged: 0,
            failure: None,
            debt: Debt::default(),
        }
    }

    /// A trace with the content of a snapshot.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let layers = snapshot.batches().iter().map(|batch| Layer::Whole(Arc::clone(batch))).collect();
        let layout = Arc::clone(snapshot.layout());
        Self { layout, layers, staged: Vec::new(), snapshot, merged: 0, failure: None, debt: Debt::default() }
    }

    /// Columns, key and diffs.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The committed content.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Adds a batch that becomes visible with the next commit. Refused if the weights could overflow, or if a merge has failed.
    pub fn stage(&mut self, batch: Arc<IndexedBatch>) -> Result<(), TraceError> {
        if !batch.is_empty() {
            self.admit(batch.mass())?;
            self.staged.push(batch);
        }
        Ok(())
    }

    /// Whether batches of this mass together may be staged: refused if the weights could overflow, or if a merge has failed.
    pub fn admit(&mut self, mass: i64) -> Result<(), TraceError> {
        if let Some(cause) = &self.failure {
            return Err(TraceError::NotMerged { cause: cause.clone() });
        }
        let limit = i128::from(i64::MAX);
        let staged: i128 = self.staged.iter().map(|batch| i128::from(batch.mass())).sum();
        let committed: i128 = self.snapshot.batches().iter().map(|batch| i128::from(batch.mass())).sum();
        let added = staged + i128::from(mass);
        if committed + added <= limit {
            return Ok(());
        }
        let whole = self.snapshot.consolidate()?;
        if i128::from(whole.mass()) + added > limit {
            return Err(TraceError::WeightOverflow);
        }
        self.snapshot = Snapshot::new(Arc::clone(&self.layout), vec![Arc::clone(&whole)]);
        self.layers = vec![Layer::Whole(whole)];
        Ok(())
    }

    /// Makes what was staged visible and spends merge fuel in proportion.
    pub fn commit(&mut self) {
        if self.staged.is_empty() {
            return;
        }
        let rows: usize = self.staged.iter().map(|batch| batch.len()).sum();
        self.layers.extend(self.staged.drain(..).map(Layer::Whole));
        let lately = std::mem::take(&mut self.debt.lately);
        self.maintain(((rows + lately) * FUEL_PER_ROW).max(LEAST_FUEL));
        self.relieve();
        self.snapshot = Snapshot::new(Arc::clone(&self.layout), self.batches().cloned().collect());
    }

    /// Tells that a reader stepped over this many rows that cancel one another in different batches.
    pub fn charge(&mut self, cancelled: usize) {
        self.debt.total = self.debt.total.saturating_add(cancelled);
        self.debt.lately = self.debt.lately.saturating_add(cancelled);
    }

    /// Forgets what was staged.
    pub fn rollback(&mut self) {
        self.staged.clear();
    }

    /// Number of batches that a reader sees.
    pub fn layers(&self) -> usize {
        self.batches().count()
    }

    /// Rows over all batches.
    pub fn len(&self) -> usize {
        self.snapshot.len()
    }

    /// Whether nothing is committed.
    pub fn is_empty(&self) -> bool {
        self.snapshot.is_empty()
    }

    /// Bytes of memory over all batches.
    pub fn bytes(&self) -> usize {
        self.snapshot.batches().iter().map(|batch| batch.bytes()).sum()
    }

    /// Rows that merges have looked at since the trace was made: what the promise of bounded work is measured by.
    pub fn merged_rows(&self) -> u64 {
        self.merged
    }

    fn batches(&self) -> impl Iterator<Item = &Arc<IndexedBatch>> {
        self.layers.iter().flat_map(|layer| match layer {
            Layer::Whole(batch) => vec![batch],
            Layer::Merging(merger) => merger.sources().to_vec(),
        })
    }

    /// Gives every running merge `fuel`, and starts merges until there is nothing to choose.
    fn maintain(&mut self, fuel: usize) {
        for position in (0..self.layers.len()).rev() {
            self.advance(position, fuel);
        }
        while self.failure.is_none()
            && let Choice::Merge(older) = choose(&self.sizes(), self.debt.total > self.total())
        {
            self.start(older);
            self.advance(older, fuel);
        }
        self.layers.retain(|layer| !matches!(layer, Layer::Whole(batch) if batch.is_empty()));
    }

    /// Finishes the newest merges while there are more layers than promised.
    fn relieve(&mut self) {
        let bound = 2 * (usize::BITS - self.total().leading_zeros()) as usize + 4;
        while self.layers() > bound {
            let Some(newest) = self.layers.iter().rposition(|layer| matches!(layer, Layer::Merging(_)))
            else {
                return;
            };
            self.advance(newest, usize::MAX);
            self.maintain(LEAST_FUEL);
        }
    }

    fn total(&self) -> usize {
        self.batches().map(|batch| batch.len()).sum()
    }

    fn sizes(&self) -> Vec<Option<usize>> {
        let size = |layer: &Layer| match layer {
            Layer::Whole(batch) => Some(batch.len()),
            Layer::Merging(_) => None,
        };
        self.layers.iter().map(size).collect()
    }

    fn start(&mut self, older: usize) {
        if let (Layer::Whole(old), Layer::Whole(new)) = (&self.layers[older], &self.layers[older + 1]) {
            let merger = Merger::new(Arc::clone(old), Arc::clone(new));
            self.layers[older] = Layer::Merging(Box::new(merger));
            self.layers.remove(older + 1);
            if older == 0 {
                self.debt.total = 0;
            }
        }
    }

    fn advance(&mut self, position: usize, fuel: usize) {
        let Layer::Merging(merger) = &mut self.layers[position] else { return };
        let before = merger.remaining();
        let done = merger.work(&mut fuel.clone());
        self.merged += (before - merger.remaining()) as u64;
        if matches!(done, Ok(false)) {
            return;
        }
        // Take the merger out; its sources stay if it failed.
        let [older, newer] = merger.sources().map(Arc::clone);
        let Layer::Merging(merger) = std::mem::replace(&mut self.layers[position], Layer::Whole(older))
        else {
            return;
        };
        match done.and_then(|_| merger.finish()) {
            Ok(merged) => self.layers[position] = Layer::Whole(Arc::new(merged)),
            Err(error) => {
                self.layers.insert(position + 1, Layer::Whole(newer));
                self.failure.get_or_insert(error.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::DiffColumn;

    fn batch(layout: &Arc<Layout>, row: i64, weight: i64) -> Arc<IndexedBatch> {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![row]));
        let weights = DiffColumn::Weight(vec![weight].into());
        Arc::new(IndexedBatch::build(layout, &[column], &[weights]).unwrap())
    }

    #[test]
    fn a_merge_that_fails_ends_loses_nothing_and_is_told() {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
        let layout = Layout::rows(schema, 1).unwrap();
        let mut spine = Spine::new(Arc::clone(&layout));
        // Past the check of weights, so that the merge refuses them.
        spine.staged.extend((0..3).map(|row| batch(&layout, row, i64::MAX)));
        spine.commit();
        assert_eq!((spine.len(), spine.layers()), (3, 3));
        let refused = spine.stage(batch(&layout, 7, 1));
        assert!(matches!(refused, Err(TraceError::NotMerged { .. })), "{refused:?}");
        spine.commit();
        assert_eq!((spine.len(), spine.layers()), (3, 3));
    }
}
