//! `ArrowTable`: record batches of one schema, handed out by PyCapsule.

use std::sync::Arc;

use arrow::ffi::FFI_ArrowSchema;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tailrace_engine::EngineError;
use tailrace_engine::trace::{
    ChangeBatch, TraceError, external_array, external_schema, normal_array, normal_schema,
};

use crate::capsule::{export_schema, export_stream};
use crate::enter::enter;
use crate::error::{Kind, raise};

/// Copies of rows beyond the first ones that a table may have.
const MOST_REPEATED: u128 = 100_000_000;

/// Record batches of one schema.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
pub(crate) struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: vec![batch] }
    }

    /// Changes with their weights in a last column `_weight`.
    pub(crate) fn with_weights(changes: &ChangeBatch) -> Result<Self, EngineError> {
        let mut columns = external_columns(changes)?;
        columns.push(Arc::new(Int64Array::new(changes.weights().clone(), None)));
        let mut fields: Vec<_> = external_schema(changes.schema()).fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new("_weight", DataType::Int64, false)));
        Self::of(Arc::new(Schema::new(fields)), columns, changes.len())
    }

    /// Rows, each as often as its weight says. A negative weight has no such form, and neither have more copies than memory holds.
    pub(crate) fn of_rows(name: &str, changes: &ChangeBatch) -> Result<Self, EngineError> {
        if changes.weights().iter().all(|weight| *weight == 1) {
            return Self::of(external_schema(changes.schema()), external_columns(changes)?, changes.len());
        }
        let refuse = |row: usize, reason: String| {
            Err(EngineError::Unsupported(format!(
                "row {row} of '{name}' has weight {}: {reason}; read it with its weights, by snapshot(weighted=True)",
                changes.weights()[row]
            )))
        };
        if let Some(row) = changes.weights().iter().position(|weight| *weight < 0) {
            return refuse(row, "rows with negative weights are no table".to_owned());
        }
        let mut total = 0_u128;
        for (row, weight) in changes.weights().iter().enumerate() {
            total += *weight as u128;
            if total - row as u128 > MOST_REPEATED {
                return refuse(row, format!("a table repeats rows at most {MOST_REPEATED} times"));
            }
        }
        let repeat = |(row, weight): (usize, &i64)| std::iter::repeat_n(row as u32, *weight as usize);
        let rows: UInt32Array =
            changes.weights().iter().enumerate().flat_map(repeat).collect::<Vec<_>>().into();
        let repeated = changes.take(&rows)?;
        Self::of(external_schema(repeated.schema()), external_columns(&repeated)?, repeated.len())
    }

    fn of(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<Self, EngineError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options).map_err(TraceError::from)?;
        Ok(Self::new(batch))
    }
}

/// Weighted rows, as they stand in a batch with `_weight` as its last column, in normal form.
fn weighted(batch: &RecordBatch) -> Result<ChangeBatch, TraceError> {
    let last = batch.num_columns().saturating_sub(1);
    let columns = batch.columns()[..last].iter().map(normal_array).collect::<Result<_, _>>()?;
    let schema = normal_schema(&Schema::new(batch.schema().fields()[..last].to_vec()));
    let weights = batch.column(last).as_primitive::<Int64Type>().values().clone();
    ChangeBatch::try_new(schema, columns, weights)
}

fn external_columns(changes: &ChangeBatch) -> Result<Vec<ArrayRef>, TraceError> {
    changes.columns().iter().map(external_array).collect()
}

#[pymethods]
impl ArrowTable {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| raise(py, Kind::Schema, error.to_string()))?;
        export_schema(py, schema)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        export_stream(py, &self.schema, self.batches.clone())
    }

    /// The sum of two tables of weighted rows of one view: what cancels is gone.
    fn plus(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        enter(py, || {
            let both = self.batches.iter().chain(&other.batches);
            let parts = both.map(weighted).collect::<Result<Vec<_>, _>>()?;
            let schema = Arc::clone(parts[0].schema());
            Self::with_weights(&ChangeBatch::concat(schema, &parts)?.consolidate()?)
        })
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}
