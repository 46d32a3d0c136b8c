//! Exceptions: one class per kind of mistake, with the built-in parent where one fits. Errors are mapped here, by variant, and nowhere else.

use std::error::Error as StdError;

use pyo3::exceptions::{
    PyArithmeticError, PyKeyError, PyKeyboardInterrupt, PyOverflowError, PyRecursionError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use tailrace_engine::sql::PlanError;
use tailrace_engine::trace::TraceError;
use tailrace_engine::{EngineError, OperatorError};

/// The classes of exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Schema,
    Column,
    TypeMismatch,
    NotNull,
    KeyNotFound,
    DuplicateKey,
    UnknownTable,
    UnknownView,
    WeightOverflow,
    Evaluation,
    Udf,
    IterationLimit,
    Plan,
    Closed,
    Internal,
    Sql,
    MergeConflict,
}

static CLASSES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();

/// Adds all classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let classes = CLASSES.get_or_try_init(module.py(), || make_classes(module.py()))?;
    for class in classes {
        let class = class.bind(module.py());
        module.add(class.name()?.to_str()?, class)?;
    }
    Ok(())
}

/// An exception of a kind.
pub(crate) fn raise(py: Python<'_>, kind: Kind, message: impl Into<String>) -> PyErr {
    match CLASSES.get(py) {
        Some(classes) => PyErr::from_type(classes[kind as usize].bind(py).clone(), (message.into(),)),
        None => PyRuntimeError::new_err(message.into()),
    }
}

/// The exception for an error of the engine.
pub(crate) fn from_engine(py: Python<'_>, error: EngineError) -> PyErr {
    let kind = match &error {
        EngineError::Plan(error) => plan_kind(error),
        EngineError::Sql(_) => Kind::Sql,
        EngineError::Step(_) | EngineError::StepOf { .. } | EngineError::Operator(_) => {
            return from_operator(py, error);
        }
        EngineError::WeightOverflow { .. } | EngineError::Trace(TraceError::WeightOverflow) => {
            Kind::WeightOverflow
        }
        EngineError::UnknownTable { .. } => Kind::UnknownTable,
        EngineError::UnknownView { .. } | EngineError::StaleView { .. } => Kind::UnknownView,
        EngineError::MergeConflict { .. } | EngineError::MergeLack { .. } => Kind::MergeConflict,
        EngineError::Exists { .. }
        | EngineError::InUse { .. }
        | EngineError::NotVerifiable { .. }
        | EngineError::Unsupported(_) => Kind::Plan,
        EngineError::UnknownColumn { .. }
        | EngineError::MissingColumn { .. }
        | EngineError::RepeatedColumn { .. }
        | EngineError::StrayWeight { .. }
        | EngineError::ReservedColumn { .. } => Kind::Column,
        EngineError::ColumnType { .. } => Kind::TypeMismatch,
        EngineError::NotNull { .. } => Kind::NotNull,
        EngineError::DuplicateKey { .. } | EngineError::TakenKey { .. } => Kind::DuplicateKey,
        EngineError::KeyNotFound { .. } => Kind::KeyNotFound,
        EngineError::BadWeight { .. } => Kind::Schema,
        EngineError::Trace(_) => Kind::Error,
        EngineError::Graph(_) => Kind::Internal,
    };
    raise(py, kind, error.to_string())
}

/// The exception for an error of a plan.
pub(crate) fn from_plan(py: Python<'_>, error: &PlanError) -> PyErr {
    raise(py, plan_kind(error), error.to_string())
}

fn plan_kind(error: &PlanError) -> Kind {
    match error {
        PlanError::UnknownColumn { .. } => Kind::Column,
        PlanError::TypeMismatch { .. } => Kind::TypeMismatch,
        PlanError::UnknownRelation { .. } => Kind::UnknownTable,
        PlanError::Refused { .. }
        | PlanError::UnknownFunction { .. }
        | PlanError::Invalid(_)
        | PlanError::Expression(_)
        | PlanError::Trace(_)
        | PlanError::Operator(_) => Kind::Plan,
        PlanError::Graph(_) => Kind::Internal,
    }
}

