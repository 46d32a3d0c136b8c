//! Constant: rows that are there from the first step on and never change.
//!
//! # Computes
//! A fixed Z-set.
//!
//! # Delta rule
//! The integral is the same at every step, so its difference is all rows at the first step and nothing after.
//!
//! # State kept
//! One mark that the rows were sent.
//!
//! # Cost per change
//! None; it does not run again.
//!
//! # Example
//! `VALUES (1), (2)` sends `+(1)` and `+(2)` once.

use std::sync::Arc;

use arrow_schema::Schema;
use tailrace_circuit::{Context, Input, NaryOperator, Operator, OperatorError, StateSize, Value};
use tailrace_trace::{ChangeBatch, DiffColumn, IndexedBatch, Layout, Snapshot, Spine};

use crate::state;

/// Sends its rows once.
pub struct Constant {
    rows: ChangeBatch,
    /// Holds one row without columns once the rows were sent.
    sent: Spine,
}

impl Constant {
    /// Sends these rows.
    pub fn new(rows: ChangeBatch) -> Result<Self, OperatorError> {
        Ok(Self { rows, sent: Spine::new(Layout::rows(Arc::new(Schema::empty()), 0)?) })
    }
}

impl Operator for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn label(&self) -> String {
        format!("{} row(s)", self.rows.len())
    }

    fn has_work(&self) -> bool {
        self.sent.is_empty()
    }

    fn commit(&mut self) {
        self.sent.commit();
    }

    fn rollback(&mut self) {
        self.sent.rollback();
    }

    fn state(&self) -> StateSize {
        state::size(&self.sent)
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        vec![self.sent.snapshot().clone()]
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        state::restore([&mut self.sent], snapshots)
    }
}

impl NaryOperator for Constant {
    fn eval(&mut self, _inputs: Vec<Input<'_>>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        if !self.sent.is_empty() {
            return Ok(ChangeBatch::empty(Arc::clone(self.rows.schema())).into());
        }
        let one = DiffColumn::Weight(vec![1].into());
        self.sent.stage(Arc::new(IndexedBatch::from_sorted(self.sent.layout(), Vec::new(), vec![one])?))?;
        Ok(self.rows.clone().into())
    }

    fn fresh(&self) -> Box<dyn NaryOperator> {
        Box::new(Self { rows: self.rows.clone(), sent: Spine::new(Arc::clone(self.sent.layout())) })
    }
}
