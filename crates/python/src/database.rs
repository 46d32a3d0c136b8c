//! `Database`: the engine behind a lock. The lock is taken without the interpreter's, so many Python threads may wait while one works.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, SchemaRef};
use datafusion_common::ScalarValue;
use pyo3::prelude::*;
use tailrace_engine::sql::{NamedFunction, UserFunction};
use tailrace_engine::trace::{TraceError, normal_concat, normal_schema, normal_type};
use tailrace_engine::{
    Database as Engine, EngineError, OnConflict, Operation, OperationKind, OperatorMetrics, StatementOutcome,
};

use crate::arrow_table::ArrowTable;
use crate::callback::array_function;
use crate::enter::{enter, poll_signals};
use crate::error::{Kind, raise};
use crate::literal::{scalar, scalars_of};
use crate::plan::Plan;
use crate::rows::{Given, given as rows_given};
use crate::step::Step;
use crate::types::{PyField, Type, describe, schema_of};

/// What a statement did: its rows; or the number of changed rows and the step; or what it defined.
type Outcome = (Option<ArrowTable>, Option<(u64, Step)>, Option<String>);

/// What a verification found: whether all is well, rows, hash, kept hash, kept minus computed rows, damaged operators.
type Verified = (bool, u64, String, Option<String>, ArrowTable, Vec<String>);

/// A database in this process.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
pub(crate) struct Database {
    engine: Mutex<Option<Engine>>,
    /// The thread that is inside the engine: a callback of it must not come back in.
    inside: Mutex<Option<ThreadId>>,
}

impl Database {
    /// An engine that Ctrl-C interrupts.
    fn over(engine: Engine) -> Self {
        let (started, last) = (Instant::now(), AtomicU64::new(0));
        engine.interrupt().set_poll(Box::new(move || poll_signals(&started, &last)));
        Self { engine: Mutex::new(Some(engine)), inside: Mutex::new(None) }
    }

    /// Runs `work` on the open engine.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Engine) -> Result<T, EngineError> + Send,
    ) -> PyResult<T> {
        self.refuse_reentry(py)?;
        let outcome = enter(py, || {
            let mut engine = held(&self.engine);
            let Some(engine) = engine.as_mut() else { return Ok(None) };
            *held(&self.inside) = Some(std::thread::current().id());
            let _leave = Leave(&self.inside);
            let result = work(engine);
            engine.interrupt().clear();
            result.map(Some)
        })?;
        outcome.ok_or_else(|| raise(py, Kind::Closed, "the database is closed"))
    }

    /// A function that the engine calls must not call it: it would wait for itself.
    fn refuse_reentry(&self, py: Python<'_>) -> PyResult<()> {
        if *held(&self.inside) != Some(std::thread::current().id()) {
            return Ok(());
        }
        let message =
            "the database was called from inside one of its own functions; hand the work to another thread";
        Err(raise(py, Kind::Plan, message))
    }

    /// What is needed to read data for each table.
    fn targets(&self, py: Python<'_>, tables: &[String]) -> PyResult<Vec<(SchemaRef, Vec<String>)>> {
        let target = |engine: &mut Engine, table: &String| {
            Ok((Arc::clone(engine.table(table)?.schema()), engine.table_key(table)?))
        };
        self.with(py, |engine| tables.iter().map(|table| target(engine, table)).collect())
    }
}

#[pymethods]
impl Database {
    #[new]
    fn new() -> Self {
        Self::over(Engine::new())
    }

