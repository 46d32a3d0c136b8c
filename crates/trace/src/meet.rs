//! Meeting keys: the runs of a sorted probe that a sorted batch has too, in order. The heart of joins.
//!
//! Both sides gallop: whoever is behind doubles its stride until it has caught up. Meeting m keys with n rows costs O(s log(l/s)) comparisons, s the
//! smaller and l the larger of the two, and a merge-like scan when they are alike. Nothing is allocated for a batch whose keys lie elsewhere.
//!
//! In SQL a NULL in a key equals nothing. NULLs of the leading column stand first in both, so they are cut off before the search, which then
//! compares words even if the column is nullable.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::compare::{Lead, Leads, with_leads};
use crate::locate::gallop;
use crate::{IndexedBatch, RowComparator, TraceError};

/// Calls `found(run, rows)` for each run of the probe (`starts` as given by [`IndexedBatch::runs`]) whose key `target` has, ascending; `rows` are the
/// rows of `target` with that key. Keys with a NULL meet only if `null_matches`.
///
/// `probe` are key columns, sorted; `target` is sorted by columns of the same types first.
pub fn meet<E: From<TraceError>>(
    probe: &[ArrayRef],
    starts: &[u32],
    target: &IndexedBatch,
    null_matches: bool,
    mut found: impl FnMut(usize, Range<u32>) -> Result<(), E>,
) -> Result<(), E> {
    let key = &target.columns()[..probe.len()];
    if null_matches || !probe.iter().chain(key).any(|column| column.logical_null_count() > 0) {
        return meet_all(probe, starts, key, target.len(), found);
    }
    if probe.iter().any(|column| column.data_type() == &DataType::Null) {
        return Ok(());
    }
    let (skipped, cut) = (probe[0].null_count(), key[0].null_count());
    let first = starts.partition_point(|start| (*start as usize) < skipped);
    let starts: Vec<u32> = starts[first..].iter().map(|start| start - skipped as u32).collect();
    let rest = |columns: &[ArrayRef], cut: usize| -> Vec<ArrayRef> {
        columns.iter().map(|column| column.slice(cut, column.len() - cut)).collect()
    };
    let (probe, key) = (rest(probe, skipped), rest(key, cut));
    meet_all(&probe, &starts, &key, target.len() - cut, |run, rows| {
        let row = starts[run] as usize;
        if probe.iter().any(|column| column.is_null(row)) {
            return Ok(());
        }
        found(first + run, rows.start + cut as u32..rows.end + cut as u32)
    })
}

fn meet_all<E: From<TraceError>>(
    probe: &[ArrayRef],
    starts: &[u32],
    key: &[ArrayRef],
    len: usize,
    found: impl FnMut(usize, Range<u32>) -> Result<(), E>,
) -> Result<(), E> {
    if starts.len() < 2 || len == 0 {
        return Ok(());
    }
    let leads = Leads::of(probe.first(), key.first());
    let skip = usize::from(leads.exact());
    let rest = RowComparator::try_new(&probe[skip..], &key[skip..])?;
    with_leads!(leads, |left, right| intersect(left, right, &rest, starts, len, found))
}

fn intersect<L: Lead, E>(
    probe: L,
    target: L,
    rest: &RowComparator<'_>,
    starts: &[u32],
    len: usize,
    mut found: impl FnMut(usize, Range<u32>) -> Result<(), E>,
) -> Result<(), E> {
    let runs = starts.len() - 1;
    let compare = |run: usize, row: usize| {
        let start = starts[run] as usize;
        target.at(row).cmp(&probe.at(start)).then_with(|| rest.compare(start, row).reverse())
    };
    if compare(0, len - 1) == Ordering::Less {
        return Ok(());
    }
    let (mut run, mut row) = (0, 0);
    while run < runs && row < len {
        match compare(run, row) {
            Ordering::Less => {
                row = gallop(row + 1, len, |candidate| compare(run, candidate) == Ordering::Less)
            }
            Ordering::Greater => {
                run = gallop(run + 1, runs, |candidate| compare(candidate, row) == Ordering::Greater)
            }
            Ordering::Equal => {
                let end = gallop(row + 1, len, |candidate| compare(run, candidate) == Ordering::Equal);
                found(run, row as u32..end as u32)?;
                (run, row) = (run + 1, end);
            }
        }
    }
    Ok(())
}
