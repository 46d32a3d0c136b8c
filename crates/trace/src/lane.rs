//! Lanes: the values of a column as unsigned integers whose order is the order of the values.
//!
//! A lane never contradicts the column's order. It is *exact* if equal integers mean equal values; then it may decide alone. Integers, dates, times,
//! floats, booleans and decimals have exact lanes. Texts and binaries give the bytes behind the prefix that all of them share, as many as fit, and
//! their length; if that covers the longest, the lane is exact too. Lists, structs and maps have no lane.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericByteViewArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use tailrace_algebra::float;

use crate::word::Word;

/// An integer of a lane.
pub(crate) trait Code: Copy + Ord {
    const LEAST: Self;
    const GREATEST: Self;
    fn minus<W: Word>(self, base: Self) -> W;
    fn wide(self) -> u128;
    fn of(wide: u128) -> Self;
}

macro_rules! code {
    ($code:ty, $from:ident) => {
        impl Code for $code {
            const LEAST: Self = <$code>::MIN;
            const GREATEST: Self = <$code>::MAX;
            #[inline(always)]
            fn minus<W: Word>(self, base: Self) -> W {
                W::$from(self.wrapping_sub(base))
            }
            #[inline(always)]
            fn wide(self) -> u128 {
                self as u128
            }
            #[inline(always)]
            fn of(wide: u128) -> Self {
                wide as $code
            }
        }
    };
}
code!(u64, from_u64);
code!(u128, from_u128);

/// What is done with the integers of a lane; `at` may be asked for any row that is not NULL.
pub(crate) trait Visit {
    type Out;
    fn lane<C: Code>(self, exact: bool, at: impl Fn(usize) -> C) -> Self::Out;
}

/// The lane of a column: what is costly to compute is computed once.
pub(crate) enum Lane<'a> {
    Column(&'a ArrayRef),
    Codes { codes: Vec<u128>, exact: bool },
}

impl<'a> Lane<'a> {
    pub(crate) fn of(column: &'a ArrayRef) -> Self {
        match column.data_type() {
            DataType::Utf8View => text_codes(column.as_string_view()),
            DataType::BinaryView => text_codes(column.as_binary_view()),
            _ => Self::Column(column),
        }
    }

    /// Visits the integers; None if the column's type has none.
    pub(crate) fn visit<V: Visit>(&self, visit: V) -> Option<V::Out> {
        match self {
            Self::Column(column) => visit_column(column, visit),
            Self::Codes { codes, exact } => Some(visit.lane(*exact, |row| codes[row])),
        }
    }
}

fn visit_column<V: Visit>(column: &ArrayRef, visit: V) -> Option<V::Out> {
    macro_rules! native {
        ($t:ty, $code:expr) => {{
            let values: &[<$t as ArrowPrimitiveType>::Native] = column.as_primitive::<$t>().values();
            let code = $code;
            visit.lane(true, move |row| code(values[row]))
        }};
    }
    macro_rules! i64s {
        ($t:ty) => {
            native!($t, |value: i64| value as u64 ^ (1 << 63))
        };
    }
    macro_rules! i32s {
        ($t:ty) => {
            native!($t, |value: i32| u64::from(value as u32 ^ (1 << 31)))
        };
    }
    Some(match column.data_type() {
        DataType::Null => visit.lane(true, |_| 0u64),
        DataType::Boolean => {
            let values = column.as_boolean().values();
            visit.lane(true, |row| u64::from(values.value(row)))
        }
        DataType::Int8 => native!(Int8Type, |value: i8| u64::from(value as u8 ^ (1 << 7))),
        DataType::Int16 => native!(Int16Type, |value: i16| u64::from(value as u16 ^ (1 << 15))),
        DataType::Int32 => i32s!(Int32Type),
        DataType::Int64 => i64s!(Int64Type),
        DataType::UInt8 => native!(UInt8Type, |value: u8| u64::from(value)),
        DataType::UInt16 => native!(UInt16Type, |value: u16| u64::from(value)),
        DataType::UInt32 => native!(UInt32Type, |value: u32| u64::from(value)),
        DataType::UInt64 => native!(UInt64Type, |value: u64| value),
        DataType::Date32 => i32s!(Date32Type),
        DataType::Date64 => i64s!(Date64Type),
        DataType::Time32(TimeUnit::Second) => i32s!(Time32SecondType),
        DataType::Time32(_) => i32s!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => i64s!(Time64MicrosecondType),
        DataType::Time64(_) => i64s!(Time64NanosecondType),
        DataType::Timestamp(TimeUnit::Second, _) => i64s!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => i64s!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => i64s!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => i64s!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => i64s!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => i64s!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => i64s!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => i64s!(DurationNanosecondType),
        DataType::Interval(IntervalUnit::YearMonth) => i32s!(IntervalYearMonthType),
        DataType::Interval(IntervalUnit::DayTime) => native!(IntervalDayTimeType, day_time),
        DataType::Interval(IntervalUnit::MonthDayNano) => native!(IntervalMonthDayNanoType, month_day_nano),
        DataType::Float64 => native!(Float64Type, float::order_key),
        DataType::Float32 => native!(Float32Type, |value: f32| u64::from(float::order_key_f32(value))),
        DataType::Decimal32(..) => i32s!(Decimal32Type),
        DataType::Decimal64(..) => i64s!(Decimal64Type),
        DataType::Decimal128(..) => native!(Decimal128Type, |value: i128| value as u128 ^ (1 << 127)),
        DataType::Decimal256(..) => wide_decimals(column, visit),
        DataType::FixedSizeBinary(width) => {
            let array = column.as_fixed_size_binary();
            let spare = 8 * (16 - (*width).clamp(1, 16)) as u32;
            visit.lane(*width <= 16, move |row| leading(array.value(row), 16) >> spare)
        }
        _ => return None,
    })
}