    /// How many tables and views were made or dropped.
    #[getter]
    fn definitions(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |engine| Ok(engine.definitions()))
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |engine| Ok(engine.version()))
    }

    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        fields: Vec<PyField>,
        key: Vec<String>,
        defaults: HashMap<String, Bound<'_, PyAny>>,
    ) -> PyResult<Plan> {
        let schema = schema_of(&fields);
        let defaults = scalars_of(&schema, defaults)?;
        self.with(py, |engine| {
            let plan = engine.create_table(name, &schema, &key)?;
            engine.set_defaults(name, defaults)?;
            Ok(plan)
        })
        .map(Plan)
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Plan> {
        self.with(py, |engine| engine.table(name)).map(Plan)
    }

    fn table_key(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        self.with(py, |engine| engine.table_key(name))
    }

    #[pyo3(signature = (name, plan, key = Vec::new()))]
    fn create_view(&self, py: Python<'_>, name: &str, plan: &Plan, key: Vec<String>) -> PyResult<()> {
        let plan = plan.0.clone();
        self.with(py, |engine| engine.create_view(name, plan, key))
    }

    fn create_view_sql(&self, py: Python<'_>, name: &str, sql: &str) -> PyResult<()> {
        self.with(py, |engine| engine.create_view_sql(name, sql))
    }

    /// Runs a text; per statement its rows, or the number of changed rows and the step, or what it defined.
    fn execute(&self, py: Python<'_>, sql: &str, params: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Outcome>> {
        let params = params.iter().map(|value| scalar(value, None)).collect::<PyResult<Vec<_>>>()?;
        self.with(py, |engine| Ok(engine.execute(sql, &params)?.into_iter().map(native_outcome).collect()))
    }

    /// Lets SQL call a Python function over Arrow arrays; an argument without a type is taken as it comes.
    fn register_function(
        &self,
        py: Python<'_>,
        name: String,
        function: Py<PyAny>,
        takes: Vec<Option<Py<Type>>>,
        returns: &Type,
        nullable: bool,
    ) -> PyResult<()> {
        let takes: Vec<_> =
            takes.iter().map(|found| found.as_ref().map(|found| normal_type(&found.get().0))).collect();
        let named = NamedFunction::new(
            UserFunction {
                identity: function.as_ptr() as usize,
                function: array_function(&name, function, &returns.0),
                name: name.clone(),
                returns: returns.0.clone(),
                nullable,
            },
            &takes,
        );
        self.with(py, |engine| {
            engine.register_function(&name, named);
            Ok(())
        })
    }

    fn explain_sql(&self, py: Python<'_>, sql: &str) -> PyResult<String> {
        self.with(py, |engine| engine.explain_sql(sql))
    }

    fn table_schema(&self, py: Python<'_>, name: &str) -> PyResult<Vec<(String, Py<Type>, bool)>> {
        let plan = self.with(py, |engine| engine.table(name))?;
        describe(py, plan.schema())
    }

    fn drop_view(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(py, |engine| engine.drop_view(name))
    }

    fn drop_table(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(py, |engine| engine.drop_table(name))
    }

    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |engine| Ok(engine.tables()))
    }

    fn views(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |engine| Ok(engine.views()))
    }

    fn view_schema(&self, py: Python<'_>, name: &str) -> PyResult<Vec<(String, Py<Type>, bool)>> {
        let schema = self.with(py, |engine| engine.view_schema(name))?;
        describe(py, &schema)
    }

    fn view_key(&self, py: Python<'_>, name: &str) -> PyResult<Option<Vec<String>>> {
        self.with(py, |engine| engine.view_key(name))
    }

    fn view_parameters(&self, py: Python<'_>, name: &str) -> PyResult<Vec<(String, Py<Type>, bool)>> {
        let schema = self.with(py, |engine| engine.view_parameters(name))?;
        describe(py, &schema)
    }

    fn view_columns(&self, py: Python<'_>, name: &str) -> PyResult<Vec<(String, Py<Type>, bool)>> {
        let schema = self.with(py, |engine| engine.view_columns(name))?;
        describe(py, &schema)
    }

    fn ask(
        &self,
        py: Python<'_>,
        view: &str,
        values: Vec<Bound<'_, PyAny>>,
        released: Vec<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<Option<Step>> {
        let schema = self.with(py, |engine| engine.view_parameters(view))?;
        let values = typed(&schema, &values)?;
        let released = released.iter().map(|values| typed(&schema, values)).collect::<PyResult<Vec<_>>>()?;
        Ok(self.with(py, |engine| engine.ask(view, &values, &released))?.map(Step))
    }

    fn parameter_key(&self, py: Python<'_>, view: &str, values: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<u8>> {
        let schema = self.with(py, |engine| engine.view_parameters(view))?;
        let values = typed(&schema, &values)?;
        self.with(py, |engine| engine.parameter_key(view, &values))
    }

    #[pyo3(signature = (view, values, weighted = false))]
    fn snapshot_of(
        &self,
        py: Python<'_>,
        view: &str,
        values: Vec<Bound<'_, PyAny>>,
        weighted: bool,
    ) -> PyResult<ArrowTable> {
        let schema = self.with(py, |engine| engine.view_parameters(view))?;
        let values = typed(&schema, &values)?;
        self.with(py, |engine| {
            let rows = engine.snapshot_of(view, &values)?;
            if weighted { ArrowTable::with_weights(&rows) } else { ArrowTable::of_rows(view, &rows) }
        })
    }

    fn view_lists(&self, py: Python<'_>, name: &str) -> PyResult<Vec<(Vec<String>, Vec<String>)>> {
        let lists = self.with(py, |engine| engine.view_lists(name))?;
        Ok(lists.into_iter().map(|list| (list.path, list.key)).collect())
    }

    fn apply(&self, py: Python<'_>, operations: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Step> {
        let tables: Vec<String> = operations.iter().map(|(_, table, _)| table.clone()).collect();
        let targets = self.targets(py, &tables)?;
        let mut given = Vec::with_capacity(operations.len());
        for ((kind, table, data), (schema, keys)) in operations.iter().zip(&targets) {
            let kind = OperationKind::from_name(kind).ok_or_else(|| raise(py, Kind::Plan, format!("operation '{kind}' does not exist. Operations: insert, upsert, update, delete, weighted")))?;
            given.push((kind, table.clone(), rows_given(data, table, schema, keys)?));
        }
        self.with(py, |engine| engine.apply(&joined(given)?)).map(Step)
    }

    #[pyo3(signature = (view_or_table, weighted = false, view_id = None))]
    fn snapshot(
        &self,
        py: Python<'_>,
        view_or_table: &str,
        weighted: bool,
        view_id: Option<u64>,
    ) -> PyResult<ArrowTable> {
        self.with(py, |engine| {
            view_id.map_or(Ok(()), |id| engine.check_view(view_or_table, id))?;
            let rows = engine.snapshot(view_or_table)?;
            if weighted { ArrowTable::with_weights(&rows) } else { ArrowTable::of_rows(view_or_table, &rows) }
        })
    }

    /// The number of the view, after checking that it is the one of a handle.
    #[pyo3(signature = (name, view_id = None))]
    fn view_id(&self, py: Python<'_>, name: &str, view_id: Option<u64>) -> PyResult<u64> {
        self.with(py, |engine| {
            view_id.map_or(Ok(()), |id| engine.check_view(name, id))?;
            engine.view_id(name)
        })
    }

    fn view_hash(&self, py: Python<'_>, name: &str, view_id: u64) -> PyResult<String> {
        self.with(py, |engine| {
            engine.check_view(name, view_id)?;
            Ok(hex(engine.view_hash(name)?))
        })
    }

    /// None for a view that depends on when changes came.
    fn verify(&self, py: Python<'_>, name: &str, view_id: u64) -> PyResult<Option<Verified>> {
        self.with(py, |engine| {
            engine.check_view(name, view_id)?;
            let found = match engine.verify(name) {
                Err(EngineError::NotVerifiable { .. }) => return Ok(None),
                found => found?,
            };
            let (ok, difference) = (found.is_ok(), ArrowTable::with_weights(&found.difference)?);
            Ok(Some((ok, found.rows, hex(found.hash), found.kept_hash.map(hex), difference, found.damaged)))
        })
    }

    fn branch(&self, py: Python<'_>) -> PyResult<Self> {
        self.with(py, |engine| engine.branch()).map(Self::over)
    }

    fn merge(&self, py: Python<'_>, branch: &Self, on_conflict: &str) -> PyResult<Step> {
        let policy = OnConflict::from_name(on_conflict).ok_or_else(|| {
            let message = format!("on_conflict='{on_conflict}' is not known. Choices: error, branch, parent");
            raise(py, Kind::Plan, message)
        })?;
        let changes = branch.with(py, |engine| engine.branch_changes())?;
        self.with(py, |engine| engine.merge(&changes, policy)).map(Step)
    }

    fn graph(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        self.with(py, |engine| engine.graph(format))
    }

    fn metrics(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        self.with(py, |engine| Ok(ArrowTable::new(metrics_batch(&engine.metrics())?)))
    }

    fn explain(&self, py: Python<'_>, view: &str) -> PyResult<String> {
        self.with(py, |engine| engine.explain(view))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.refuse_reentry(py)?;
        let engine = py.detach(|| held(&self.engine).take());
        py.detach(|| drop(engine));
        Ok(())
    }
}

