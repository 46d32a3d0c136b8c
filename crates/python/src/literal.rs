//! Python constants as scalar values.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use datafusion_common::ScalarValue;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};
use tailrace_engine::trace::normal_type;

use crate::error::{Kind, raise};
use crate::rows::column;

/// The constant, of the given type or of the one that its Python type suggests.
pub(crate) fn scalar(value: &Bound<'_, PyAny>, data_type: Option<&DataType>) -> PyResult<ScalarValue> {
    let data_type = match data_type {
        Some(data_type) => normal_type(data_type),
        None => suggested(value)?,
    };
    let field = Field::new("literal", data_type, true);
    let values = [(!value.is_none()).then(|| value.clone())];
    let array = column(&values, &field, "the literal")?;
    ScalarValue::try_from_array(&array, 0)
        .map_err(|error| raise(value.py(), Kind::TypeMismatch, error.to_string()))
}

/// The values of columns, each of its column's type.
pub(crate) fn scalars_of(
    schema: &Schema,
    values: HashMap<String, Bound<'_, PyAny>>,
) -> PyResult<HashMap<String, ScalarValue>> {
    let typed = |(name, value): (String, Bound<'_, PyAny>)| {
        let field = schema.field_with_name(&name).ok();
        Ok((name.clone(), scalar(&value, field.map(Field::data_type))?))
    };
    values.into_iter().map(typed).collect()
}

fn suggested(value: &Bound<'_, PyAny>) -> PyResult<DataType> {
    if value.is_none() {
        return Ok(DataType::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(DataType::Boolean);
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(DataType::Int64);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(DataType::Float64);
    }
    if value.is_instance_of::<PyString>() {
        return Ok(DataType::Utf8View);
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(DataType::BinaryView);
    }
    if let Ok(list) = value.cast::<PyList>() {
        let item = if list.is_empty() { DataType::Null } else { suggested(&list.get_item(0)?)? };
        return Ok(DataType::new_list(item, true));
    }
    by_class(value)
}

fn by_class(value: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let name = value.get_type().name()?.to_string();
    match name.as_str() {
        "datetime" => {
            let zone = (!value.call_method0("utcoffset")?.is_none()).then(|| "UTC".into());
            Ok(DataType::Timestamp(TimeUnit::Microsecond, zone))
        }
        "date" => Ok(DataType::Date32),
        "time" => Ok(DataType::Time64(TimeUnit::Microsecond)),
        "timedelta" => Ok(DataType::Duration(TimeUnit::Microsecond)),
        "UUID" => Ok(DataType::FixedSizeBinary(16)),
        "Decimal" => Ok(DataType::Decimal128(38, decimal_scale(value)?)),
        _ => Err(raise(
            value.py(),
            Kind::TypeMismatch,
            format!("a {name} cannot be a constant in an expression"),
        )),
    }
}

fn decimal_scale(value: &Bound<'_, PyAny>) -> PyResult<i8> {
    let exponent: i64 = value.call_method0("as_tuple")?.getattr("exponent")?.extract()?;
    Ok((-exponent).clamp(0, 38) as i8)
}
