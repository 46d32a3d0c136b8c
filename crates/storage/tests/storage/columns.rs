//! Columns of every type that storage keeps, with nulls, empty and long texts, and values at the ends of their ranges.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};

/// Random numbers that stay the same for ever: golden files are made of them.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn bool(&mut self) -> bool {
        self.below(2) == 1
    }

    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// Every type.
pub fn types() -> Vec<DataType> {
    use DataType::*;
    let text = Arc::new(Field::new("item", Utf8View, true));
    let number = Arc::new(Field::new("item", Int16, true));
    let pair = Fields::from(vec![Field::new("a", Int64, true), Field::new("b", Utf8View, true)]);
    let entry = Fields::from(vec![Field::new("key", Utf8View, false), Field::new("value", Float64, true)]);
    let deep = Fields::from(vec![Field::new("list", List(Arc::clone(&text)), true)]);
    vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Decimal32(9, 2),
        Decimal64(18, 2),
        Decimal128(38, 2),
        Decimal256(76, -2),
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Second, None),
        Timestamp(TimeUnit::Microsecond, None),
        Timestamp(TimeUnit::Millisecond, Some("+02:00".into())),
        Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
        Duration(TimeUnit::Microsecond),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(5),
        FixedSizeBinary(0),
        List(Arc::clone(&text)),
        LargeList(Arc::clone(&number)),
        FixedSizeList(number, 3),
        Struct(pair),
        Struct(deep),
        Map(Arc::new(Field::new("entries", Struct(entry), false)), false),
    ]
}

/// A schema with a column of every type.
pub fn schema() -> SchemaRef {
    let field = |(index, data_type): (usize, DataType)| {
        let metadata = [("made".to_owned(), format!("by {index}"))].into();
        Field::new(format!("c{index}"), data_type, true).with_metadata(metadata)
    };
    let fields: Vec<Field> = types().into_iter().enumerate().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, [("a".to_owned(), "b".to_owned())].into()))
}

/// Random columns of a schema.
pub fn columns(schema: &Schema, rows: usize, seed: u64) -> Vec<ArrayRef> {
    let mut random = Rng(seed);
    schema.fields().iter().map(|field| column(field.data_type(), rows, &mut random, true)).collect()
}

fn nulls(rows: usize, random: &mut Rng) -> Option<NullBuffer> {
    random.bool().then(|| (0..rows).map(|_| random.below(4) > 0).collect::<Vec<bool>>().into())
}

fn text(random: &mut Rng) -> String {
    let length = random.pick(&[0, 1, 5, 12, 13, 40, 200]);
    (0..length).map(|_| random.pick(&['a', 'b', 'ü', '中'])).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    rows: usize,
    random: &mut Rng,
    null: bool,
    value: impl Fn(&mut Rng) -> T::Native,
    data_type: &DataType,
) -> ArrayRef {
    let values: Vec<T::Native> = (0..rows).map(|_| value(random)).collect();
    let nulls = nulls(rows, random).filter(|_| null);
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(data_type.clone()))
}

fn small(random: &mut Rng) -> i64 {
    random.pick(&[0, 1, -1, 5, 99, i64::from(i32::MAX)])
}

