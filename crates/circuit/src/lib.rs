//! Streams, nodes, operator traits, nested scopes and the scheduler: everything that runs a circuit, and no operator.
//!
//! A [`Circuit`] is a [`Scope`] of nodes with a clock. Each node holds an operator of some arity ([`operator`]) and writes one
//! stream of [`Value`]s. [`Circuit::step`] gives changes to the sources, evaluates what depends on them and commits all of it or
//! nothing. [`Subcircuit`] is an operator that owns a scope and runs it to a fixed point.
//!
//! **Invariants, stated as absences.** This crate knows no operator, touches no file, starts no thread and keeps nothing
//! global: a circuit is a value that one worker owns.
//!
//! Read in this order: [`operator`] (what an operator promises), [`node`] (why the order of names is a schedule), `tick` (how a
//! step runs), [`nested`] (clocks inside clocks), [`integral`] (how new views are filled).

pub mod checkpoint;
pub mod circuit;
mod clock;
pub mod context;
pub mod error;
mod feedback;
mod fork;
pub mod graph;
mod import;
pub mod integral;
pub mod metrics;
pub mod nested;
pub mod node;
mod operation;
pub mod operator;
pub mod output;
mod schedule;
pub mod scope;
mod select;
mod svg;
mod tick;
pub mod value;
pub mod view;

pub use checkpoint::Checkpoint;
pub use circuit::Circuit;
pub use context::{Context, Interrupt, Moment};
pub use error::{CircuitError, GraphError, OperatorError};
pub use graph::GraphOptions;
pub use metrics::Metrics;
pub use nested::Subcircuit;
pub use node::{NodeId, StreamId};
pub use operator::{
    BinaryOperator, NaryOperator, Operator, RouterOperator, SinkOperator, SourceOperator, StateSize,
    TernaryOperator, UnaryOperator,
};
pub use output::StepOutput;
pub use scope::Scope;
pub use value::{Input, Value};
pub use view::NodeView;
