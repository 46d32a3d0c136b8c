//! Negate: all weights with the opposite sign.
//!
//! # Computes
//! `-a`.
//!
//! # Delta rule
//! Linear: `-Δa`.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! One pass over the weights, in place when nobody else reads the change.
//!
//! # Example
//! `+(ann, 31)` becomes `-(ann, 31)`. A weight of `-2^63` has no opposite and is an error.

use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};

/// Negates weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct Negate;

impl Operator for Negate {
    fn name(&self) -> &'static str {
        "negate"
    }
}

impl UnaryOperator for Negate {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(input.into_changes()?.negate()?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(*self)
    }
}
