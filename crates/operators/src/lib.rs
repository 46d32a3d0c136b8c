//! The operators: one file each, all of one shape. Each header states what the operator computes, its delta rule, the state it keeps and
//! the cost of a change. Operators touch no file and no thread; they are evaluated by a circuit.

mod aggregate;
mod arrange;
mod distinct;
mod filter;
mod filter_map;
mod gather;
mod join;
mod key_weights;
mod map;
mod minus;
mod negate;
pub mod nested;
mod ordering;
mod pairs;
mod plus;
mod positive;
mod ranked;
mod row_weights;
mod scalar;
mod semi_join;
mod state;
mod sum;
mod table_source;
mod top_k;
mod versions;

pub use aggregate::{Aggregate, AggregateCall, AggregateFunction, AggregateSpec};
pub use arrange::Arrange;
pub use distinct::Distinct;
pub use filter::Filter;
pub use filter_map::FilterMap;
pub use join::{Join, JoinColumn, JoinSpec};
pub use map::Map;
pub use minus::Minus;
pub use negate::Negate;
pub use ordering::OrderBy;
pub use nested::{TimedArrange, TimedDistinct, TimedJoin, TimedPositive};
pub use plus::Plus;
pub use positive::Positive;
pub use scalar::Scalar;
pub use semi_join::{SemiJoin, SemiSpec};
pub use sum::Sum;
pub use table_source::TableSource;
pub use top_k::{TopK, TopKSpec};
