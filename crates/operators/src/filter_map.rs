//! Filter and map in one pass: what most views begin with.
//!
//! # Computes
//! `{f(r) : r in a, p(r)}`, the same as [`Filter`](crate::Filter) and then [`Map`](crate::Map).
//!
//! # Delta rule
//! Linear, as both parts are: `map(filter(Δa))`.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! That of its parts, but columns that no expression reads are not copied.
//!
//! # Example
//! `SELECT name WHERE age > 30` turns `+(ann, 31)` into `+(ann)` and drops `+(bob, 12)`.

use std::collections::HashSet;

use arrow_schema::SchemaRef;
use datafusion_physical_expr::utils::collect_columns;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};

use crate::Scalar;
use crate::filter::{conjunction_label, keep};
use crate::map::{columns_label, image};

/// Keeps the rows for which its predicates hold and maps them.
#[derive(Clone, Debug)]
pub struct FilterMap {
    predicates: Vec<Scalar>,
    columns: Vec<Scalar>,
    schema: SchemaRef,
    /// The input columns that an expression reads.
    read: HashSet<usize>,
}

impl FilterMap {
    /// Predicates that are asked one after the other, and one expression for each field of `schema`.
    pub fn new(predicates: Vec<Scalar>, columns: Vec<Scalar>, schema: SchemaRef) -> Self {
        let scalars = predicates.iter().chain(&columns);
        let read =
            scalars.flat_map(|scalar| collect_columns(scalar.expr())).map(|column| column.index()).collect();
        Self { predicates, columns, schema, read }
    }
}

impl Operator for FilterMap {
    fn name(&self) -> &'static str {
        "filter_map"
    }

    fn label(&self) -> String {
        format!("{} where {}", columns_label(&self.columns), conjunction_label(&self.predicates))
    }
}

impl UnaryOperator for FilterMap {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let kept = keep(&self.predicates, input.into_changes()?, |column| self.read.contains(&column))?;
        Ok(image(&self.columns, &self.schema, &kept)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}