fn column(data_type: &DataType, rows: usize, random: &mut Rng, null: bool) -> ArrayRef {
    use DataType::*;
    macro_rules! of {
        ($kind:ty, $value:expr) => {
            primitive::<$kind>(rows, random, null, $value, data_type)
        };
    }
    match data_type {
        Null => Arc::new(NullArray::new(rows)),
        Boolean => {
            Arc::new(BooleanArray::from_iter((0..rows).map(|_| (random.below(4) > 0).then(|| random.bool()))))
        }
        Int8 => of!(Int8Type, |r| r.next() as i8),
        Int16 => of!(Int16Type, |r| r.next() as i16),
        Int32 => of!(Int32Type, |r| r.next() as i32),
        Int64 => of!(Int64Type, |r| r.next() as i64),
        UInt8 => of!(UInt8Type, |r| r.next() as u8),
        UInt16 => of!(UInt16Type, |r| r.next() as u16),
        UInt32 => of!(UInt32Type, |r| r.next() as u32),
        UInt64 => of!(UInt64Type, |r| r.next()),
        Float16 => of!(Float16Type, |r| half(r.next() as i8)),
        Float32 => of!(Float32Type, |r| r.next() as f32),
        Float64 => of!(Float64Type, |r| r.next() as f64),
        Decimal32(..) => of!(Decimal32Type, |r| r.below(999) as i32 - 500),
        Decimal64(..) => of!(Decimal64Type, small),
        Decimal128(..) => of!(Decimal128Type, |r| i128::from(small(r)) * 1_000_000_007),
        Decimal256(..) => of!(Decimal256Type, |r| i256::from_i128(i128::from(small(r)))),
        Date32 => of!(Date32Type, |r| r.below(99_999) as i32),
        Date64 => of!(Date64Type, |r| r.below(99_999) as i64 * 86_400_000),
        Time32(TimeUnit::Second) => of!(Time32SecondType, |r| r.below(86_400) as i32),
        Time32(_) => of!(Time32MillisecondType, |r| r.below(86_400) as i32),
        Time64(TimeUnit::Microsecond) => of!(Time64MicrosecondType, |r| r.below(86_400) as i64),
        Time64(_) => of!(Time64NanosecondType, |r| r.below(86_400) as i64),
        Timestamp(TimeUnit::Second, _) => of!(TimestampSecondType, small),
        Timestamp(TimeUnit::Millisecond, _) => of!(TimestampMillisecondType, small),
        Timestamp(TimeUnit::Microsecond, _) => of!(TimestampMicrosecondType, small),
        Timestamp(TimeUnit::Nanosecond, _) => of!(TimestampNanosecondType, small),
        Duration(_) => of!(DurationMicrosecondType, small),
        Interval(IntervalUnit::YearMonth) => of!(IntervalYearMonthType, |r| r.next() as i32),
        Interval(IntervalUnit::DayTime) => {
            of!(IntervalDayTimeType, |r| IntervalDayTime::new(r.next() as i32, 7))
        }
        Interval(_) => of!(IntervalMonthDayNanoType, |r| IntervalMonthDayNano::new(1, r.next() as i32, 3)),
        Utf8 => Arc::new(StringArray::from(texts(rows, random, null))),
        LargeUtf8 => Arc::new(LargeStringArray::from(texts(rows, random, null))),
        Utf8View => Arc::new(StringViewArray::from_iter(texts(rows, random, null))),
        Binary => Arc::new(BinaryArray::from_iter(texts(rows, random, null))),
        LargeBinary => Arc::new(LargeBinaryArray::from_iter(texts(rows, random, null))),
        BinaryView => Arc::new(BinaryViewArray::from_iter(texts(rows, random, null))),
        FixedSizeBinary(width) => {
            let bytes: Vec<u8> = (0..rows * *width as usize).map(|_| random.next() as u8).collect();
            let nulls = nulls(rows, random);
            Arc::new(FixedSizeBinaryArray::try_new_with_len(*width, bytes.into(), nulls, rows).unwrap())
        }
        List(field) => {
            let (offsets, total) = offsets(rows, random);
            let child = column(field.data_type(), total, random, true);
            Arc::new(ListArray::new(Arc::clone(field), offsets, child, nulls(rows, random)))
        }
        LargeList(field) => {
            let (offsets, total) = offsets(rows, random);
            let child = column(field.data_type(), total, random, true);
            let offsets = OffsetBuffer::new(offsets.iter().map(|offset| i64::from(*offset)).collect());
            Arc::new(LargeListArray::new(Arc::clone(field), offsets, child, nulls(rows, random)))
        }
        FixedSizeList(field, size) => {
            let child = column(field.data_type(), rows * *size as usize, random, true);
            Arc::new(FixedSizeListArray::new(Arc::clone(field), *size, child, nulls(rows, random)))
        }
        Struct(fields) => Arc::new(structs(fields, rows, random, true)),
        Map(field, sorted) => {
            let (offsets, total) = offsets(rows, random);
            let Struct(fields) = field.data_type() else { unreachable!("maps hold structs") };
            let entries = structs(fields, total, random, false);
            Arc::new(MapArray::new(Arc::clone(field), offsets, entries, nulls(rows, random), *sorted))
        }
        other => unreachable!("{other} is not in the list of types"),
    }
}

fn half(value: i8) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_f32(f32::from(value))
}

fn texts(rows: usize, random: &mut Rng, null: bool) -> Vec<Option<String>> {
    (0..rows).map(|_| (!null || random.below(4) > 0).then(|| text(random))).collect()
}

fn offsets(rows: usize, random: &mut Rng) -> (OffsetBuffer<i32>, usize) {
    let lengths: Vec<usize> = (0..rows).map(|_| random.below(4) as usize).collect();
    let total = lengths.iter().sum();
    (OffsetBuffer::from_lengths(lengths), total)
}

fn structs(fields: &Fields, rows: usize, random: &mut Rng, null: bool) -> StructArray {
    let children =
        fields.iter().map(|field| column(field.data_type(), rows, random, field.is_nullable())).collect();
    StructArray::new(fields.clone(), children, nulls(rows, random).filter(|_| null))
}
