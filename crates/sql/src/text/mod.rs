//! SQL texts: parsing, planning by DataFusion, and the translation into plans of our own.
//!
//! The way of a query: `parse` (text to syntax tree, mended) -> DataFusion's `SqlToRel` -> type coercion -> `meaning` (casts, intervals) -> `set_operations` and `apply` (nodes for what
//! DataFusion would plan wrongly or not at all) -> `guards` -> `rules` (push-down) -> `translate` (our plan, over positions, without correlation).

mod aggregates;
mod alter;
mod apply;
mod apply_node;
mod array_subquery;
mod binder;
mod catalog;
mod change;
mod column_names;
mod conflict;
mod connectives;
mod create;
mod dialect;
mod error;
mod first_rows;
mod guards;
mod literals;
mod macros;
mod meaning;
mod operators;
mod parameters;
mod parse;
mod pinned;
mod planner;
mod recursion;
mod relation;
mod returning;
mod rules;
mod set_operations;
mod skeleton;
mod statement;
mod table_functions;
mod tokens;
mod translate;
mod translate_aggregate;
mod translate_apply;
mod translate_frame;
mod translate_join;
mod translate_recursion;
mod translate_window;
mod types;
mod windows;

pub use catalog::{Catalog, CatalogEntry};
pub use conflict::ConflictPlans;
pub use error::{Position, SqlError};
pub use parameters::{Parameters, PlannedView, parameter_values};
pub use planner::{PlannedQuery, Purpose};
pub use statement::{ColumnSpec, Conflict, Script, SqlStatement, TableChange, TableSpec};
