//! `Step`: what one atomic step changed.

use std::sync::Arc;

use pyo3::prelude::*;
use tailrace_engine::StepChanges;
use tailrace_engine::trace::ChangeBatch;

use crate::arrow_table::ArrowTable;
use crate::enter::enter;
use crate::error::{Kind, raise};

/// What one atomic step changed.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
pub(crate) struct Step {
    pub(crate) changes: StepChanges,
    /// All views with their schema, to answer for views that did not change.
    pub(crate) schemas: Arc<Vec<(String, arrow_schema::SchemaRef)>>,
}

#[pymethods]
impl Step {
    #[getter]
    fn version(&self) -> u64 {
        self.changes.version()
    }

    #[getter]
    fn views(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        enter(py, || Ok(self.changes.changed()?.into_iter().map(str::to_owned).collect()))
    }

    fn delta(&self, py: Python<'_>, view: &str) -> PyResult<ArrowTable> {
        let Some((_, schema)) = self.schemas.iter().find(|(name, _)| name == view) else {
            let choices: Vec<&str> = self.schemas.iter().map(|(name, _)| name.as_str()).collect();
            return Err(raise(
                py,
                Kind::UnknownView,
                format!("view '{view}' does not exist. Views: {}", choices.join(", ")),
            ));
        };
        enter(py, || match self.changes.get(view)? {
            Some(changes) => ArrowTable::with_weights(changes),
            None => ArrowTable::with_weights(&ChangeBatch::empty(Arc::clone(schema))),
        })
    }

    fn rows<'py>(&self, py: Python<'py>, view: &str) -> PyResult<Vec<(Bound<'py, PyAny>, i64)>> {
        let table = Py::new(py, self.delta(py, view)?)?;
        let dicts = py.import("pyarrow")?.getattr("table")?.call1((table,))?.call_method0("to_pylist")?;
        let row = |row: PyResult<Bound<'py, PyAny>>| {
            let row = row?;
            let weight = row.call_method1("pop", ("_weight",))?.extract()?;
            Ok((row, weight))
        };
        dicts.try_iter()?.map(row).collect()
    }
}
