//! From programs to circuits: scalar expressions, the plan, and its lowering.
//!
//! A typed program builds a [`Plan`] node by node; every node checks names and types at once. A plan is a value: it holds expressions over column
//! positions and knows its schema. [`Lowering`] adds its operators to a circuit, equal sub-plans once. This crate plans; it never executes.

mod bind;
mod connective;
mod constants;
mod dependencies;
mod describe;
mod error;
mod expression;
mod functions;
mod keys;
mod lower;
mod lower_filter;
mod lower_join;
mod lower_recursion;
mod or_empty;
mod plan;
mod plan_builder;
mod positions;
mod shift;
mod single_value;
mod text;
mod trees;
mod user_function;

pub use datafusion_common::ScalarValue;
pub use text::{
    Catalog, CatalogEntry, ColumnSpec, Conflict, ConflictPlans, Parameters, PlannedQuery, PlannedView,
    Position, Purpose, Script, SqlError, SqlStatement, TableChange, TableSpec, parameter_values,
};

pub use bind::{bind, bind_in_join, type_of};
pub use error::PlanError;
pub use expression::{DEEPEST, Expression, LARGEST};
pub use functions::{scalar_function, type_name};
pub use keys::{TableKeys, key_of};
pub use lower::{Lowered, Lowering, row_index_order};
pub use plan::{JoinKind, Observer, Plan, PlanKind, RelationId};
pub use plan_builder::{AggregateExpr, OrderExpr, WindowExpr};
pub use trees::{ListKey, list_keys};
pub use user_function::{ArrayFunction, BoxError, NamedFunction, RowFunction, UserFunction, user_function};
