//! Random columns of every type that SQL needs, and their plain values.
//!
//! Values crowd: few different ones, the ends of each range, texts that share long prefixes, so that ties, duplicates and overflows of packed words
//! are met all the time.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use tailrace_algebra::{OrderedF32, OrderedF64, ZSet};
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout};

use crate::random::Random;

/// A value as plain Rust has it; NULL before everything, as the engine orders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Wide(i256),
    F32(OrderedF32),
    F64(OrderedF64),
    Interval(i32, i32, i64),
    Bytes(Vec<u8>),
    Many(Vec<Value>),
}

pub type Row = Vec<Value>;

/// Every type, in normal form.
pub fn types() -> Vec<DataType> {
    use DataType::*;
    let text = Arc::new(Field::new("item", Utf8View, true));
    let pair = Fields::from(vec![Field::new("a", Int64, true), Field::new("b", Utf8View, true)]);
    let entry = Fields::from(vec![Field::new("key", Utf8View, false), Field::new("value", Float64, true)]);
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
        Float32,
        Float64,
        Decimal128(38, 2),
        Decimal256(76, 2),
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Microsecond, None),
        Timestamp(TimeUnit::Millisecond, Some("+02:00".into())),
        Duration(TimeUnit::Microsecond),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
        Utf8View,
        BinaryView,
        FixedSizeBinary(5),
        FixedSizeBinary(20),
        List(text),
        Struct(pair),
        Map(Arc::new(Field::new("entries", Struct(entry), false)), false),
    ]
}

/// Types that are common in keys, to be met more often than the rest.
pub fn any_type(random: &mut Random) -> DataType {
    let common = [DataType::Int64, DataType::Int32, DataType::Utf8View, DataType::Float64];
    if random.chance(50) { random.pick(&common) } else { random.pick(&types()) }
}

