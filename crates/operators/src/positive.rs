//! Positive: the rows of positive weight.
//!
//! # Computes
//! `max(w, 0)` for each row of weight `w`: what is left of a difference that may have gone below zero (`EXCEPT ALL`).
//!
//! # Delta rule
//! For a row of the change with weight `w` before and `w'` after: `max(w', 0) - max(w, 0)`.
//!
//! # State kept
//! None of its own; it reads the index of its input, whose key is the whole row.
//!
//! # Cost per change
//! One look-up per row of the change, `O(log n)`.
//!
//! # Example
//! A row goes from weight -1 to 2: it comes out with `+2`.

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};

use crate::row_weights::RowWeights;

/// Keeps the positive part of weights.
#[derive(Clone, Debug)]
pub struct Positive {
    rows: RowWeights,
}

impl Positive {
    /// Reads an index by the whole row; the i-th output column is the layout's `output[i]`-th.
    pub fn new(output: Vec<usize>, schema: SchemaRef) -> Self {
        Self { rows: RowWeights::new(output, schema) }
    }
}

impl Operator for Positive {
    fn name(&self) -> &'static str {
        "positive"
    }
}

impl UnaryOperator for Positive {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        // Both are between zero and 2^63 - 1, so the difference fits.
        let change = |before: i64, after: i64| after.max(0) - before.max(0);
        Ok(self.rows.eval(input.as_indexed()?, change)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}
