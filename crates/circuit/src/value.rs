//! What flows on a stream, and how an operator is handed it.
//!
//! **Promise.** A [`Value`] is cheap to clone: it holds shared columns and shared batches, never rows of its own. An
//! [`Input`] is *owned* exactly when its reader is the last one of the step, so an operator that can work in place may do
//! so, and one that cannot loses nothing by taking the borrowed form.
//!
//! **Why one type.** Operators are picked at run time, so streams are dynamically typed. The few shapes that operators
//! exchange are listed here; asking for the wrong one is an error that names both, not a panic.

use tailrace_trace::{Arranged, ChangeBatch, TimedArranged};

use crate::error::OperatorError;

/// What one stream carries in one step.
#[derive(Clone, Debug)]
pub enum Value {
    /// Rows with weights, in no order.
    Changes(ChangeBatch),
    /// The indexed change of this step together with the trace as it was before the step.
    Indexed(Arranged),
    /// The same inside a nested scope, where a trace is split into earlier steps and this one.
    Timed(TimedArranged),
    /// One change batch for each output of a nested scope.
    Many(Vec<ChangeBatch>),
    /// One change batch for each output of a router that has any rows, by its number, ascending.
    Routed(Vec<(u32, ChangeBatch)>),
}

/// An input of an operator: borrowed, or owned by the last consumer of the stream.
#[derive(Debug)]
pub enum Input<'a> {
    /// Others will read this value after us.
    Borrowed(&'a Value),
    /// Nobody reads this value after us.
    Owned(Value),
}

impl Value {
    /// Rows of change: what is new in this step, not what a trace holds.
    pub fn rows(&self) -> usize {
        match self {
            Value::Changes(batch) => batch.len(),
            Value::Indexed(arranged) => arranged.delta.len(),
            Value::Timed(arranged) => arranged.delta.len(),
            Value::Many(batches) => batches.iter().map(ChangeBatch::len).sum(),
            Value::Routed(parts) => parts.iter().map(|(_, batch)| batch.len()).sum(),
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0
    }

    /// The name of the shape, for errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Changes(_) => "changes",
            Value::Indexed(_) => "indexed changes",
            Value::Timed(_) => "indexed changes of a nested scope",
            Value::Many(_) => "outputs of a nested scope",
            Value::Routed(_) => "outputs of a router",
        }
    }

    /// The change batch.
    pub fn as_changes(&self) -> Result<&ChangeBatch, OperatorError> {
        match self {
            Value::Changes(batch) => Ok(batch),
            other => Err(other.not("changes")),
        }
    }

    /// The change batch, moved out.
    pub fn into_changes(self) -> Result<ChangeBatch, OperatorError> {
        match self {
            Value::Changes(batch) => Ok(batch),
            other => Err(other.not("changes")),
        }
    }

    /// The indexed change and the trace before it.
    pub fn as_indexed(&self) -> Result<&Arranged, OperatorError> {
        match self {
            Value::Indexed(arranged) => Ok(arranged),
            other => Err(other.not("indexed changes")),
        }
    }

    /// The indexed change and the trace before it, moved out.
    pub fn into_indexed(self) -> Result<Arranged, OperatorError> {
        match self {
            Value::Indexed(arranged) => Ok(arranged),
            other => Err(other.not("indexed changes")),
        }
    }

    /// The indexed change of a nested scope.
    pub fn as_timed(&self) -> Result<&TimedArranged, OperatorError> {
        match self {
            Value::Timed(arranged) => Ok(arranged),
            other => Err(other.not("indexed changes of a nested scope")),
        }
    }

    /// The indexed change of a nested scope, moved out.
    pub fn into_timed(self) -> Result<TimedArranged, OperatorError> {
        match self {
            Value::Timed(arranged) => Ok(arranged),
            other => Err(other.not("indexed changes of a nested scope")),
        }
    }

    /// The outputs of a nested scope.
    pub fn as_many(&self) -> Result<&[ChangeBatch], OperatorError> {
        match self {
            Value::Many(batches) => Ok(batches),
            other => Err(other.not("outputs of a nested scope")),
        }
    }

    fn not(&self, expected: &'static str) -> OperatorError {
        OperatorError::WrongValue { expected, found: self.kind() }
    }
}

impl From<ChangeBatch> for Value {
    fn from(batch: ChangeBatch) -> Self {
        Value::Changes(batch)
    }
}

impl From<Arranged> for Value {
    fn from(arranged: Arranged) -> Self {
        Value::Indexed(arranged)
    }
}

impl From<TimedArranged> for Value {
    fn from(arranged: TimedArranged) -> Self {
        Value::Timed(arranged)
    }
}

impl Input<'_> {
    /// The value, wherever it lives.
    pub fn value(&self) -> &Value {
        match self {
            Input::Borrowed(value) => value,
            Input::Owned(value) => value,
        }
    }

    /// The value, moved out; cloned (a few reference counts) only when it is borrowed.
    pub fn into_value(self) -> Value {
        match self {
            Input::Borrowed(value) => value.clone(),
            Input::Owned(value) => value,
        }
    }

    /// Whether this reader is the last one.
    pub fn is_owned(&self) -> bool {
        matches!(self, Input::Owned(_))
    }

    /// Rows of change.
    pub fn rows(&self) -> usize {
        self.value().rows()
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.value().is_empty()
    }

    /// The change batch.
    pub fn as_changes(&self) -> Result<&ChangeBatch, OperatorError> {
        self.value().as_changes()
    }

    /// The change batch, moved out.
    pub fn into_changes(self) -> Result<ChangeBatch, OperatorError> {
        self.into_value().into_changes()
    }

    /// The indexed change and the trace before it.
    pub fn as_indexed(&self) -> Result<&Arranged, OperatorError> {
        self.value().as_indexed()
    }

    /// The indexed change and the trace before it, moved out.
    pub fn into_indexed(self) -> Result<Arranged, OperatorError> {
        self.into_value().into_indexed()
    }

    /// The indexed change of a nested scope.
    pub fn as_timed(&self) -> Result<&TimedArranged, OperatorError> {
        self.value().as_timed()
    }

    /// The indexed change of a nested scope, moved out.
    pub fn into_timed(self) -> Result<TimedArranged, OperatorError> {
        self.into_value().into_timed()
    }

    /// The outputs of a nested scope.
    pub fn as_many(&self) -> Result<&[ChangeBatch], OperatorError> {
        self.value().as_many()
    }
}
