//! Inspect: somebody looks on.
//!
//! # Computes
//! Its input. A callback sees each change, consolidated, when it is evaluated; an error of the callback fails the step.
//!
//! # Delta rule
//! Linear: `Δa`.
//!
//! # State kept
//! None.
//!
//! # Cost per change
//! Consolidating it, and the callback.
//!
//! The callback sees a step that may still be rolled back by a later operator. It does not see recomputations: a fresh copy, as
//! new views are filled with it, is silent.
//!
//! # Example
//! Print what reaches a view, to find out why a row is missing.

use std::error::Error;
use std::sync::Arc;

use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};
use tailrace_trace::ChangeBatch;

/// A function that looks at changes.
pub type InspectFn = dyn Fn(&ChangeBatch) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync;

/// Shows changes to a callback and passes them on.
#[derive(Clone)]
pub struct Inspect {
    callback: Option<Arc<InspectFn>>,
}

impl Inspect {
    /// Shows changes to `callback`.
    pub fn new(callback: Arc<InspectFn>) -> Self {
        Self { callback: Some(callback) }
    }
}

impl Operator for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }
}

impl UnaryOperator for Inspect {
    fn eval(&mut self, input: Input<'_>, _ctx: &Context<'_>) -> Result<Value, OperatorError> {
        if let Some(callback) = &self.callback
            && !input.is_empty()
        {
            callback(&input.as_changes()?.consolidate()?).map_err(OperatorError::Callback)?;
        }
        Ok(input.into_value())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self { callback: None })
    }
}
