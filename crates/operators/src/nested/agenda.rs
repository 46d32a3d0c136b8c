//! The agenda: keys that must be looked at again at a later iteration of this step.
//!
//! **Promise.** A key that is touched at iteration `i` is due at every later iteration at which an earlier step changed it. There the old result
//! rested on contents that are no longer so. At all other iterations neither the old nor the new contents of the key change, so that both
//! differences along the iterations are zero and there is nothing to do.
//!
//! It lives for one step: when the clock has come to its end, everything due was taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_select::concat::concat;
use arrow_select::take::take;
use tailrace_algebra::Iteration;
use tailrace_circuit::Moment;
use tailrace_trace::{DiffColumn, IndexedBatch, TraceError};

use super::iteration::iteration;

/// Iterations, each with the row of a key that is due then.
pub(crate) type Visits = Vec<(i32, u32)>;

/// Keys by the iteration at which they are due.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    due: BTreeMap<i32, Vec<Chunk>>,
}

/// Some rows of a batch of keys.
#[derive(Debug)]
struct Chunk {
    keys: Arc<IndexedBatch>,
    rows: Vec<u32>,
}

impl Agenda {
    /// Puts down rows of `keys`, each with the iteration at which it is due.
    pub(crate) fn plan(&mut self, keys: &Arc<IndexedBatch>, mut visits: Visits) {
        visits.sort_unstable();
        visits.dedup();
        for visits in visits.chunk_by(|a, b| a.0 == b.0) {
            let rows = visits.iter().map(|(_, row)| *row).collect();
            self.due.entry(visits[0].0).or_default().push(Chunk { keys: Arc::clone(keys), rows });
        }
    }

    /// Takes what is due at iteration `at`, and gives it together with the `changed` keys: sorted, each once.
    pub(crate) fn take(
        &mut self,
        at: i32,
        changed: Arc<IndexedBatch>,
    ) -> Result<Arc<IndexedBatch>, TraceError> {
        let Some(chunks) = self.due.remove(&at) else { return Ok(changed) };
        let column = |index: usize| -> Result<ArrayRef, TraceError> {
            let mut parts = vec![Arc::clone(&changed.columns()[index])];
            for chunk in &chunks {
                let rows = UInt32Array::from(chunk.rows.clone());
                parts.push(take(&chunk.keys.columns()[index], &rows, None)?);
            }
            let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
            Ok(concat(&parts)?)
        };
        let columns = (0..changed.columns().len()).map(column).collect::<Result<Vec<_>, _>>()?;
        let rows = changed.len() + chunks.iter().map(|chunk| chunk.rows.len()).sum::<usize>();
        let ones: ScalarBuffer<i64> = vec![1; rows].into();
        Ok(Arc::new(IndexedBatch::build(changed.layout(), &columns, &[DiffColumn::Weight(ones)])?))
    }

    /// The first iteration after `now` at which something is due.
    pub(crate) fn next(&self, now: Moment) -> Option<Iteration> {
        let due = self.due.keys().map(|at| iteration(*at)).find(|at| *at > now.iteration);
        due.filter(|_| now.depth == 1)
    }

    pub(crate) fn clear(&mut self) {
        self.due.clear();
    }
}
