//! Select: one output of a nested scope.
//!
//! **Computes** the change batch at one place of a [`Value::Many`]. **Delta rule**: linear, the selection of the change.
//! **State kept**: none. **Cost per change**: a few reference counts.

use crate::error::OperatorError;
use crate::operator::Operator;
use crate::value::{Input, Value};

/// Picks output `index` of a nested scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Select {
    pub(crate) index: usize,
}

impl Select {
    pub(crate) fn eval(&self, input: Input<'_>) -> Result<Value, OperatorError> {
        let batch = input.as_many()?.get(self.index);
        batch.cloned().map(Value::Changes).ok_or(OperatorError::Missing { what: "output of a nested scope" })
    }
}

impl Operator for Select {
    fn name(&self) -> &'static str {
        "select"
    }

    fn label(&self) -> String {
        format!("output {}", self.index)
    }
}
