//! A node that fails when it is told to. It stands last in the schedule, so that a step has done all its work when it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::{Schema, SchemaRef};
use tailrace_circuit::{Context, Operator, OperatorError, SourceOperator, Value};
use tailrace_trace::ChangeBatch;

/// Fails at its evaluation while it is armed.
#[derive(Clone, Default)]
pub struct Fuse {
    armed: Arc<AtomicBool>,
}

impl Fuse {
    pub fn arm(&self, armed: bool) {
        self.armed.store(armed, Ordering::Relaxed);
    }
}

impl Operator for Fuse {
    fn name(&self) -> &'static str {
        "fuse"
    }
}

impl SourceOperator for Fuse {
    fn accept(&mut self, _changes: ChangeBatch) -> Result<(), OperatorError> {
        Ok(())
    }

    fn eval(&mut self, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        if self.armed.load(Ordering::Relaxed) {
            return Err(OperatorError::evaluation("the fuse has blown"));
        }
        self.contents()
    }

    fn contents(&self) -> Result<Value, OperatorError> {
        Ok(ChangeBatch::empty(SchemaRef::new(Schema::empty())).into())
    }

    fn fresh(&self) -> Box<dyn SourceOperator> {
        Box::new(self.clone())
    }
}
