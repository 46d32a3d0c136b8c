//! Plus: two streams as one, UNION ALL.
//!
//! # Computes
//! `a + b`.
//!
//! # Delta rule
//! Linear in both together: `Δa + Δb`.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! Nothing if one input did not change, else a copy of both changes.
//!
//! # Example
//! `+(ann)` and `-(ann)` give both rows; they cancel where somebody consolidates.

use arrow_schema::SchemaRef;
use tailrace_circuit::{BinaryOperator, Context, Input, Operator, OperatorError, Value};

use crate::Sum;

/// Adds two streams of the same types.
#[derive(Clone, Debug)]
pub struct Plus {
    sum: Sum,
}

impl Plus {
    /// The sum goes under `schema`, whose fields must be nullable where one of the inputs' is.
    pub fn new(schema: SchemaRef) -> Self {
        Self { sum: Sum::new(schema) }
    }
}

impl Operator for Plus {
    fn name(&self) -> &'static str {
        "plus"
    }
}

impl BinaryOperator for Plus {
    fn eval(
        &mut self,
        left: Input<'_>,
        right: Input<'_>,
        _ctx: &Context<'_>,
    ) -> Result<Value, OperatorError> {
        self.sum.of(&[left.into_changes()?, right.into_changes()?])
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(self.clone())
    }
}
