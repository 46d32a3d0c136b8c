//! Looking up accumulators: the sum of the diffs of each probed key over all batches of a trace.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_buffer::i256;
use tailrace_algebra::ExactSum;

use crate::diff::add_canonical;
use crate::locate::locate_into;
use crate::{DiffColumn, DiffKind, ExactColumn, Snapshot, TraceError};

/// For each run of sorted `probe` keys the sums of all diffs over all batches; zero where the key is not there.
pub fn lookup_sums(
    probe: &[ArrayRef],
    starts: &[u32],
    trace: &Snapshot,
) -> Result<Vec<DiffColumn>, TraceError> {
    let keys = starts.len().saturating_sub(1);
    let mut rows: Vec<Range<u32>> = Vec::with_capacity(keys * trace.batches().len());
    for batch in trace.batches() {
        locate_into(&mut rows, probe, starts, batch)?;
    }
    let found = Found { keys, rows };
    let sum = |(index, kind): (usize, &DiffKind)| {
        let columns: Vec<&DiffColumn> = trace.batches().iter().map(|batch| &batch.diffs()[index]).collect();
        found.sum(*kind, &columns)
    };
    Ok(trace.layout().diffs().iter().enumerate().map(sum).collect())
}

/// The rows of each key in each batch, batch after batch.
struct Found {
    keys: usize,
    rows: Vec<Range<u32>>,
}

impl Found {
    fn sum(&self, kind: DiffKind, columns: &[&DiffColumn]) -> DiffColumn {
        macro_rules! totals {
            ($variant:path, $zero:expr, $add:path) => {{
                let values = columns
                    .iter()
                    .map(|column| if let $variant(values) = column { &values[..] } else { &[] });
                $variant(self.totals(values, $zero, $add).into())
            }};
        }
        match kind {
            DiffKind::Weight => totals!(DiffColumn::Weight, 0, i64::wrapping_add),
            DiffKind::Sum => totals!(DiffColumn::Sum, 0, i128::wrapping_add),
            DiffKind::Wide => totals!(DiffColumn::Wide, i256::ZERO, i256::wrapping_add),
            DiffKind::Exact => DiffColumn::Exact(self.exact_totals(columns)),
        }
    }

    /// Adds one batch after the other: most keys are in few batches, so most ranges are passed over.
    fn totals<'a, T: Copy + 'a>(
        &self,
        columns: impl Iterator<Item = &'a [T]>,
        zero: T,
        add: fn(T, T) -> T,
    ) -> Vec<T> {
        let mut totals = vec![zero; self.keys];
        for (batch, values) in columns.enumerate() {
            let ranges = &self.rows[batch * self.keys..(batch + 1) * self.keys];
            for (total, rows) in totals.iter_mut().zip(ranges).filter(|(_, rows)| !rows.is_empty()) {
                let values = &values[rows.start as usize..rows.end as usize];
                *total = values.iter().fold(*total, |sum, value| add(sum, *value));
            }
        }
        totals
    }

    /// Adds one key after the other in the same scratch; a sum of one row is copied as it is.
    fn exact_totals(&self, columns: &[&DiffColumn]) -> ExactColumn {
        let (mut totals, mut sum) = (ExactColumn::default(), ExactSum::new());
        for key in 0..self.keys {
            let mut rows = self.exact_rows(key, columns);
            match (rows.next(), rows.next()) {
                (None, _) => totals.push_bytes(&[]),
                (Some(only), None) => totals.push_bytes(only),
                (Some(first), Some(second)) => {
                    sum.clear();
                    [first, second].into_iter().chain(rows).for_each(|bytes| add_canonical(&mut sum, bytes));
                    totals.push(&sum);
                }
            }
        }
        totals
    }

    fn exact_rows<'a>(&'a self, key: usize, columns: &'a [&DiffColumn]) -> impl Iterator<Item = &'a [u8]> {
        let ranges = self.rows.iter().skip(key).step_by(self.keys.max(1));
        columns.iter().zip(ranges).filter(|(_, rows)| !rows.is_empty()).flat_map(|(column, rows)| {
            let values = if let DiffColumn::Exact(values) = column { Some(values) } else { None };
            rows.clone().filter_map(move |row| values.map(|values| values.get(row as usize)))
        })
    }
}
