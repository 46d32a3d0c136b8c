//! The inputs of the benches: random rows, equal in every run.
//!
//! One generator (splitmix64), seeded by the caller, so that a figure changes only when the code under it does.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tailrace_trace::{ChangeBatch, DiffColumn, IndexedBatch, Layout, TraceError};

/// The allocator of the Python module, so that figures here are figures there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rows of the large inputs.
pub const MILLION: usize = 1_000_000;

/// Random numbers of 64 bits.
pub struct Random(u64);

impl Random {
    /// Numbers that the seed determines.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A column of integers over the whole range.
    pub fn integers(&mut self, rows: usize) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows).map(|_| self.number() as i64)))
    }

    /// A column of integers below a limit.
    pub fn below(&mut self, limit: u64, rows: usize) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows).map(|_| (self.number() % limit) as i64)))
    }

    /// A column of texts that share a prefix and are too long for a view to hold them.
    pub fn texts(&mut self, rows: usize) -> ArrayRef {
        let text = |number: u64| format!("customer-{:011}", number % 100_000_000_000);
        Arc::new(StringViewArray::from_iter_values((0..rows).map(|_| text(self.number()))))
    }
}

/// The layout of rows of a key and a value of these types.
pub fn pairs(key: DataType, value: DataType) -> Result<Arc<Layout>, TraceError> {
    Layout::rows(schema(key, value), 1)
}

/// Insertions of random (i64, i64) rows.
pub fn integer_changes(rows: usize, seed: u64) -> Result<ChangeBatch, TraceError> {
    let mut random = Random::new(seed);
    let columns = vec![random.integers(rows), random.integers(rows)];
    ChangeBatch::try_new(schema(DataType::Int64, DataType::Int64), columns, vec![1; rows].into())
}

/// Insertions of random (text, i64) rows.
pub fn text_changes(rows: usize, seed: u64) -> Result<ChangeBatch, TraceError> {
    let mut random = Random::new(seed);
    let columns = vec![random.texts(rows), random.integers(rows)];
    ChangeBatch::try_new(schema(DataType::Utf8View, DataType::Int64), columns, vec![1; rows].into())
}

/// The rows of a change batch, indexed by its columns in order.
pub fn indexed(layout: &Arc<Layout>, changes: &ChangeBatch) -> Result<Arc<IndexedBatch>, TraceError> {
    let weights = DiffColumn::Weight(changes.weights().clone());
    Ok(Arc::new(IndexedBatch::build(layout, changes.columns(), &[weights])?))
}

fn schema(key: DataType, value: DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("key", key, true), Field::new("value", value, true)]))
}
