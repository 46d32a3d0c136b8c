//! Nested scopes: a circuit inside an operator, run to a fixed point by its own clock.

/// An operator that owns a scope and runs it to a fixed point.
pub struct Subcircuit {}
