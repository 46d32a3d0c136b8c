//! History: the rows of a stream inside a nested scope, each with the iteration of its change.
//!
//! **Promise.** `past` is the sum over all earlier steps, `current` what this step added so far; a commit makes it past, a rollback forgets
//! it. Within a batch of the past the changes of one row stand together, by iteration. No sum of weights over both overflows.
//!
//! **Why steps are collapsed.** Every rule needs the past as contents: at iteration `i`, the rows whose iteration is at most `i`. In which step they
//! came is never asked, so their weights add up over steps, and a row that came and went leaves nothing.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::ScalarBuffer;
use tailrace_circuit::{OperatorError, StateSize};
use tailrace_trace::{ChangeBatch, DiffColumn, IndexedBatch, Layout, Recent, Snapshot, Spine, TraceError};

use crate::state;

/// Rows with iterations.
pub(crate) struct History {
    rows: Arc<Layout>,
    past: Spine,
    current: Recent,
    /// The sum of the absolute weights of the current changes.
    mass: i64,
    /// Why the changes of a step could not be made past. They stay with the current ones, and no step can follow.
    failure: Option<String>,
    /// A change of no rows.
    nothing: Arc<IndexedBatch>,
}

impl History {
    /// Of rows of this layout; the iteration is put behind its columns.
    pub(crate) fn new(rows: Arc<Layout>) -> Self {
        let (past, nothing) = (Spine::new(rows.timed()), Arc::new(IndexedBatch::empty(&rows)));
        Self { rows, past, current: Recent::default(), mass: 0, failure: None, nothing }
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
    pub(crate) fn index(
        &self,
        changes: &ChangeBatch,
        columns: &[usize],
    ) -> Result<Arc<IndexedBatch>, TraceError> {
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
    pub(crate) fn add(&mut self, delta: &Arc<IndexedBatch>, at: i32) -> Result<(), TraceError> {
        if delta.is_empty() {
            return Ok(());
        }
        if let Some(cause) = &self.failure {
            return Err(TraceError::NotMerged { cause: cause.clone() });
        }
        let mass = self.mass.checked_add(delta.mass()).ok_or(TraceError::WeightOverflow)?;
        self.past.admit(mass)?;
        self.mass = mass;
        self.current.push(at, Arc::clone(delta));
        Ok(())
    }

    /// The changes of all earlier steps, with their iterations.
    pub(crate) fn past(&self) -> &Snapshot {
        self.past.snapshot()
    }

    /// The changes of this step.
    pub(crate) fn current(&self) -> &Recent {
        &self.current
    }

    pub(crate) fn commit(&mut self) {
        self.mass = 0;
        match self.current.drain(self.past.layout()).and_then(|all| self.stage(all)) {
            Ok(()) => self.past.commit(),
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    fn stage(&mut self, batches: Vec<Arc<IndexedBatch>>) -> Result<(), TraceError> {
        batches.into_iter().try_for_each(|batch| self.past.stage(batch))
    }

    pub(crate) fn rollback(&mut self) {
        self.mass = 0;
        if self.failure.is_none() {
            self.current.clear();
        }
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
