//! What can be wrong with a program. Each message names what was found and lists the choices.

use arrow_schema::DataType;
use datafusion_common::DataFusionError;
use tailrace_circuit::{GraphError, OperatorError};
use tailrace_operators::nested::RecursionError;
use tailrace_trace::TraceError;
use thiserror::Error;

/// Why a program cannot be planned.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A column that the input does not have.
    #[error("Column '{name}' is not found. Existing columns: {}", choices.join(", "))]
    UnknownColumn {
        /// What was asked for.
        name: String,
        /// What there is.
        choices: Vec<String>,
    },
    /// A table or view that does not exist.
    #[error("Table or view '{name}' is not found. Existing: {}", if choices.is_empty() { "none".to_owned() } else { choices.join(", ") })]
    UnknownRelation {
        /// What was asked for.
        name: String,
        /// What there is.
        choices: Vec<String>,
    },
    /// A function that does not exist.
    #[error("Function '{name}' is not found. {hint}")]
    UnknownFunction {
        /// What was asked for.
        name: String,
        /// The closest names.
        hint: String,
    },
    /// Two types that must be equal, or a type where another is needed.
    #[error("{context}: expected {expected}, found {found}")]
    TypeMismatch {
        /// Where.
        context: String,
        /// The type that is needed.
        expected: String,
        /// The type that is there.
        found: String,
    },
    /// A part of a text that cannot be maintained, with the name by which it is found in the text.
    #[error("{reason}")]
    Refused {
        /// The function or relation to blame.
        name: String,
        /// Why.
        reason: String,
    },
    /// Something that cannot be maintained or is not a well-formed program.
    #[error("{0}")]
    Invalid(String),
    /// An expression that DataFusion refuses.
    #[error("{0}")]
    Expression(String),
    /// The circuit refused a node.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A trace refused a layout.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An operator refused its specification.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

impl PlanError {
    /// A mismatch of two Arrow types.
    pub fn types(context: impl Into<String>, expected: &DataType, found: &DataType) -> Self {
        Self::TypeMismatch {
            context: context.into(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

impl From<RecursionError> for PlanError {
    fn from(error: RecursionError) -> Self {
        match error {
            RecursionError::Graph(error) => error.into(),
            RecursionError::Operator(error) => error.into(),
            error => Self::Invalid(error.to_string()),
        }
    }
}

impl From<DataFusionError> for PlanError {
    fn from(error: DataFusionError) -> Self {
        Self::Expression(error.strip_backtrace())
    }
}