/// Errors of a running step. A Python exception that a user's function raised becomes the cause.
fn from_operator(py: Python<'_>, error: EngineError) -> PyErr {
    let message = error.to_string();
    let root = match &error {
        EngineError::Step(error) | EngineError::StepOf { source: error, .. } => error.root(),
        EngineError::Operator(error) => error,
        _ => return raise(py, Kind::Error, message),
    };
    match root {
        OperatorError::Interrupted => {
            crate::enter::take_signal(py).unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
        OperatorError::Callback(cause) => callback_error(py, &message, cause.as_ref()),
        OperatorError::Trace(TraceError::WeightOverflow) => raise(py, Kind::WeightOverflow, message),
        OperatorError::Evaluation { .. } => raise(py, Kind::Evaluation, message),
        OperatorError::IterationLimit { .. } => raise(py, Kind::IterationLimit, message),
        OperatorError::Panicked { .. } | OperatorError::Poisoned | OperatorError::WrongValue { .. } => {
            raise(py, Kind::Internal, message)
        }
        _ => raise(py, Kind::Error, message),
    }
}

/// An exception that is no error (KeyboardInterrupt, SystemExit, a cancelled task) goes on as it is: who waits for it would not know a wrapped one.
fn callback_error(py: Python<'_>, message: &str, cause: &(dyn StdError + Send + Sync + 'static)) -> PyErr {
    let Some(cause) = cause.downcast_ref::<PyErr>() else { return raise(py, Kind::Udf, message) };
    if !cause.is_instance_of::<pyo3::exceptions::PyException>(py) {
        return cause.clone_ref(py);
    }
    let raised = raise(py, Kind::Udf, message);
    raised.set_cause(py, Some(cause.clone_ref(py)));
    raised
}

fn make_classes(py: Python<'_>) -> PyResult<Vec<Py<PyType>>> {
    let object = |name: &str, bases: Vec<Bound<'_, PyAny>>, doc: &str| -> PyResult<Py<PyType>> {
        let dict = pyo3::types::PyDict::new(py);
        dict.set_item("__doc__", doc)?;
        dict.set_item("__module__", "tailrace")?;
        let made = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, dict))?;
        Ok(made.cast_into::<PyType>()?.unbind())
    };
    let error = object(
        "Error",
        vec![py.get_type::<pyo3::exceptions::PyException>().into_any()],
        "Every error of Tailrace.",
    )?;
    let base = error.bind(py).clone().into_any();
    let value = py.get_type::<PyValueError>().into_any();
    let key = py.get_type::<PyKeyError>().into_any();
    let schema = object("SchemaError", vec![base.clone(), value.clone()], "Columns do not fit.")?;
    let schema_base = schema.bind(py).clone().into_any();
    // KeyError shows its argument quoted, as a key; these are sentences.
    let sentence = |class: Py<PyType>| -> PyResult<Py<PyType>> {
        class
            .bind(py)
            .setattr("__str__", py.get_type::<pyo3::exceptions::PyException>().getattr("__str__")?)?;
        Ok(class)
    };
    let column = object("ColumnError", vec![schema_base], "A column is missing or unknown.")?;
    let mismatch = object(
        "TypeMismatchError",
        vec![base.clone(), py.get_type::<PyTypeError>().into_any()],
        "A value or column has the wrong type.",
    )?;
    let not_null = object("NotNullError", vec![base.clone(), value.clone()], "NULL where none may be.")?;
    let not_found = sentence(object(
        "KeyNotFoundError",
        vec![base.clone(), key.clone()],
        "A key that is to be changed does not exist.",
    )?)?;
    let duplicate =
        object("DuplicateKeyError", vec![base.clone(), value.clone()], "A key that is to be new exists.")?;
    let table =
        sentence(object("UnknownTableError", vec![base.clone(), key.clone()], "There is no such table.")?)?;
    let view = sentence(object("UnknownViewError", vec![base.clone(), key], "There is no such view.")?)?;
    let overflow = object(
        "WeightOverflowError",
        vec![base.clone(), py.get_type::<PyOverflowError>().into_any()],
        "Weights left their range.",
    )?;
    let evaluation = object(
        "EvaluationError",
        vec![base.clone(), py.get_type::<PyArithmeticError>().into_any()],
        "An expression failed on a row.",
    )?;
    let udf = object("UdfError", vec![base.clone()], "A function of the user failed.")?;
    let limit = object(
        "IterationLimitError",
        vec![base.clone(), py.get_type::<PyRecursionError>().into_any()],
        "A recursion did not end.",
    )?;
    let plan = object("PlanError", vec![base.clone(), value], "A program cannot be planned.")?;
    let sql = object(
        "SqlError",
        vec![plan.bind(py).clone().into_any()],
        "A SQL text is refused; the message shows the place.",
    )?;
    let runtime = py.get_type::<PyRuntimeError>().into_any();
    let conflict = object(
        "MergeConflictError",
        vec![base.clone(), runtime.clone()],
        "A branch and its parent have changed the same key.",
    )?;
    let closed = object("ClosedError", vec![base.clone(), runtime.clone()], "The database is closed.")?;
    let internal = object("InternalError", vec![base, runtime], "A defect of Tailrace itself.")?;
    Ok(vec![
        error, schema, column, mismatch, not_null, not_found, duplicate, table, view, overflow, evaluation,
        udf, limit, plan, closed, internal, sql, conflict,
    ])
}
