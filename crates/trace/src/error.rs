//! What can go wrong with batches and traces. Every message names the columns or types on both sides.

use arrow_schema::{ArrowError, DataType};
use tailrace_storage::FileError;
use thiserror::Error;

use crate::DiffKind;

/// An error of the trace crate.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The number of columns differs from the schema's.
    #[error("expected {expected} columns, got {found}")]
    ColumnCount {
        /// Columns of the schema.
        expected: usize,
        /// Columns that came.
        found: usize,
    },
    /// A column does not have the type of its field.
    #[error("column '{column}' has type {found}, expected {expected}")]
    ColumnType {
        /// The field's name.
        column: String,
        /// The type of the field.
        expected: DataType,
        /// The type that came.
        found: DataType,
    },
    /// Columns and weights differ in length.
    #[error("column '{column}' has {found} rows, expected {expected}")]
    ColumnLength {
        /// The field's name.
        column: String,
        /// Number of weights.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// A type that no order is defined for.
    #[error(
        "column '{column}' of type {data_type} cannot be ordered: use a scalar, list, struct or map type"
    )]
    Unordered {
        /// The field's name.
        column: String,
        /// Its type.
        data_type: DataType,
    },
    /// Weights (or sums weighted by them) left the range in which addition is exact.
    #[error("weights overflow: the absolute weights of one relation must sum to less than 2^63")]
    WeightOverflow,
    /// A batch is too large for 32-bit row numbers.
    #[error("a batch may hold at most {limit} rows, got {found}; send it in smaller steps")]
    TooManyRows {
        /// The limit.
        limit: usize,
        /// The rows that came.
        found: usize,
    },
    /// A merge failed earlier. All rows are still there, but the trace takes no more of them: its promises do not hold without merges.
    #[error("a trace can take no more changes, since its batches could not be merged: {cause}")]
    NotMerged {
        /// Why the merge failed.
        cause: String,
    },
    /// A type whose values have no bytes to hash.
    #[error("a column of type {data_type} has no content hash: use a scalar, list, struct or map type")]
    NoHash {
        /// The type.
        data_type: String,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] Box<FileError>),
    /// A file holds batches of another trace.
    #[error("{file} holds other columns: expected {expected}, found {found}")]
    OtherLayout {
        /// The file.
        file: String,
        /// What the trace has.
        expected: String,
        /// What the file has.
        found: String,
    },
    /// A diff column of a file does not hold diffs.
    #[error("a column of {found} in a file does not hold diffs of kind {kind:?}")]
    DiffBytes {
        /// The kind that was expected.
        kind: DiffKind,
        /// The type of the column.
        found: DataType,
    },
    /// An Arrow kernel failed.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl From<FileError> for TraceError {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}
