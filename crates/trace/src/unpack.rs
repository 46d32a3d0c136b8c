//! Unpacking: columns read back from sorted words, without a gather.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use tailrace_algebra::float;

use crate::fixed::fixed_array;
use crate::packing::Field;
use crate::word::Word;

/// Whether a column of this type can be read back from its lane.
pub(crate) fn unpacks(data_type: &DataType) -> bool {
    Kind::of(data_type).is_some()
}

/// The column of `field`, which stands `shift` bits above the low end of the words.
pub(crate) fn unpack<W: Word>(
    data_type: &DataType,
    words: &[W],
    field: &Field<'_>,
    shift: u32,
) -> Option<ArrayRef> {
    let slot = Slot::new(words, field, shift);
    Some(match Kind::of(data_type)? {
        Kind::Boolean => {
            let values = BooleanBuffer::collect_bool(words.len(), |row| slot.code(words[row]) != 0);
            Arc::new(BooleanArray::new(values, slot.nulls()))
        }
        Kind::Float64 => slot.array(data_type, |code| float::from_order_key(code as u64))?,
        Kind::Float32 => slot.array(data_type, |code| float::from_order_key_f32(code as u32))?,
        Kind::Signed(1) => slot.array(data_type, |code| (code as u8 ^ (1 << 7)) as i8)?,
        Kind::Signed(2) => slot.array(data_type, |code| (code as u16 ^ (1 << 15)) as i16)?,
        Kind::Signed(4) => slot.array(data_type, |code| (code as u32 ^ (1 << 31)) as i32)?,
        Kind::Signed(8) => slot.array(data_type, |code| (code as u64 ^ (1 << 63)) as i64)?,
        Kind::Signed(_) => slot.array(data_type, |code| (code ^ (1 << 127)) as i128)?,
        Kind::Unsigned(1) => slot.array(data_type, |code| code as u8)?,
        Kind::Unsigned(2) => slot.array(data_type, |code| code as u16)?,
        Kind::Unsigned(4) => slot.array(data_type, |code| code as u32)?,
        Kind::Unsigned(_) => slot.array(data_type, |code| code as u64)?,
    })
}

/// How the integers of a lane become values.
enum Kind {
    Boolean,
    Signed(usize),
    Unsigned(usize),
    Float32,
    Float64,
}

impl Kind {
    fn of(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        Some(match data_type {
            Boolean => Self::Boolean,
            Float32 => Self::Float32,
            Float64 => Self::Float64,
            UInt8 | UInt16 | UInt32 | UInt64 => Self::Unsigned(data_type.primitive_width()?),
            Int8 | Int16 | Int32 | Int64 | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..)
            | Duration(_) => Self::Signed(data_type.primitive_width()?),
            Decimal32(..) | Decimal64(..) | Decimal128(..) => Self::Signed(data_type.primitive_width()?),
            _ => return None,
        })
    }
}

/// The bits of one field in many words.
struct Slot<'w, W> {
    words: &'w [W],
    shift: u32,
    mask: u128,
    /// What was taken off the codes; one less if zero stands for NULL.
    base: u128,
    nullable: bool,
}

impl<'w, W: Word> Slot<'w, W> {
    fn new(words: &'w [W], field: &Field<'_>, shift: u32) -> Self {
        let mask = u128::MAX.checked_shr(128 - field.bits).unwrap_or(0);
        let nullable = field.nullable();
        Self { words, shift, mask, base: field.base.wrapping_sub(u128::from(nullable)), nullable }
    }

    #[inline(always)]
    fn bits(&self, word: W) -> u128 {
        word.above(self.shift).to_u128() & self.mask
    }

    #[inline(always)]
    fn code(&self, word: W) -> u128 {
        self.bits(word).wrapping_add(self.base)
    }

    fn nulls(&self) -> Option<NullBuffer> {
        let valid = || BooleanBuffer::collect_bool(self.words.len(), |row| self.bits(self.words[row]) != 0);
        self.nullable.then(|| NullBuffer::new(valid())).filter(|nulls| nulls.null_count() > 0)
    }

    fn array<T: ArrowNativeType>(&self, data_type: &DataType, value: impl Fn(u128) -> T) -> Option<ArrayRef> {
        let values: Vec<T> = self.words.iter().map(|word| value(self.code(*word))).collect();
        fixed_array(data_type, values, self.nulls())
    }
}
