//! Cells and rows as plain ordered values, and their way into Arrow columns and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListArray, StringViewArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use tailrace_algebra::OrderedF64;
use tailrace_trace::ChangeBatch;

use super::Rows;

/// One value. The order is that of the engine: NULL first, NaN last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer, date or timestamp of any width.
    Int(i64),
    /// A float.
    Float(OrderedF64),
    /// A decimal as its unscaled integer.
    Decimal(i128),
    /// A string.
    Str(String),
    /// A list.
    List(Vec<Cell>),
}

/// One row.
pub type Row = Vec<Cell>;

impl Cell {
    /// Whether there is no value.
    pub fn is_null(&self) -> bool {
        *self == Cell::Null
    }

    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        if let Cell::Int(value) = self { Some(*value) } else { None }
    }

    /// The float, if it is one.
    pub fn float(&self) -> Option<f64> {
        if let Cell::Float(value) = self { Some(value.get()) } else { None }
    }

    /// The truth value, if it is one.
    pub fn bool(&self) -> Option<bool> {
        if let Cell::Bool(value) = self { Some(*value) } else { None }
    }

    /// The string, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Cell::Str(value) = self { Some(value) } else { None }
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Float(OrderedF64::new(value))
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Cell::Bool(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Str(value.to_owned())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// Rows with weights as a change batch.
pub fn to_batch(schema: &SchemaRef, rows: &[(Row, i64)]) -> ChangeBatch {
    let column = |index: usize| {
        let cells: Vec<&Cell> = rows.iter().map(|(row, _)| &row[index]).collect();
        to_array(schema.field(index).data_type(), &cells)
    };
    let columns = (0..schema.fields().len()).map(column).collect();
    let weights: Vec<i64> = rows.iter().map(|(_, weight)| *weight).collect();
    ChangeBatch::try_new(Arc::clone(schema), columns, weights.into()).unwrap()
}

/// A change batch as a Z-set.
pub fn to_rows(batch: &ChangeBatch) -> Rows {
    let row = |index: usize| batch.columns().iter().map(|column| cell_at(column, index)).collect::<Row>();
    (0..batch.len()).map(|index| (row(index), batch.weights()[index])).collect()
}

/// One value of a column.
pub fn cell_at(array: &ArrayRef, row: usize) -> Cell {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::Boolean => Cell::Bool(array.as_boolean().value(row)),
        DataType::Int32 => Cell::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => Cell::Int(array.as_primitive::<UInt64Type>().value(row).try_into().unwrap()),
        DataType::Date32 => Cell::Int(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Cell::Int(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Float64 => Cell::from(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => Cell::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Utf8View => Cell::from(array.as_string_view().value(row)),
        DataType::List(_) => {
            let values = array.as_list::<i32>().value(row);
            Cell::List((0..values.len()).map(|index| cell_at(&values, index)).collect())
        }
        other => panic!("the oracle knows no cells of type {other}"),
    }
}

/// A column of these values.
pub fn to_array(data_type: &DataType, cells: &[&Cell]) -> ArrayRef {
    let ints = || cells.iter().map(|cell| cell.int());
    match data_type {
        DataType::Boolean => Arc::new(cells.iter().map(|cell| cell.bool()).collect::<BooleanArray>()),
        DataType::Int32 => {
            Arc::new(ints().map(|value| value.map(|value| value as i32)).collect::<Int32Array>())
        }
        DataType::Int64 => Arc::new(ints().collect::<Int64Array>()),
        DataType::UInt64 => {
            Arc::new(ints().map(|value| value.map(|value| value as u64)).collect::<UInt64Array>())
        }
        DataType::Date32 => {
            Arc::new(ints().map(|value| value.map(|value| value as i32)).collect::<Date32Array>())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(ints().collect::<TimestampMicrosecondArray>().with_timezone_opt(zone.clone()))
        }
        DataType::Float64 => Arc::new(cells.iter().map(|cell| cell.float()).collect::<Float64Array>()),
        DataType::Decimal128(precision, scale) => decimals(cells, *precision, *scale),
        DataType::Utf8View => Arc::new(cells.iter().map(|cell| cell.text()).collect::<StringViewArray>()),
        DataType::List(field) => {
            let values: Vec<&Cell> = cells.iter().flat_map(|cell| elements(cell)).collect();
            let offsets = OffsetBuffer::from_lengths(cells.iter().map(|cell| elements(cell).len()));
            let nulls = NullBuffer::from_iter(cells.iter().map(|cell| !cell.is_null()));
            let values = to_array(field.data_type(), &values);
            Arc::new(ListArray::new(Arc::clone(field), offsets, values, Some(nulls)))
        }
        other => panic!("the oracle knows no cells of type {other}"),
    }
}

fn elements(cell: &Cell) -> &[Cell] {
    if let Cell::List(values) = cell { values } else { &[] }
}

fn decimals(cells: &[&Cell], precision: u8, scale: i8) -> ArrayRef {
    let value = |cell: &&Cell| if let Cell::Decimal(value) = cell { *value } else { 0 };
    let values: ScalarBuffer<i128> = cells.iter().map(value).collect();
    let nulls = NullBuffer::from_iter(cells.iter().map(|cell| !cell.is_null()));
    let array = Decimal128Array::new(values, Some(nulls)).with_precision_and_scale(precision, scale);
    Arc::new(array.unwrap())
}
