//! Python values to Arrow columns: lists of dicts or of objects, dicts of columns, keys. An error names the column and the row.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder, StringViewBuilder,
};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::capsule::import_batches;
use crate::error::{Kind, raise};
use crate::scalars::{date, decimal, float32, float64, micros_of_delta, time_of_day, timestamp};

/// Data as rows of a table.
#[derive(Default)]
pub(crate) struct Given {
    /// The rows, in chunks.
    pub(crate) batches: Vec<RecordBatch>,
    /// Columns that only some rows give, with a bit set for each row that does not.
    pub(crate) omitted: Vec<(String, BooleanBuffer)>,
}

/// The rows of `data` for a table of that schema. `keys` are the key columns, for data that is a list of keys.
pub(crate) fn given(
    data: &Bound<'_, PyAny>,
    table: &str,
    schema: &Schema,
    keys: &[String],
) -> PyResult<Given> {
    let batches = batches(data, table, schema, keys)?;
    let omitted = if batches.len() == 1 { omitted(data, &batches[0])? } else { Vec::new() };
    Ok(Given { batches, omitted })
}

/// The rows alone: what a row does not give is NULL.
pub(crate) fn batches(
    data: &Bound<'_, PyAny>,
    table: &str,
    schema: &Schema,
    keys: &[String],
) -> PyResult<Vec<RecordBatch>> {
    if let Some(batches) = import_batches(data)? {
        return Ok(batches);
    }
    let target = Target { table, schema, keys };
    if let Ok(columns) = data.cast::<PyDict>() {
        let is_columns = columns.values().iter().all(|value| {
            value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || has_arrow(&value)
        });
        return Ok(vec![if is_columns {
            target.read_columns(columns)?
        } else {
            target.read_rows(&PyList::new(data.py(), [columns])?)?
        }]);
    }
    if let Ok(rows) = data.cast::<PyList>() {
        return Ok(vec![target.read_rows(rows)?]);
    }
    if data.is_instance_of::<PyTuple>()
        || !has_fields(data, schema)
            && data.try_iter().is_ok()
            && !data.is_instance_of::<pyo3::types::PyString>()
    {
        let rows = PyList::new(data.py(), data.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
        return Ok(vec![target.read_rows(&rows)?]);
    }
    Ok(vec![target.read_rows(&PyList::new(data.py(), [data])?)?])
}

/// One column of values.
pub(crate) fn column(values: &[Option<Bound<'_, PyAny>>], field: &Field, what: &str) -> PyResult<ArrayRef> {
    Column { field, what }.build(values)
}

/// What dicts with different keys do not give.
fn omitted(data: &Bound<'_, PyAny>, rows: &RecordBatch) -> PyResult<Vec<(String, BooleanBuffer)>> {
    let Ok(list) = data.cast::<PyList>() else { return Ok(Vec::new()) };
    let dicts: Vec<Bound<'_, PyDict>> = list.iter().map_while(|row| row.cast_into().ok()).collect();
    if dicts.len() < list.len() || dicts.iter().all(|row| row.len() == rows.num_columns()) {
        return Ok(Vec::new());
    }
    let mut omitted = Vec::new();
    for field in rows.schema_ref().fields() {
        let lacks = |row: &Bound<'_, PyDict>| row.contains(field.name()).map(|there| !there);
        let lacking: BooleanBuffer = dicts.iter().map(lacks).collect::<PyResult<Vec<bool>>>()?.into();
        if lacking.count_set_bits() > 0 {
            omitted.push((field.name().clone(), lacking));
        }
    }
    Ok(omitted)
}

fn has_arrow(value: &Bound<'_, PyAny>) -> bool {
    value.hasattr("__arrow_c_array__").unwrap_or(false)
        || value.hasattr("__array__").unwrap_or(false)
        || value.hasattr("__arrow_c_stream__").unwrap_or(false)
}

fn has_fields(value: &Bound<'_, PyAny>, schema: &Schema) -> bool {
    schema.fields().iter().any(|field| value.hasattr(field.name().as_str()).unwrap_or(false))
}

struct Target<'a> {
    table: &'a str,
    schema: &'a Schema,
    keys: &'a [String],
}

impl Target<'_> {
    fn read_columns(&self, columns: &Bound<'_, PyDict>) -> PyResult<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, values) in columns {
            let name: String = name.extract()?;
            let field = self.field(columns.py(), &name)?;
            let array = if values.hasattr("__arrow_c_array__")? {
                crate::capsule::import_array(&values)?
            } else {
                let values: Vec<Bound<'_, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
                self.array(&values.into_iter().map(not_none).collect::<Vec<_>>(), &field)?
            };
            fields.push(field.with_data_type(array.data_type().clone()).with_nullable(true));
            arrays.push(array);
        }
        if let Some(wrong) = arrays.iter().position(|array| array.len() != arrays[0].len()) {
            let message = format!(
                "columns of different length: '{}' has {} rows, '{}' has {}",
                fields[0].name(),
                arrays[0].len(),
                fields[wrong].name(),
                arrays[wrong].len()
            );
            return Err(raise(columns.py(), Kind::Schema, message));
        }
        record_batch(columns.py(), fields, arrays, None)
    }

    fn read_rows(&self, rows: &Bound<'_, PyList>) -> PyResult<RecordBatch> {
        let py = rows.py();
        if rows.is_empty() {
            return record_batch(py, Vec::new(), Vec::new(), Some(0));
        }
        let first = rows.get_item(0)?;
        if let Ok(dict) = first.cast::<PyDict>() {
            return self.read_dicts(rows, dict);
        }
        if has_fields(&first, self.schema) && !is_scalar(&first) {
            return self.read_objects(rows);
        }
        self.read_keys(rows)
    }

    fn read_dicts(&self, rows: &Bound<'_, PyList>, first: &Bound<'_, PyDict>) -> PyResult<RecordBatch> {
        let py = rows.py();
        let mut names: Vec<String> = first.keys().extract()?;
        for (index, row) in rows.iter().enumerate().skip(1) {
            let row = row.cast::<PyDict>().map_err(|_| self.wrong_row(&row, index))?;
            if row.len() != names.len()
                || !names.iter().all(|name| row.contains(name.as_str()).unwrap_or(false))
            {
                for name in row.keys() {
                    let name: String = name.extract()?;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        self.collect(py, &names, rows, |row, name| row.cast::<PyDict>()?.get_item(name))
    }

    fn read_objects(&self, rows: &Bound<'_, PyList>) -> PyResult<RecordBatch> {
        let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        self.collect(rows.py(), &names, rows, |row, name| row.getattr(name).map(Some))
    }

    /// Keys: scalars, or tuples for several columns.
    fn read_keys(&self, rows: &Bound<'_, PyList>) -> PyResult<RecordBatch> {
        let py = rows.py();
        if self.keys.is_empty() {
            return Err(self.wrong_row(&rows.get_item(0)?, 0));
        }
        let wide = self.keys.len() > 1;
        let mut columns: Vec<Vec<Option<Bound<'_, PyAny>>>> =
            vec![Vec::with_capacity(rows.len()); self.keys.len()];
        for (index, row) in rows.iter().enumerate() {
            let parts: Vec<Bound<'_, PyAny>> = match row.cast::<PyTuple>() {
                Ok(tuple) => tuple.iter().collect(),
                Err(_) if wide => return Err(self.wrong_row(&row, index)),
                Err(_) => vec![row.clone()],
            };
            if parts.len() != self.keys.len() {
                let message = format!(
                    "row {index} for table '{}': expected a key of {} values ({}), got {}",
                    self.table,
                    self.keys.len(),
                    self.keys.join(", "),
                    parts.len()
                );
                return Err(raise(py, Kind::Schema, message));
            }
            columns.iter_mut().zip(parts).for_each(|(column, part)| column.push(not_none(part)));
        }
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, values) in self.keys.iter().zip(&columns) {
            let field = self.field(py, name)?;
            arrays.push(self.array(values, &field)?);
            fields.push(field.with_nullable(true));
        }
        record_batch(py, fields, arrays, None)
    }

    fn collect<'py>(
        &self,
        py: Python<'py>,
        names: &[String],
        rows: &Bound<'py, PyList>,
        get: impl Fn(&Bound<'py, PyAny>, &str) -> PyResult<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for name in names {
            let field = self.field(py, name)?;
            let mut values = Vec::with_capacity(rows.len());
            for (index, row) in rows.iter().enumerate() {
                let value = get(&row, name).map_err(|_| self.wrong_row(&row, index))?;
                values.push(value.and_then(not_none));
            }
            arrays.push(self.array(&values, &field)?);
            fields.push(field.with_nullable(true));
        }
        record_batch(py, fields, arrays, Some(rows.len()))
    }

    fn array(&self, values: &[Option<Bound<'_, PyAny>>], field: &Field) -> PyResult<ArrayRef> {
        column(values, field, &format!("column '{}' of table '{}'", field.name(), self.table))
    }

    fn field(&self, py: Python<'_>, name: &str) -> PyResult<Field> {
        if name == "_weight" {
            return Ok(Field::new(name, DataType::Int64, false));
        }
        self.schema.field_with_name(name).cloned().map_err(|_| {
            let choices: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
            raise(
                py,
                Kind::Column,
                format!(
                    "table '{}' has no column '{name}'. Existing columns: {}",
                    self.table,
                    choices.join(", ")
                ),
            )
        })
    }

    fn wrong_row(&self, row: &Bound<'_, PyAny>, index: usize) -> PyErr {
        let found = row.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
        let message = format!(
            "row {index} for table '{}': expected a dict or an object with its columns, got {found}",
            self.table
        );
        raise(row.py(), Kind::TypeMismatch, message)
    }
}

