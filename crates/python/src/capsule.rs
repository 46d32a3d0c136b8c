//! Arrow data across the boundary by PyCapsule, without a copy.
#![expect(
    unsafe_code,
    reason = "the Arrow C interface hands over structs behind raw pointers; this is the only place that touches them"
)]

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::{Kind, raise};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The batches of an object with `__arrow_c_stream__` or `__arrow_c_array__`; None if it has neither.
pub(crate) fn import_batches(data: &Bound<'_, PyAny>) -> PyResult<Option<Vec<RecordBatch>>> {
    if data.hasattr("__arrow_c_stream__")? {
        return import_stream(&data.call_method0("__arrow_c_stream__")?).map(Some);
    }
    if data.hasattr("__arrow_c_array__")? {
        let array = import_array(data)?;
        let Some(rows) = array.as_any().downcast_ref::<StructArray>() else {
            let message = format!(
                "expected rows (a struct array or record batch), got an array of {}",
                array.data_type()
            );
            return Err(raise(data.py(), Kind::TypeMismatch, message));
        };
        return Ok(Some(vec![RecordBatch::from(rows.clone())]));
    }
    Ok(None)
}

/// The array of an object with `__arrow_c_array__`.
pub(crate) fn import_array(data: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let pair = data.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.cast::<PyTuple>()?.extract()?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, SCHEMA)?;
    let array = pointer::<FFI_ArrowArray>(&array, ARRAY)?;
    // SAFETY: the capsules carry the names that the Arrow PyCapsule protocol gives to valid structs of these types, and by the protocol the consumer takes the array's
    // content over: `from_raw` leaves a released struct behind, which the capsule's destructor skips.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), &*schema.as_ptr()) };
    // SAFETY: both structs come from one producer and describe one array.
    let mut imported = unsafe { from_ffi(array, schema) }.map_err(|error| refused(data.py(), &error))?;
    imported.align_buffers();
    Ok(make_array(imported))
}

/// A capsule with a stream of batches.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema.clone());
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// A capsule with a schema.
pub(crate) fn export_schema<'py>(
    py: Python<'py>,
    schema: FFI_ArrowSchema,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A pair of capsules with an array.
pub(crate) fn export_array<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let data = array.to_data();
    let schema = FFI_ArrowSchema::try_from(data.data_type()).map_err(|error| refused(py, &error))?;
    let array = FFI_ArrowArray::new(&data);
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [export_schema(py, schema)?.into_any(), array.into_any()])
}

fn import_stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let py = capsule.py();
    let stream = pointer::<FFI_ArrowArrayStream>(capsule.cast::<PyCapsule>()?, STREAM)?;
    // SAFETY: the capsule's name says that it holds a valid stream; by the protocol the consumer takes it over and leaves a released struct behind.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let reader = ArrowArrayStreamReader::try_new(stream).map_err(|error| refused(py, &error))?;
    reader.map(|batch| batch.map(aligned)).collect::<Result<_, _>>().map_err(|error| refused(py, &error))
}

/// Producers promise 8-byte alignment; 128-bit values want 16. Only buffers that need it are copied.
fn aligned(batch: RecordBatch) -> RecordBatch {
    let wide = |data_type: &DataType| {
        matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Interval(_))
    };
    if !batch.schema().fields().iter().any(|field| wide(field.data_type())) {
        return batch;
    }
    let mut data = StructArray::from(batch).to_data();
    data.align_buffers();
    RecordBatch::from(StructArray::from(data))
}

fn pointer<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

fn refused(py: Python<'_>, error: &ArrowError) -> PyErr {
    raise(py, Kind::Schema, format!("the Arrow data cannot be read: {error}"))
}
