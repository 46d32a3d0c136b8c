//! A snapshot: the batches of a trace at one moment. Immutable and shared, so that a reader needs no lock and a step can be undone.

use std::sync::Arc;

use crate::{BatchRef, ChangeBatch, IndexedBatch, Layout, Merger, TraceError};

/// Batches whose sum is the content of a trace.
#[derive(Clone, Debug)]
pub struct Snapshot {
    layout: Arc<Layout>,
    batches: Arc<[BatchRef]>,
}

impl Snapshot {
    /// The sum of `batches`.
    pub fn new(layout: Arc<Layout>, batches: Vec<BatchRef>) -> Self {
        let batches = batches.into_iter().filter(|batch| !batch.is_empty()).collect();
        Self { layout, batches }
    }

    /// No rows.
    pub fn empty(layout: &Arc<Layout>) -> Self {
        Self::new(Arc::clone(layout), Vec::new())
    }

    /// The batches, oldest first.
    pub fn batches(&self) -> &[BatchRef] {
        &self.batches
    }

    /// Columns, key and diffs of every batch.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Rows over all batches; a row that stands in several counts several times.
    pub fn len(&self) -> usize {
        self.batches.iter().map(|batch| batch.len()).sum()
    }

    /// Whether no batch has a row.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// This snapshot and one more batch.
    pub fn with(&self, batch: &BatchRef) -> Self {
        let batches = self.batches.iter().chain(std::iter::once(batch)).map(Arc::clone).collect();
        Self::new(Arc::clone(&self.layout), batches)
    }

    /// Everything as one batch.
    pub fn consolidate(&self) -> Result<BatchRef, TraceError> {
        let mut heap: Vec<BatchRef> = self.batches.to_vec();
        heap.sort_by_key(|batch| std::cmp::Reverse(batch.len()));
        while heap.len() > 1 {
            let (Some(a), Some(b)) = (heap.pop(), heap.pop()) else { break };
            let merged = Arc::new(Merger::merge(&a, &b)?);
            let place = heap.partition_point(|batch| batch.len() >= merged.len());
            heap.insert(place, merged);
        }
        Ok(heap.pop().unwrap_or_else(|| Arc::new(IndexedBatch::empty(&self.layout))))
    }

    /// Everything as a change batch, consolidated, columns in the layout's order.
    pub fn to_changes(&self) -> Result<ChangeBatch, TraceError> {
        Ok(self.consolidate()?.to_changes())
    }
}
