//! Consolidation: sort, fold the diffs of equal rows, drop what became zero.
//!
//! Three ways, the first that fits. Rows whose columns and weight fit into a word are sorted as words, folded as words and read back from them:
//! nothing is gathered. Rows whose columns fit beside the row number are sorted and read back likewise, and only diffs and texts are gathered. All
//! others are sorted by `sort.rs` and gathered.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use tailrace_algebra::weight;

use crate::diff::DiffBuilder;
use crate::packing::Packing;
use crate::sort::{Sorted, check_len, row_bits, sort_packed, sort_words, sorted_words};
use crate::unpack::{unpack, unpacks};
use crate::word::Word;
use crate::{ChangeBatch, DiffColumn, TraceError};

/// Columns and diffs of consolidated rows.
pub(crate) struct Consolidated {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) diffs: Vec<DiffColumn>,
}

/// Sorts and folds rows with any diffs. The absolute weights must sum to less than 2^63, so that folding cannot overflow.
pub(crate) fn consolidate(
    columns: &[ArrayRef],
    diffs: &[DiffColumn],
    len: usize,
) -> Result<Consolidated, TraceError> {
    check_len(len)?;
    if let Some(DiffColumn::Weight(weights)) = diffs.first() {
        weight::mass(weights).ok_or(TraceError::WeightOverflow)?;
    }
    let packing = Packing::measure(columns, len);
    let unpacked = packing.exact && columns.iter().all(|column| unpacks(column.data_type()));
    if let ([DiffColumn::Weight(weights)], true) = (diffs, unpacked)
        && let Some(tail) = Tail::measure(weights).filter(|tail| packing.bits + tail.bits <= 128)
    {
        return Ok(if packing.bits + tail.bits <= 64 {
            consolidate_words::<u64>(&packing, columns, weights, tail)
        } else {
            consolidate_words::<u128>(&packing, columns, weights, tail)
        });
    }
    match packing.bits + row_bits(len) {
        ..=64 if packing.exact => consolidate_numbered::<u64>(&packing, columns, diffs, len),
        ..=128 if packing.exact => consolidate_numbered::<u128>(&packing, columns, diffs, len),
        _ => {
            let folded = fold(&sort_packed(packing, columns, len)?, diffs);
            let columns = gather_within(columns, &folded.rows, Slack::Little)?;
            Ok(Consolidated { columns, diffs: folded.diffs })
        }
    }
}

pub(crate) fn consolidate_rows(batch: &ChangeBatch) -> Result<ChangeBatch, TraceError> {
    let diffs = [DiffColumn::Weight(batch.weights().clone())];
    let Consolidated { columns, diffs } = consolidate(batch.columns(), &diffs, batch.len())?;
    let weights = match diffs.into_iter().next() {
        Some(DiffColumn::Weight(weights)) => weights,
        _ => Vec::new().into(),
    };
    Ok(ChangeBatch::unchecked(Arc::clone(batch.schema()), columns, weights))
}

/// The chosen rows of every column. All rows in their order are the columns themselves, without a copy; other choices lie in buffers of
/// their own. Either way nothing larger stays alive through a view or a slice.
pub fn gather(columns: &[ArrayRef], rows: &UInt32Array) -> Result<Vec<ArrayRef>, TraceError> {
    gather_within(columns, rows, Slack::Double)
}

/// All rows, to be kept: the columns themselves, copied only if much larger buffers would stay alive through them.
pub(crate) fn keep(columns: &[ArrayRef], len: usize) -> Result<Vec<ArrayRef>, TraceError> {
    const SMALL: usize = 1024;
    if columns.iter().all(|column| column.get_buffer_memory_size() <= SMALL) {
        return Ok(columns.to_vec());
    }
    gather_within(columns, &UInt32Array::from_iter_values(0..len as u32), Slack::Little)
}

fn gather_within(
    columns: &[ArrayRef],
    rows: &UInt32Array,
    slack: Slack,
) -> Result<Vec<ArrayRef>, TraceError> {
    let all = is_identity(rows);
    columns.iter().map(|column| gather_column(column, rows, all, slack)).collect()
}

/// `all`: the rows are numbered from zero without a gap.
fn gather_column(
    column: &ArrayRef,
    rows: &UInt32Array,
    all: bool,
    slack: Slack,
) -> Result<ArrayRef, TraceError> {
    let whole = all && column.len() == rows.len() && is_tight(column, slack);
    let chosen = if whole { Arc::clone(column) } else { take(column, rows, None)? };
    Ok(compact(chosen, slack))
}

fn is_identity(rows: &UInt32Array) -> bool {
    rows.null_count() == 0 && rows.values().iter().enumerate().all(|(place, row)| place == *row as usize)
}

/// Whether an array is not a part of much larger buffers; the bytes behind views are left to `compact`.
fn is_tight(array: &ArrayRef, slack: Slack) -> bool {
    match array.data_type() {
        DataType::Utf8View => {
            array.as_string_view().views().inner().capacity() <= slack.most(16 * array.len())
        }
        DataType::BinaryView => {
            array.as_binary_view().views().inner().capacity() <= slack.most(16 * array.len())
        }
        _ => {
            let used = array.to_data().get_slice_memory_size();
            used.is_ok_and(|used| array.get_buffer_memory_size() <= slack.most(used))
        }
    }
}

