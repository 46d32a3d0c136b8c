//! The feedback variable: `z^-1`, the one edge that leads back.
//!
//! **Computes** at each tick what was fed to it at the tick before, and nothing at the first one. In the outermost scope a
//! tick is a step; in a nested scope it is an iteration.
//!
//! **State kept**: the change that is visible now, and the one that was fed during this tick. In the outermost scope the
//! second replaces the first at the commit, so that a rollback loses nothing; in a nested scope the two change places between
//! iterations and both are dropped when the clock starts again.

use tailrace_algebra::Iteration;
use tailrace_trace::ChangeBatch;

use crate::context::Moment;
use crate::error::OperatorError;
use crate::operator::Operator;
use crate::value::Value;

/// A variable that carries a stream of one tick over to the next.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    depth: u32,
    visible: Option<ChangeBatch>,
    fed: Option<ChangeBatch>,
}

impl Feedback {
    /// What was fed at the tick before.
    pub(crate) fn send(&self) -> Option<Value> {
        self.visible.clone().map(Value::Changes)
    }

    /// Takes what the next tick shall see.
    pub(crate) fn feed(&mut self, changes: ChangeBatch) {
        self.fed = Some(changes);
    }

    /// An iteration of a nested scope is over.
    pub(crate) fn advance(&mut self) {
        self.visible = self.fed.take();
    }

    /// What the next step will see.
    pub(crate) fn pending(&self) -> Option<&ChangeBatch> {
        self.visible.as_ref()
    }

    /// Replaces what the next step will see.
    pub(crate) fn restore_pending(&mut self, changes: ChangeBatch) {
        self.visible = Some(changes);
    }

    fn is_nested(&self) -> bool {
        self.depth > 0
    }

    fn reset(&mut self) {
        self.visible = None;
        self.fed = None;
    }
}

impl Operator for Feedback {
    fn name(&self) -> &'static str {
        "feedback"
    }

    fn clock_start(&mut self, now: Moment) {
        self.depth = now.depth;
        self.reset();
    }

    fn has_work(&self) -> bool {
        self.visible.is_some()
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        if now.depth == self.depth && self.visible.is_some() { now.iteration.next() } else { None }
    }

    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        Err(OperatorError::NoIntegral)
    }

    fn commit(&mut self) {
        if self.is_nested() { self.reset() } else { self.advance() }
    }

    fn rollback(&mut self) {
        if self.is_nested() { self.reset() } else { self.fed = None }
    }
}
