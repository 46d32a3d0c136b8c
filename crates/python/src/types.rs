//! `Type`: the type of a column.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tailrace_engine::trace::{external_type, normal_type};

use crate::capsule::export_schema;
use crate::error::{Kind, raise};

/// The type of a column, in external form.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
#[derive(Clone)]
pub(crate) struct Type(pub(crate) DataType);

/// A field as Python gives it: name, type, nullable.
pub(crate) type PyField = (String, Py<Type>, bool);

/// The schema of fields given by Python.
pub(crate) fn schema_of(fields: &[PyField]) -> Schema {
    Schema::new(fields_of(fields))
}

/// The fields of a schema as Python sees them.
pub(crate) fn describe(py: Python<'_>, schema: &Schema) -> PyResult<Vec<(String, Py<Type>, bool)>> {
    let field = |field: &Arc<Field>| {
        let data_type = Py::new(py, Type(external_type(field.data_type())))?;
        Ok((field.name().clone(), data_type, field.is_nullable()))
    };
    schema.fields().iter().map(field).collect()
}

fn fields_of(fields: &[PyField]) -> Fields {
    fields
        .iter()
        .map(|(name, data_type, nullable)| Field::new(name, data_type.get().0.clone(), *nullable))
        .collect()
}

#[pymethods]
impl Type {
    #[staticmethod]
    fn of(py: Python<'_>, name: &str) -> PyResult<Self> {
        named(name).map(Self).ok_or_else(|| {
            raise(py, Kind::Plan, format!("type '{name}' does not exist. Types: {}", NAMES.join(", ")))
        })
    }

    #[staticmethod]
    fn decimal(py: Python<'_>, precision: u8, scale: i8) -> PyResult<Self> {
        match precision {
            1..=38 if i16::from(scale) <= i16::from(precision) && scale >= 0 => {
                Ok(Self(DataType::Decimal128(precision, scale)))
            }
            39..=76 if i16::from(scale) <= i16::from(precision) && scale >= 0 => {
                Ok(Self(DataType::Decimal256(precision, scale)))
            }
            _ => Err(raise(
                py,
                Kind::Plan,
                format!(
                    "decimal({precision}, {scale}): the precision is 1 to 76, the scale 0 to the precision"
                ),
            )),
        }
    }

    #[staticmethod]
    #[pyo3(signature = (tz = None))]
    fn timestamp(tz: Option<String>) -> Self {
        Self(DataType::Timestamp(TimeUnit::Microsecond, tz.map(Into::into)))
    }

    #[staticmethod]
    fn fixed_size_binary(width: i32) -> Self {
        Self(DataType::FixedSizeBinary(width))
    }

    #[staticmethod]
    #[pyo3(signature = (item, nullable = true))]
    fn list(item: &Self, nullable: bool) -> Self {
        Self(DataType::new_list(item.0.clone(), nullable))
    }

    #[staticmethod]
    #[pyo3(name = "struct")]
    fn struct_of(fields: Vec<PyField>) -> Self {
        Self(DataType::Struct(fields_of(&fields)))
    }

    #[staticmethod]
    #[pyo3(signature = (key, value, nullable = true))]
    fn map(key: &Self, value: &Self, nullable: bool) -> Self {
        let fields = Fields::from(vec![
            Field::new("key", key.0.clone(), false),
            Field::new("value", value.0.clone(), nullable),
        ]);
        Self(DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields), false)), false))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| normal_type(&other.get().0) == normal_type(&self.0))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        normal_type(&self.0).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("Type({})", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(&self.0).map_err(|error| raise(py, Kind::Schema, error.to_string()))?;
        export_schema(py, schema)
    }
}

const NAMES: [&str; 19] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "utf8",
    "binary",
    "date",
    "time",
    "timestamp",
    "duration",
    "interval",
    "null",
];

fn named(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "utf8" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "duration" => DataType::Duration(TimeUnit::Microsecond),
        "interval" => DataType::Interval(IntervalUnit::MonthDayNano),
        "null" => DataType::Null,
        _ => return None,
    })
}
