//! Operators of nested scopes: incremental along two axes, the steps of the circuit and the iterations of the scope.
//!
//! Inside a scope a stream carries `δ(t, i)`: what step `t` changes about what iteration `i` adds. Linear operators need nothing new, since
//! they commute with both differences: filter, map, unnest, plus, minus and negate are used as they are. The operators here are those that
//! need the past. They keep each row with the iteration of its change and add up over steps (`history.rs`), since no rule asks in which step
//! a row came. What follows at a later iteration from something that came at an earlier one waits in `agenda.rs`.
//!
//! One level of nesting: in a scope inside a scope a change has three coordinates, and these operators refuse to work.

mod agenda;
mod arrange;
mod history;
mod iteration;
mod join;
mod recursion;
mod reduce;
mod row_weights;
mod step_sums;

pub use arrange::TimedArrange;
pub use join::TimedJoin;
pub use recursion::{Inside, Outer, Recursion, RecursionError, Recursive};
pub use reduce::TimedReduce;
pub use row_weights::{DistinctRule, PositiveRule, RowRule, TimedDistinct, TimedPositive, TimedRowWeights};
