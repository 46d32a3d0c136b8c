//! Integrate: from changes to contents.
//!
//! # Computes
//! `I(a)[t] = a[0] + ... + a[t]`: at each step the sum of all changes so far.
//!
//! # Delta rule
//! Linear and time-invariant, so it is its own incremental form. It speaks at each step, changed or not, as long as the sum is not
//! zero. `D(I(a)) = a`.
//!
//! # State kept
//! The sum.
//!
//! # Cost per change
//! The whole content, at every step. It is meant for the edge of a circuit and for stating laws, not for its inside.
//! It belongs to the outermost clock.
//!
//! # Example
//! `+(ann)` at the first step, `+(bob)` at the second: the second gives `+(ann), +(bob)`.

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::TraceError;

use crate::contents::{Contents, contents_lifecycle};

/// Sums up a stream over time.
pub struct Integrate {
    contents: Contents,
}

impl Integrate {
    /// For a stream of this schema.
    pub fn new(schema: SchemaRef) -> Result<Self, TraceError> {
        Ok(Self { contents: Contents::new(schema)? })
    }
}

impl Operator for Integrate {
    fn name(&self) -> &'static str {
        "integrate"
    }

    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        Err(OperatorError::NoIntegral)
    }

    contents_lifecycle!();
}

impl UnaryOperator for Integrate {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let change = self.contents.add(input.as_changes()?)?;
        Ok(self.contents.spine.snapshot().with(&change).to_changes()?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self { contents: self.contents.fresh() })
    }
}
