//! A custom order as a column: ORDER BY terms with directions, encoded so that plain ascending byte order is the wanted order.
//!
//! Traces sort ascending with NULL first, and nothing else. An operator that needs `a DESC NULLS LAST, b` puts this column behind its key.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryViewArray};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, SortOptions};

use crate::TraceError;

/// One term of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// The type of the expression.
    pub data_type: DataType,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything.
    pub nulls_first: bool,
}

/// Encodes columns into one column of order-preserving bytes.
#[derive(Debug)]
pub struct OrderKey {
    converter: RowConverter,
}

impl OrderKey {
    /// For the given terms.
    pub fn new(terms: &[OrderTerm]) -> Result<Self, TraceError> {
        let field = |term: &OrderTerm| {
            let options = SortOptions { descending: term.descending, nulls_first: term.nulls_first };
            SortField::new_with_options(term.data_type.clone(), options)
        };
        Ok(Self { converter: RowConverter::new(terms.iter().map(field).collect())? })
    }

    /// One value of order-preserving bytes per row.
    pub fn encode(&self, columns: &[ArrayRef], len: usize) -> Result<ArrayRef, TraceError> {
        if columns.is_empty() {
            return Ok(Arc::new(BinaryViewArray::from_iter_values((0..len).map(|_| []))));
        }
        debug_assert!(columns.iter().all(|column| column.len() == len));
        let rows = self.converter.convert_columns(columns)?;
        Ok(Arc::new(BinaryViewArray::from_iter_values(rows.iter().map(|row| row.data()))))
    }
}
