//! Looking up accumulators: the sum of the diffs of each probed key over all batches of a trace.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::diff::{DiffBuilder, sum_at};
use crate::locate::locate_into;
use crate::{DiffColumn, Snapshot, TraceError};

/// For each run of sorted `probe` keys the sums of all diffs over all batches; zero where the key is not there.
pub fn lookup_sums(
    probe: &[ArrayRef],
    starts: &[u32],
    trace: &Snapshot,
) -> Result<Vec<DiffColumn>, TraceError> {
    let keys = starts.len().saturating_sub(1);
    let mut found: Vec<Range<u32>> = Vec::with_capacity(keys * trace.batches().len());
    for batch in trace.batches() {
        locate_into(&mut found, probe, starts, batch)?;
    }
    let mut sums = Vec::with_capacity(trace.layout().diffs().len());
    for (index, kind) in trace.layout().diffs().iter().enumerate() {
        let mut builder = DiffBuilder::new(*kind, keys);
        for key in 0..keys {
            let ranges = found.iter().skip(key).step_by(keys);
            let parts = trace
                .batches()
                .iter()
                .zip(ranges)
                .map(|(batch, range)| (&batch.diffs()[index], range.clone()));
            sum_at(&mut builder, parts);
        }
        sums.push(builder.finish());
    }
    Ok(sums)
}
