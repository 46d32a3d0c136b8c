//! The operators: one file each, all of one shape. Each header states what the operator computes, its delta rule, the state it keeps and
//! the cost of a change. Operators touch no file and no thread; they are evaluated by a circuit.

mod scalar;

pub use scalar::Scalar;
