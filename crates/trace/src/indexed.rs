//! An indexed batch: rows sorted by key, then value, each once, none with zero diffs; immutable.
//!
//! It is what traces keep. There is no separate key array and no run table: a key's rows are found by galloping over the leading column
//! (`locate.rs`), so a row of two integers costs 24 bytes: two values and a weight.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array, new_empty_array};
use arrow_buffer::ScalarBuffer;
use arrow_select::take::take;
use tailrace_algebra::weight;

use crate::consolidate::{consolidate, keep};
use crate::locate::{ascends, run_starts};
use crate::{ChangeBatch, DiffColumn, Layout, RowComparator, TraceError};

/// How a snapshot hands out a batch, and all readers get theirs from a snapshot: the place to open when batches also lie in files.
/// `docs/design.md`, section 11, has what is missing and why this is no trait.
pub type BatchRef = Arc<IndexedBatch>;

/// A sorted, consolidated, immutable batch.
#[derive(Clone, Debug)]
pub struct IndexedBatch {
    layout: Arc<Layout>,
    columns: Vec<ArrayRef>,
    diffs: Vec<DiffColumn>,
    weights: ScalarBuffer<i64>,
    /// The sum of absolute weights: at least every partial sum that a merge can meet.
    mass: i64,
}

impl IndexedBatch {
    /// Sorts and folds columns in the layout's order.
    pub fn build(
        layout: &Arc<Layout>,
        columns: &[ArrayRef],
        diffs: &[DiffColumn],
    ) -> Result<Self, TraceError> {
        let len = diffs.first().map_or(0, DiffColumn::len);
        if len == 0 {
            return Ok(Self::empty(layout));
        }
        if is_settled(columns, diffs, len)? {
            return Self::from_sorted(layout, keep(columns, len)?, diffs.to_vec());
        }
        let consolidated = consolidate(columns, diffs, len)?;
        Self::from_sorted(layout, consolidated.columns, consolidated.diffs)
    }

    /// Sorts and folds the chosen columns of a change batch: the layout's i-th column is the batch's `columns[i]`-th.
    pub fn from_changes(
        layout: &Arc<Layout>,
        changes: &ChangeBatch,
        columns: &[usize],
    ) -> Result<Self, TraceError> {
        let columns: Vec<ArrayRef> = columns.iter().map(|index| Arc::clone(changes.column(*index))).collect();
        Self::build(layout, &columns, &[DiffColumn::Weight(changes.weights().clone())])
    }

    /// Whether both hold the same rows with the same diffs.
    pub fn equals(&self, other: &Self) -> Result<bool, TraceError> {
        if self.len() != other.len() || self.diffs != other.diffs {
            return Ok(false);
        }
        let comparator = RowComparator::try_new(&self.columns, &other.columns)?;
        Ok((0..self.len()).all(|row| comparator.compare(row, row).is_eq()))
    }

    /// Takes columns that are sorted and folded already. The caller vouches for the order.
    pub fn from_sorted(
        layout: &Arc<Layout>,
        columns: Vec<ArrayRef>,
        diffs: Vec<DiffColumn>,
    ) -> Result<Self, TraceError> {
        let Some(DiffColumn::Weight(weights)) = diffs.first() else {
            return Err(TraceError::ColumnCount { expected: layout.diffs().len(), found: diffs.len() });
        };
        let mass = weight::mass(weights).ok_or(TraceError::WeightOverflow)?;
        Self::from_weighed(layout, columns, diffs, mass)
    }

    /// The same with the sum of absolute weights, which the caller has added up on the way.
    pub(crate) fn from_weighed(
        layout: &Arc<Layout>,
        columns: Vec<ArrayRef>,
        diffs: Vec<DiffColumn>,
        mass: i64,
    ) -> Result<Self, TraceError> {
        let Some(DiffColumn::Weight(weights)) = diffs.first() else {
            return Err(TraceError::ColumnCount { expected: layout.diffs().len(), found: diffs.len() });
        };
        let weights = weights.clone();
        Ok(Self { layout: Arc::clone(layout), columns, diffs, weights, mass })
    }

    /// No rows.
    pub fn empty(layout: &Arc<Layout>) -> Self {
        let columns =
            layout.schema().fields().iter().map(|field| new_empty_array(field.data_type())).collect();
        let diffs = layout.diffs().iter().map(|kind| DiffColumn::empty(*kind)).collect();
        Self { layout: Arc::clone(layout), columns, diffs, weights: Vec::new().into(), mass: 0 }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Columns, key and diffs.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The columns in order of comparison.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// The key columns.
    pub fn key(&self) -> &[ArrayRef] {
        &self.columns[..self.layout.key_len()]
    }

    /// The weights.
    pub fn weights(&self) -> &ScalarBuffer<i64> {
        &self.weights
    }

    /// All diff columns; the first holds the weights.
    pub fn diffs(&self) -> &[DiffColumn] {
        &self.diffs
    }

    /// The sum of absolute weights.
    pub fn mass(&self) -> i64 {
        self.mass
    }

    /// Where each distinct key starts, and the number of rows at the end: runs are `starts[i]..starts[i + 1]`.
    pub fn runs(&self) -> Result<Vec<u32>, TraceError> {
        run_starts(self.key(), self.len())
    }

    /// The key columns at the given rows.
    pub fn keys_at(&self, rows: &UInt32Array) -> Result<Vec<ArrayRef>, TraceError> {
        self.key().iter().map(|column| Ok(take(column, rows, None)?)).collect()
    }

    /// The rows of a range, as a batch over the same buffers.
    pub fn slice(&self, rows: Range<usize>) -> Result<Self, TraceError> {
        let columns = self.columns.iter().map(|column| column.slice(rows.start, rows.len())).collect();
        let diffs = self.diffs.iter().map(|diffs| diffs.slice(rows.clone())).collect();
        Self::from_sorted(&self.layout, columns, diffs)
    }

    /// All rows as a change batch, columns in the layout's order.
    pub fn to_changes(&self) -> ChangeBatch {
        ChangeBatch::unchecked(Arc::clone(self.layout.schema()), self.columns.clone(), self.weights.clone())
    }

    /// Bytes of memory of the columns and diffs.
    pub fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| column.get_buffer_memory_size()).sum();
        columns + self.diffs.iter().map(DiffColumn::bytes).sum::<usize>()
    }
}

/// Whether rows can be taken as they are: they are in order, each once, and none is zero. Tables that are loaded by their key and steps of a few
/// rows are mostly so; for all others the first rows tell.
fn is_settled(columns: &[ArrayRef], diffs: &[DiffColumn], len: usize) -> Result<bool, TraceError> {
    let weighed = matches!(diffs, [DiffColumn::Weight(weights)] if weights.iter().all(|weight| *weight != 0));
    Ok(weighed && (len == 1 || ascends(columns, len)?))
}
