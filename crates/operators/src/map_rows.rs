//! Map rows: a function of the user over whole batches of rows.
//!
//! # Computes
//! For each row of its input any number of rows, with its weight: what a batch function makes of it.
//!
//! # Delta rule
//! Linear, if the function is one: it must treat each row alone and always alike. Then a row that goes takes away what it
//! gave when it came.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! Consolidating it, so that the function sees each row once, and one call.
//!
//! The function gets rows in normal form and gives rows of any Arrow types that have the declared normal form, and for each the number of the input
//! row that it came from. What it gives is checked: an error names what was expected and what was found.
//!
//! # Example
//! A function that splits names gives `("ann", 0), ("smith", 0)` for the one input row `"ann smith"`.

use std::error::Error;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, normal_array};

/// A function from rows to rows, each with the number of the row that it came from.
pub type RowsFn =
    dyn Fn(&RecordBatch) -> Result<(RecordBatch, UInt32Array), Box<dyn Error + Send + Sync>> + Send + Sync;

/// What is wrong with the rows that a function gave.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RowsFnError {
    /// Another number of columns than declared.
    #[error("the function returned {found} columns, expected {expected}: {names}")]
    Columns {
        /// Declared columns.
        expected: usize,
        /// Columns that came.
        found: usize,
        /// The declared names.
        names: String,
    },
    /// A column of another type than declared.
    #[error("the function returned column '{column}' of type {found}, expected {expected}")]
    Type {
        /// The declared name.
        column: String,
        /// The declared type.
        expected: DataType,
        /// The type that came.
        found: DataType,
    },
    /// A NULL where none may be.
    #[error(
        "the function returned NULL in row {row} of column '{column}', which is declared not to be nullable"
    )]
    Null {
        /// The declared name.
        column: String,
        /// The first such row.
        row: usize,
    },
    /// Rows and their origins differ in number.
    #[error("the function returned {rows} rows, but an input row for {origins} of them")]
    Length {
        /// Rows that came.
        rows: usize,
        /// Origins that came.
        origins: usize,
    },
    /// A row that comes from nowhere.
    #[error("the function returned row {row} for input row {origin}, but there are {rows} input rows")]
    Origin {
        /// The row of the result.
        row: usize,
        /// Its origin as a text: a number or NULL.
        origin: String,
        /// Rows that the function was given.
        rows: usize,
    },
}

/// Applies a function to rows.
#[derive(Clone)]
pub struct MapRows {
    function: Arc<RowsFn>,
    schema: SchemaRef,
}

impl MapRows {
    /// Applies `function`, which gives rows of `schema` (in normal form).
    pub fn new(function: Arc<RowsFn>, schema: SchemaRef) -> Self {
        Self { function, schema }
    }

    fn call(&self, changes: &ChangeBatch) -> Result<ChangeBatch, OperatorError> {
        let (rows, origins) = (self.function)(&changes.rows()?).map_err(OperatorError::Callback)?;
        let columns = self.checked(&rows)?;
        check_origins(&rows, &origins, changes.len()).map_err(OperatorError::callback)?;
        let weights: Vec<i64> = origins.values().iter().map(|row| changes.weights()[*row as usize]).collect();
        Ok(ChangeBatch::try_new(Arc::clone(&self.schema), columns, weights.into())?)
    }

    /// The columns in normal form, as declared.
    fn checked(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>, OperatorError> {
        let (expected, found) = (self.schema.fields().len(), rows.num_columns());
        if expected != found {
            let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
            let names = names.join(", ");
            return Err(OperatorError::callback(RowsFnError::Columns { expected, found, names }));
        }
        let columns: Vec<ArrayRef> = rows.columns().iter().map(normal_array).collect::<Result<_, _>>()?;
        for (index, column) in columns.iter().enumerate() {
            self.check_column(index, column).map_err(OperatorError::callback)?;
        }
        Ok(columns)
    }

    fn check_column(&self, index: usize, values: &ArrayRef) -> Result<(), RowsFnError> {
        let field = self.schema.field(index);
        let column = field.name().clone();
        if !values.data_type().equals_datatype(field.data_type()) {
            let (expected, found) = (field.data_type().clone(), values.data_type().clone());
            return Err(RowsFnError::Type { column, expected, found });
        }
        let null = (0..values.len()).find(|row| !field.is_nullable() && values.is_null(*row));
        null.map_or(Ok(()), |row| Err(RowsFnError::Null { column, row }))
    }
}

impl Operator for MapRows {
    fn name(&self) -> &'static str {
        "map_rows"
    }
}

impl UnaryOperator for MapRows {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let changes = input.as_changes()?.consolidate()?;
        if changes.is_empty() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.schema)).into());
        }
        Ok(self.call(&changes)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

fn check_origins(result: &RecordBatch, origins: &UInt32Array, rows: usize) -> Result<(), RowsFnError> {
    if result.num_rows() != origins.len() {
        return Err(RowsFnError::Length { rows: result.num_rows(), origins: origins.len() });
    }
    let wrong = |(row, origin): (usize, Option<u32>)| match origin {
        Some(origin) if (origin as usize) < rows => None,
        Some(origin) => Some(RowsFnError::Origin { row, origin: origin.to_string(), rows }),
        None => Some(RowsFnError::Origin { row, origin: "NULL".to_owned(), rows }),
    };
    origins.iter().enumerate().find_map(wrong).map_or(Ok(()), Err)
}
