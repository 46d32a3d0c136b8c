//! Finding keys: where the rows of each probed key stand in a sorted batch.
//!
//! Probes come sorted, so the search gallops: from the last position it doubles its stride until it has passed the key, then halves. A probe of m keys
//! into n rows costs O(m log(n/m)) comparisons, and a merge-like scan when m is close to n.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::ArrayRef;

use crate::compare::{Lead, Leads, NoLead};
use crate::{IndexedBatch, RowComparator, TraceError};

/// For each run of the probe (`starts` as given by [`IndexedBatch::runs`]) the rows of `target` whose leading columns equal the probe's key columns.
///
/// `probe` are key columns, sorted; `target` is sorted by columns of the same types first.
pub fn locate(probe: &[ArrayRef], starts: &[u32], target: &IndexedBatch) -> Result<Vec<Range<u32>>, TraceError> {
    let key = &target.columns()[..probe.len()];
    let leads = Leads::of(probe.first(), key.first());
    let skip = usize::from(leads.exact());
    let rest = RowComparator::try_new(&probe[skip.min(probe.len())..], &key[skip.min(key.len())..])?;
    let len = target.len();
    Ok(match leads {
        Leads::I64(left, right) => search(left, right, &rest, starts, len),
        Leads::I32(left, right) => search(left, right, &rest, starts, len),
        Leads::View(left, right) => search(left, right, &rest, starts, len),
        Leads::None => search(NoLead, NoLead, &rest, starts, len),
    })
}

/// The rows of `target` that equal the key at `row` of `probe`.
pub fn run_of(probe: &[ArrayRef], row: usize, target: &IndexedBatch) -> Result<Range<u32>, TraceError> {
    let starts = [row as u32, row as u32 + 1];
    Ok(locate(probe, &starts, target)?.pop().unwrap_or(0..0))
}

/// Where each distinct key starts, and the number of rows.
pub(crate) fn run_starts(key: &[ArrayRef], len: usize) -> Result<Vec<u32>, TraceError> {
    let leads = Leads::of(key.first(), key.first());
    let skip = usize::from(leads.exact());
    let rest = RowComparator::try_new(&key[skip.min(key.len())..], &key[skip.min(key.len())..])?;
    Ok(match leads {
        Leads::I64(lead, _) => starts_of(lead, &rest, len),
        Leads::I32(lead, _) => starts_of(lead, &rest, len),
        Leads::View(lead, _) => starts_of(lead, &rest, len),
        Leads::None => starts_of(NoLead, &rest, len),
    })
}

fn starts_of<L: Lead>(lead: L, rest: &RowComparator<'_>, len: usize) -> Vec<u32> {
    let differs = |row: &usize| *row == 0 || lead.at(*row) != lead.at(row - 1) || rest.compare(row - 1, *row) != Ordering::Equal;
    let mut starts: Vec<u32> = (0..len).filter(differs).map(|row| row as u32).collect();
    starts.push(len as u32);
    starts
}

fn search<L: Lead>(probe: L, target: L, rest: &RowComparator<'_>, starts: &[u32], len: usize) -> Vec<Range<u32>> {
    let mut found = Vec::with_capacity(starts.len().saturating_sub(1));
    let mut position = 0;
    for start in &starts[..starts.len().saturating_sub(1)] {
        let row = *start as usize;
        let word = probe.at(row);
        let below = |candidate: usize| match target.at(candidate).cmp(&word) {
            Ordering::Equal => rest.compare(row, candidate) == Ordering::Greater,
            ordering => ordering == Ordering::Less,
        };
        let first = gallop(position, len, below);
        let not_above = |candidate: usize| target.at(candidate) == word && rest.compare(row, candidate) == Ordering::Equal;
        let end = gallop(first, len, not_above);
        found.push(first as u32..end as u32);
        position = end;
    }
    found
}

/// The first position at or after `from` where `holds` is false; `holds` must be true on a prefix only.
pub(crate) fn gallop(from: usize, len: usize, holds: impl Fn(usize) -> bool) -> usize {
    if from >= len || !holds(from) {
        return from;
    }
    let (mut low, mut stride) = (from, 1);
    while low + stride < len && holds(low + stride) {
        low += stride;
        stride *= 2;
    }
    let mut high = (low + stride).min(len);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    high
}
