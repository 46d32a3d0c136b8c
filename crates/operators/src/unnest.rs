//! Unnest: one row per element of a list.
//!
//! # Computes
//! For each row, one row per element of its list: the element in place of the list, the other columns repeated. A row whose list is
//! empty or NULL gives none; a NULL element is an element.
//!
//! # Delta rule
//! Linear: `unnest(Δa)`. Each row gives its elements with its own weight.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! The elements of the changed rows.
//!
//! # Example
//! `+(ann, [1, 2])` becomes `+(ann, 1)` and `+(ann, 2)`.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, TraceError};

/// Unfolds a list column.
#[derive(Clone, Debug)]
pub struct Unnest {
    column: usize,
    schema: SchemaRef,
}

/// The rows and the list elements that go out, pair by pair.
#[derive(Default)]
struct Elements {
    rows: Vec<u32>,
    places: Vec<u32>,
}

impl Unnest {
    /// Unfolds the list at `column`; `schema` has the type of its elements there.
    pub fn new(column: usize, schema: SchemaRef) -> Self {
        Self { column, schema }
    }

    fn unfold(&self, changes: &ChangeBatch) -> Result<ChangeBatch, OperatorError> {
        let list = changes.column(self.column);
        let (elements, values) = elements(list)?;
        let (rows, places) = (UInt32Array::from(elements.rows), UInt32Array::from(elements.places));
        let column = |(index, column): (usize, &ArrayRef)| {
            if index == self.column { take(&values, &places, None) } else { take(column, &rows, None) }
        };
        let columns = changes.columns().iter().enumerate().map(column).collect::<Result<_, _>>();
        let weights: Vec<i64> = rows.values().iter().map(|row| changes.weights()[*row as usize]).collect();
        let columns = columns.map_err(TraceError::from)?;
        Ok(ChangeBatch::try_new(Arc::clone(&self.schema), columns, weights.into())?)
    }
}

impl Operator for Unnest {
    fn name(&self) -> &'static str {
        "unnest"
    }

    fn label(&self) -> String {
        self.schema.field(self.column).name().clone()
    }
}

impl UnaryOperator for Unnest {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let changes = input.as_changes()?;
        if changes.is_empty() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.schema)).into());
        }
        Ok(self.unfold(changes)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

impl Elements {
    fn push(&mut self, row: usize, places: Range<usize>) {
        self.rows.extend(std::iter::repeat_n(row as u32, places.len()));
        self.places.extend(places.map(|place| place as u32));
    }
}

/// The elements of all lists that are not NULL, and the array in which they stand.
fn elements(list: &ArrayRef) -> Result<(Elements, ArrayRef), OperatorError> {
    let mut elements = Elements::default();
    let valid = (0..list.len()).filter(|row| list.is_valid(*row));
    match list.data_type() {
        DataType::List(_) => {
            let list = list.as_list::<i32>();
            let offsets = list.value_offsets();
            valid.for_each(|row| elements.push(row, offsets[row] as usize..offsets[row + 1] as usize));
            Ok((elements, Arc::clone(list.values())))
        }
        DataType::FixedSizeList(_, size) => {
            let (list, size) = (list.as_fixed_size_list(), *size as usize);
            valid.for_each(|row| elements.push(row, row * size..(row + 1) * size));
            Ok((elements, Arc::clone(list.values())))
        }
        other => {
            Err(OperatorError::evaluation(format!("cannot unnest a column of type {other}: expected a list")))
        }
    }
}
