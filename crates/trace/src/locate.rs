//! Finding keys: where the rows of each probed key stand in a sorted batch.
//!
//! Probes come sorted and are taken in groups. For the last of a group the search starts where the key would be if keys were evenly spread, and gallops
//! from there: it doubles its stride until it has passed the key, then halves. The others halve what lies between, all in step, so that
//! their cache misses overlap: on a batch that is larger than the cache that is where the time goes. Where keys are dense, as identifiers are, a short
//! range around the guess is enough. A probe of m keys into n rows costs O(m log n) comparisons at most, and far fewer where keys are even or many.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::Range;

use arrow_array::ArrayRef;

use crate::compare::{Lead, Leads, with_leads};
use crate::{IndexedBatch, RowComparator, TraceError};

/// How many keys are searched in step. A core has ten to sixteen cache misses in flight.
const LANES: usize = 16;

/// How far from a guess a key may be to count as near: four cache lines of words.
const NEAR: usize = 32;

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

/// Whether every row comes before the next one.
pub(crate) fn ascends(columns: &[ArrayRef], len: usize) -> Result<bool, TraceError> {
    let leads = Leads::of(columns.first(), columns.first());
    let skip = usize::from(leads.exact());
    let rest = RowComparator::try_new(&columns[skip..], &columns[skip..])?;
    Ok(with_leads!(leads, |lead, _same| (1..len).all(|row| {
        let (before, word) = (lead.at(row - 1), lead.at(row));
        before < word || before == word && rest.compare(row - 1, row) == Ordering::Less
    })))
}

fn starts_of<L: Lead>(lead: L, rest: &RowComparator<'_>, len: usize) -> Vec<u32> {
    let differs = |row: &usize| {
        *row == 0 || lead.at(*row) != lead.at(row - 1) || rest.compare(row - 1, *row) != Ordering::Equal
    };
    let mut starts: Vec<u32> = (0..len).filter(differs).map(|row| row as u32).collect();
    starts.push(len as u32);
    starts
}

/// Words first, then what is equal in its word.
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
    for lanes in rows.chunks(LANES) {
        let firsts = first_words(probe, target, lanes, position, len);
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
fn first_words<L: Lead>(probe: L, target: L, lanes: &[u32], low: usize, len: usize) -> [usize; LANES] {
    let mut words = [0; LANES];
    lanes.iter().zip(&mut words).for_each(|(row, word)| *word = probe.at(*row as usize));
    let last = lanes.len() - 1;
    let high = first_word(target, words[last], low, len);
    let mut firsts = [low; LANES];
    firsts[last] = high;
    if last > 0 {
        let left = narrow(target, &words[..last], low, high, &mut firsts[..last]);
        halve(target, &words[..last], left, &mut firsts[..last]);
    }
    firsts
}

/// The first row from `low` on whose word is not below `word`: a gallop that starts where the word would be if words were evenly spread.
fn first_word<L: Lead>(target: L, word: u64, low: usize, len: usize) -> usize {
    if low >= len || target.at(low) >= word {
        return low;
    }
    let guess = interpolate(word, (low, target.at(low)), (len - 1, target.at(len - 1)));
    if target.at(guess) < word {
        return stride(guess, len, NEAR, |candidate| target.at(candidate) < word);
    }
    let back = stride(0, guess - low, NEAR, |steps| target.at(guess - 1 - steps) >= word);
    guess - back
}

/// Sets each lane to the start of a short range that holds its answer, if words are spread evenly enough for that; gives the length of the ranges.
fn narrow<L: Lead>(target: L, words: &[u64], low: usize, high: usize, firsts: &mut [usize]) -> usize {
    if high - low <= 4 * NEAR {
        return high - low;
    }
    let (from, to) = ((low, target.at(low)), (high - 1, target.at(high - 1)));
    let mut near = true;
    for (first, word) in firsts.iter_mut().zip(words) {
        let start = interpolate(*word, from, to).saturating_sub(NEAR).clamp(low, high - 2 * NEAR);
        near &= (start == low) | (target.at(start.max(1) - 1) < *word);
        near &= (start == high - 2 * NEAR) | (target.at(start + 2 * NEAR - 1) >= *word);
        *first = start;
    }
    if near {
        return 2 * NEAR;
    }
    firsts.fill(low);
    high - low
}

/// Halves the ranges of all lanes in step. Without a branch, since which half it is, is a coin toss.
fn halve<L: Lead>(target: L, words: &[u64], mut left: usize, firsts: &mut [usize]) {
    while left > 1 {
        let half = left / 2;
        for (first, word) in firsts.iter_mut().zip(words) {
            *first = select_unpredictable(target.at(*first + half - 1) < *word, *first + half, *first);
        }
        left -= half;
    }
    if left == 1 {
        for (first, word) in firsts.iter_mut().zip(words) {
            *first += usize::from(target.at(*first) < *word);
        }
    }
}

/// Where a word would stand between two rows if the words between them were evenly spread.
fn interpolate(word: u64, from: (usize, u64), to: (usize, u64)) -> usize {
    let span = to.1.saturating_sub(from.1).max(1) as f64;
    let part = (word.saturating_sub(from.1) as f64 / span).min(1.0);
    from.0 + (part * (to.0 - from.0) as f64) as usize
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
