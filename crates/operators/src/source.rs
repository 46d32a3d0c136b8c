//! The source of a stream: changes come in from outside and go on as they are.
//!
//! # Computes
//! The changes of this step.
//!
//! # Delta rule
//! A source has no input. What was accepted since the last commit is the change.
//!
//! # State kept
//! None. So the stream has no content to fill later views with; a table is a [`TableSource`](crate::TableSource).
//!
//! # Cost per change
//! Nothing, or a copy if changes come in several batches.
//!
//! # Example
//! A log of events that nobody will ask about again.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Operator, OperatorError, SourceOperator, Value};
use tailrace_trace::ChangeBatch;

/// A source that keeps nothing.
pub struct Source {
    schema: SchemaRef,
    pending: Vec<ChangeBatch>,
}

impl Source {
    /// For changes of this schema.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, pending: Vec::new() }
    }
}

impl Operator for Source {
    fn name(&self) -> &'static str {
        "source"
    }

    fn commit(&mut self) {
        self.pending.clear();
    }

    fn rollback(&mut self) {
        self.pending.clear();
    }
}

impl SourceOperator for Source {
    fn accept(&mut self, changes: ChangeBatch) -> Result<(), OperatorError> {
        self.pending.push(changes.with_schema(Arc::clone(&self.schema))?);
        Ok(())
    }

    fn eval(&mut self, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(ChangeBatch::concat(Arc::clone(&self.schema), &self.pending)?.into())
    }

    fn contents(&self) -> Result<Value, OperatorError> {
        Err(OperatorError::NoIntegral)
    }

    fn fresh(&self) -> Box<dyn SourceOperator> {
        Box::new(Self::new(Arc::clone(&self.schema)))
    }
}
