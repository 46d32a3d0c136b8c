//! Functions of the user: called with the interpreter, Arrow in and out.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tailrace_engine::sql::{ArrayFunction, BoxError, Observer, RowFunction};
use tailrace_engine::trace::external_array;

use crate::arrow_table::ArrowTable;
use crate::capsule::{export_array, import_array};
use crate::rows::column;

/// An array given to a user's function.
#[pyclass(frozen, skip_from_py_object, name = "ArrowArray", module = "tailrace._tailrace")]
pub(crate) struct ArrowArray(ArrayRef);

#[pymethods]
impl ArrowArray {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        export_array(py, &self.0)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// A Python function over arrays. It may return an Arrow array, or any sequence of Python values.
pub(crate) fn array_function(name: &str, function: Py<PyAny>, returns: &DataType) -> ArrayFunction {
    let (name, returns) = (name.to_owned(), returns.clone());
    Arc::new(move |arrays, _rows| {
        Python::attach(|py| call_arrays(py, &name, &function, arrays, &returns)).map_err(BoxError::from)
    })
}

/// A Python function over rows as dicts.
pub(crate) fn row_function(function: Py<PyAny>, schema: Schema, flat: bool) -> RowFunction {
    Arc::new(move |rows| {
        Python::attach(|py| call_rows(py, &function, rows, &schema, flat)).map_err(BoxError::from)
    })
}

/// A Python function that is shown changes.
pub(crate) fn observer(function: Py<PyAny>) -> Observer {
    Arc::new(move |changes| {
        let table = ArrowTable::with_weights(changes)?;
        Python::attach(|py| function.call1(py, (table,)).map(drop)).map_err(BoxError::from)
    })
}

fn call_arrays(
    py: Python<'_>,
    name: &str,
    function: &Py<PyAny>,
    arrays: &[ArrayRef],
    returns: &DataType,
) -> PyResult<ArrayRef> {
    let args = arrays
        .iter()
        .map(|array| Py::new(py, ArrowArray(Arc::clone(array))))
        .collect::<PyResult<Vec<_>>>()?;
    let result = function.bind(py).call1(PyTuple::new(py, args)?)?;
    let array = if result.hasattr("__arrow_c_array__")? {
        import_array(&result)?
    } else {
        let values: Vec<Bound<'_, PyAny>> = result.try_iter()?.collect::<PyResult<_>>()?;
        column(
            &options(values),
            &Field::new(name, returns.clone(), true),
            &format!("the result of function '{name}'"),
        )?
    };
    let array = if array.data_type() == returns { array } else { declared(&array, returns) };
    Ok(array)
}

/// The array in its declared type if that is the same type in another form (string views, large strings).
fn declared(array: &ArrayRef, returns: &DataType) -> ArrayRef {
    let same = tailrace_engine::trace::normal_type(array.data_type())
        == tailrace_engine::trace::normal_type(returns);
    if same { external_array(array).unwrap_or_else(|_| Arc::clone(array)) } else { Arc::clone(array) }
}

fn call_rows(
    py: Python<'_>,
    function: &Py<PyAny>,
    rows: &RecordBatch,
    schema: &Schema,
    flat: bool,
) -> PyResult<(RecordBatch, UInt32Array)> {
    let external = rows.columns().iter().map(external_array).collect::<Result<Vec<_>, _>>();
    let external =
        external.map_err(|error| crate::error::raise(py, crate::error::Kind::Error, error.to_string()))?;
    let fields: Vec<Field> = rows
        .schema_ref()
        .fields()
        .iter()
        .zip(&external)
        .map(|(field, array)| field.as_ref().clone().with_data_type(array.data_type().clone()))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), external)
        .map_err(|error| crate::error::raise(py, crate::error::Kind::Schema, error.to_string()))?;
    let dicts = py
        .import("pyarrow")?
        .getattr("table")?
        .call1((ArrowTable::new(batch),))?
        .call_method0("to_pylist")?;
    let results: Vec<Bound<'_, PyAny>> =
        function.bind(py).call1((dicts,))?.try_iter()?.collect::<PyResult<_>>()?;
    if results.len() != rows.num_rows() {
        let message = format!("the function returned {} results for {} rows", results.len(), rows.num_rows());
        return Err(crate::error::raise(py, crate::error::Kind::Udf, message));
    }
    let (mut produced, mut sources) = (Vec::new(), Vec::new());
    for (row, result) in results.into_iter().enumerate() {
        let outputs = if flat { result.try_iter()?.collect::<PyResult<Vec<_>>>()? } else { vec![result] };
        sources.extend(std::iter::repeat_n(row as u32, outputs.len()));
        produced.extend(outputs);
    }
    let list = PyList::new(py, produced)?;
    let mut batches = crate::rows::batches(list.as_any(), "the result of map_rows", schema, &[])?;
    let batch = batches.pop().unwrap_or_else(|| RecordBatch::new_empty(Arc::new(schema.clone())));
    Ok((ordered(py, &batch, schema)?, sources.into()))
}

/// The columns in the declared order; all of them are needed.
fn ordered(py: Python<'_>, batch: &RecordBatch, schema: &Schema) -> PyResult<RecordBatch> {
    if batch.num_rows() == 0 {
        return Ok(RecordBatch::new_empty(tailrace_engine::trace::normal_schema(schema)));
    }
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let missing = || {
            crate::error::raise(
                py,
                crate::error::Kind::Column,
                format!("the result of map_rows has no column '{}'", field.name()),
            )
        };
        columns.push(Arc::clone(batch.column_by_name(field.name()).ok_or_else(missing)?));
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .zip(&columns)
        .map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| crate::error::raise(py, crate::error::Kind::NotNull, error.to_string()))
}

fn options(values: Vec<Bound<'_, PyAny>>) -> Vec<Option<Bound<'_, PyAny>>> {
    values.into_iter().map(|value| (!value.is_none()).then_some(value)).collect()
}
