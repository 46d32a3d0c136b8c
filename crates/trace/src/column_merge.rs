//! Merging one column of two batches along a list of picks.
//!
//! A pick names a row of the left or of the right batch. Fixed-width values are copied as plain words of their width, views as words with
//! the number of their buffer moved; all other types go through Arrow's `interleave`.
#![expect(unsafe_code, reason = "views that come from valid arrays are put together without validating every string again")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, StringViewArray, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBufferBuilder, ScalarBuffer, i256};
use arrow_data::{ArrayData, ByteView};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;

use crate::TraceError;
use crate::consolidate::compact;

/// Set in a pick that names a row of the right batch.
pub(crate) const RIGHT: u32 = 1 << 31;

/// Appends picked rows of two source columns to a new column.
pub(crate) struct ColumnMerge {
    left: ArrayRef,
    right: ArrayRef,
    nulls: Option<NullBufferBuilder>,
    values: Values,
}

enum Values {
    W8(Fixed<u8>),
    W16(Fixed<u16>),
    W32(Fixed<u32>),
    W64(Fixed<u64>),
    W128(Fixed<i128>),
    W256(Fixed<i256>),
    Views(Fixed<u128>, Vec<Buffer>),
    Other(Vec<ArrayRef>),
}

struct Fixed<T: ArrowNativeType> {
    left: ScalarBuffer<T>,
    right: ScalarBuffer<T>,
    out: Vec<T>,
}

impl<T: ArrowNativeType> Fixed<T> {
    fn new(left: &ArrayRef, right: &ArrayRef, capacity: usize) -> Self {
        Self { left: values(left), right: values(right), out: Vec::with_capacity(capacity) }
    }

    fn append(&mut self, picks: &[u32]) {
        let (left, right) = (&self.left[..], &self.right[..]);
        self.out.extend(picks.iter().map(|pick| {
            let source = if pick & RIGHT == 0 { left } else { right };
            source[(pick & !RIGHT) as usize]
        }));
    }
}

impl ColumnMerge {
    pub(crate) fn new(left: &ArrayRef, right: &ArrayRef, capacity: usize) -> Self {
        let nullable = left.null_count() + right.null_count() > 0;
        Self {
            values: Values::new(left, right, capacity),
            nulls: nullable.then(|| NullBufferBuilder::new(capacity)),
            left: Arc::clone(left),
            right: Arc::clone(right),
        }
    }

