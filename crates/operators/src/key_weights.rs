//! The total weight of keys over the batches of a trace.

use std::sync::Arc;

use arrow_array::ArrayRef;
use tailrace_circuit::OperatorError;
use tailrace_trace::{IndexedBatch, meet};

/// For each run of the sorted `probe` the sum of the weights of its key over all batches. The batches are those of one spine (committed and
/// staged), which keeps such sums below 2^63. Keys with a NULL have weight zero unless `null_matches`.
pub(crate) fn key_weights<'a>(
    probe: &[ArrayRef],
    starts: &[u32],
    batches: impl IntoIterator<Item = &'a Arc<IndexedBatch>>,
    null_matches: bool,
) -> Result<Vec<i64>, OperatorError> {
    let mut sums = vec![0i64; starts.len().saturating_sub(1)];
    for batch in batches {
        let weights = batch.weights();
        meet(probe, starts, batch, null_matches, |run, rows| {
            sums[run] += weights[rows.start as usize..rows.end as usize].iter().sum::<i64>();
            Ok::<_, OperatorError>(())
        })?;
    }
    Ok(sums)
}
