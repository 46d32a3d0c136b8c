//! Select: one output of a nested scope or of a router.
//!
//! **Computes** the change batch at one place of a [`Value::Many`] or a [`Value::Routed`]. **Delta rule**: linear, the selection of the change.
//! **State kept**: none. **Cost per change**: a few reference counts. Behind a router it is queued only by changes that concern its output.

use crate::error::OperatorError;
use crate::operator::Operator;
use crate::value::{Input, Value};

/// Picks output `index`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Select {
    pub(crate) index: usize,
}

impl Select {
    /// The change of the output; `None` if there is none.
    pub(crate) fn eval(&self, input: Input<'_>) -> Result<Option<Value>, OperatorError> {
        if let Value::Routed(parts) = input.value() {
            let place = parts.binary_search_by_key(&self.index, |(output, _)| *output as usize);
            return Ok(place.ok().map(|place| Value::Changes(parts[place].1.clone())));
        }
        let batch = input.as_many()?.get(self.index);
        let batch = batch.cloned().ok_or(OperatorError::Missing { what: "output of a nested scope" })?;
        Ok(Some(Value::Changes(batch)))
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