    pub(crate) fn append(&mut self, picks: &[u32]) -> Result<(), TraceError> {
        if let Some(nulls) = &mut self.nulls {
            for pick in picks {
                let row = (pick & !RIGHT) as usize;
                nulls.append(if pick & RIGHT == 0 { self.left.is_valid(row) } else { self.right.is_valid(row) });
            }
        }
        match &mut self.values {
            Values::W8(fixed) => fixed.append(picks),
            Values::W16(fixed) => fixed.append(picks),
            Values::W32(fixed) => fixed.append(picks),
            Values::W64(fixed) => fixed.append(picks),
            Values::W128(fixed) => fixed.append(picks),
            Values::W256(fixed) => fixed.append(picks),
            Values::Views(fixed, _) => fixed.append(picks),
            Values::Other(parts) => parts.push(interleave_picks(&self.left, &self.right, picks)?),
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<ArrayRef, TraceError> {
        let data_type = self.left.data_type().clone();
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        let fixed = |len: usize, buffer: Buffer| -> Result<ArrayRef, TraceError> {
            let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(buffer).nulls(nulls.clone()).build()?;
            Ok(make_array(data))
        };
        match self.values {
            Values::W8(f) => fixed(f.out.len(), Buffer::from_vec(f.out)),
            Values::W16(f) => fixed(f.out.len(), Buffer::from_vec(f.out)),
            Values::W32(f) => fixed(f.out.len(), Buffer::from_vec(f.out)),
            Values::W64(f) => fixed(f.out.len(), Buffer::from_vec(f.out)),
            Values::W128(f) => fixed(f.out.len(), Buffer::from_vec(f.out)),
            Values::W256(f) => fixed(f.out.len(), Buffer::from_vec(f.out)),
            Values::Views(f, buffers) => Ok(compact(finish_views(&data_type, f.out, buffers, nulls))),
            Values::Other(parts) => {
                let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
                Ok(if parts.is_empty() { self.left.slice(0, 0) } else { concat(&parts)? })
            }
        }
    }
}

impl Values {
    fn new(left: &ArrayRef, right: &ArrayRef, capacity: usize) -> Self {
        match left.data_type() {
            DataType::Utf8View | DataType::BinaryView => Self::views(left, right, capacity),
            data_type => match data_type.primitive_width() {
                Some(1) => Self::W8(Fixed::new(left, right, capacity)),
                Some(2) => Self::W16(Fixed::new(left, right, capacity)),
                Some(4) => Self::W32(Fixed::new(left, right, capacity)),
                Some(8) => Self::W64(Fixed::new(left, right, capacity)),
                Some(16) => Self::W128(Fixed::new(left, right, capacity)),
                Some(32) => Self::W256(Fixed::new(left, right, capacity)),
                _ => Self::Other(Vec::new()),
            },
        }
    }

    /// The right side's views are moved once to the joint list of buffers; appending then copies words.
    fn views(left: &ArrayRef, right: &ArrayRef, capacity: usize) -> Self {
        let (left_views, mut buffers) = view_parts(left);
        let (right_views, right_buffers) = view_parts(right);
        let right_views = shift_views(&right_views, buffers.len() as u32);
        buffers.extend(right_buffers);
        Self::Views(Fixed { left: left_views, right: right_views, out: Vec::with_capacity(capacity) }, buffers)
    }
}

fn values<T: ArrowNativeType>(array: &ArrayRef) -> ScalarBuffer<T> {
    let data = array.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

fn view_parts(array: &ArrayRef) -> (ScalarBuffer<u128>, Vec<Buffer>) {
    match array.data_type() {
        DataType::Utf8View => {
            let view = array.as_string_view();
            (view.views().clone(), view.data_buffers().to_vec())
        }
        _ => {
            let view = array.as_binary_view();
            (view.views().clone(), view.data_buffers().to_vec())
        }
    }
}

fn shift_views(views: &ScalarBuffer<u128>, by: u32) -> ScalarBuffer<u128> {
    const INLINE: u32 = 12;
    if by == 0 {
        return views.clone();
    }
    let shift = |view: &u128| {
        if *view as u32 <= INLINE {
            return *view;
        }
        let long = ByteView::from(*view);
        long.with_buffer_index(long.buffer_index + by).as_u128()
    };
    views.iter().map(shift).collect::<Vec<_>>().into()
}

fn finish_views(data_type: &DataType, views: Vec<u128>, buffers: Vec<Buffer>, nulls: Option<arrow_buffer::NullBuffer>) -> ArrayRef {
    // SAFETY: every view was copied from a valid array of this type, and its buffer number was moved by the number of buffers that the other
    // array's list was put in front of; so each view names a range inside its own, unchanged buffer, and strings stay valid UTF-8.
    unsafe {
        match data_type {
            DataType::Utf8View => Arc::new(StringViewArray::new_unchecked(views.into(), buffers, nulls)),
            _ => Arc::new(BinaryViewArray::new_unchecked(views.into(), buffers, nulls)),
        }
    }
}

fn interleave_picks(left: &ArrayRef, right: &ArrayRef, picks: &[u32]) -> Result<ArrayRef, TraceError> {
    let indices: Vec<(usize, usize)> = picks.iter().map(|pick| (usize::from(pick & RIGHT != 0), (pick & !RIGHT) as usize)).collect();
    Ok(interleave(&[left.as_ref(), right.as_ref()], &indices)?)
}
