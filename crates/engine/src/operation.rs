//! One operation of a batch: what to do with which rows of which table.

use arrow_array::RecordBatch;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// New rows; their keys must not exist.
    Insert,
    /// Rows that replace those of the same key, or are new.
    Upsert,
    /// Keys and some columns; the keys must exist.
    Update,
    /// Keys or whole rows; they must exist.
    Delete,
    /// Rows with a column `_weight`: raw changes.
    Weighted,
}

impl OperationKind {
    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Upsert => "upsert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Weighted => "weighted",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Insert, Self::Upsert, Self::Update, Self::Delete, Self::Weighted].into_iter().find(|kind| kind.name() == name)
    }
}

/// Rows of one table and what to do with them.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What to do.
    pub kind: OperationKind,
    /// The table.
    pub table: String,
    /// The rows, columns found by name.
    pub rows: RecordBatch,
}