/// How much more than its own bytes a column may keep alive before they are copied.
#[derive(Clone, Copy)]
enum Slack {
    /// For rows that flow on.
    Double,
    /// For rows that are kept.
    Little,
}

impl Slack {
    fn most(self, used: usize) -> usize {
        match self {
            Self::Double => 2 * used + 1024,
            Self::Little => used + used / 64 + 64,
        }
    }
}

/// Copies the bytes behind views when too much of what they keep alive is not theirs, or lies in many pieces.
fn compact(array: ArrayRef, slack: Slack) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View if is_wasteful(array.as_string_view(), slack) => {
            Arc::new(array.as_string_view().gc())
        }
        DataType::BinaryView if is_wasteful(array.as_binary_view(), slack) => {
            Arc::new(array.as_binary_view().gc())
        }
        _ => array,
    }
}

fn is_wasteful<T: ByteViewType>(view: &GenericByteViewArray<T>, slack: Slack) -> bool {
    const PIECES: usize = 8;
    let buffers = view.data_buffers();
    if buffers.is_empty() {
        return false;
    }
    let held: usize = buffers.iter().map(|buffer| buffer.capacity()).sum();
    buffers.len() > PIECES || held > slack.most(view.total_buffer_bytes_used())
}

/// Weights as the low bits of a word.
#[derive(Clone, Copy)]
struct Tail {
    least: i64,
    bits: u32,
}

impl Tail {
    fn measure(weights: &[i64]) -> Option<Self> {
        let (least, greatest) =
            weights.iter().fold((i64::MAX, i64::MIN), |(l, g), weight| (l.min(*weight), g.max(*weight)));
        let range = greatest.checked_sub(least)?;
        Some(Self { least, bits: 64 - range.leading_zeros() })
    }

    #[inline(always)]
    fn weight<W: Word>(self, word: W) -> i64 {
        let mask = (1u64 << self.bits) - 1;
        (word.low() & mask) as i64 + self.least
    }
}

/// Everything is in the words: columns above, the weight below.
fn consolidate_words<W: Word>(
    packing: &Packing<'_>,
    columns: &[ArrayRef],
    weights: &[i64],
    tail: Tail,
) -> Consolidated {
    let tails = weights.iter().map(|weight| W::from_u64((weight - tail.least) as u64)).collect();
    let mut words = packing.pack(tails, tail.bits);
    let (len, in_order) = (words.len(), words.is_sorted());
    sort_words(&mut words, tail.bits, packing.bits);
    let weights = fold_words(&mut words, tail);
    let whole = in_order && words.len() == len;
    let columns = unpack_columns(packing, columns, &words, tail.bits, whole).flatten().collect();
    Consolidated { columns, diffs: vec![DiffColumn::Weight(weights.into())] }
}

/// Keeps one word for each row whose weights do not cancel, and returns those weights.
fn fold_words<W: Word>(words: &mut Vec<W>, tail: Tail) -> Vec<i64> {
    let mut weights = Vec::with_capacity(words.len());
    let mut i = 0;
    while i < words.len() {
        let first = words[i];
        let mut sum = tail.weight(first);
        i += 1;
        while i < words.len() && words[i].above(tail.bits) == first.above(tail.bits) {
            sum += tail.weight(words[i]);
            i += 1;
        }
        if sum != 0 {
            words[weights.len()] = first;
            weights.push(sum);
        }
    }
    words.truncate(weights.len());
    shrink(&mut weights);
    weights
}

/// The columns are in the words, above the row number.
fn consolidate_numbered<W: Word>(
    packing: &Packing<'_>,
    columns: &[ArrayRef],
    diffs: &[DiffColumn],
    len: usize,
) -> Result<Consolidated, TraceError> {
    let row_bits = row_bits(len);
    let words = sorted_words::<W>(packing, len, row_bits);
    let folded = fold(&Sorted::of_words(&words, row_bits), diffs);
    let words: Vec<W> = folded.places.iter().map(|place| words[*place as usize]).collect();
    let all = is_identity(&folded.rows);
    let gathered = |column| gather_column(column, &folded.rows, all, Slack::Little);
    let unpacked = unpack_columns(packing, columns, &words, row_bits, all && words.len() == len).zip(columns);
    let columns = unpacked.map(|(found, column)| found.map_or_else(|| gathered(column), Ok));
    Ok(Consolidated { columns: columns.collect::<Result<_, _>>()?, diffs: folded.diffs })
}

