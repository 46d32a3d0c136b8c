//! A Z-set that an operator keeps for itself, whole rows in their own order: the state of the operators on streams.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Spine, TraceError};

/// A spine of whole rows.
pub(crate) struct Contents {
    pub(crate) spine: Spine,
    columns: Vec<usize>,
}

impl Contents {
    /// Nothing, under `schema`.
    pub(crate) fn new(schema: SchemaRef) -> Result<Self, TraceError> {
        let width = schema.fields().len();
        Ok(Self::of(Layout::rows(schema, width)?))
    }

    /// Nothing, under the same schema.
    pub(crate) fn fresh(&self) -> Self {
        Self::of(Arc::clone(self.spine.layout()))
    }

    /// The committed rows.
    pub(crate) fn rows(&self) -> Result<ChangeBatch, OperatorError> {
        Ok(self.spine.snapshot().to_changes()?)
    }

    /// Stages an addition and gives it back consolidated.
    pub(crate) fn add(&mut self, changes: &ChangeBatch) -> Result<Arc<IndexedBatch>, OperatorError> {
        let batch = Arc::new(IndexedBatch::from_changes(self.spine.layout(), changes, &self.columns)?);
        self.spine.stage(Arc::clone(&batch))?;
        Ok(batch)
    }

    /// Stages the replacement of all rows by `rows` and gives the difference, consolidated.
    pub(crate) fn replace(&mut self, rows: ChangeBatch) -> Result<Arc<IndexedBatch>, OperatorError> {
        let schema = Arc::clone(self.spine.layout().schema());
        let difference = ChangeBatch::concat(schema, &[rows, self.rows()?.negate()?])?;
        self.add(&difference)
    }

    fn of(layout: Arc<Layout>) -> Self {
        let columns = (0..layout.schema().fields().len()).collect();
        Self { spine: Spine::new(layout), columns }
    }
}

/// The part of the lifecycle that operators with [`Contents`] share.
macro_rules! contents_lifecycle {
    () => {
        fn has_work(&self) -> bool {
            !self.contents.spine.is_empty()
        }

        fn commit(&mut self) {
            self.contents.spine.commit();
        }

        fn rollback(&mut self) {
            self.contents.spine.rollback();
        }

        fn state(&self) -> tailrace_circuit::StateSize {
            crate::state::size(&self.contents.spine)
        }

        fn checkpoint(&self) -> Vec<tailrace_trace::Snapshot> {
            vec![self.contents.spine.snapshot().clone()]
        }

        fn restore(&mut self, snapshots: Vec<tailrace_trace::Snapshot>) -> Result<(), OperatorError> {
            crate::state::restore([&mut self.contents.spine], snapshots)
        }
    };
}
pub(crate) use contents_lifecycle;