struct Column<'a> {
    field: &'a Field,
    what: &'a str,
}

type Values<'a, 'py> = &'a [Option<Bound<'py, PyAny>>];

impl Column<'_> {
    fn build(&self, values: Values<'_, '_>) -> PyResult<ArrayRef> {
        macro_rules! ints {
            ($t:ty) => {
                self.primitive::<$t>(values, |value| value.extract())
            };
        }
        match self.field.data_type() {
            DataType::Null => Ok(new_null_array(&DataType::Null, values.len())),
            DataType::Boolean => self.booleans(values),
            DataType::Int8 => ints!(Int8Type),
            DataType::Int16 => ints!(Int16Type),
            DataType::Int32 => ints!(Int32Type),
            DataType::Int64 => ints!(Int64Type),
            DataType::UInt8 => ints!(UInt8Type),
            DataType::UInt16 => ints!(UInt16Type),
            DataType::UInt32 => ints!(UInt32Type),
            DataType::UInt64 => ints!(UInt64Type),
            DataType::Float32 => self.primitive::<Float32Type>(values, float32),
            DataType::Float64 => self.primitive::<Float64Type>(values, float64),
            DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => self.strings(values),
            DataType::Binary | DataType::BinaryView | DataType::LargeBinary => self.binaries(values),
            DataType::FixedSizeBinary(width) => self.fixed(values, *width),
            DataType::Decimal128(precision, scale) => {
                let (precision, scale) = (*precision, *scale);
                let array =
                    self.primitive::<Decimal128Type>(values, |value| decimal(value, precision, scale))?;
                Ok(arrow_cast(&array, self.field.data_type()))
            }
            DataType::Date32 => self.primitive::<Date32Type>(values, date),
            DataType::Time64(TimeUnit::Microsecond) => {
                self.primitive::<Time64MicrosecondType>(values, time_of_day)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                self.primitive::<DurationMicrosecondType>(values, micros_of_delta)
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let zoned = zone.is_some();
                let array =
                    self.primitive::<TimestampMicrosecondType>(values, |value| timestamp(value, zoned))?;
                Ok(arrow_cast(&array, self.field.data_type()))
            }
            DataType::List(item) => self.list(values, item),
            DataType::Struct(fields) => {
                self.structs(values, &fields.iter().map(|field| field.as_ref().clone()).collect::<Vec<_>>())
            }
            DataType::Map(entries, sorted) => self.map(values, entries, *sorted),
            other => Err(raise_here(
                values,
                format!(
                    "{}: Python values of type {other} are not supported; pass an Arrow array",
                    self.what
                ),
            )),
        }
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        values: Values<'_, '_>,
        extract: impl Fn(&Bound<'_, PyAny>) -> PyResult<T::Native>,
    ) -> PyResult<ArrayRef> {
        let mut builder = PrimitiveBuilder::<T>::with_capacity(values.len());
        for (row, value) in values.iter().enumerate() {
            match value {
                None => builder.append_null(),
                Some(value) if value.is_instance_of::<pyo3::types::PyBool>() => {
                    return Err(self.wrong(value, row));
                }
                Some(value) => builder.append_value(extract(value).map_err(|_| self.wrong(value, row))?),
            }
        }
        Ok(Arc::new(builder.finish()))
    }

    fn booleans(&self, values: Values<'_, '_>) -> PyResult<ArrayRef> {
        let mut builder = BooleanBuilder::with_capacity(values.len());
        for (row, value) in values.iter().enumerate() {
            builder.append_option(
                value
                    .as_ref()
                    .map(|value| value.extract::<bool>().map_err(|_| self.wrong(value, row)))
                    .transpose()?,
            );
        }
        Ok(Arc::new(builder.finish()))
    }

    fn strings(&self, values: Values<'_, '_>) -> PyResult<ArrayRef> {
        let mut builder = StringViewBuilder::with_capacity(values.len());
        for (row, value) in values.iter().enumerate() {
            match value {
                None => builder.append_null(),
                Some(value) => builder.append_value(
                    value.extract::<pyo3::pybacked::PyBackedStr>().map_err(|_| self.wrong(value, row))?,
                ),
            }
        }
        Ok(Arc::new(builder.finish()))
    }

    fn binaries(&self, values: Values<'_, '_>) -> PyResult<ArrayRef> {
        let mut builder = BinaryViewBuilder::with_capacity(values.len());
        for (row, value) in values.iter().enumerate() {
            match value {
                None => builder.append_null(),
                Some(value) => builder
                    .append_value(value.cast::<PyBytes>().map_err(|_| self.wrong(value, row))?.as_bytes()),
            }
        }
        Ok(Arc::new(builder.finish()))
    }

    /// Bytes of a fixed width, or anything with `bytes` such as a UUID.
    fn fixed(&self, values: Values<'_, '_>, width: i32) -> PyResult<ArrayRef> {
        let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), width);
        for (row, value) in values.iter().enumerate() {
            let Some(value) = value else {
                builder.append_null();
                continue;
            };
            let bytes = if value.is_instance_of::<PyBytes>() {
                value.clone()
            } else {
                value.getattr("bytes").map_err(|_| self.wrong(value, row))?
            };
            let bytes = bytes.cast::<PyBytes>().map_err(|_| self.wrong(value, row))?;
            builder.append_value(bytes.as_bytes()).map_err(|_| self.wrong(value, row))?;
        }
        Ok(Arc::new(builder.finish()))
    }

    fn list(&self, values: Values<'_, '_>, item: &Arc<Field>) -> PyResult<ArrayRef> {
        let (mut lengths, mut flat) = (Vec::with_capacity(values.len()), Vec::new());
        for (row, value) in values.iter().enumerate() {
            let before = flat.len();
            if let Some(value) = value {
                if value.is_instance_of::<pyo3::types::PyString>() || value.is_instance_of::<PyBytes>() {
                    return Err(self.wrong(value, row));
                }
                for element in value.try_iter().map_err(|_| self.wrong(value, row))? {
                    flat.push(not_none(element?));
                }
            }
            lengths.push(flat.len() - before);
        }
        let elements = column(&flat, item, &format!("an element of {}", self.what))?;
        let item = Arc::new(item.as_ref().clone().with_data_type(elements.data_type().clone()));
        Ok(Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths), elements, validity(values))))
    }

    fn structs(&self, values: Values<'_, '_>, fields: &[Field]) -> PyResult<ArrayRef> {
        let mut arrays = Vec::with_capacity(fields.len());
        let mut built = Vec::with_capacity(fields.len());
        for field in fields {
            let mut parts = Vec::with_capacity(values.len());
            for (row, value) in values.iter().enumerate() {
                let part = value
                    .as_ref()
                    .map(|value| member(value, field.name()).map_err(|_| self.wrong(value, row)))
                    .transpose()?;
                parts.push(part.and_then(not_none));
            }
            let array = column(&parts, field, &format!("field '{}' of {}", field.name(), self.what))?;
            built.push(field.clone().with_data_type(array.data_type().clone()).with_nullable(true));
            arrays.push(array);
        }
        Ok(Arc::new(StructArray::new(built.into(), arrays, validity(values))))
    }

    fn map(&self, values: Values<'_, '_>, entries: &Arc<Field>, sorted: bool) -> PyResult<ArrayRef> {
        let DataType::Struct(fields) = entries.data_type() else {
            return Err(raise_here(values, format!("{}: a map needs keys and values", self.what)));
        };
        let (mut lengths, mut keys, mut items) = (Vec::with_capacity(values.len()), Vec::new(), Vec::new());
        for (row, value) in values.iter().enumerate() {
            let before = keys.len();
            if let Some(value) = value {
                for (key, item) in value.cast::<PyDict>().map_err(|_| self.wrong(value, row))? {
                    keys.push(Some(key));
                    items.push(not_none(item));
                }
            }
            lengths.push(keys.len() - before);
        }
        let keys = column(&keys, &fields[0], &format!("a key of {}", self.what))?;
        let items = column(&items, &fields[1], &format!("a value of {}", self.what))?;
        let fields = vec![
            fields[0].as_ref().clone().with_data_type(keys.data_type().clone()),
            fields[1].as_ref().clone().with_data_type(items.data_type().clone()),
        ];
        let pairs = StructArray::new(fields.into(), vec![keys, items], None);
        let entries = Arc::new(entries.as_ref().clone().with_data_type(pairs.data_type().clone()));
        Ok(Arc::new(MapArray::new(
            entries,
            OffsetBuffer::from_lengths(lengths),
            pairs,
            validity(values),
            sorted,
        )))
    }

    fn wrong(&self, value: &Bound<'_, PyAny>, row: usize) -> PyErr {
        let found = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        let shown = value.repr().map_or_else(|_| String::new(), |text| text.to_string());
        let expected = tailrace_engine::trace::external_type(self.field.data_type());
        raise(
            value.py(),
            Kind::TypeMismatch,
            format!("{}: row {row} is {shown} ({found}), expected {expected}", self.what),
        )
    }
}

