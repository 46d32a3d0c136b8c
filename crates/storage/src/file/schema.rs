//! Arrow schemas in a footer: fields flattened, parents before children, each type a code with at most two numbers and a zone.
//!
//! What comes from a file is checked before Arrow sees it: a depth that would exhaust the stack, widths below zero, units that a type does not have,
//! maps that are no maps.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use rkyv::string::ArchivedString;
use rkyv::vec::ArchivedVec;

use super::FileError;
use super::archive::{ArchivedPair, ArchivedStoredField, Pair, StoredField};

/// Types may nest this deep.
const DEEPEST: usize = 32;

/// The fields of a schema, flattened.
pub(crate) fn flatten(schema: &Schema) -> Result<Vec<StoredField>, FileError> {
    let mut stored = Vec::new();
    for field in schema.fields() {
        flatten_field(field, field.name(), 0, &mut stored)?;
    }
    Ok(stored)
}

/// Metadata in a fixed order, so that equal files have equal bytes.
pub(crate) fn pairs<'a>(metadata: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<Pair> {
    let mut pairs: Vec<Pair> =
        metadata.into_iter().map(|(key, value)| Pair { key: key.clone(), value: value.clone() }).collect();
    pairs.sort_by(|a, b| a.key.cmp(&b.key));
    pairs
}

/// The schema of flattened fields, or what is wrong with them.
pub(crate) fn unflatten(
    fields: &ArchivedVec<ArchivedStoredField>,
    metadata: &ArchivedVec<ArchivedPair>,
) -> Result<SchemaRef, String> {
    let mut rest = fields.iter();
    let mut top: Vec<FieldRef> = Vec::new();
    while let Some(field) = rest.next() {
        top.push(unflatten_field(field, &mut rest, 0)?);
    }
    let metadata = metadata.iter().map(|pair| (pair.key.to_string(), pair.value.to_string())).collect();
    Ok(Arc::new(Schema::new_with_metadata(top, metadata)))
}

fn flatten_field(
    field: &Field,
    column: &str,
    depth: usize,
    stored: &mut Vec<StoredField>,
) -> Result<(), FileError> {
    let unsupported =
        || FileError::UnsupportedType { column: column.to_owned(), data_type: field.data_type().clone() };
    let code = Code::of(field.data_type()).filter(|_| depth < DEEPEST).ok_or_else(unsupported)?;
    let children = children(field.data_type());
    stored.push(StoredField {
        name: field.name().clone(),
        nullable: field.is_nullable(),
        code: code.code,
        first: code.first,
        second: code.second,
        zone: code.zone,
        children: children.len() as u32,
        metadata: pairs(field.metadata()),
    });
    children.iter().try_for_each(|child| flatten_field(child, column, depth + 1, stored))
}

fn children(data_type: &DataType) -> &[FieldRef] {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => std::slice::from_ref(field),
        DataType::Struct(fields) => fields,
        _ => &[],
    }
}

fn unflatten_field<'a>(
    stored: &'a ArchivedStoredField,
    rest: &mut impl Iterator<Item = &'a ArchivedStoredField>,
    depth: usize,
) -> Result<FieldRef, String> {
    if depth >= DEEPEST {
        return Err(format!("types nest deeper than {DEEPEST}"));
    }
    let mut children: Vec<FieldRef> = Vec::new();
    for _ in 0..stored.children.to_native() {
        let child = rest.next().ok_or("the list of fields ends inside a type")?;
        children.push(unflatten_field(child, rest, depth + 1)?);
    }
    let code = Code {
        code: stored.code,
        first: stored.first.to_native(),
        second: stored.second.to_native(),
        zone: stored.zone.as_ref().map(ArchivedString::to_string),
    };
    let data_type = code.data_type(children)?;
    let metadata = stored.metadata.iter().map(|pair| (pair.key.to_string(), pair.value.to_string()));
    let field = Field::new(stored.name.as_str(), data_type, stored.nullable);
    Ok(Arc::new(field.with_metadata(metadata.collect())))
}

/// A type without its children.
#[derive(Debug, Default)]
struct Code {
    code: u8,
    first: i32,
    second: i32,
    zone: Option<String>,
}

