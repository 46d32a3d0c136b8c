//! The hash of a Z-set's content: one number that two Z-sets share if they hold the same rows with the same weights.
//!
//! # Promise
//! It does not depend on the order of rows, on how they were cut into batches, on the process or on the machine, and it is a sum: the hash of a
//! change added to the hash of a content is the hash of the changed content. So it is kept up to date at the cost of the change.
//!
//! # Why
//! It is `sum(weight(r) * h(r)) mod 2^128` over the rows `r`, which any grouping and order of the terms leaves alone; a row and its retraction cancel. `h` is
//! SipHash-1-3 with 128 bits under a fixed key, over an encoding of the row that tells any two rows apart: per column one byte that says whether
//! the value is there, then its bytes as Arrow has them (little-endian), with the length before what varies in length. Columns are in normal form, so equal
//! values are equal bytes: floats have one zero and one NaN. Two contents that are not equal meet in one hash by accident with a chance of about
//! 2^-128; who is free to choose all rows can construct such a pair.

use std::hash::Hasher;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::{ChangeBatch, TraceError};

/// The hash of the Z-set that a batch is.
pub fn content_hash(batch: &ChangeBatch) -> Result<u128, TraceError> {
    let cells = batch.columns().iter().map(Cells::of).collect::<Result<Vec<_>, _>>()?;
    let mut sum = 0_u128;
    for (row, weight) in batch.weights().iter().enumerate() {
        let mut hasher = SipHasher13::new_with_keys(0x7461_696c_7261_6365, 1);
        cells.iter().for_each(|column| column.write(row, &mut hasher));
        let hash = u128::from(hasher.finish128());
        sum = sum.wrapping_add(hash.wrapping_mul(i128::from(*weight) as u128));
    }
    Ok(sum)
}

/// A column whose cells can be written one by one.
struct Cells {
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    Nothing,
    Bits(BooleanArray),
    /// Values of one width.
    Fixed {
        bytes: arrow_buffer::Buffer,
        start: usize,
        width: usize,
    },
    Text(ArrayRef),
    List {
        offsets: OffsetBuffer<i32>,
        items: Box<Cells>,
    },
    FixedList {
        len: usize,
        items: Box<Cells>,
    },
    Fields(Vec<Cells>),
}

impl Cells {
    fn of(array: &ArrayRef) -> Result<Self, TraceError> {
        Ok(Self { nulls: array.logical_nulls(), values: Values::of(array)? })
    }

    fn write(&self, row: usize, hasher: &mut SipHasher13) {
        let there = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        hasher.write(&[u8::from(there)]);
        if there {
            self.values.write(row, hasher);
        }
    }
}

impl Values {
    fn of(array: &ArrayRef) -> Result<Self, TraceError> {
        Ok(match array.data_type() {
            DataType::Null => Values::Nothing,
            DataType::Boolean => Values::Bits(array.as_boolean().clone()),
            DataType::Utf8View | DataType::BinaryView => Values::Text(array.clone()),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Values::List { offsets: list.offsets().clone(), items: Box::new(Cells::of(list.values())?) }
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
                Values::List { offsets: map.offsets().clone(), items: Box::new(Cells::of(&entries)?) }
            }
            DataType::FixedSizeList(_, len) => {
                let items = Cells::of(array.as_fixed_size_list().values())?;
                Values::FixedList { len: *len as usize, items: Box::new(items) }
            }
            DataType::Struct(_) => {
                Values::Fields(array.as_struct().columns().iter().map(Cells::of).collect::<Result<_, _>>()?)
            }
            data_type => {
                let width = match data_type {
                    DataType::FixedSizeBinary(width) => Some(*width as usize),
                    other => other.primitive_width(),
                };
                let data = array.to_data();
                match (width, data.buffers().first()) {
                    (Some(width), Some(bytes)) => {
                        Values::Fixed { bytes: bytes.clone(), start: data.offset() * width, width }
                    }
                    _ => return Err(TraceError::NoHash { data_type: data_type.to_string() }),
                }
            }
        })
    }

    fn write(&self, row: usize, hasher: &mut SipHasher13) {
        match self {
            Values::Nothing => {}
            Values::Bits(bits) => hasher.write(&[u8::from(bits.value(row))]),
            Values::Fixed { bytes, start, width } => {
                hasher.write(&bytes[start + row * width..start + (row + 1) * width]);
            }
            Values::Text(array) => match array.as_string_view_opt() {
                Some(text) => sized(text.value(row).as_bytes(), hasher),
                None => sized(array.as_binary_view().value(row), hasher),
            },
            Values::List { offsets, items } => {
                let (from, until) = (offsets[row] as usize, offsets[row + 1] as usize);
                hasher.write(&((until - from) as u64).to_le_bytes());
                (from..until).for_each(|item| items.write(item, hasher));
            }
            Values::FixedList { len, items } => {
                (row * len..(row + 1) * len).for_each(|item| items.write(item, hasher));
            }
            Values::Fields(fields) => fields.iter().for_each(|field| field.write(row, hasher)),
        }
    }
}

fn sized(bytes: &[u8], hasher: &mut SipHasher13) {
    hasher.write(&(bytes.len() as u64).to_le_bytes());
    hasher.write(bytes);
}
