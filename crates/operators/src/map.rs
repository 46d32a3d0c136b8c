//! Map: a new row for each row, by expressions.
//!
//! # Computes
//! `{f(r) : r in a}`; the weights of rows with equal images add up.
//!
//! # Delta rule
//! Linear: `map(Δa)`. A row's image does not depend on other rows, and it takes the row's weight with it.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! One evaluation of each expression per row. A plain column costs nothing: it is shared.
//!
//! # Example
//! `SELECT name, age + 1` turns `+(ann, 31)` into `+(ann, 32)`.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::ChangeBatch;

use crate::Scalar;

/// Computes the columns of each row from the columns of the input row.
#[derive(Clone, Debug)]
pub struct Map {
    columns: Vec<Scalar>,
    schema: SchemaRef,
}

impl Map {
    /// One expression for each field of `schema`.
    pub fn new(columns: Vec<Scalar>, schema: SchemaRef) -> Self {
        Self { columns, schema }
    }
}

impl Operator for Map {
    fn name(&self) -> &'static str {
        "map"
    }

    fn label(&self) -> String {
        columns_label(&self.columns)
    }
}

impl UnaryOperator for Map {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(image(&self.columns, &self.schema, input.as_changes()?)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

/// The images of all rows under `schema`.
pub(crate) fn image(
    columns: &[Scalar],
    schema: &SchemaRef,
    batch: &ChangeBatch,
) -> Result<ChangeBatch, OperatorError> {
    if batch.is_empty() {
        return Ok(ChangeBatch::empty(Arc::clone(schema)));
    }
    let arrays = columns.iter().map(|column| column.evaluate(batch)).collect::<Result<_, _>>()?;
    Ok(ChangeBatch::try_new(Arc::clone(schema), arrays, batch.weights().clone())?)
}

/// Expressions as one text.
pub(crate) fn columns_label(columns: &[Scalar]) -> String {
    let texts: Vec<String> = columns.iter().map(Scalar::to_string).collect();
    texts.join(", ")
}
