//! Sorting rows: the permutation that orders them, and where neighbours are equal.
//!
//! Leading columns are packed into one machine word per row, order preserving and range compressed: an integer column takes as many bits as
//! its range in this batch needs, NULLs one bit more, strings their first bytes. The row number stands in the low bits. Sorting is then a sort of
//! plain words, `u64` if everything fits and `u128` otherwise, without a comparison function and without looking at the columns. Only rows
//! whose packed prefix ties while columns are left over are compared in full.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use tailrace_algebra::float;

use crate::{RowComparator, TraceError};

/// The order of rows.
pub struct Sorted {
    /// Row numbers in order.
    pub rows: Vec<u32>,
    /// `equal[i]`: row `i` of the order equals row `i - 1`.
    pub equal: Vec<bool>,
}

/// Sorts the rows of `columns`, ascending, NULL first, columns left to right.
pub fn sort_rows(columns: &[ArrayRef], len: usize) -> Result<Sorted, TraceError> {
    if len > u32::MAX as usize / 2 {
        return Err(TraceError::TooManyRows { limit: u32::MAX as usize / 2, found: len });
    }
    let row_bits = usize::BITS - len.saturating_sub(1).leading_zeros();
    let packing = Packing::choose(columns, 128 - row_bits);
    let mut sorted = if packing.bits + row_bits <= 64 {
        sort_words::<u64>(&packing, columns, len, row_bits)
    } else {
        sort_words::<u128>(&packing, columns, len, row_bits)
    };
    if !packing.exact {
        settle_ties(&mut sorted, &columns[packing.settled..])?;
    }
    Ok(sorted)
}

/// Which bits of which columns go into the word.
struct Packing {
    fields: Vec<PackedField>,
    bits: u32,
    /// The word decides the whole order.
    exact: bool,
    /// Columns that the word decides fully.
    settled: usize,
}

struct PackedField {
    /// The least word in the column, taken off before packing.
    base: u128,
    /// Bits that the range of the column needs, NULL included.
    bits: u32,
    /// Low bits that did not fit and are cut.
    cut: u32,
    nullable: bool,
}

impl Packing {
    fn choose(columns: &[ArrayRef], room: u32) -> Self {
        let mut packing = Self { fields: Vec::new(), bits: 0, exact: false, settled: 0 };
        for column in columns {
            let Some((field, decides)) = measure(column) else { return packing };
            let left = room - packing.bits;
            let cut = field.bits.saturating_sub(left);
            packing.bits += field.bits - cut;
            packing.fields.push(PackedField { cut, ..field });
            if cut > 0 || !decides {
                return packing;
            }
            packing.settled += 1;
        }
        packing.exact = true;
        packing
    }
}

/// The packed form of a column and whether its bits decide; None for types that have no word.
fn measure(column: &ArrayRef) -> Option<(PackedField, bool)> {
    let (mut least, mut greatest) = (u128::MAX, 0u128);
    let decides = words(column, &mut |_, word| {
        least = least.min(word);
        greatest = greatest.max(word);
    })?;
    let nullable = column.null_count() > 0;
    let range = if least > greatest { 0 } else { greatest - least };
    let range = if nullable { range.saturating_add(1) } else { range };
    let base = if least > greatest { 0 } else { least };
    Some((PackedField { base, bits: 128 - range.leading_zeros(), cut: 0, nullable }, decides))
}

/// A word that holds packed columns above a row number.
trait Word: Copy + Ord + Default {
    fn shift_in(&mut self, bits: u32, value: u128);
    fn row(self, row_bits: u32) -> u32;
    fn prefix(self, row_bits: u32) -> Self;
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            #[inline(always)]
            fn shift_in(&mut self, bits: u32, value: u128) {
                *self = self.checked_shl(bits).unwrap_or(0) | value as $word;
            }
            #[inline(always)]
            fn row(self, row_bits: u32) -> u32 {
                (self & ((1 as $word) << row_bits).wrapping_sub(1)) as u32
            }
            #[inline(always)]
            fn prefix(self, row_bits: u32) -> Self {
                self >> row_bits
            }
        }
    };
}
word!(u64);
word!(u128);

fn sort_words<W: Word>(packing: &Packing, columns: &[ArrayRef], len: usize, row_bits: u32) -> Sorted {
    let mut packed = vec![W::default(); len];
    for (field, column) in packing.fields.iter().zip(columns) {
        pack(&mut packed, field, column);
    }
    for (row, word) in packed.iter_mut().enumerate() {
        word.shift_in(row_bits, row as u128);
    }
    packed.sort_unstable();
    let rows = packed.iter().map(|word| word.row(row_bits)).collect();
    let mut equal = vec![false; len];
    for i in 1..len {
        equal[i] = packed[i].prefix(row_bits) == packed[i - 1].prefix(row_bits);
    }
    Sorted { rows, equal }
}

fn pack<W: Word>(packed: &mut [W], field: &PackedField, column: &ArrayRef) {
    let bits = field.bits - field.cut;
    if bits == 0 {
        return;
    }
    let offset = u128::from(field.nullable);
    if field.nullable {
        let mut filled = vec![0u128; packed.len()];
        words(column, &mut |row, word| filled[row] = (word - field.base).saturating_add(offset));
        for (word, value) in packed.iter_mut().zip(filled) {
            word.shift_in(bits, value >> field.cut);
        }
    } else {
        words(column, &mut |row, word| packed[row].shift_in(bits, (word - field.base) >> field.cut));
    }
}