/// Each column read back from the words, None if its type does not allow it; the column itself if the words are the `whole` of it, in order.
fn unpack_columns<'p, W: Word>(
    packing: &'p Packing<'_>,
    columns: &'p [ArrayRef],
    words: &'p [W],
    tail_bits: u32,
    whole: bool,
) -> impl Iterator<Item = Option<ArrayRef>> + 'p {
    let mut shift = packing.bits + tail_bits;
    packing.fields.iter().zip(columns).map(move |(field, column)| {
        shift -= field.bits;
        let kept = whole && unpacks(column.data_type()) && is_tight(column, Slack::Little);
        if kept { Some(Arc::clone(column)) } else { unpack(column.data_type(), words, field, shift) }
    })
}

/// The rows that stay after folding, in order, with their places in the sorted order and their folded diffs.
struct Folded {
    rows: UInt32Array,
    places: Vec<u32>,
    diffs: Vec<DiffColumn>,
}

fn fold(sorted: &Sorted, diffs: &[DiffColumn]) -> Folded {
    let mut places = Vec::with_capacity(sorted.rows.len());
    let diffs = match diffs {
        [DiffColumn::Weight(weights)] => fold_weights(sorted, weights, &mut places),
        _ => fold_diffs(sorted, diffs, &mut places),
    };
    let rows = places.iter().map(|place| sorted.rows[*place as usize]).collect::<Vec<_>>().into();
    Folded { rows, places, diffs }
}

fn fold_weights(sorted: &Sorted, weights: &ScalarBuffer<i64>, places: &mut Vec<u32>) -> Vec<DiffColumn> {
    let len = sorted.rows.len();
    let mut folded: Vec<i64> = Vec::with_capacity(len);
    let mut i = 0;
    while i < len {
        let place = i;
        let mut sum = weights[sorted.rows[i] as usize];
        i += 1;
        while i < len && sorted.equal[i] {
            sum += weights[sorted.rows[i] as usize];
            i += 1;
        }
        if sum != 0 {
            places.push(place as u32);
            folded.push(sum);
        }
    }
    shrink(&mut folded);
    vec![DiffColumn::Weight(folded.into())]
}

fn fold_diffs(sorted: &Sorted, diffs: &[DiffColumn], places: &mut Vec<u32>) -> Vec<DiffColumn> {
    let len = sorted.rows.len();
    let mut builders: Vec<DiffBuilder> =
        diffs.iter().map(|diff| DiffBuilder::new(diff.kind(), len.min(1 << 16))).collect();
    let mut start = 0;
    while start < len {
        let mut end = start + 1;
        while end < len && sorted.equal[end] {
            end += 1;
        }
        let run = &sorted.rows[start..end];
        for (builder, diff) in builders.iter_mut().zip(diffs) {
            builder.push_sum(diff, run.iter().map(|row| *row as usize));
        }
        if builders.iter().all(DiffBuilder::last_is_zero) {
            builders.iter_mut().for_each(DiffBuilder::pop);
        } else {
            places.push(start as u32);
        }
        start = end;
    }
    builders.into_iter().map(DiffBuilder::finish).collect()
}

/// Gives back memory that folding left over, if it is worth a copy.
pub(crate) fn shrink<T>(values: &mut Vec<T>) {
    if values.capacity() - values.len() > values.len() / 16 {
        values.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn numbers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
        Arc::new(values.collect::<Int64Array>())
    }

    /// Every way, whether or not `consolidate` would choose it: sorted as words, as numbered words of both widths, and by gathering.
    fn ways(columns: &[ArrayRef], weights: &[i64]) -> Vec<Consolidated> {
        let (len, diffs) = (weights.len(), [DiffColumn::Weight(weights.to_vec().into())]);
        let packing = || Packing::measure(columns, len);
        let tail = Tail::measure(weights).unwrap();
        let folded = fold(&sort_packed(packing(), columns, len).unwrap(), &diffs);
        let gathered = gather_within(columns, &folded.rows, Slack::Little).unwrap();
        vec![
            consolidate_words::<u64>(&packing(), columns, weights, tail),
            consolidate_words::<u128>(&packing(), columns, weights, tail),
            consolidate_numbered::<u64>(&packing(), columns, &diffs, len).unwrap(),
            consolidate_numbered::<u128>(&packing(), columns, &diffs, len).unwrap(),
            Consolidated { columns: gathered, diffs: folded.diffs },
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

        /// Few bits and few rows or many: both the radix sort and the comparing one are reached.
        #[test]
        fn differential_all_ways_of_consolidating_agree(
            rows in vec((prop::option::of(-9i64..9), -300i64..300, -2i64..3), 1..2_500),
        ) {
            let columns = [numbers(rows.iter().map(|row| row.0)), numbers(rows.iter().map(|row| Some(row.1)))];
            let weights: Vec<i64> = rows.iter().map(|row| row.2).collect();
            let chosen = consolidate(&columns, &[DiffColumn::Weight(weights.clone().into())], rows.len()).unwrap();
            for way in ways(&columns, &weights) {
                prop_assert_eq!(&way.columns, &chosen.columns);
                prop_assert_eq!(weights_of(&way), weights_of(&chosen));
            }
        }
    }

    fn weights_of(consolidated: &Consolidated) -> &[i64] {
        match &consolidated.diffs[..] {
            [DiffColumn::Weight(weights)] => weights,
            _ => &[],
        }
    }
}
