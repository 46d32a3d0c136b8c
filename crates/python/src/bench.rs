//! Kernels timed from Python, so that they can be compared with other libraries in one process and judged by the same harness: consolidate and
//! index unsorted rows, and merge two indexed batches. The clock runs around the kernel alone.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use tailrace_engine::trace::{DiffColumn, IndexedBatch, Layout, Merger, TraceError};

/// Seconds to consolidate and index random (i64, i64) rows, best of several runs.
pub(crate) fn consolidate(rows: usize, runs: usize) -> Result<f64, TraceError> {
    let (layout, mut random) = (layout()?, Random(SEED));
    let (columns, weights) = random.rows(rows);
    best_of(runs, || IndexedBatch::build(&layout, &columns, &weights))
}

/// Seconds to merge two indexed batches of random (i64, i64) rows, that many rows each, best of several runs.
pub(crate) fn merge(rows: usize, runs: usize) -> Result<f64, TraceError> {
    let (layout, mut random) = (layout()?, Random(SEED));
    let mut batch = || {
        let (columns, weights) = random.rows(rows);
        IndexedBatch::build(&layout, &columns, &weights).map(Arc::new)
    };
    let (left, right) = (batch()?, batch()?);
    best_of(runs, || Merger::merge(&left, &right))
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Freeing the result is not timed.
fn best_of<T>(runs: usize, mut kernel: impl FnMut() -> Result<T, TraceError>) -> Result<f64, TraceError> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        let result = kernel()?;
        best = best.min(start.elapsed().as_secs_f64());
        drop(result);
    }
    Ok(best)
}

fn layout() -> Result<Arc<Layout>, TraceError> {
    let field = |name| Field::new(name, DataType::Int64, false);
    Layout::rows(Arc::new(Schema::new(vec![field("key"), field("value")])), 1)
}

/// A generator that gives the same rows in every run.
struct Random(u64);

impl Random {
    fn rows(&mut self, rows: usize) -> (Vec<ArrayRef>, [DiffColumn; 1]) {
        let columns = (0..2).map(|_| self.column(rows)).collect();
        (columns, [DiffColumn::Weight(vec![1; rows].into())])
    }

    fn column(&mut self, rows: usize) -> ArrayRef {
        Arc::new(Int64Array::from((0..rows).map(|_| self.number()).collect::<Vec<_>>()))
    }

    fn number(&mut self) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as i64
    }
}
