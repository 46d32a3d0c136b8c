//! `Step`: what one atomic step changed.

use std::sync::Arc;

use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tailrace_engine::trace::ChangeBatch;
use tailrace_engine::{StepChanges, ViewShape};

use crate::arrow_table::ArrowTable;
use crate::enter::enter;
use crate::error::{Kind, raise};
use crate::types::{Type, describe};

/// What one atomic step changed.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
pub(crate) struct Step(pub(crate) StepChanges);

impl Step {
    /// What a view looked like at the step.
    fn shape(&self, py: Python<'_>, view: &str) -> PyResult<&ViewShape> {
        self.0.shape(view).ok_or_else(|| {
            let choices: Vec<&str> = self.0.views().collect();
            let message = format!("view '{view}' does not exist. Views: {}", choices.join(", "));
            raise(py, Kind::UnknownView, message)
        })
    }
}

#[pymethods]
impl Step {
    #[getter]
    fn version(&self) -> u64 {
        self.0.version()
    }

    #[getter]
    fn views(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        enter(py, || Ok(self.0.changed()?.into_iter().map(str::to_owned).collect()))
    }

    fn all_views(&self) -> Vec<String> {
        self.0.views().map(str::to_owned).collect()
    }

    fn view_id(&self, view: &str) -> Option<u64> {
        self.0.shape(view).map(|shape| shape.id)
    }

    fn view_schema(&self, py: Python<'_>, view: &str) -> PyResult<Vec<(String, Py<Type>, bool)>> {
        describe(py, &self.shape(py, view)?.schema)
    }

    fn view_key(&self, py: Python<'_>, view: &str) -> PyResult<Option<Vec<String>>> {
        Ok(self.shape(py, view)?.key.clone())
    }

    fn view_lists(&self, py: Python<'_>, view: &str) -> PyResult<Vec<(Vec<String>, Vec<String>)>> {
        let lists = self.shape(py, view)?.lists.iter();
        Ok(lists.map(|list| (list.path.clone(), list.key.clone())).collect())
    }

    fn delta(&self, py: Python<'_>, view: &str) -> PyResult<ArrowTable> {
        let schema = Arc::clone(&self.shape(py, view)?.schema);
        enter(py, || match self.0.get(view)? {
            Some(changes) => ArrowTable::with_weights(changes),
            None => ArrowTable::with_weights(&ChangeBatch::empty(schema)),
        })
    }

    fn touched<'py>(&self, py: Python<'py>, view: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let keys = enter(py, || Ok(self.0.touched(view)?))?;
        Ok(keys.into_iter().map(|key| PyBytes::new(py, key)).collect())
    }

    fn delta_of(&self, py: Python<'_>, view: &str, key: &[u8]) -> PyResult<ArrowTable> {
        let shape = self.shape(py, view)?;
        let columns = Schema::new(shape.schema.fields()[shape.parameters..].to_vec());
        enter(py, || match self.0.get_of(view, key)? {
            Some(changes) => ArrowTable::with_weights(&changes),
            None => ArrowTable::with_weights(&ChangeBatch::empty(Arc::new(columns))),
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