/// Values of parameters, in their types.
fn typed(schema: &SchemaRef, values: &[Bound<'_, PyAny>]) -> PyResult<Vec<ScalarValue>> {
    let one = |(field, value): (&FieldRef, &Bound<'_, PyAny>)| scalar(value, Some(field.data_type()));
    schema.fields().iter().zip(values).map(one).collect()
}

/// Notes that the thread has left the engine, also after a panic.
struct Leave<'a>(&'a Mutex<Option<ThreadId>>);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        *held(self.0) = None;
    }
}

/// The lock, also if a panic was caught while it was held: the engine rolls a panicked step back and stays whole.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One operation per given data: chunks of one table are put together, so that a key that stands twice is found.
fn joined(given: Vec<(OperationKind, String, Given)>) -> Result<Vec<Operation>, EngineError> {
    let mut operations = Vec::with_capacity(given.len());
    for (kind, table, Given { mut batches, omitted }) in given {
        let rows = match batches.len() {
            0 => continue,
            1 => batches.swap_remove(0),
            _ => put_together(&batches)?,
        };
        operations.push(Operation { kind, table, rows, omitted });
    }
    Ok(operations)
}

/// Rows whose columns are worth putting together on several threads.
const MANY_ROWS: usize = 200_000;

/// What `column` gives for `0..columns`, made on all cores.
fn side_by_side(
    columns: usize,
    column: impl Fn(usize) -> Result<ArrayRef, TraceError> + Sync,
) -> Result<Vec<ArrayRef>, TraceError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(columns).max(1);
    let every = |first: usize| (first..columns).step_by(threads).map(&column).collect::<Vec<_>>();
    let mut made: Vec<std::vec::IntoIter<_>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || every(first))).collect();
        let own = every(0).into_iter();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(columns) => columns.into_iter(),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(own).chain(others).collect()
    });
    (0..columns).filter_map(|index| made[index % threads].next()).collect()
}

