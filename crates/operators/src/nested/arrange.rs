//! Arrange inside a nested scope: the index, with the iteration of each change.
//!
//! # Computes
//! Its input, ordered by key and then value.
//!
//! # Delta rule
//! Linear: `index(δ)`. With it go the changes of all earlier steps, each row with its iteration as the last column, so that a reader
//! knows when what it meets happened, and those of earlier iterations of this step.
//!
//! # State kept
//! The rows in the layout's columns with their iterations, added up over steps.
//!
//! # Cost per change
//! Sorting the change, plus its share of the merges.
//!
//! # Example
//! Paths by their end: `+(1, 4)` at iteration 2 comes out as `+(4, 1)`, and stays behind as `(4, 1, 2)`.

use std::sync::Arc;

use tailrace_circuit::{Context, Input, Operator, OperatorError, StateSize, UnaryOperator, Value};
use tailrace_trace::{IndexedBatch, Layout, Snapshot, TimedArranged};

use super::history::History;
use super::iteration;

/// Keeps a stream of a nested scope as an index.
pub struct TimedArrange {
    columns: Vec<usize>,
    history: History,
}

impl TimedArrange {
    /// An index of `layout`, whose i-th column is the input's `columns[i]`-th. The column of iterations is added behind it.
    pub fn new(columns: Vec<usize>, layout: Arc<Layout>) -> Self {
        Self { columns, history: History::new(layout) }
    }

    fn arranged(&self, delta: Arc<IndexedBatch>) -> Value {
        let (past, current) = (self.history.past().clone(), self.history.current().clone());
        TimedArranged { delta, past, current }.into()
    }
}

impl Operator for TimedArrange {
    fn name(&self) -> &'static str {
        "arrange"
    }

    fn label(&self) -> String {
        let layout = self.history.rows();
        let names: Vec<&str> = layout
            .schema()
            .fields()
            .iter()
            .take(layout.key_len())
            .map(|field| field.name().as_str())
            .collect();
        format!("by ({})", names.join(", "))
    }

    fn idle(&self) -> Option<Value> {
        Some(self.arranged(Arc::clone(self.history.nothing())))
    }

    fn commit(&mut self) {
        self.history.commit();
    }

    fn rollback(&mut self) {
        self.history.rollback();
    }

    fn state(&self) -> StateSize {
        self.history.size()
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        self.history.checkpoint()
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        self.history.restore(snapshots)
    }
}

impl UnaryOperator for TimedArrange {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let at = iteration::now(ctx)?;
        let delta = self.history.index(input.as_changes()?, &self.columns)?;
        self.history.add(&delta, at)?;
        Ok(self.arranged(delta))
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self { columns: self.columns.clone(), history: self.history.fresh() })
    }
}
