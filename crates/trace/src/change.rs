//! A change batch: rows with weights, in any order, as they flow between operators.
//!
//! Columns are in normal form (see `normal.rs`) and shared, so a clone copies pointers. Nothing is sorted or folded here: linear operators work on
//! change batches as they are, and a batch is consolidated only where an operator needs it.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array, new_empty_array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use arrow_select::take::take;
use tailrace_algebra::Group;

use crate::consolidate::consolidate_rows;
use crate::{TraceError, normal_array, normal_schema};

/// Rows with weights.
#[derive(Clone, Debug)]
pub struct ChangeBatch {
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
    weights: ScalarBuffer<i64>,
}

impl ChangeBatch {
    /// A batch of columns in normal form. Checks types and lengths.
    pub fn try_new(
        schema: SchemaRef,
        columns: Vec<ArrayRef>,
        weights: ScalarBuffer<i64>,
    ) -> Result<Self, TraceError> {
        check_columns(&schema, &columns, weights.len())?;
        Ok(Self { schema, columns, weights })
    }

    /// Rows of any Arrow types, each with weight one, brought into normal form.
    pub fn insertions(batch: &RecordBatch) -> Result<Self, TraceError> {
        Self::weighted(batch, vec![1; batch.num_rows()].into())
    }

    /// Rows of any Arrow types with their weights, brought into normal form.
    pub fn weighted(batch: &RecordBatch, weights: ScalarBuffer<i64>) -> Result<Self, TraceError> {
        let columns = batch.columns().iter().map(normal_array).collect::<Result<_, _>>()?;
        Self::try_new(normal_schema(batch.schema_ref()), columns, weights)
    }

    /// No rows.
    pub fn empty(schema: SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| new_empty_array(field.data_type())).collect();
        Self { schema, columns, weights: Vec::new().into() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The columns' names and types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// One column.
    pub fn column(&self, index: usize) -> &ArrayRef {
        &self.columns[index]
    }

    /// One weight per row.
    pub fn weights(&self) -> &ScalarBuffer<i64> {
        &self.weights
    }

    /// The parts.
    pub fn into_parts(self) -> (SchemaRef, Vec<ArrayRef>, ScalarBuffer<i64>) {
        (self.schema, self.columns, self.weights)
    }

    /// The same rows under another schema of the same types (other names, other nullability).
    pub fn with_schema(self, schema: SchemaRef) -> Result<Self, TraceError> {
        Self::try_new(schema, self.columns, self.weights)
    }

    /// The rows with other weights.
    pub fn with_weights(self, weights: ScalarBuffer<i64>) -> Result<Self, TraceError> {
        Self::try_new(self.schema, self.columns, weights)
    }

    /// The chosen columns under `schema`.
    pub fn project(&self, columns: &[usize], schema: SchemaRef) -> Self {
        let columns = columns.iter().map(|index| Arc::clone(&self.columns[*index])).collect();
        Self { schema, columns, weights: self.weights.clone() }
    }

    /// The rows without weights. Fails if a column that is not nullable holds a NULL.
    pub fn rows(&self) -> Result<RecordBatch, TraceError> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), self.columns.clone(), &options)?)
    }

    /// The rows at `indices`, in that order.
    pub fn take(&self, indices: &UInt32Array) -> Result<Self, TraceError> {
        let columns =
            self.columns.iter().map(|column| take(column, indices, None)).collect::<Result<_, _>>()?;
        let weights = indices.values().iter().map(|row| self.weights[*row as usize]).collect::<Vec<_>>();
        Ok(Self { schema: Arc::clone(&self.schema), columns, weights: weights.into() })
    }

    /// The rows where `mask` is true (not NULL).
    pub fn filter(&self, mask: &BooleanArray) -> Result<Self, TraceError> {
        let predicate = FilterBuilder::new(mask).optimize().build();
        let columns = self.columns.iter().map(|column| predicate.filter(column)).collect::<Result<_, _>>()?;
        let weights = filter_weights(&self.weights, &predicate)?;
        Ok(Self { schema: Arc::clone(&self.schema), columns, weights })
    }

    /// The same rows with opposite weights; reuses the buffer of weights if nobody else holds it.
    pub fn negate(self) -> Result<Self, TraceError> {
        let weights = match self.weights.into_inner().into_vec::<i64>() {
            Ok(mut owned) => {
                for weight in &mut owned {
                    *weight = Group::checked_neg(weight).ok_or(TraceError::WeightOverflow)?;
                }
                owned
            }
            Err(shared) => ScalarBuffer::<i64>::from(shared)
                .iter()
                .map(|weight| Group::checked_neg(weight).ok_or(TraceError::WeightOverflow))
                .collect::<Result<_, _>>()?,
        };
        Ok(Self { weights: weights.into(), ..self })
    }

    /// All rows of all batches.
    pub fn concat(schema: SchemaRef, batches: &[ChangeBatch]) -> Result<Self, TraceError> {
        let filled: Vec<&ChangeBatch> = batches.iter().filter(|batch| !batch.is_empty()).collect();
        if let [single] = filled[..] {
            return Ok(Self { schema, ..single.clone() });
        }
        if filled.is_empty() {
            return Ok(Self::empty(schema));
        }
        let column = |index: usize| {
            let parts: Vec<&dyn Array> = filled.iter().map(|batch| batch.columns[index].as_ref()).collect();
            concat(&parts)
        };
        let columns = (0..schema.fields().len()).map(column).collect::<Result<_, _>>()?;
        let weights: Vec<i64> = filled.iter().flat_map(|batch| batch.weights.iter().copied()).collect();
        Ok(Self { schema, columns, weights: weights.into() })
    }

    /// The same Z-set with every row once, in order, and no zero weight.
    pub fn consolidate(&self) -> Result<Self, TraceError> {
        consolidate_rows(self)
    }

    /// Bytes of memory of the columns and weights.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| column.get_array_memory_size()).sum::<usize>()
            + self.weights.len() * 8
    }

    pub(crate) fn unchecked(schema: SchemaRef, columns: Vec<ArrayRef>, weights: ScalarBuffer<i64>) -> Self {
        Self { schema, columns, weights }
    }
}

fn filter_weights(
    weights: &ScalarBuffer<i64>,
    predicate: &FilterPredicate,
) -> Result<ScalarBuffer<i64>, TraceError> {
    let array = Int64Array::new(weights.clone(), None);
    let kept = predicate.filter(&array)?;
    Ok(ScalarBuffer::from(kept.to_data().buffers()[0].clone()).slice(kept.to_data().offset(), kept.len()))
}

fn check_columns(schema: &SchemaRef, columns: &[ArrayRef], rows: usize) -> Result<(), TraceError> {
    let (expected, found) = (schema.fields().len(), columns.len());
    if expected != found {
        return Err(TraceError::ColumnCount { expected, found });
    }
    for (field, column) in schema.fields().iter().zip(columns) {
        if field.data_type() != column.data_type() && !column.data_type().equals_datatype(field.data_type()) {
            let (expected, found) = (field.data_type().clone(), column.data_type().clone());
            return Err(TraceError::ColumnType { column: field.name().clone(), expected, found });
        }
        if column.len() != rows {
            return Err(TraceError::ColumnLength {
                column: field.name().clone(),
                expected: rows,
                found: column.len(),
            });
        }
    }
    Ok(())
}
