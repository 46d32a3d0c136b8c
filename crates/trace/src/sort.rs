//! Sorting rows: the permutation that orders them, and where neighbours are equal.
//!
//! Leading columns are packed into one word per row (`packing.rs`) above the row number. Sorting is then a sort of plain words, `u64` if
//! everything fits and `u128` otherwise, by radix if the columns need few bits, without a comparison function and without looking at the columns. Only rows whose packed prefix ties while
//! columns are left over are compared in full.

use std::cmp::Ordering;

use arrow_array::ArrayRef;

use crate::locate::ascends;
use crate::packing::Packing;
use crate::radix::{radix_sort, worth_dealing};
use crate::word::Word;
use crate::{RowComparator, TraceError};

/// The order of rows.
pub struct Sorted {
    /// Row numbers in order.
    pub rows: Vec<u32>,
    /// `equal[i]`: row `i` of the order equals row `i - 1`.
    pub equal: Vec<bool>,
}

/// Sorts the rows of `columns`, ascending, NULL first, columns left to right.
pub fn sort_rows(columns: &[ArrayRef], len: usize) -> Result<Sorted, TraceError> {
    check_len(len)?;
    if ascends(columns, len)? {
        return Ok(Sorted { rows: (0..len as u32).collect(), equal: vec![false; len] });
    }
    sort_packed(Packing::measure(columns, len), columns, len)
}

/// Row numbers have 31 bits.
pub(crate) fn check_len(found: usize) -> Result<(), TraceError> {
    let limit = (1 << 31) - 1;
    if found > limit { Err(TraceError::TooManyRows { limit, found }) } else { Ok(()) }
}

/// Bits of the row numbers of a batch.
pub(crate) fn row_bits(len: usize) -> u32 {
    usize::BITS - len.saturating_sub(1).leading_zeros()
}

/// Sorts rows that are measured already.
pub(crate) fn sort_packed(
    packing: Packing<'_>,
    columns: &[ArrayRef],
    len: usize,
) -> Result<Sorted, TraceError> {
    let row_bits = row_bits(len);
    let packing = packing.fit(128 - row_bits);
    let mut sorted = if packing.bits + row_bits <= 64 {
        sort_numbered::<u64>(&packing, len, row_bits)
    } else {
        sort_numbered::<u128>(&packing, len, row_bits)
    };
    if !packing.exact {
        settle_ties(&mut sorted, &columns[packing.settled..])?;
    }
    Ok(sorted)
}

fn sort_numbered<W: Word>(packing: &Packing<'_>, len: usize, row_bits: u32) -> Sorted {
    Sorted::of_words(&sorted_words::<W>(packing, len, row_bits), row_bits)
}

/// The packed columns above the row numbers, in order.
pub(crate) fn sorted_words<W: Word>(packing: &Packing<'_>, len: usize, row_bits: u32) -> Vec<W> {
    let mut words = packing.pack((0..len as u64).map(W::from_u64).collect(), row_bits);
    sort_words(&mut words, row_bits, packing.bits);
    words
}

/// Orders words by the `bits` bits above their tails; words that agree in those come in the order of their tails or as they stood.
pub(crate) fn sort_words<W: Word>(words: &mut Vec<W>, tail_bits: u32, bits: u32) {
    if words.is_sorted() {
        return;
    }
    let digits = |word: W, by: u32| word.above(by).low() as usize;
    let low_bits = bits - worth_dealing(words.len(), bits);
    if !radix_sort(words, tail_bits + low_bits, bits - low_bits, digits) {
        words.sort_unstable();
    } else if low_bits > 0 {
        let cut = tail_bits + low_bits;
        let runs = words.chunk_by_mut(|a, b| a.above(cut) == b.above(cut));
        runs.filter(|run| run.len() > 1).for_each(|run| run.sort_unstable());
    }
}

impl Sorted {
    /// The order that sorted words with row numbers in their low bits tell.
    pub(crate) fn of_words<W: Word>(words: &[W], row_bits: u32) -> Self {
        let mask = (1u64 << row_bits) - 1;
        let rows = words.iter().map(|word| (word.low() & mask) as u32).collect();
        let mut equal = vec![false; words.len()];
        for (flag, pair) in equal.iter_mut().skip(1).zip(words.windows(2)) {
            *flag = pair[0].above(row_bits) == pair[1].above(row_bits);
        }
        Self { rows, equal }
    }
}

/// Orders every stretch of rows with equal words by the columns that the words do not decide.
fn settle_ties(sorted: &mut Sorted, columns: &[ArrayRef]) -> Result<(), TraceError> {
    let comparator = RowComparator::try_new(columns, columns)?;
    let len = sorted.rows.len();
    let mut start = 0;
    while start < len {
        let mut end = start + 1;
        while end < len && sorted.equal[end] {
            end += 1;
        }
        if end - start > 1 {
            settle_run(&mut sorted.rows[start..end], &mut sorted.equal[start..end], &comparator);
        }
        start = end;
    }
    Ok(())
}

fn settle_run(rows: &mut [u32], equal: &mut [bool], comparator: &RowComparator<'_>) {
    rows.sort_unstable_by(|a, b| comparator.compare(*a as usize, *b as usize).then(a.cmp(b)));
    for i in 1..rows.len() {
        equal[i] = comparator.compare(rows[i - 1] as usize, rows[i] as usize) == Ordering::Equal;
    }
}
