//! The diffs of a batch as columns of a file, and back: weights are 64-bit integers, sums are 16 or 32 bytes, exact sums are texts of bytes.
//!
//! Fixed-width diffs come back without a copy. Exact sums are copied and each is decoded once, so that what a file claims to be one, is one.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, LargeBinaryArray};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use tailrace_algebra::ExactSum;

use crate::{DiffColumn, DiffKind, ExactColumn, Layout, TraceError};

/// The columns of a file of batches of this layout: its own, then one for each diff.
pub(crate) fn file_schema(layout: &Layout) -> SchemaRef {
    let diff = |(index, kind): (usize, &DiffKind)| {
        Arc::new(Field::new(format!("@diff{index}"), diff_type(*kind), false))
    };
    let diffs = layout.diffs().iter().enumerate().map(diff);
    let fields: Vec<FieldRef> = layout.schema().fields().iter().cloned().chain(diffs).collect();
    Arc::new(Schema::new(fields))
}

/// A diff column as an array.
pub(crate) fn to_array(diffs: &DiffColumn) -> Result<ArrayRef, TraceError> {
    Ok(match diffs {
        DiffColumn::Weight(values) => Arc::new(Int64Array::new(values.clone(), None)),
        DiffColumn::Sum(values) => fixed(16, values.inner().clone(), values.len())?,
        DiffColumn::Wide(values) => fixed(32, values.inner().clone(), values.len())?,
        DiffColumn::Exact(values) => {
            let rows = (0..values.len()).map(|row| values.get(row));
            Arc::new(LargeBinaryArray::from_iter_values(rows))
        }
    })
}

/// An array of a file as a diff column.
pub(crate) fn from_array(kind: DiffKind, array: &ArrayRef) -> Result<DiffColumn, TraceError> {
    let malformed = || TraceError::DiffBytes { kind, found: array.data_type().clone() };
    if array.data_type() != &diff_type(kind) || array.null_count() > 0 {
        return Err(malformed());
    }
    Ok(match kind {
        DiffKind::Weight => DiffColumn::Weight(array.as_primitive::<Int64Type>().values().clone()),
        DiffKind::Sum => DiffColumn::Sum(numbers::<i128>(array).ok_or_else(malformed)?),
        DiffKind::Wide => DiffColumn::Wide(numbers::<i256>(array).ok_or_else(malformed)?),
        DiffKind::Exact => DiffColumn::Exact(exact(array).ok_or_else(malformed)?),
    })
}

fn diff_type(kind: DiffKind) -> DataType {
    match kind {
        DiffKind::Weight => DataType::Int64,
        DiffKind::Sum => DataType::FixedSizeBinary(16),
        DiffKind::Wide => DataType::FixedSizeBinary(32),
        DiffKind::Exact => DataType::LargeBinary,
    }
}

fn fixed(width: i32, values: Buffer, len: usize) -> Result<ArrayRef, TraceError> {
    Ok(Arc::new(FixedSizeBinaryArray::try_new_with_len(width, values, None, len)?))
}

/// None if the bytes do not lie where such numbers can.
fn numbers<T: ArrowNativeType>(array: &ArrayRef) -> Option<ScalarBuffer<T>> {
    let array = array.as_fixed_size_binary();
    let bytes = array.values().clone();
    let aligned = bytes.as_ptr().align_offset(align_of::<T>()) == 0;
    aligned.then(|| ScalarBuffer::new(bytes, 0, array.len()))
}

fn exact(array: &ArrayRef) -> Option<ExactColumn> {
    let (mut column, mut sum) = (ExactColumn::default(), ExactSum::new());
    for bytes in array.as_binary::<i64>().iter() {
        let bytes = bytes?;
        sum.clear();
        sum.add_bytes(bytes)?;
        column.push_bytes(bytes);
    }
    Some(column)
}
