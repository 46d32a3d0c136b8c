//! Columns of an indexed batch for the output of an operator: gathered by row, or shared whole.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_select::take::take;
use tailrace_trace::{IndexedBatch, TraceError};

/// The chosen columns at the chosen rows.
pub(crate) fn gather(
    batch: &IndexedBatch,
    columns: &[usize],
    rows: &UInt32Array,
) -> Result<Vec<ArrayRef>, TraceError> {
    columns.iter().map(|column| Ok(take(&batch.columns()[*column], rows, None)?)).collect()
}

/// The chosen columns of all rows.
pub(crate) fn share(batch: &IndexedBatch, columns: &[usize]) -> Vec<ArrayRef> {
    columns.iter().map(|column| Arc::clone(&batch.columns()[*column])).collect()
}
