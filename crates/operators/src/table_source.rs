//! The source of a table: changes come in from outside, go on as they are, and are kept.
//!
//! # Computes
//! The changes of this step; [`SourceOperator::contents`] is their sum over all steps.
//!
//! # Delta rule
//! A source has no input. What was accepted since the last commit is the change.
//!
//! # State kept
//! The table's rows, sorted by the layout's columns.
//!
//! # Cost per change
//! Sorting the change, plus its share of the merges.
//!
//! # Example
//! A table `(name, age)` kept by `age` has a layout of `(age, name)` and the columns `[1, 0]`.

use std::sync::Arc;

use arrow_schema::{FieldRef, Schema, SchemaRef};
use tailrace_circuit::{Context, Operator, OperatorError, SourceOperator, StateSize, Value};
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Snapshot, Spine};

use crate::state;

/// A source that keeps the contents of its table.
pub struct TableSource {
    schema: SchemaRef,
    columns: Vec<usize>,
    /// The place of each column of the table in the layout.
    places: Vec<usize>,
    spine: Spine,
    pending: Vec<ChangeBatch>,
}

impl TableSource {
    /// Keeps rows in `layout`, whose i-th column is the table's `columns[i]`-th; `columns` names each column once.
    pub fn new(layout: Arc<Layout>, columns: Vec<usize>) -> Self {
        let mut places = vec![0; columns.len()];
        for (place, column) in columns.iter().enumerate() {
            places[*column] = place;
        }
        let fields: Vec<FieldRef> =
            places.iter().map(|place| Arc::clone(&layout.schema().fields()[*place])).collect();
        let schema = Arc::new(Schema::new(fields));
        Self { schema, columns, places, spine: Spine::new(layout), pending: Vec::new() }
    }

    /// The rows up to the last commit, in the layout's order of columns.
    pub fn snapshot(&self) -> &Snapshot {
        self.spine.snapshot()
    }
}

impl Operator for TableSource {
    fn name(&self) -> &'static str {
        "table"
    }

    fn commit(&mut self) {
        self.pending.clear();
        self.spine.commit();
    }

    fn rollback(&mut self) {
        self.pending.clear();
        self.spine.rollback();
    }

    fn state(&self) -> StateSize {
        state::size(&self.spine)
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        vec![self.spine.snapshot().clone()]
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        state::restore([&mut self.spine], snapshots)
    }
}

impl SourceOperator for TableSource {
    fn accept(&mut self, changes: ChangeBatch) -> Result<(), OperatorError> {
        let changes = changes.with_schema(Arc::clone(&self.schema))?;
        if !changes.is_empty() {
            let batch = IndexedBatch::from_changes(self.spine.layout(), &changes, &self.columns)?;
            self.spine.stage(Arc::new(batch))?;
            self.pending.push(changes);
        }
        Ok(())
    }

    fn eval(&mut self, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(ChangeBatch::concat(Arc::clone(&self.schema), &self.pending)?.into())
    }

    fn contents(&self) -> Result<Value, OperatorError> {
        let rows = self.spine.snapshot().to_changes()?;
        Ok(rows.project(&self.places, Arc::clone(&self.schema)).into())
    }

    fn fresh(&self) -> Box<dyn SourceOperator> {
        Box::new(Self::new(Arc::clone(self.spine.layout()), self.columns.clone()))
    }
}
