//! A kernel timed from Python, so that it can be compared with other libraries in one process: consolidate and index unsorted rows.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use tailrace_engine::trace::{DiffColumn, IndexedBatch, Layout, TraceError};

/// Seconds to consolidate and index random (i64, i64) rows, best of several runs.
pub(crate) fn consolidate(rows: usize, runs: usize) -> Result<f64, TraceError> {
    let schema = Schema::new(vec![Field::new("key", DataType::Int64, false), Field::new("value", DataType::Int64, false)]);
    let layout = Layout::rows(Arc::new(schema), 1)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let columns: Vec<ArrayRef> = (0..2).map(|_| random(rows, &mut state)).collect();
    let weights = [DiffColumn::Weight(vec![1; rows].into())];
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        let batch = IndexedBatch::build(&layout, &columns, &weights)?;
        best = best.min(start.elapsed().as_secs_f64());
        drop(batch);
    }
    Ok(best)
}

fn random(rows: usize, state: &mut u64) -> ArrayRef {
    let next = |_| {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state as i64
    };
    Arc::new(Int64Array::from((0..rows).map(next).collect::<Vec<_>>()))
}
