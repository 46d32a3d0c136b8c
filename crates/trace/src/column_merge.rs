//! Merging one column of two batches along a list of picks.
//!
//! A pick names a row of the left or of the right batch. Fixed-width values are copied as plain words of their width, texts with their bytes
//! (`view_merge.rs`), so that a merge can stop after any piece and has nothing large left to do at its end. Lists, structs and maps go through
//! Arrow's `interleave` piece by piece, and the pieces are put together at the end.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, StringViewType};
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeBinaryArray};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder,
    ScalarBuffer, i256,
};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;

use crate::TraceError;
use crate::consolidate::shrink;
use crate::fixed::{fixed_array, fixed_values};
use crate::view_merge::ViewMerge;

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
    Bits { left: BooleanBuffer, right: BooleanBuffer, out: BooleanBufferBuilder },
    Bytes { left: FixedSizeBinaryArray, right: FixedSizeBinaryArray, out: Vec<u8> },
    Text(ViewMerge<StringViewType>),
    Binary(ViewMerge<BinaryViewType>),
    Other(Vec<ArrayRef>),
}

struct Fixed<T: ArrowNativeType> {
    left: ScalarBuffer<T>,
    right: ScalarBuffer<T>,
    out: Vec<T>,
}

impl<T: ArrowNativeType> Fixed<T> {
    fn new(left: &ArrayRef, right: &ArrayRef, capacity: usize) -> Self {
        Self { left: fixed_values(left), right: fixed_values(right), out: Vec::with_capacity(capacity) }
    }

    fn append(&mut self, picks: &[u32]) {
        let (left, right) = (&self.left[..], &self.right[..]);
        self.out.extend(picks.iter().map(|pick| {
            let source = if pick & RIGHT == 0 { left } else { right };
            source[(pick & !RIGHT) as usize]
        }));
    }

    fn finish(mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        shrink(&mut self.out);
        fixed_array(data_type, self.out, nulls)
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
        if let (Some(nulls), false) = (&mut self.nulls, matches!(self.values, Values::Other(_))) {
            let (left, right) = (self.left.nulls(), self.right.nulls());
            for pick in picks {
                let side = if pick & RIGHT == 0 { left } else { right };
                nulls.append(side.is_none_or(|nulls| nulls.is_valid((pick & !RIGHT) as usize)));
            }
        }
        match &mut self.values {
            Values::W8(fixed) => fixed.append(picks),
            Values::W16(fixed) => fixed.append(picks),
            Values::W32(fixed) => fixed.append(picks),
            Values::W64(fixed) => fixed.append(picks),
            Values::W128(fixed) => fixed.append(picks),
            Values::W256(fixed) => fixed.append(picks),
            Values::Bits { left, right, out } => {
                let value = |pick: &u32| {
                    if pick & RIGHT == 0 { &*left } else { &*right }.value((pick & !RIGHT) as usize)
                };
                picks.iter().for_each(|pick| out.append(value(pick)));
            }
            Values::Bytes { left, right, out } => {
                let value = |pick: &u32| {
                    if pick & RIGHT == 0 { &*left } else { &*right }.value((pick & !RIGHT) as usize)
                };
                picks.iter().for_each(|pick| out.extend_from_slice(value(pick)));
            }
            Values::Text(views) => views.append(picks),
            Values::Binary(views) => views.append(picks),
            Values::Other(parts) => parts.push(interleave_picks(&self.left, &self.right, picks)?),
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<ArrayRef, TraceError> {
        let data_type = self.left.data_type();
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        let array = match self.values {
            Values::W8(fixed) => fixed.finish(data_type, nulls),
            Values::W16(fixed) => fixed.finish(data_type, nulls),
            Values::W32(fixed) => fixed.finish(data_type, nulls),
            Values::W64(fixed) => fixed.finish(data_type, nulls),
            Values::W128(fixed) => fixed.finish(data_type, nulls),
            Values::W256(fixed) => fixed.finish(data_type, nulls),
            Values::Bits { mut out, .. } => {
                Some(Arc::new(BooleanArray::new(out.finish(), nulls)) as ArrayRef)
            }
            Values::Bytes { left, out, .. } => {
                let array = FixedSizeBinaryArray::try_new(left.value_length(), Buffer::from_vec(out), nulls)?;
                Some(Arc::new(array) as ArrayRef)
            }
            Values::Text(views) => Some(views.finish(nulls)),
            Values::Binary(views) => Some(views.finish(nulls)),
            Values::Other(parts) => {
                let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
                Some(if parts.is_empty() { self.left.slice(0, 0) } else { concat(&parts)? })
            }
        };
        // A column whose width has been looked up has a type of that width.
        Ok(array.unwrap_or_else(|| self.left.slice(0, 0)))
    }
}

impl Values {
    fn new(left: &ArrayRef, right: &ArrayRef, capacity: usize) -> Self {
        match left.data_type() {
            DataType::Utf8View => {
                Self::Text(ViewMerge::new(left.as_string_view(), right.as_string_view(), capacity))
            }
            DataType::BinaryView => {
                Self::Binary(ViewMerge::new(left.as_binary_view(), right.as_binary_view(), capacity))
            }
            DataType::Boolean => {
                let (left, right) = (left.as_boolean().values().clone(), right.as_boolean().values().clone());
                Self::Bits { left, right, out: BooleanBufferBuilder::new(capacity) }
            }
            DataType::FixedSizeBinary(width) if *width > 0 => {
                let (left, right) =
                    (left.as_fixed_size_binary().clone(), right.as_fixed_size_binary().clone());
                Self::Bytes { left, right, out: Vec::with_capacity(capacity * *width as usize) }
            }
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
}

fn interleave_picks(left: &ArrayRef, right: &ArrayRef, picks: &[u32]) -> Result<ArrayRef, TraceError> {
    let indices: Vec<(usize, usize)> =
        picks.iter().map(|pick| (usize::from(pick & RIGHT != 0), (pick & !RIGHT) as usize)).collect();
    Ok(interleave(&[left.as_ref(), right.as_ref()], &indices)?)
}