/// A schema of nullable columns of these types.
pub fn schema(types: &[DataType]) -> SchemaRef {
    let field = |(i, data_type): (usize, &DataType)| Field::new(format!("c{i}"), data_type.clone(), true);
    Arc::new(Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// Random rows with random weights.
pub fn changes(schema: &SchemaRef, len: usize, random: &mut Random) -> ChangeBatch {
    let columns = schema.fields().iter().map(|field| column(field.data_type(), len, random)).collect();
    let largest = random.pick(&[1, 3, 1 << 40]);
    let weight = |random: &mut Random| random.below(largest) as i64 + 1;
    let signed = random.chance(70);
    let weights =
        (0..len).map(|_| if signed && random.chance(50) { -weight(random) } else { weight(random) });
    ChangeBatch::try_new(Arc::clone(schema), columns, weights.collect::<Vec<_>>().into()).unwrap()
}

/// The changes as an indexed batch.
pub fn indexed(layout: &Arc<Layout>, changes: &ChangeBatch) -> Arc<IndexedBatch> {
    let columns: Vec<usize> = (0..changes.columns().len()).collect();
    Arc::new(IndexedBatch::from_changes(layout, changes, &columns).unwrap())
}

/// A random column.
pub fn column(data_type: &DataType, len: usize, random: &mut Random) -> ArrayRef {
    let nulls = if random.chance(50) {
        Some((0..len).map(|_| !random.chance(20)).collect::<NullBuffer>())
    } else {
        None
    };
    let narrow = random.chance(40);
    let int = |random: &mut Random, low: i128, high: i128| -> i128 {
        match random.below(10) {
            0 if !narrow => low,
            1 if !narrow => high,
            2 if !narrow => low + 1,
            3 | 4 if !narrow => (random.number() as i128) << 64 | random.number() as i128,
            _ => random.below(5) as i128,
        }
        .clamp(low, high)
    };
    macro_rules! ints {
        ($t:ty, $n:ty) => {{
            let values: Vec<$n> =
                (0..len).map(|_| int(random, <$n>::MIN as i128, <$n>::MAX as i128) as $n).collect();
            Arc::new(PrimitiveArray::<$t>::new(values.into(), nulls).with_data_type(data_type.clone()))
        }};
    }
    match data_type {
        DataType::Null => Arc::new(NullArray::new(len)),
        DataType::Boolean => {
            let values: BooleanBuffer = (0..len).map(|_| random.chance(50)).collect();
            Arc::new(BooleanArray::new(values, nulls))
        }
        DataType::Int8 => ints!(Int8Type, i8),
        DataType::Int16 => ints!(Int16Type, i16),
        DataType::Int32 => ints!(Int32Type, i32),
        DataType::Int64 => ints!(Int64Type, i64),
        DataType::UInt8 => ints!(UInt8Type, u8),
        DataType::UInt16 => ints!(UInt16Type, u16),
        DataType::UInt32 => ints!(UInt32Type, u32),
        DataType::UInt64 => ints!(UInt64Type, u64),
        DataType::Decimal128(..) => ints!(Decimal128Type, i128),
        DataType::Date32 => ints!(Date32Type, i32),
        DataType::Date64 => ints!(Date64Type, i64),
        DataType::Time32(_) => ints!(Time32SecondType, i32),
        DataType::Time64(_) => ints!(Time64NanosecondType, i64),
        DataType::Timestamp(TimeUnit::Microsecond, _) => ints!(TimestampMicrosecondType, i64),
        DataType::Timestamp(_, _) => ints!(TimestampMillisecondType, i64),
        DataType::Duration(_) => ints!(DurationMicrosecondType, i64),
        DataType::Interval(IntervalUnit::YearMonth) => ints!(IntervalYearMonthType, i32),
        DataType::Interval(IntervalUnit::DayTime) => {
            let part = |random: &mut Random| int(random, i32::MIN as i128, i32::MAX as i128) as i32;
            let values: Vec<_> = (0..len).map(|_| IntervalDayTime::new(part(random), part(random))).collect();
            Arc::new(IntervalDayTimeArray::new(values.into(), nulls))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let part = |random: &mut Random| int(random, i32::MIN as i128, i32::MAX as i128) as i32;
            let value = |random: &mut Random| {
                IntervalMonthDayNano::new(
                    part(random),
                    part(random),
                    int(random, i64::MIN as i128, i64::MAX as i128) as i64,
                )
            };
            let values: Vec<_> = (0..len).map(|_| value(random)).collect();
            Arc::new(IntervalMonthDayNanoArray::new(values.into(), nulls))
        }
        DataType::Decimal256(..) => {
            let value = |random: &mut Random| {
                let low = i256::from_i128(int(random, i128::MIN, i128::MAX));
                if narrow || random.chance(70) { low } else { low.wrapping_mul(i256::from_i128(1 << 90)) }
            };
            let values: Vec<_> = (0..len).map(|_| value(random)).collect();
            Arc::new(Decimal256Array::new(values.into(), nulls).with_data_type(data_type.clone()))
        }
        DataType::Float32 => {
            let special = [
                0.0,
                -0.0,
                f32::NAN,
                -f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                1.5,
                -1.5,
                f32::MIN_POSITIVE,
            ];
            let values: Vec<_> = (0..len).map(|_| canonical(random.pick(&special).into()) as f32).collect();
            Arc::new(Float32Array::new(values.into(), nulls))
        }
        DataType::Float64 => {
            let special = [
                0.0,
                -0.0,
                f64::NAN,
                -f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                1.5,
                -1.5,
                f64::MIN_POSITIVE,
            ];
            let values: Vec<_> = (0..len).map(|_| canonical(random.pick(&special))).collect();
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        DataType::Utf8View => {
            let texts = texts(random);
            Arc::new(
                (0..len)
                    .map(|row| valid(&nulls, row).then(|| random.pick(&texts)))
                    .collect::<StringViewArray>(),
            )
        }
        DataType::BinaryView => {
            let texts = texts(random);
            let value = |row| valid(&nulls, row).then(|| random.pick(&texts).into_bytes());
            Arc::new(
                (0..len)
                    .map(value)
                    .collect::<Vec<_>>()
                    .iter()
                    .map(Option::as_deref)
                    .collect::<BinaryViewArray>(),
            )
        }
        DataType::FixedSizeBinary(width) => {
            let mut bytes = vec![b'x'; len * *width as usize];
            let last = bytes.chunks_mut(*width as usize);
            last.for_each(|chunk| chunk[*width as usize - 1] = random.below(4) as u8);
            bytes.chunks_mut(*width as usize).for_each(|chunk| chunk[0] = random.pick(&[b'x', b'x', 0, 255]));
            Arc::new(FixedSizeBinaryArray::new(*width, bytes.into(), nulls))
        }
        DataType::List(field) => {
            let offsets = OffsetBuffer::from_lengths((0..len).map(|_| random.below(4)));
            let items = column(field.data_type(), offsets[len] as usize, random);
            Arc::new(ListArray::new(Arc::clone(field), offsets, items, nulls))
        }
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| column(field.data_type(), len, random)).collect();
            Arc::new(StructArray::new(fields.clone(), children, nulls))
        }
        DataType::Map(field, _) => {
            let offsets = OffsetBuffer::from_lengths((0..len).map(|_| random.below(3)));
            let DataType::Struct(fields) = field.data_type() else { unreachable!() };
            let keys = without_nulls(column(fields[0].data_type(), offsets[len] as usize, random));
            let values = column(fields[1].data_type(), offsets[len] as usize, random);
            let entries = StructArray::new(fields.clone(), vec![keys, values], None);
            Arc::new(MapArray::new(Arc::clone(field), offsets, entries, nulls, false))
        }
        other => unreachable!("no random column of {other}"),
    }
}

/// The values of a column.
pub fn values(column: &ArrayRef) -> Vec<Value> {
    (0..column.len()).map(|row| value(column, row)).collect()
}

/// The rows of columns.
pub fn rows(columns: &[ArrayRef], len: usize) -> Vec<Row> {
    (0..len).map(|row| columns.iter().map(|column| value(column, row)).collect()).collect()
}

/// The Z-set of rows with weights.
pub fn zset(columns: &[ArrayRef], weights: &[i64]) -> ZSet<Row> {
    rows(columns, weights.len()).into_iter().zip(weights.iter().copied()).collect()
}

/// The Z-set of a change batch.
pub fn zset_of(changes: &ChangeBatch) -> ZSet<Row> {
    zset(changes.columns(), changes.weights())
}

/// The rows of an indexed batch, which must be in order, each once, none with weight zero.
pub fn entries(batch: &IndexedBatch) -> Vec<(Row, i128)> {
    let weights = batch.weights().iter().map(|weight| i128::from(*weight));
    rows(batch.columns(), batch.len()).into_iter().zip(weights).collect()
}

/// The rows of a Z-set in order.
pub fn ordered(zset: &ZSet<Row>) -> Vec<(Row, i128)> {
    zset.iter().map(|(row, weight)| (row.clone(), weight)).collect()
}

fn value(column: &ArrayRef, row: usize) -> Value {
    use DataType::*;
    if column.data_type() == &Null || column.is_null(row) {
        return Value::Null;
    }
    macro_rules! int {
        ($t:ty) => {
            Value::Int(column.as_primitive::<$t>().value(row) as i128)
        };
    }
    match column.data_type() {
        Boolean => Value::Bool(column.as_boolean().value(row)),
        Int8 => int!(Int8Type),
        Int16 => int!(Int16Type),
        Int32 => int!(Int32Type),
        Int64 => int!(Int64Type),
        UInt8 => int!(UInt8Type),
        UInt16 => int!(UInt16Type),
        UInt32 => int!(UInt32Type),
        UInt64 => int!(UInt64Type),
        Decimal128(..) => int!(Decimal128Type),
        Decimal256(..) => Value::Wide(column.as_primitive::<Decimal256Type>().value(row)),
        Date32 => int!(Date32Type),
        Date64 => int!(Date64Type),
        Time32(_) => int!(Time32SecondType),
        Time64(_) => int!(Time64NanosecondType),
        Timestamp(TimeUnit::Microsecond, _) => int!(TimestampMicrosecondType),
        Timestamp(_, _) => int!(TimestampMillisecondType),
        Duration(_) => int!(DurationMicrosecondType),
        Interval(IntervalUnit::YearMonth) => int!(IntervalYearMonthType),
        Interval(IntervalUnit::DayTime) => {
            let value = column.as_primitive::<IntervalDayTimeType>().value(row);
            Value::Interval(0, value.days, value.milliseconds.into())
        }
        Interval(IntervalUnit::MonthDayNano) => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Value::Interval(value.months, value.days, value.nanoseconds)
        }
        Float32 => Value::F32(OrderedF32::new(column.as_primitive::<Float32Type>().value(row))),
        Float64 => Value::F64(OrderedF64::new(column.as_primitive::<Float64Type>().value(row))),
        Utf8 => Value::Bytes(column.as_string::<i32>().value(row).into()),
        Utf8View => Value::Bytes(column.as_string_view().value(row).into()),
        BinaryView => Value::Bytes(column.as_binary_view().value(row).into()),
        Binary => Value::Bytes(column.as_binary::<i32>().value(row).into()),
        FixedSizeBinary(_) => Value::Bytes(column.as_fixed_size_binary().value(row).into()),
        List(_) => Value::Many(values(&column.as_list::<i32>().value(row))),
        Struct(_) => {
            Value::Many(column.as_struct().columns().iter().map(|child| value(child, row)).collect())
        }
        Map(..) => Value::Many(values(&(Arc::new(column.as_map().value(row)) as ArrayRef))),
        other => unreachable!("no value of {other}"),
    }
}

/// A handful of texts: short ones, one that is another and a zero byte, long ones that differ late.
fn texts(random: &mut Random) -> Vec<String> {
    let prefix = random.pick(&["", "", "a long and common prefix/", "id-"]);
    let endings = [
        "",
        "a",
        "a\0",
        "b",
        "é",
        "twelve bytes",
        "thirteen bytes",
        "a rather long ending that differs only he",
        "zz",
    ];
    let mut texts: Vec<String> = endings.iter().map(|ending| format!("{prefix}{ending}")).collect();
    texts.push(format!("{prefix}a rather long ending that differs only her"));
    texts.push(format!("{prefix}a rather long ending that differs only hes"));
    let kept = 1 + random.below(texts.len());
    texts.truncate(kept);
    texts
}

fn canonical(x: f64) -> f64 {
    tailrace_algebra::float::canonical(x)
}

fn valid(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
}

/// Texts with NULL replaced by the empty text.
fn without_nulls(texts: ArrayRef) -> ArrayRef {
    Arc::new(texts.as_string_view().iter().map(|text| Some(text.unwrap_or(""))).collect::<StringViewArray>())
}
