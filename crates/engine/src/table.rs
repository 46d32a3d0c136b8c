//! A table: its columns, its key, and how its rows are kept.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use tailrace_circuit::StreamId;
use tailrace_sql::ScalarValue;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, TraceError};

use crate::EngineError;

/// A table of the database.
#[derive(Clone)]
pub(crate) struct Table {
    /// Tells it from another table that had its name before.
    pub(crate) id: u64,
    pub(crate) name: String,
    /// Columns in the declared order, in normal form.
    pub(crate) schema: SchemaRef,
    /// Positions of the key columns; empty for a bag of rows.
    pub(crate) key: Vec<usize>,
    /// Kept rows: key columns first (all columns, for a bag).
    pub(crate) layout: Arc<Layout>,
    /// The position in `schema` of each column of the layout.
    pub(crate) order: Vec<usize>,
    pub(crate) stream: StreamId,
    /// What stands for values that an INSERT does not give, by column.
    pub(crate) defaults: HashMap<String, ScalarValue>,
}

/// How rows of such a table are kept: the layout and the position of each of its columns.
pub(crate) fn kept_layout(
    schema: &SchemaRef,
    key: &[usize],
) -> Result<(Arc<Layout>, Vec<usize>), TraceError> {
    let rest = (0..schema.fields().len()).filter(|column| !key.contains(column));
    let order: Vec<usize> = key.iter().copied().chain(rest).collect();
    let fields: Vec<FieldRef> = order.iter().map(|column| Arc::clone(&schema.fields()[*column])).collect();
    let key_len = if key.is_empty() { order.len() } else { key.len() };
    Ok((Layout::rows(Arc::new(Schema::new(fields)), key_len)?, order))
}

impl Table {
    pub(crate) fn has_key(&self) -> bool {
        !self.key.is_empty()
    }

    /// The names of all columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The names of the key columns.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.key.iter().map(|column| self.schema.field(*column).name().clone()).collect()
    }

    /// Kept rows as changes in the declared order of columns.
    pub(crate) fn changes_of(&self, batch: &IndexedBatch) -> ChangeBatch {
        let mut places = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(place, column)| places[*column] = place);
        batch.to_changes().project(&places, Arc::clone(&self.schema))
    }

    /// The key of a row as text, for errors: `(a=1, b='x')`.
    pub(crate) fn show_key(&self, columns: &[ArrayRef], row: usize) -> Result<String, EngineError> {
        let fields = self.layout.schema().fields().iter().take(columns.len());
        let options = FormatOptions::default().with_null("NULL");
        let mut parts = Vec::with_capacity(columns.len());
        for (field, column) in fields.zip(columns) {
            let text =
                ArrayFormatter::try_new(column, &options).map_err(TraceError::from)?.value(row).to_string();
            parts.push(format!("{}={text}", field.name()));
        }
        Ok(format!("({})", parts.join(", ")))
    }
}
