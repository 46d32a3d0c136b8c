//! Differentiate: from contents to changes.
//!
//! # Computes
//! `D(a)[t] = a[t] - a[t-1]`, with `a[-1] = 0`.
//!
//! # Delta rule
//! Linear and time-invariant, so it is its own incremental form. It speaks whenever the step before had rows, since no rows now are
//! a change then. `I(D(a)) = a`.
//!
//! # State kept
//! What the last step sent.
//!
//! # Cost per change
//! What came now and what came last, which behind an [`Integrate`](crate::Integrate) is the whole content at every step. It belongs to the
//! outermost clock.
//!
//! # Example
//! `+(ann)` at the first step, `+(ann), +(bob)` at the second: the second gives `+(bob)`.

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::TraceError;

use crate::contents::{Contents, contents_lifecycle};

/// The difference of a stream to itself one step before.
pub struct Differentiate {
    contents: Contents,
}

impl Differentiate {
    /// For a stream of this schema.
    pub fn new(schema: SchemaRef) -> Result<Self, TraceError> {
        Ok(Self { contents: Contents::new(schema)? })
    }
}

impl Operator for Differentiate {
    fn name(&self) -> &'static str {
        "differentiate"
    }

    /// The sum of all differences is the last element.
    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        Ok(Some(self.contents.rows()?.into()))
    }

    contents_lifecycle!();
}

impl UnaryOperator for Differentiate {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(self.contents.replace(input.into_changes()?)?.to_changes().into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self { contents: self.contents.fresh() })
    }
}
