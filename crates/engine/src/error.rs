//! What can go wrong with a database. Every message names the table and, where there is one, the column, the row and the choices.

use tailrace_circuit::{CircuitError, GraphError, OperatorError};
use tailrace_sql::{PlanError, SqlError};
use tailrace_trace::TraceError;
use thiserror::Error;

/// Why a call was refused. The database is as it was before the call.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A table that does not exist.
    #[error("table '{name}' does not exist. Tables: {}", list(choices))]
    UnknownTable {
        /// What was asked for.
        name: String,
        /// What there is.
        choices: Vec<String>,
    },
    /// A view that does not exist.
    #[error("view '{name}' does not exist. Views: {}", list(choices))]
    UnknownView {
        /// What was asked for.
        name: String,
        /// What there is.
        choices: Vec<String>,
    },
    /// A handle to a view whose name another one has now.
    #[error(
        "view '{name}' is another one by now: the one of this handle was dropped. Get it again with db.view(...)"
    )]
    StaleView {
        /// The view.
        name: String,
    },
    /// A view that cannot be computed from the tables alone.
    #[error(
        "view '{view}' depends on when changes came (integrate, differentiate, delay), so it cannot be computed anew and compared"
    )]
    NotVerifiable {
        /// The view.
        view: String,
    },
    /// A merge that both sides' changes forbid.
    #[error(
        "table '{table}': key {key} was changed in the branch and in its parent since the fork{}; nothing was merged. on_conflict='branch' or 'parent' lets one side win",
        others(*keys)
    )]
    MergeConflict {
        /// The table.
        table: String,
        /// The first key, or row of a table without a key.
        key: String,
        /// How many there are.
        keys: usize,
    },
    /// A merge that would take away rows that are not there any more.
    #[error(
        "table '{table}': the branch has deleted row {row} more often than its parent still has it{}; nothing was merged",
        others(*rows)
    )]
    MergeLack {
        /// The table.
        table: String,
        /// The first such row.
        row: String,
        /// How many there are.
        rows: usize,
    },
    /// A name that is taken.
    #[error("'{name}' exists already as a {kind}{}", if detail.is_empty() { String::new() } else { format!(": {detail}") })]
    Exists {
        /// The name.
        name: String,
        /// Table or view.
        kind: &'static str,
        /// What differs.
        detail: String,
    },
    /// A table that views read.
    #[error("table '{name}' is read by: {}", list(views))]
    InUse {
        /// The table.
        name: String,
        /// Its readers.
        views: Vec<String>,
    },
    /// A column that the table does not have.
    #[error("table '{table}' has no column '{column}'. Existing columns: {}", list(choices))]
    UnknownColumn {
        /// The table.
        table: String,
        /// What was given.
        column: String,
        /// What there is.
        choices: Vec<String>,
    },
    /// A column that is needed and was not given.
    #[error("column '{column}' of table '{table}' is missing; given: {}", list(given))]
    MissingColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What was given.
        given: Vec<String>,
    },
    /// Two columns of one name.
    #[error("column '{column}' is given twice for table '{table}'; given: {}", list(given))]
    RepeatedColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What was given.
        given: Vec<String>,
    },
    /// Weights where they mean nothing.
    #[error(
        "the {operation} into table '{table}' has a column '_weight', which only weighted changes have: use `weighted` for them, or leave the column out"
    )]
    StrayWeight {
        /// The table.
        table: String,
        /// insert, upsert, update, delete.
        operation: &'static str,
    },
    /// A column of a table or view with a name that means something else.
    #[error("{kind} '{name}' cannot have a column '{column}': it is the name of the weight in changes")]
    ReservedColumn {
        /// Table or view.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The column.
        column: String,
    },
    /// A column of another type.
    #[error("column '{column}' of table '{table}' has type {expected}, got {found}{}", at(*row))]
    ColumnType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type of the column.
        expected: String,
        /// The type or value that came.
        found: String,
        /// The first row that does not fit.
        row: Option<usize>,
    },
    /// NULL where none may be.
    #[error("column '{column}' of table '{table}' is NOT NULL, but row {row} is NULL")]
    NotNull {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// A key that is there already.
    #[error(
        "table '{table}': row {row} of the insert has key {key}, which exists already; use upsert to replace it"
    )]
    DuplicateKey {
        /// The table.
        table: String,
        /// The row.
        row: usize,
        /// The key.
        key: String,
    },
    /// A change that would move a row to a key that another row has.
    #[error("table '{table}': the {operation} would give a second row the key {key}")]
    TakenKey {
        /// The table.
        table: String,
        /// The statement.
        operation: &'static str,
        /// The key.
        key: String,
    },
    /// A key or row that is not there.
    #[error("table '{table}': row {row} of the {operation} has key {key}, which does not exist")]
    KeyNotFound {
        /// The table.
        table: String,
        /// insert, update, delete.
        operation: &'static str,
        /// The row.
        row: usize,
        /// The key.
        key: String,
    },
    /// Weighted changes that leave a table in a state no table can be in.
    #[error("table '{table}': after the weighted changes row {key} would have weight {weight}; {rule}")]
    BadWeight {
        /// The table.
        table: String,
        /// The row or key.
        key: String,
        /// Its weight.
        weight: i64,
        /// What must hold.
        rule: &'static str,
    },
    /// Weights whose sum could leave its range.
    #[error(
        "table '{table}': weights overflow: row {row} is to change by {weight}, and the absolute weights of one table must sum to less than 2^63"
    )]
    WeightOverflow {
        /// The table.
        table: String,
        /// The row with the largest weight.
        row: String,
        /// Its weight.
        weight: i64,
    },
    /// An operation that this table does not offer.
    #[error("{0}")]
    Unsupported(String),
    /// A SQL text that is refused.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// A program that cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A step that failed.
    #[error(transparent)]
    Step(#[from] CircuitError),
    /// A step that failed on the way to these views.
    #[error("view {}: {source}", list(views))]
    StepOf {
        /// The views that read what failed.
        views: Vec<String>,
        /// What failed.
        source: CircuitError,
    },
    /// The graph refused a change.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Batches refused their work.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An operator refused its specification.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

fn list(choices: &[String]) -> String {
    if choices.is_empty() { "none".to_owned() } else { choices.join(", ") }
}

fn others(keys: usize) -> String {
    if keys > 1 { format!(", and so were {} others", keys - 1) } else { String::new() }
}

fn at(row: Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!(" in row {row}"))
}
