//! Looking up accumulators: the sum of the diffs of each probed key over all batches of a trace.

use arrow_array::ArrayRef;
use std::ops::Range;

use crate::diff::{DiffBuilder, sum_at};
use crate::{DiffColumn, Snapshot, TraceError, locate};

/// For each run of sorted `probe` keys the sums of all diffs over all batches; zero where the key is not there.
pub fn lookup_sums(probe: &[ArrayRef], starts: &[u32], trace: &Snapshot) -> Result<Vec<DiffColumn>, TraceError> {
    let found: Vec<Vec<Range<u32>>> = trace.batches().iter().map(|batch| locate(probe, starts, batch)).collect::<Result<_, _>>()?;
    let keys = starts.len().saturating_sub(1);
    let mut sums = Vec::with_capacity(trace.layout().diffs().len());
    for (index, kind) in trace.layout().diffs().iter().enumerate() {
        let mut builder = DiffBuilder::new(*kind, keys);
        for key in 0..keys {
            let parts = found.iter().zip(trace.batches()).map(|(ranges, batch)| (&batch.diffs()[index], ranges[key].clone()));
            sum_at(&mut builder, parts);
        }
        sums.push(builder.finish());
    }
    Ok(sums)
}