impl Code {
    fn of(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        let plain = |code| Some(Self { code, ..Self::default() });
        let with = |code, first, second| Some(Self { code, first, second, zone: None });
        match data_type {
            Null => plain(0),
            Boolean => plain(1),
            Int8 => plain(2),
            Int16 => plain(3),
            Int32 => plain(4),
            Int64 => plain(5),
            UInt8 => plain(6),
            UInt16 => plain(7),
            UInt32 => plain(8),
            UInt64 => plain(9),
            Float16 => plain(10),
            Float32 => plain(11),
            Float64 => plain(12),
            Decimal32(precision, scale) => with(13, i32::from(*precision), i32::from(*scale)),
            Decimal64(precision, scale) => with(14, i32::from(*precision), i32::from(*scale)),
            Decimal128(precision, scale) => with(15, i32::from(*precision), i32::from(*scale)),
            Decimal256(precision, scale) => with(16, i32::from(*precision), i32::from(*scale)),
            Date32 => plain(17),
            Date64 => plain(18),
            Time32(unit) => with(19, unit_number(unit), 0),
            Time64(unit) => with(20, unit_number(unit), 0),
            Timestamp(unit, zone) => {
                let zone = zone.as_ref().map(|zone| zone.to_string());
                Some(Self { code: 21, first: unit_number(unit), second: 0, zone })
            }
            Duration(unit) => with(22, unit_number(unit), 0),
            Interval(IntervalUnit::YearMonth) => with(23, 0, 0),
            Interval(IntervalUnit::DayTime) => with(23, 1, 0),
            Interval(IntervalUnit::MonthDayNano) => with(23, 2, 0),
            Utf8 => plain(24),
            LargeUtf8 => plain(25),
            Utf8View => plain(26),
            Binary => plain(27),
            LargeBinary => plain(28),
            BinaryView => plain(29),
            FixedSizeBinary(width) => with(30, *width, 0),
            List(_) => plain(31),
            LargeList(_) => plain(32),
            FixedSizeList(_, size) => with(33, *size, 0),
            Struct(_) => plain(34),
            Map(_, sorted) => with(35, i32::from(*sorted), 0),
            _ => None,
        }
    }

    fn data_type(self, children: Vec<FieldRef>) -> Result<DataType, String> {
        use DataType::*;
        let (first, second) = (self.first, self.second);
        if self.code < 31 && !children.is_empty() {
            return Err(format!("type {} has children", self.code));
        }
        Ok(match self.code {
            0 => Null,
            1 => Boolean,
            2 => Int8,
            3 => Int16,
            4 => Int32,
            5 => Int64,
            6 => UInt8,
            7 => UInt16,
            8 => UInt32,
            9 => UInt64,
            10 => Float16,
            11 => Float32,
            12 => Float64,
            13 => decimal(first, second, 9, Decimal32)?,
            14 => decimal(first, second, 18, Decimal64)?,
            15 => decimal(first, second, 38, Decimal128)?,
            16 => decimal(first, second, 76, Decimal256)?,
            17 => Date32,
            18 => Date64,
            19 => Time32(unit(first, 0..=1)?),
            20 => Time64(unit(first, 2..=3)?),
            21 => Timestamp(unit(first, 0..=3)?, self.zone.map(Into::into)),
            22 => Duration(unit(first, 0..=3)?),
            23 => Interval(interval(first)?),
            24 => Utf8,
            25 => LargeUtf8,
            26 => Utf8View,
            27 => Binary,
            28 => LargeBinary,
            29 => BinaryView,
            30 => FixedSizeBinary(width(first)?),
            31 => List(only(children)?),
            32 => LargeList(only(children)?),
            33 => FixedSizeList(only(children)?, width(first)?),
            34 => Struct(Fields::from(children)),
            35 => Map(entries(only(children)?)?, first != 0),
            code => return Err(format!("there is no type {code}")),
        })
    }
}

fn unit_number(unit: &TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

fn unit(number: i32, allowed: std::ops::RangeInclusive<i32>) -> Result<TimeUnit, String> {
    match number {
        number if !allowed.contains(&number) => Err(format!("time unit {number}, expected {allowed:?}")),
        0 => Ok(TimeUnit::Second),
        1 => Ok(TimeUnit::Millisecond),
        2 => Ok(TimeUnit::Microsecond),
        _ => Ok(TimeUnit::Nanosecond),
    }
}

fn interval(number: i32) -> Result<IntervalUnit, String> {
    match number {
        0 => Ok(IntervalUnit::YearMonth),
        1 => Ok(IntervalUnit::DayTime),
        2 => Ok(IntervalUnit::MonthDayNano),
        _ => Err(format!("interval unit {number}, expected 0 to 2")),
    }
}

fn decimal(
    precision: i32,
    scale: i32,
    most: u8,
    make: impl Fn(u8, i8) -> DataType,
) -> Result<DataType, String> {
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision @ 1..), Ok(scale)) if precision <= most => Ok(make(precision, scale)),
        _ => {
            Err(format!("a decimal of precision {precision} and scale {scale}, expected 1 to {most} digits"))
        }
    }
}

fn width(width: i32) -> Result<i32, String> {
    if width < 0 { Err(format!("a width of {width}")) } else { Ok(width) }
}

fn only(children: Vec<FieldRef>) -> Result<FieldRef, String> {
    let count = children.len();
    let [child] = <[FieldRef; 1]>::try_from(children).map_err(|_| format!("{count} children, expected 1"))?;
    Ok(child)
}

fn entries(field: FieldRef) -> Result<FieldRef, String> {
    match field.data_type() {
        DataType::Struct(fields) if fields.len() == 2 && !field.is_nullable() && !fields[0].is_nullable() => {
            Ok(field)
        }
        other => {
            Err(format!("a map of {other}, expected keys and values, neither entries nor keys nullable"))
        }
    }
}
