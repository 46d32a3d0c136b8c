//! Sum: any number of streams as one.
//!
//! # Computes
//! `a_1 + ... + a_n`.
//!
//! # Delta rule
//! Linear in all together: `Δa_1 + ... + Δa_n`.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! Nothing if only one input changed, else a copy of the changes.
//!
//! # Example
//! The parts of an outer join (matches, and rows without one) are summed.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, NaryOperator, Operator, OperatorError, Value};
use tailrace_trace::ChangeBatch;

/// Adds streams of the same types.
#[derive(Clone, Debug)]
pub struct Sum {
    schema: SchemaRef,
}

impl Sum {
    /// The sum goes under `schema`, whose fields must be nullable where one of the inputs' is.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema }
    }

    /// The changes as one; also what [`Plus`](crate::Plus) and [`Minus`](crate::Minus) do with two.
    pub(crate) fn of(&self, changes: &[ChangeBatch]) -> Result<Value, OperatorError> {
        Ok(ChangeBatch::concat(Arc::clone(&self.schema), changes)?.into())
    }
}

impl Operator for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }
}

impl NaryOperator for Sum {
    fn eval(&mut self, inputs: Vec<Input<'_>>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let changes: Vec<ChangeBatch> =
            inputs.into_iter().map(Input::into_changes).collect::<Result<_, _>>()?;
        self.of(&changes)
    }

    fn fresh(&self) -> Box<dyn NaryOperator> {
        Box::new(self.clone())
    }
}
