//! The import: how a stream of the outer scope enters a nested one.
//!
//! **Computes** `delta0`: the outer change at iteration 0 and nothing after it. Summed over the iterations of a step this is
//! the outer change again, so inside the scope the outer stream looks like a constant.
//!
//! A *held* import shows the same outer value at every iteration, but wakes its readers only at the first. It is meant for
//! traces of the outer scope: an operator inside that reads one looks at the iteration to know whether the delta is new, and no
//! second index of the same rows is needed.

use crate::operator::Operator;
use crate::value::Value;

/// A stream of the outer scope, seen from inside.
#[derive(Debug)]
pub(crate) struct Import {
    held: bool,
    value: Option<Value>,
}

impl Import {
    pub(crate) fn new(held: bool) -> Self {
        Import { held, value: None }
    }

    /// The same import of nothing.
    pub(crate) fn fresh(&self) -> Self {
        Import::new(self.held)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Takes the outer value of this step.
    pub(crate) fn load(&mut self, value: Value) {
        self.value = Some(value);
    }

    /// Drops the outer value, when the scope has run.
    pub(crate) fn unload(&mut self) {
        self.value = None;
    }

    /// The outer value.
    pub(crate) fn send(&mut self) -> Option<Value> {
        if self.held { self.value.clone() } else { self.value.take() }
    }
}

impl Operator for Import {
    fn name(&self) -> &'static str {
        "import"
    }

    fn idle(&self) -> Option<Value> {
        if self.held { self.value.clone() } else { None }
    }

    fn rollback(&mut self) {
        self.unload();
    }
}
