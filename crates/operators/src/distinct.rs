//! Distinct: each row once.
//!
//! # Computes
//! Weight 1 for each row of positive weight and nothing for the others.
//!
//! # Delta rule
//! For a row of the change with weight `w` before and `w'` after: `[w' > 0] - [w > 0]`. A row that is not in the change keeps its
//! weight and so its place in the output.
//!
//! # State kept
//! None of its own; it reads the index of its input, whose key is the whole row.
//!
//! # Cost per change
//! One look-up per row of the change, `O(log n)`.
//!
//! # Example
//! A second `+(ann)` gives nothing; the `-(ann)` that takes away the last one gives `-(ann)`.

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};

use crate::row_weights::RowWeights;

/// Keeps one of each row.
#[derive(Clone, Debug)]
pub struct Distinct {
    rows: RowWeights,
}

impl Distinct {
    /// Reads an index by the whole row; the i-th output column is the layout's `output[i]`-th.
    pub fn new(output: Vec<usize>, schema: SchemaRef) -> Self {
        Self { rows: RowWeights::new(output, schema) }
    }
}

impl Operator for Distinct {
    fn name(&self) -> &'static str {
        "distinct"
    }
}

impl UnaryOperator for Distinct {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let change = |before: i64, after: i64| i64::from(after > 0) - i64::from(before > 0);
        Ok(self.rows.eval(input.as_indexed()?, change)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}