fn member<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    match value.cast::<PyDict>() {
        Ok(dict) => dict.as_any().get_item(name),
        Err(_) => value.getattr(name),
    }
}

fn validity(values: Values<'_, '_>) -> Option<NullBuffer> {
    values.iter().any(Option::is_none).then(|| values.iter().map(Option::is_some).collect())
}

fn not_none(value: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    (!value.is_none()).then_some(value)
}

fn is_scalar(value: &Bound<'_, PyAny>) -> bool {
    use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
    value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyTuple>()
}

fn raise_here(values: Values<'_, '_>, message: String) -> PyErr {
    match values.iter().flatten().next() {
        Some(value) => raise(value.py(), Kind::TypeMismatch, message),
        None => pyo3::exceptions::PyTypeError::new_err(message),
    }
}

fn arrow_cast(array: &ArrayRef, target: &DataType) -> ArrayRef {
    let data = array.to_data().into_builder().data_type(target.clone());
    data.build().map_or_else(|_| Arc::clone(array), arrow_array::make_array)
}

fn record_batch(
    py: Python<'_>,
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    rows: Option<usize>,
) -> PyResult<RecordBatch> {
    let fields: Vec<Field> = fields
        .into_iter()
        .zip(&arrays)
        .map(|(field, array)| field.with_data_type(array.data_type().clone()))
        .collect();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let rows = rows.or_else(|| arrays.first().map(|array| array.len()));
    let options = RecordBatchOptions::new().with_row_count(rows);
    RecordBatch::try_new_with_options(schema, arrays, &options)
        .map_err(|error| raise(py, Kind::Schema, error.to_string()))
}
