//! Consolidation: sort, fold the diffs of equal rows, drop what became zero.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use tailrace_algebra::weight;

use crate::diff::DiffBuilder;
use crate::sort::{Sorted, sort_rows};
use crate::{ChangeBatch, DiffColumn, TraceError};

/// The rows that stay after folding, in order, with their folded diffs.
pub(crate) struct Folded {
    pub(crate) rows: UInt32Array,
    pub(crate) diffs: Vec<DiffColumn>,
}

/// Sorts and folds rows with any diffs. The absolute weights must sum to less than 2^63, so that folding cannot overflow.
pub(crate) fn fold(columns: &[ArrayRef], diffs: &[DiffColumn], len: usize) -> Result<Folded, TraceError> {
    if let Some(DiffColumn::Weight(weights)) = diffs.first() {
        weight::mass(weights).ok_or(TraceError::WeightOverflow)?;
    }
    let sorted = sort_rows(columns, len)?;
    Ok(match diffs {
        [DiffColumn::Weight(weights)] => fold_weights(&sorted, weights),
        _ => fold_diffs(&sorted, diffs),
    })
}

pub(crate) fn consolidate_rows(batch: &ChangeBatch) -> Result<ChangeBatch, TraceError> {
    let diffs = [DiffColumn::Weight(batch.weights().clone())];
    let folded = fold(batch.columns(), &diffs, batch.len())?;
    let columns = gather(batch.columns(), &folded.rows)?;
    let weights = match folded.diffs.into_iter().next() {
        Some(DiffColumn::Weight(weights)) => weights,
        _ => Vec::new().into(),
    };
    Ok(ChangeBatch::unchecked(Arc::clone(batch.schema()), columns, weights))
}

/// The chosen rows of every column. All rows in their order are the columns themselves, without a copy; other choices lie in buffers of
/// their own. Either way nothing larger stays alive through a view or a slice.
pub fn gather(columns: &[ArrayRef], rows: &UInt32Array) -> Result<Vec<ArrayRef>, TraceError> {
    let all = is_identity(rows);
    let choose = |column: &ArrayRef| {
        if all && column.len() == rows.len() && is_tight(column) {
            Ok(Arc::clone(column))
        } else {
            take(column, rows, None)
        }
    };
    columns.iter().map(|column| Ok(compact(choose(column)?))).collect()
}

fn is_identity(rows: &UInt32Array) -> bool {
    rows.null_count() == 0 && rows.values().iter().enumerate().all(|(place, row)| place == *row as usize)
}

/// Whether an array is not a small part of the buffers it holds.
fn is_tight(array: &ArrayRef) -> bool {
    array
        .to_data()
        .get_slice_memory_size()
        .is_ok_and(|used| array.get_buffer_memory_size() <= 2 * used + 1024)
}

/// Copies the bytes behind views when most of what they keep alive is not theirs, or lies in many pieces.
pub(crate) fn compact(array: ArrayRef) -> ArrayRef {
    const PIECES: usize = 8;
    let wasteful = |held: usize, used: usize, pieces: usize| pieces > PIECES || held > 2 * used + 1024;
    match array.data_type() {
        DataType::Utf8View => {
            let view = array.as_string_view();
            let buffers = view.data_buffers();
            let held = buffers.iter().map(|buffer| buffer.len()).sum();
            if !buffers.is_empty() && wasteful(held, view.total_buffer_bytes_used(), buffers.len()) {
                Arc::new(view.gc())
            } else {
                array
            }
        }
        DataType::BinaryView => {
            let view = array.as_binary_view();
            let buffers = view.data_buffers();
            let held = buffers.iter().map(|buffer| buffer.len()).sum();
            if !buffers.is_empty() && wasteful(held, view.total_buffer_bytes_used(), buffers.len()) {
                Arc::new(view.gc())
            } else {
                array
            }
        }
        _ => array,
    }
}

fn fold_weights(sorted: &Sorted, weights: &ScalarBuffer<i64>) -> Folded {
    let len = sorted.rows.len();
    let mut rows = Vec::with_capacity(len);
    let mut folded: Vec<i64> = Vec::with_capacity(len);
    let mut i = 0;
    while i < len {
        let row = sorted.rows[i];
        let mut sum = weights[row as usize];
        i += 1;
        while i < len && sorted.equal[i] {
            sum += weights[sorted.rows[i] as usize];
            i += 1;
        }
        if sum != 0 {
            rows.push(row);
            folded.push(sum);
        }
    }
    Folded { rows: rows.into(), diffs: vec![DiffColumn::Weight(folded.into())] }
}

fn fold_diffs(sorted: &Sorted, diffs: &[DiffColumn]) -> Folded {
    let len = sorted.rows.len();
    let mut rows = Vec::with_capacity(len);
    let mut builders: Vec<DiffBuilder> =
        diffs.iter().map(|diff| DiffBuilder::new(diff.kind(), len.min(1 << 16))).collect();
    let mut start = 0;
    while start < len {
        let mut end = start + 1;
        while end < len && sorted.equal[end] {
            end += 1;
        }
        let run = &sorted.rows[start..end];
        for (builder, diff) in builders.iter_mut().zip(diffs) {
            builder.push_sum(diff, run.iter().map(|row| *row as usize));
        }
        if builders.iter().all(DiffBuilder::last_is_zero) {
            builders.iter_mut().for_each(DiffBuilder::pop);
        } else {
            rows.push(run[0]);
        }
        start = end;
    }
    Folded { rows: rows.into(), diffs: builders.into_iter().map(DiffBuilder::finish).collect() }
}
