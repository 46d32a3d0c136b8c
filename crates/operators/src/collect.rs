//! Collect: a sink that hands changes to the outside once they are committed.
//!
//! # Computes
//! Nothing: what comes in waits for the commit and is then given to a callback, one batch per step, consolidated. A step that
//! is rolled back is never seen.
//!
//! # Delta rule
//! It has no output.
//!
//! # State kept
//! The change of the running step.
//!
//! # Cost per change
//! Consolidating it, and the callback.
//!
//! # Example
//! A subscription that sends `+(ann)` on to a socket.

use std::sync::Arc;

use tailrace_circuit::{Context, Input, Operator, OperatorError, SinkOperator};
use tailrace_trace::ChangeBatch;

/// A function that takes committed changes. It cannot fail: the step is over when it is called.
pub type CollectFn = dyn Fn(ChangeBatch) + Send + Sync;

/// Hands committed changes to a callback.
pub struct Collect {
    callback: Arc<CollectFn>,
    pending: Option<ChangeBatch>,
}

impl Collect {
    /// Hands changes to `callback`.
    pub fn new(callback: Arc<CollectFn>) -> Self {
        Self { callback, pending: None }
    }
}

impl Operator for Collect {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn commit(&mut self) {
        if let Some(changes) = self.pending.take() {
            (self.callback)(changes);
        }
    }

    fn rollback(&mut self) {
        self.pending = None;
    }
}

impl SinkOperator for Collect {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<(), OperatorError> {
        let changes = input.as_changes()?.consolidate()?;
        self.pending = (!changes.is_empty()).then_some(changes);
        Ok(())
    }
}