fn day_time(value: <IntervalDayTimeType as ArrowPrimitiveType>::Native) -> u64 {
    let part = |part: i32| u64::from(part as u32 ^ (1 << 31));
    part(value.days) << 32 | part(value.milliseconds)
}

fn month_day_nano(value: <IntervalMonthDayNanoType as ArrowPrimitiveType>::Native) -> u128 {
    let part = |part: i32| u128::from(part as u32 ^ (1 << 31));
    part(value.months) << 96 | part(value.days) << 64 | u128::from(value.nanoseconds as u64 ^ (1 << 63))
}

/// Decimals of 256 bits by their value in 128, where those beyond stand at the ends.
fn wide_decimals<V: Visit>(column: &ArrayRef, visit: V) -> V::Out {
    let array = column.as_primitive::<Decimal256Type>();
    let exact = array.iter().flatten().all(|value| value.to_i128().is_some());
    let values: &[i256] = array.values();
    let clamped =
        |value: i256| value.to_i128().unwrap_or(if value.is_negative() { i128::MIN } else { i128::MAX });
    visit.lane(exact, move |row| clamped(values[row]) as u128 ^ (1 << 127))
}

/// Bytes that a lane takes of each text; with four bits for the length they fill 124.
const TEXT: usize = 15;

fn text_codes<'a, T: ByteViewType>(array: &GenericByteViewArray<T>) -> Lane<'a> {
    let shared = shared_prefix(array);
    let lengths = valid_rows(array).map(|row| array.views()[row] as u32 as usize);
    let longest = lengths.max().unwrap_or(shared) - shared;
    let taken = longest.min(TEXT);
    let exact = longest <= TEXT;
    let code = |row: usize| {
        if array.is_null(row) {
            return 0;
        }
        let bytes = &bytes_of(array, row)[shared..];
        let leading = leading(bytes, taken).checked_shr(8 * (16 - taken) as u32).unwrap_or(0);
        if exact { leading << 4 | bytes.len() as u128 } else { leading }
    };
    Lane::Codes { codes: (0..array.len()).map(code).collect(), exact }
}

/// Length of the prefix that all texts have in common.
fn shared_prefix<T: ByteViewType>(array: &GenericByteViewArray<T>) -> usize {
    let mut rows = valid_rows(array).map(|row| bytes_of(array, row));
    let Some(first) = rows.next() else { return 0 };
    let mut shared = first.len();
    for bytes in rows {
        if bytes.len() < shared || bytes[..shared] != first[..shared] {
            shared = bytes.iter().zip(first).take_while(|(a, b)| a == b).count();
        }
        if shared == 0 {
            break;
        }
    }
    shared
}

/// At most the first `most` of sixteen bytes, big endian, padded with zeros.
#[inline]
fn leading(bytes: &[u8], most: usize) -> u128 {
    let mut word = [0u8; 16];
    let len = bytes.len().min(most);
    word[..len].copy_from_slice(&bytes[..len]);
    u128::from_be_bytes(word)
}

fn valid_rows<T: ByteViewType>(array: &GenericByteViewArray<T>) -> impl Iterator<Item = usize> + '_ {
    (0..array.len()).filter(|row| array.is_valid(*row))
}

fn bytes_of<T: ByteViewType>(array: &GenericByteViewArray<T>, row: usize) -> &[u8] {
    let value: &T::Native = array.value(row);
    value.as_ref()
}
