//! Filter: the rows for which predicates hold.
//!
//! # Computes
//! `{r in a : p(r)}`; a predicate that is NULL does not hold. Of several predicates each sees only the rows that the ones
//! before it left over, so `x <> 0` protects `10 / x > 1`.
//!
//! # Delta rule
//! Linear: `filter(Δa)`. A row is kept or dropped for itself, whatever its weight.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! One evaluation of each predicate per row that reaches it, and a copy of the rows that stay if not all do.
//!
//! # Example
//! `WHERE age > 30` passes `+(ann, 31)` and drops `-(bob, 12)`.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, TraceError};

use crate::Scalar;

/// Keeps the rows for which all its predicates hold.
#[derive(Clone, Debug)]
pub struct Filter {
    predicates: Vec<Scalar>,
}

impl Filter {
    /// Keeps the rows for which `predicate` is true.
    pub fn new(predicate: Scalar) -> Self {
        Self::conjunction(vec![predicate])
    }

    /// Keeps the rows for which all predicates are true, asking one after the other.
    pub fn conjunction(predicates: Vec<Scalar>) -> Self {
        Self { predicates }
    }
}

impl Operator for Filter {
    fn name(&self) -> &'static str {
        "filter"
    }

    fn label(&self) -> String {
        conjunction_label(&self.predicates)
    }
}

impl UnaryOperator for Filter {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(keep(&self.predicates, input.into_changes()?, |_| true)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

/// The rows for which all predicates hold. Columns that are not `needed` keep their type but not their values.
pub(crate) fn keep(
    predicates: &[Scalar],
    mut batch: ChangeBatch,
    needed: impl Fn(usize) -> bool,
) -> Result<ChangeBatch, OperatorError> {
    for predicate in predicates {
        if batch.is_empty() {
            break;
        }
        let mask = predicate.evaluate_mask(&batch)?;
        let kept = mask.true_count();
        if kept == 0 {
            batch = ChangeBatch::empty(batch.schema().clone());
        } else if kept < batch.len() {
            batch = pick(batch, &FilterBuilder::new(&mask).optimize().build(), &needed)?;
        }
    }
    Ok(batch)
}

/// Predicates as one text.
pub(crate) fn conjunction_label(predicates: &[Scalar]) -> String {
    let texts: Vec<String> = predicates.iter().map(Scalar::to_string).collect();
    texts.join(" AND ")
}

fn pick(
    batch: ChangeBatch,
    predicate: &FilterPredicate,
    needed: impl Fn(usize) -> bool,
) -> Result<ChangeBatch, OperatorError> {
    let (schema, columns, weights) = batch.into_parts();
    let kept = predicate.filter(&Int64Array::new(weights, None)).map_err(TraceError::from)?;
    let weights = kept.as_primitive::<Int64Type>().values().clone();
    let column = |(index, column): (usize, &ArrayRef)| {
        if needed(index) { predicate.filter(column) } else { Ok(column.slice(0, kept.len())) }
    };
    let columns = columns.iter().enumerate().map(column).collect::<Result<_, _>>();
    Ok(ChangeBatch::try_new(schema, columns.map_err(TraceError::from)?, weights)?)
}
