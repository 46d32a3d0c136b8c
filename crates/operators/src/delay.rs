//! Delay: the stream one step later, `z^-1`.
//!
//! # Computes
//! `a[t-1]` at step `t`, and nothing at the first.
//!
//! # Delta rule
//! Linear and time-invariant, so it is its own incremental form. It speaks whenever the step before had rows.
//!
//! # State kept
//! What the last step sent.
//!
//! # Cost per change
//! Sorting what came in, and once more what goes out. It belongs to the outermost clock; a loop is closed with the circuit's
//! feedback, which delays without keeping an index.
//!
//! # Example
//! `+(ann)` at the first step comes out at the second, even if nothing comes in then.

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::TraceError;

use crate::contents::{Contents, contents_lifecycle};

/// A stream one step later.
pub struct Delay {
    contents: Contents,
}

impl Delay {
    /// For a stream of this schema.
    pub fn new(schema: SchemaRef) -> Result<Self, TraceError> {
        Ok(Self { contents: Contents::new(schema)? })
    }
}

impl Operator for Delay {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        Err(OperatorError::NoIntegral)
    }

    contents_lifecycle!();
}

impl UnaryOperator for Delay {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let before = self.contents.rows()?;
        self.contents.replace(input.into_changes()?)?;
        Ok(before.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self { contents: self.contents.fresh() })
    }
}
