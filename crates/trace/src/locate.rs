//! Finding keys: where the rows of each probed key stand in a sorted batch.
//!
//! Probes come sorted and are taken in groups. For the last of a group the search gallops: from the last position it doubles its stride until it has
//! passed the key, then halves; it starts with the stride that evenly spread keys would have. The others halve what lies between, all in step, so
//! that their cache misses overlap: on a batch that is larger than the cache that is where the time goes. A probe of m keys into n rows costs
//! O(m log(n/m)) comparisons; one key is a plain binary search.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::Range;

use arrow_array::ArrayRef;

use crate::compare::{Lead, Leads, with_leads};
use crate::{IndexedBatch, RowComparator, TraceError};

/// How many keys are searched in step. A core has ten to sixteen cache misses in flight.
const LANES: usize = 16;

/// For each run of the probe (`starts` as given by [`IndexedBatch::runs`]) the rows of `target` whose leading columns equal the probe's key columns.
///
/// `probe` are key columns, sorted; `target` is sorted by columns of the same types first.
pub fn locate(
    probe: &[ArrayRef],
    starts: &[u32],
    target: &IndexedBatch,
) -> Result<Vec<Range<u32>>, TraceError> {
    let mut found = Vec::with_capacity(starts.len().saturating_sub(1));
    locate_into(&mut found, probe, starts, target)?;
    Ok(found)
}

/// Appends what [`locate`] finds.
pub(crate) fn locate_into(
    found: &mut Vec<Range<u32>>,
    probe: &[ArrayRef],
    starts: &[u32],
    target: &IndexedBatch,
) -> Result<(), TraceError> {
    let key = &target.columns()[..probe.len()];
    let leads = Leads::of(probe.first(), key.first());
    let skip = usize::from(leads.exact());
    let rest = RowComparator::try_new(&probe[skip..], &key[skip..])?;
    with_leads!(leads, |left, right| search(found, left, right, &rest, starts, target.len()));
    Ok(())
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
    let rest = RowComparator::try_new(&key[skip..], &key[skip..])?;
    Ok(with_leads!(leads, |lead, _same| starts_of(lead, &rest, len)))
}

fn starts_of<L: Lead>(lead: L, rest: &RowComparator<'_>, len: usize) -> Vec<u32> {
    let differs = |row: &usize| {
        *row == 0 || lead.at(*row) != lead.at(row - 1) || rest.compare(row - 1, *row) != Ordering::Equal
    };
    let mut starts: Vec<u32> = (0..len).filter(differs).map(|row| row as u32).collect();
    starts.push(len as u32);
    starts
}

/// Words first: the lanes of a group halve the same range together, so that the cache misses of one overlap with those of the others.
fn search<L: Lead>(
    found: &mut Vec<Range<u32>>,
    probe: L,
    target: L,
    rest: &RowComparator<'_>,
    starts: &[u32],
    len: usize,
) {
    let rows = &starts[..starts.len().saturating_sub(1)];
    let mut position = 0;
    for (group, lanes) in rows.chunks(LANES).enumerate() {
        let guess = LANES * (len - position) / (rows.len() - group * LANES);
        let firsts = first_words(probe, target, lanes, position, len, guess);
        for (row, first) in lanes.iter().map(|row| *row as usize).zip(firsts) {
            let word = probe.at(row);
            let equal_word = |candidate: usize| target.at(candidate) == word;
            // Nothing before `position` can be wanted again, which matters where many keys share a word.
            let below =
                |candidate: usize| equal_word(candidate) && rest.compare(row, candidate) == Ordering::Greater;
            let first = gallop(first.max(position), len, below);
            let equal =
                |candidate: usize| equal_word(candidate) && rest.compare(row, candidate) == Ordering::Equal;
            position = gallop(first, len, equal);
            found.push(first as u32..position as u32);
        }
    }
}

/// For each lane the first row of the target, from `low` on, whose word is not below the lane's.
fn first_words<L: Lead>(
    probe: L,
    target: L,
    lanes: &[u32],
    low: usize,
    len: usize,
    guess: usize,
) -> [usize; LANES] {
    let mut words = [0; LANES];
    lanes.iter().zip(&mut words).for_each(|(row, word)| *word = probe.at(*row as usize));
    let last = lanes.len() - 1;
    let high = stride(low, len, guess, |candidate| target.at(candidate) < words[last]);
    let mut firsts = [low; LANES];
    firsts[last] = high;
    let mut left = if last > 0 { high - low } else { 0 };
    while left > 1 {
        let half = left / 2;
        for (first, word) in firsts.iter_mut().zip(words).take(last) {
            // Without a branch, since which half it is, is a coin toss.
            *first = select_unpredictable(target.at(*first + half - 1) < word, *first + half, *first);
        }
        left -= half;
    }
    if left == 1 {
        firsts
            .iter_mut()
            .zip(words)
            .take(last)
            .for_each(|(first, word)| *first += usize::from(target.at(*first) < word));
    }
    firsts
}

/// The first position at or after `from` where `holds` is false; `holds` must be true on a prefix only.
pub(crate) fn gallop(from: usize, len: usize, holds: impl Fn(usize) -> bool) -> usize {
    stride(from, len, 1, holds)
}

/// The same, with a guess of how far it is.
fn stride(from: usize, len: usize, guess: usize, holds: impl Fn(usize) -> bool) -> usize {
    if from >= len || !holds(from) {
        return from;
    }
    let (mut low, mut stride) = (from, guess.max(1));
    while low + stride < len && holds(low + stride) {
        low += stride;
        stride *= 2;
    }
    // Each step halves what is left without a branch, since which half it is, is a coin toss.
    let mut left = (low + stride).min(len) - low;
    while left > 1 {
        let half = left / 2;
        low = select_unpredictable(holds(low + half), low + half, low);
        left -= half;
    }
    low + 1
}
