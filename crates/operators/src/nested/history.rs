//! History: the rows of a stream inside a nested scope, each with the iteration of its change.
//!
//! **Promise.** `past` is the sum over all earlier steps, `current` what this step added so far; a commit makes it past, a rollback forgets
//! it. Within a batch the changes of one row stand together, by iteration. No sum of weights over both overflows.
//!
//! **Why steps are collapsed.** Every rule needs the past as contents: at iteration `i`, the rows whose iteration is at most `i`. In which step they
//! came is never asked, so their weights add up over steps, and a row that came and went leaves nothing.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::ScalarBuffer;
use tailrace_circuit::{OperatorError, StateSize};
use tailrace_trace::{ChangeBatch, DiffColumn, IndexedBatch, Layout, Snapshot, Spine, TraceError};

use super::iteration;
use super::tiers::Tiers;
use crate::state;

/// Rows with iterations.
pub(crate) struct History {
    rows: Arc<Layout>,
    past: Spine,
    current: Tiers,
    /// A change of no rows.
    nothing: Arc<IndexedBatch>,
}

impl History {
    /// Of rows of this layout; the iteration is put behind its columns.
    pub(crate) fn new(rows: Arc<Layout>) -> Self {
        let past = Spine::new(rows.timed());
        Self { past, current: Tiers::default(), nothing: Arc::new(IndexedBatch::empty(&rows)), rows }
    }

    /// The layout of the rows, without iteration.
    pub(crate) fn rows(&self) -> &Arc<Layout> {
        &self.rows
    }

    /// A change of no rows.
    pub(crate) fn nothing(&self) -> &Arc<IndexedBatch> {
        &self.nothing
    }

    /// The change of an iteration, sorted: the layout's i-th column is the change's `columns[i]`-th.
    pub(crate) fn index(&self, changes: &ChangeBatch, columns: &[usize]) -> Result<Arc<IndexedBatch>, TraceError> {
        if changes.is_empty() {
            return Ok(Arc::clone(&self.nothing));
        }
        Ok(Arc::new(IndexedBatch::from_changes(&self.rows, changes, columns)?))
    }

    /// The same from columns in the order of the layout.
    pub(crate) fn index_columns(
        &self,
        columns: &[ArrayRef],
        weights: &ScalarBuffer<i64>,
    ) -> Result<Arc<IndexedBatch>, TraceError> {
        if weights.is_empty() {
            return Ok(Arc::clone(&self.nothing));
        }
        Ok(Arc::new(IndexedBatch::build(&self.rows, columns, &[DiffColumn::Weight(weights.clone())])?))
    }

    /// Adds the change of iteration `at` to this step.
    pub(crate) fn add(&mut self, delta: &IndexedBatch, at: i32) -> Result<(), TraceError> {
        if delta.is_empty() {
            return Ok(());
        }
        let mass = self.current.mass().checked_add(delta.mass()).ok_or(TraceError::WeightOverflow)?;
        self.past.admit(mass)?;
        let mut columns = Vec::with_capacity(delta.columns().len() + 1);
        columns.extend_from_slice(delta.columns());
        columns.push(iteration::column(at, delta.len()));
        let timed = IndexedBatch::from_sorted(self.past.layout(), columns, delta.diffs().to_vec())?;
        self.current.push(Arc::new(timed))
    }

    /// The changes of all earlier steps.
    pub(crate) fn past(&self) -> &Snapshot {
        self.past.snapshot()
    }

    /// The changes of this step so far.
    pub(crate) fn current(&self) -> &[Arc<IndexedBatch>] {
        self.current.batches()
    }

    /// The changes of this step so far, to be handed out.
    pub(crate) fn current_snapshot(&self) -> Snapshot {
        Snapshot::new(Arc::clone(self.past.layout()), self.current().to_vec())
    }

    pub(crate) fn commit(&mut self) {
        for batch in self.current.drain() {
            let staged = self.past.stage(batch);
            debug_assert!(staged.is_ok(), "the mass was admitted when the rows came");
        }
        self.past.commit();
    }

    pub(crate) fn rollback(&mut self) {
        self.current.clear();
    }

    pub(crate) fn size(&self) -> StateSize {
        state::size(&self.past)
    }

    pub(crate) fn checkpoint(&self) -> Vec<Snapshot> {
        vec![self.past.snapshot().clone()]
    }

    pub(crate) fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        state::restore([&mut self.past], snapshots)
    }

    /// The same without rows.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(Arc::clone(&self.rows))
    }
}