/// Calls `f(row, word)` for every row that is not NULL; says whether words decide, or None if the type has no words.
fn words(column: &ArrayRef, f: &mut impl FnMut(usize, u128)) -> Option<bool> {
    macro_rules! signed {
        ($t:ty, $bits:expr) => {{
            each::<$t>(column, |row, value| f(row, (value as i128 + (1i128 << ($bits - 1))) as u128));
            Some(true)
        }};
    }
    macro_rules! unsigned {
        ($t:ty) => {{
            each::<$t>(column, |row, value| f(row, value as u128));
            Some(true)
        }};
    }
    match column.data_type() {
        DataType::Null => Some(true),
        DataType::Boolean => {
            let array = column.as_boolean();
            (0..array.len()).filter(|row| array.is_valid(*row)).for_each(|row| f(row, u128::from(array.value(row))));
            Some(true)
        }
        DataType::Int8 => signed!(Int8Type, 8),
        DataType::Int16 => signed!(Int16Type, 16),
        DataType::Int32 => signed!(Int32Type, 32),
        DataType::Int64 => signed!(Int64Type, 64),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => unsigned!(UInt64Type),
        DataType::Date32 => signed!(Date32Type, 32),
        DataType::Date64 => signed!(Date64Type, 64),
        DataType::Time32(TimeUnit::Second) => signed!(Time32SecondType, 32),
        DataType::Time32(_) => signed!(Time32MillisecondType, 32),
        DataType::Time64(TimeUnit::Microsecond) => signed!(Time64MicrosecondType, 64),
        DataType::Time64(_) => signed!(Time64NanosecondType, 64),
        DataType::Timestamp(TimeUnit::Second, _) => signed!(TimestampSecondType, 64),
        DataType::Timestamp(TimeUnit::Millisecond, _) => signed!(TimestampMillisecondType, 64),
        DataType::Timestamp(TimeUnit::Microsecond, _) => signed!(TimestampMicrosecondType, 64),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => signed!(TimestampNanosecondType, 64),
        DataType::Duration(TimeUnit::Second) => signed!(DurationSecondType, 64),
        DataType::Duration(TimeUnit::Millisecond) => signed!(DurationMillisecondType, 64),
        DataType::Duration(TimeUnit::Microsecond) => signed!(DurationMicrosecondType, 64),
        DataType::Duration(TimeUnit::Nanosecond) => signed!(DurationNanosecondType, 64),
        DataType::Interval(IntervalUnit::YearMonth) => signed!(IntervalYearMonthType, 32),
        DataType::Float64 => {
            each::<Float64Type>(column, |row, value| f(row, u128::from(float::order_key(value))));
            Some(true)
        }
        DataType::Float32 => {
            each::<Float32Type>(column, |row, value| f(row, u128::from(float::order_key_f32(value))));
            Some(true)
        }
        DataType::Decimal128(..) => {
            each::<Decimal128Type>(column, |row, value| f(row, value as u128 ^ (1 << 127)));
            Some(true)
        }
        DataType::Utf8View => {
            let array = column.as_string_view();
            valid_rows(column).for_each(|row| f(row, leading_bytes(array.value(row).as_bytes())));
            Some(false)
        }
        DataType::BinaryView => {
            let array = column.as_binary_view();
            valid_rows(column).for_each(|row| f(row, leading_bytes(array.value(row))));
            Some(false)
        }
        DataType::FixedSizeBinary(width) => {
            let array = column.as_fixed_size_binary();
            valid_rows(column).for_each(|row| f(row, leading_bytes(array.value(row))));
            Some(*width <= 12)
        }
        _ => None,
    }
}

fn each<T: ArrowPrimitiveType>(column: &ArrayRef, mut f: impl FnMut(usize, T::Native)) {
    let array: &PrimitiveArray<T> = column.as_primitive();
    match array.nulls() {
        None => array.values().iter().enumerate().for_each(|(row, value)| f(row, *value)),
        Some(nulls) => nulls.valid_indices().for_each(|row| f(row, array.value(row))),
    }
}

fn valid_rows(column: &ArrayRef) -> impl Iterator<Item = usize> + '_ {
    (0..column.len()).filter(|row| column.is_valid(*row))
}

/// The first twelve bytes, big endian, padded with zeros: a prefix that never contradicts the byte order.
fn leading_bytes(bytes: &[u8]) -> u128 {
    let mut word = [0u8; 16];
    let len = bytes.len().min(12);
    word[4..4 + len].copy_from_slice(&bytes[..len]);
    u128::from_be_bytes(word)
}

/// Orders every stretch of rows with equal words by the columns that the words do not decide.
fn settle_ties(sorted: &mut Sorted, columns: &[ArrayRef]) -> Result<(), TraceError> {
    let comparator = RowComparator::try_new(columns, columns)?;
    let len = sorted.rows.len();
    let mut start = 0;
    while start < len {
        let mut end = start + 1;
        while end < len && sorted.equal[end] {
            end += 1;
        }
        if end - start > 1 {
            settle_run(&mut sorted.rows[start..end], &mut sorted.equal[start..end], &comparator);
        }
        start = end;
    }
    Ok(())
}

fn settle_run(rows: &mut [u32], equal: &mut [bool], comparator: &RowComparator<'_>) {
    rows.sort_unstable_by(|a, b| comparator.compare(*a as usize, *b as usize).then(a.cmp(b)));
    for i in 1..rows.len() {
        equal[i] = comparator.compare(rows[i - 1] as usize, rows[i] as usize) == Ordering::Equal;
    }
}
