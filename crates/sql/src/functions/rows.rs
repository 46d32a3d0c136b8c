//! Loops over rows, for functions that look at one row at a time, and the types that such functions take.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringViewArray};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};

/// All arguments as texts, exactly so many.
pub(crate) fn texts<const N: usize>(args: &[DataType]) -> Option<Vec<DataType>> {
    (args.len() == N && args.iter().all(is_text)).then(|| vec![DataType::Utf8View; N])
}

/// Whether a value of the type is written as a text without asking: texts and an untyped NULL.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_null()
}

/// Whether the type is a number or an untyped NULL.
pub(crate) fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_null()
}

/// The column of texts.
pub(crate) fn text(array: &ArrayRef) -> &StringViewArray {
    array.as_string_view()
}

/// The value of a text, None for NULL.
pub(crate) fn text_at(array: &StringViewArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

/// The value of an integer, None for NULL.
pub(crate) fn integer_at(array: &ArrayRef, row: usize) -> Option<i64> {
    let values = array.as_primitive::<Int64Type>();
    values.is_valid(row).then(|| values.value(row))
}

/// The value of a float, None for NULL.
pub(crate) fn float_at(array: &ArrayRef, row: usize) -> Option<f64> {
    let values = array.as_primitive::<Float64Type>();
    values.is_valid(row).then(|| values.value(row))
}

/// A column of texts, row by row.
pub(crate) fn text_column<T: AsRef<str>>(
    rows: usize,
    mut value: impl FnMut(usize) -> Result<Option<T>>,
) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        out.append_option(value(row)?);
    }
    Ok(Arc::new(out.finish()))
}

/// A column of numbers, row by row.
pub(crate) fn number_column<T: ArrowPrimitiveType>(
    rows: usize,
    value: impl FnMut(usize) -> Result<Option<T::Native>>,
) -> Result<ArrayRef> {
    Ok(Arc::new((0..rows).map(value).collect::<Result<PrimitiveArray<T>>>()?))
}

/// A column of truths, row by row.
pub(crate) fn truth_column(
    rows: usize,
    value: impl FnMut(usize) -> Result<Option<bool>>,
) -> Result<ArrayRef> {
    Ok(Arc::new((0..rows).map(value).collect::<Result<BooleanArray>>()?))
}

/// A value that a function cannot take.
pub(crate) fn wrong(message: impl Into<String>) -> DataFusionError {
    DataFusionError::Execution(message.into())
}
