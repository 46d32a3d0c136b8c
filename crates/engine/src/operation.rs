//! One operation of a batch: what to do with which rows of which table.

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

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
        [Self::Insert, Self::Upsert, Self::Update, Self::Delete, Self::Weighted]
            .into_iter()
            .find(|kind| kind.name() == name)
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
    /// Columns that only some of the rows give, by name, with a bit set for each row that does not. To an update such a column stays as it
    /// is, to a delete it does not matter, and for a new row it is the default or NULL.
    pub omitted: Vec<(String, BooleanBuffer)>,
}

impl Operation {
    /// An operation whose rows give all columns that there are.
    pub fn new(kind: OperationKind, table: impl Into<String>, rows: RecordBatch) -> Self {
        Self { kind, table: table.into(), rows, omitted: Vec::new() }
    }

    /// The rows that do not give a column.
    pub(crate) fn omits(&self, column: &str) -> Option<&BooleanBuffer> {
        self.omitted.iter().find(|(name, _)| name == column).map(|(_, rows)| rows)
    }
}
