//! Arrange: the index. Changes come in, sorted changes and the trace before them go out.
//!
//! # Computes
//! Its input, ordered by key and then value. It is the only place where rows are kept for joins, distinct, aggregates and all
//! others that look rows up; they share it, since what flows is immutable.
//!
//! # Delta rule
//! Linear: `index(Δa)`. The trace that goes with it is `z^-1 I(a)`, so a reader has `a` before the step at hand and
//! makes `a` after it by adding the delta.
//!
//! # State kept
//! The rows of `a` in the layout's columns.
//!
//! # Cost per change
//! Sorting the change, plus its share of the merges (`O(log n)` per row over time).
//!
//! # Example
//! Orders arranged by customer: `+(7, ann, 30)` comes out as `+(ann, 7, 30)` with all earlier orders behind it.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, StateSize, UnaryOperator, Value};
use tailrace_trace::{Arranged, IndexedBatch, Layout, Snapshot, Spine};

use crate::state;

/// Keeps a stream as an index.
pub struct Arrange {
    columns: Vec<usize>,
    spine: Spine,
    /// The change of a step in which nothing changed.
    nothing: Arc<IndexedBatch>,
}

impl Arrange {
    /// An index of `layout`, whose i-th column is the input's `columns[i]`-th.
    pub fn new(columns: Vec<usize>, layout: Arc<Layout>) -> Self {
        let nothing = Arc::new(IndexedBatch::empty(&layout));
        Self { columns, spine: Spine::new(layout), nothing }
    }

    fn layout(&self) -> &Arc<Layout> {
        self.spine.layout()
    }
}

impl Operator for Arrange {
    fn name(&self) -> &'static str {
        "arrange"
    }

    fn label(&self) -> String {
        let fields = self.layout().schema().fields().iter().take(self.layout().key_len());
        let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
        format!("by ({})", names.join(", "))
    }

    fn idle(&self) -> Option<Value> {
        let before = self.spine.snapshot().clone();
        Some(Arranged { delta: Arc::clone(&self.nothing), before }.into())
    }

    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        let delta = self.spine.snapshot().consolidate()?;
        Ok(Some(Arranged { delta, before: Snapshot::empty(self.layout()) }.into()))
    }

    /// Whole rows are kept if no column of the input is missing.
    fn input_integral(&self, schema: &SchemaRef) -> Result<Option<Value>, OperatorError> {
        let mut places = vec![None; schema.fields().len()];
        self.columns.iter().enumerate().for_each(|(place, column)| places[*column] = Some(place));
        let Some(places) = places.into_iter().collect::<Option<Vec<usize>>>() else { return Ok(None) };
        let rows = self.spine.snapshot().to_changes()?;
        Ok(Some(rows.project(&places, Arc::clone(schema)).into()))
    }

    fn commit(&mut self) {
        self.spine.commit();
    }

    fn rollback(&mut self) {
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

impl UnaryOperator for Arrange {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let changes = input.as_changes()?;
        let delta = if changes.is_empty() {
            Arc::clone(&self.nothing)
        } else {
            Arc::new(IndexedBatch::from_changes(self.layout(), changes, &self.columns)?)
        };
        self.spine.stage(Arc::clone(&delta))?;
        Ok(Arranged { delta, before: self.spine.snapshot().clone() }.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self::new(self.columns.clone(), Arc::clone(self.layout())))
    }
}
