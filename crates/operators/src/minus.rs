//! Minus: the difference of two streams.
//!
//! # Computes
//! `a - b`; a row that `b` has more of than `a` gets a negative weight. `EXCEPT ALL` is this and then
//! [`Positive`](crate::Positive).
//!
//! # Delta rule
//! Linear in both together: `Δa - Δb`.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! One pass over the weights of `Δb`, and a copy of both changes if both have rows.
//!
//! # Example
//! `+(ann)` on the right gives `-(ann)`.

use arrow_schema::SchemaRef;
use tailrace_circuit::{BinaryOperator, Context, Input, Operator, OperatorError, Value};

use crate::Sum;

/// Subtracts the second stream from the first.
#[derive(Clone, Debug)]
pub struct Minus {
    sum: Sum,
}

impl Minus {
    /// The difference goes under `schema`, whose fields must be nullable where one of the inputs' is.
    pub fn new(schema: SchemaRef) -> Self {
        Self { sum: Sum::new(schema) }
    }
}

impl Operator for Minus {
    fn name(&self) -> &'static str {
        "minus"
    }
}

impl BinaryOperator for Minus {
    fn eval(
        &mut self,
        left: Input<'_>,
        right: Input<'_>,
        _ctx: &Context<'_>,
    ) -> Result<Value, OperatorError> {
        self.sum.of(&[left.into_changes()?, right.into_changes()?.negate()?])
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(self.clone())
    }
}
