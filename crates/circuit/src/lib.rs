//! Streams, nodes, operator traits, nested scopes and the scheduler: everything that runs a circuit, and no operator.
//!
//! **Invariants, stated as absences.** This crate knows no operator, touches no file, starts no thread and keeps nothing
//! global: a circuit is a value that one worker owns.

pub mod context;
pub mod error;
pub mod nested;
pub mod node;
pub mod operator;
pub mod value;

pub use context::{Context, Interrupt, Moment};
pub use error::{CircuitError, GraphError, OperatorError};
pub use nested::Subcircuit;
pub use node::{NodeId, StreamId};
pub use operator::{
    BinaryOperator, NaryOperator, Operator, SinkOperator, SourceOperator, StateSize, TernaryOperator, UnaryOperator,
};
pub use value::{Input, Value};
