//! Errors: what an operator may report, what a step reports, and what building a graph reports.
//!
//! **Promise.** An error of a step names the node, its operator and its label, through all levels of nesting; the caller
//! maps errors by variant ([`CircuitError::root`]), never by text.

use std::error::Error;

use tailrace_trace::TraceError;

use crate::node::{NodeId, StreamId};

/// Why an operator could not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// Batches or traces refused the work: an overflow, a wrong schema.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An expression could not be evaluated on these rows.
    #[error("{message}")]
    Evaluation {
        /// What went wrong, with the column, the row and the value.
        message: String,
    },
    /// The step was asked to end.
    #[error("interrupted")]
    Interrupted,
    /// A recursive relation did not reach its fixed point in time.
    #[error("{relation} did not reach a fixed point within {limit} iterations")]
    IterationLimit {
        /// Iterations that were allowed.
        limit: u32,
        /// The recursive relation, as the user named it.
        relation: String,
    },
    /// A function of the user failed.
    #[error(transparent)]
    Callback(Box<dyn Error + Send + Sync>),
    /// A stream carries another shape than the operator reads.
    #[error("expected {expected}, found {found}")]
    WrongValue {
        /// What the operator reads.
        expected: &'static str,
        /// What the stream carries.
        found: &'static str,
    },
    /// The operator depends on when changes came, so its whole content cannot be computed from its inputs' contents.
    #[error("the content of this stream depends on the history of its inputs and cannot be recomputed")]
    NoIntegral,
    /// State that does not belong to this operator was given to it.
    #[error("expected {expected} snapshots of state, found {found}")]
    WrongState {
        /// Snapshots the operator keeps.
        expected: usize,
        /// Snapshots it was given.
        found: usize,
    },
    /// The operator panicked; the step was rolled back.
    #[error("panicked: {message}")]
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// A commit or rollback panicked earlier, so the state of the circuit is unknown.
    #[error("the circuit cannot run any more, since a commit or rollback in it panicked")]
    Poisoned,
    /// A node was addressed that is not there, or is not of the kind that was asked for.
    #[error("there is no such {what} in this circuit")]
    Missing {
        /// What was looked for.
        what: &'static str,
    },
    /// An operator of a nested scope failed.
    #[error(transparent)]
    Nested(Box<CircuitError>),
}

/// Why a step failed, and where.
#[derive(Debug, thiserror::Error)]
#[error("{operator}{}{} (node {node}): {source}", if label.is_empty() { "" } else { " " }, label)]
pub struct CircuitError {
    /// The node whose operator failed.
    pub node: NodeId,
    /// The operator's name.
    pub operator: &'static str,
    /// The operator's label: its predicate, its key.
    pub label: String,
    /// What the operator reported.
    pub source: Box<OperatorError>,
}

/// Why a graph could not be changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// A stream was named that does not exist (any more).
    #[error("there is no stream {stream} in this scope")]
    UnknownStream {
        /// The stream that was named.
        stream: StreamId,
    },
    /// A node was named that does not exist (any more).
    #[error("there is no node {node} in this scope")]
    UnknownNode {
        /// The node that was named.
        node: NodeId,
    },
    /// A node cannot be removed while others read it.
    #[error("node {node} is still read by {readers:?}")]
    InUse {
        /// The node that was to be removed.
        node: NodeId,
        /// The nodes that read it; empty if its stream is watched from outside.
        readers: Vec<NodeId>,
    },
    /// A stream was connected as feedback variable that is none, or twice.
    #[error("stream {stream} is not a feedback variable that waits to be connected")]
    NotFeedback {
        /// The stream that was named.
        stream: StreamId,
    },
}

impl OperatorError {
    /// An evaluation error with this message.
    pub fn evaluation(message: impl Into<String>) -> Self {
        OperatorError::Evaluation { message: message.into() }
    }

    /// An error of a user's function.
    pub fn callback(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        OperatorError::Callback(error.into())
    }
}

impl CircuitError {
    /// The innermost cause, behind all levels of nesting.
    pub fn root(&self) -> &OperatorError {
        match &*self.source {
            OperatorError::Nested(inner) => inner.root(),
            other => other,
        }
    }

    /// The innermost cause, by value.
    pub fn into_root(self) -> OperatorError {
        match *self.source {
            OperatorError::Nested(inner) => inner.into_root(),
            other => other,
        }
    }
}
