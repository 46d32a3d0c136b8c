//! The layout of an indexed batch: its columns in order of comparison, how many of them are the key, and its diff columns.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::{DiffKind, TraceError};

/// Columns, key length and diff kinds of the batches of one trace. The first diff is always the weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    schema: SchemaRef,
    key_len: usize,
    diffs: Vec<DiffKind>,
}

impl Layout {
    /// A layout of rows with weights: the first `key_len` columns are the key.
    pub fn rows(schema: SchemaRef, key_len: usize) -> Result<Arc<Self>, TraceError> {
        Self::accumulators(schema, key_len, Vec::new())
    }

    /// A layout whose rows also carry accumulators.
    pub fn accumulators(
        schema: SchemaRef,
        key_len: usize,
        sums: Vec<DiffKind>,
    ) -> Result<Arc<Self>, TraceError> {
        check_ordered(&schema)?;
        let diffs = std::iter::once(DiffKind::Weight).chain(sums).collect();
        Ok(Arc::new(Self { schema, key_len, diffs }))
    }

    /// The same layout inside a nested scope: one more column at the end, the iteration of a change.
    pub fn timed(&self) -> Arc<Self> {
        let iteration = Arc::new(Field::new("@iteration", DataType::Int32, false));
        let fields: Vec<FieldRef> = self.schema.fields().iter().cloned().chain([iteration]).collect();
        Arc::new(Self { schema: Arc::new(Schema::new(fields)), ..self.clone() })
    }

    /// The columns, in the order in which they are compared.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many leading columns are the key.
    pub fn key_len(&self) -> usize {
        self.key_len
    }

    /// The kinds of the diff columns; the first is the weight.
    pub fn diffs(&self) -> &[DiffKind] {
        &self.diffs
    }
}

fn check_ordered(schema: &Schema) -> Result<(), TraceError> {
    for field in schema.fields() {
        if matches!(field.data_type(), DataType::Union(..) | DataType::RunEndEncoded(..)) {
            let (column, data_type) = (field.name().clone(), field.data_type().clone());
            return Err(TraceError::Unordered { column, data_type });
        }
    }
    Ok(())
}