/// All rows in one batch, in normal form: the bytes of texts are shared.
fn put_together(batches: &[RecordBatch]) -> Result<RecordBatch, TraceError> {
    let schema = normal_schema(batches[0].schema_ref());
    let column = |index: usize| {
        let chunks: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(index)).collect();
        normal_concat(&chunks)
    };
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let columns = if rows < MANY_ROWS {
        (0..schema.fields().len()).map(column).collect::<Result<_, _>>()?
    } else {
        side_by_side(schema.fields().len(), column)?
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

fn metrics_batch(metrics: &[OperatorMetrics]) -> Result<RecordBatch, EngineError> {
    let (mut node, mut operator, mut label, mut seconds) =
        (UInt32Builder::new(), StringBuilder::new(), StringBuilder::new(), Float64Builder::new());
    for row in metrics {
        node.append_value(row.node);
        operator.append_value(&row.operator);
        label.append_value(&row.label);
        seconds.append_value(row.time.as_secs_f64());
    }
    let count = |get: fn(&OperatorMetrics) -> u64| -> ArrayRef {
        let mut builder = UInt64Builder::new();
        metrics.iter().for_each(|row| builder.append_value(get(row)));
        Arc::new(builder.finish())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("node", Arc::new(node.finish())),
        ("operator", Arc::new(operator.finish())),
        ("label", Arc::new(label.finish())),
        ("rows_in", count(|row| row.rows_in)),
        ("rows_out", count(|row| row.rows_out)),
        ("seconds", Arc::new(seconds.finish())),
        ("state_rows", count(|row| row.state_rows)),
        ("state_bytes", count(|row| row.state_bytes)),
        ("batches", count(|row| row.batches)),
    ];
    Ok(RecordBatch::try_from_iter(columns).map_err(TraceError::from)?)
}

fn native_outcome(outcome: StatementOutcome) -> Outcome {
    match outcome {
        StatementOutcome::Rows(batch) => (Some(ArrowTable::new(batch)), None, None),
        StatementOutcome::Changed { count, changes, returned } => {
            (returned.map(ArrowTable::new), Some((count, Step(changes))), None)
        }
        StatementOutcome::Defined(what) => (None, None, Some(what)),
    }
}

/// A hash as people compare it.
fn hex(hash: u128) -> String {
    format!("{hash:032x}")
}
