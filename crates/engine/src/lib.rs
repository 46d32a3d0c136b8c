//! The database: tables with keys, views, atomic steps. What Rust users depend on.
//!
//! A [`Database`] owns one circuit. Tables are its sources, views are watched streams. [`Database::apply`] folds a batch of operations into one change per
//! table, checks it against the tables, runs one step and gives the changes of the views; if anything is wrong nothing has happened. This crate
//! knows no Python.

mod alter;
mod answer;
mod branch;
mod catalog;
mod change;
mod conform;
mod contents;
mod database;
mod error;
mod fold;
mod operation;
mod parameters;
mod statement;
mod step;
mod steps;
mod table;
mod verify;
mod view;

pub use branch::{BranchChanges, OnConflict};
pub use database::{Database, OperatorMetrics};
pub use error::EngineError;
pub use operation::{Operation, OperationKind};
pub use statement::StatementOutcome;
pub use step::StepChanges;
pub use tailrace_circuit::{CircuitError, Interrupt, OperatorError};
pub use tailrace_sql as sql;
pub use tailrace_trace as trace;
pub use verify::Verification;
pub use view::{ViewShape, ViewShapes};
