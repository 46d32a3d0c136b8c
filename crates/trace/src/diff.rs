//! Diff columns: what is added up when rows meet.
//!
//! Every batch has a weight per row. A trace of accumulators has more: sums that follow the same algebra as the weight, so that merging
//! two batches adds them and a row vanishes when all of them are zero. The kinds are groups: `Weight` (i64), `Sum` (i128), `Wide` (i256 for
//! decimals, an integer of Arrow that the algebra does not know) and `Exact` (the exact float sum in its canonical bytes). With the total absolute weight of a trace below 2^63 (the spine sees to it)
//! and values below 2^63 (`Sum`) or 2^128 (`Wide`), no addition here can overflow.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, ScalarBuffer, i256};
use tailrace_algebra::{ExactSum, Monoid};

use crate::consolidate::shrink;

/// The kind of a diff column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiffKind {
    /// A weight.
    Weight,
    /// A sum of integers.
    Sum,
    /// A sum of decimals.
    Wide,
    /// An exact sum of floats.
    Exact,
}

/// Exact float sums of many rows: canonical bytes, one slice a row, empty for zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactColumn {
    /// Where each row's bytes end. Many groups of wide sums have more than 4 GiB, so that 32 bits do not do.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl ExactColumn {
    /// The bytes of one row's sum.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    /// Appends a sum given by its canonical bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// Appends a sum.
    pub fn push(&mut self, sum: &ExactSum) {
        sum.write_bytes(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// The sums of the rows of two columns, row by row.
    fn plus(&self, other: &Self) -> Self {
        let (mut out, mut sum) = (Self::default(), ExactSum::new());
        for row in 0..self.len() {
            match (self.get(row), other.get(row)) {
                ([], bytes) | (bytes, []) => out.push_bytes(bytes),
                (left, right) => {
                    sum.clear();
                    add_canonical(&mut sum, left);
                    add_canonical(&mut sum, right);
                    out.push(&sum);
                }
            }
        }
        out
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// A column of diffs.
#[derive(Clone, Debug, PartialEq)]
pub enum DiffColumn {
    /// Weights.
    Weight(ScalarBuffer<i64>),
    /// Integer sums.
    Sum(ScalarBuffer<i128>),
    /// Decimal sums.
    Wide(ScalarBuffer<i256>),
    /// Float sums.
    Exact(ExactColumn),
}

impl DiffColumn {
    /// Its kind.
    pub fn kind(&self) -> DiffKind {
        match self {
            Self::Weight(_) => DiffKind::Weight,
            Self::Sum(_) => DiffKind::Sum,
            Self::Wide(_) => DiffKind::Wide,
            Self::Exact(_) => DiffKind::Exact,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Weight(values) => values.len(),
            Self::Sum(values) => values.len(),
            Self::Wide(values) => values.len(),
            Self::Exact(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory used by the values.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Weight(values) => values.len() * 8,
            Self::Sum(values) => values.len() * 16,
            Self::Wide(values) => values.len() * 32,
            Self::Exact(values) => values.ends.len() * 8 + values.bytes.len(),
        }
    }

    /// The rows of a range; exact sums are copied, the others shared.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        match self {
            Self::Weight(values) => Self::Weight(values.slice(rows.start, rows.len())),
            Self::Sum(values) => Self::Sum(values.slice(rows.start, rows.len())),
            Self::Wide(values) => Self::Wide(values.slice(rows.start, rows.len())),
            Self::Exact(values) => {
                let mut out = ExactColumn::default();
                rows.for_each(|row| out.push_bytes(values.get(row)));
                Self::Exact(out)
            }
        }
    }

    /// The sums of the rows of two columns of one kind, row by row.
    pub fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Weight(a), Self::Weight(b)) => Self::Weight(sums(a, b)),
            (Self::Sum(a), Self::Sum(b)) => Self::Sum(sums(a, b)),
            (Self::Wide(a), Self::Wide(b)) => {
                Self::Wide(a.iter().zip(b).map(|(x, y)| x.wrapping_add(*y)).collect())
            }
            (Self::Exact(a), Self::Exact(b)) => Self::Exact(a.plus(b)),
            _ => self.clone(),
        }
    }

    /// A column of no rows.
    pub fn empty(kind: DiffKind) -> Self {
        DiffBuilder::new(kind, 0).finish()
    }
}

/// Grows a diff column row by row out of sums over rows of existing columns.
#[derive(Debug)]
pub(crate) enum DiffBuilder {
    Weight(Vec<i64>),
    Sum(Vec<i128>),
    Wide(Vec<i256>),
    Exact(ExactColumn, Box<ExactSum>),
}

impl DiffBuilder {
    pub(crate) fn new(kind: DiffKind, capacity: usize) -> Self {
        match kind {
            DiffKind::Weight => Self::Weight(Vec::with_capacity(capacity)),
            DiffKind::Sum => Self::Sum(Vec::with_capacity(capacity)),
            DiffKind::Wide => Self::Wide(Vec::with_capacity(capacity)),
            DiffKind::Exact => Self::Exact(ExactColumn::default(), Box::new(ExactSum::new())),
        }
    }

    /// Appends the sum of `column[rows]`, given as an iterator of row numbers of one column.
    pub(crate) fn push_sum(&mut self, column: &DiffColumn, rows: impl Iterator<Item = usize>) {
        match (self, column) {
            (Self::Weight(out), DiffColumn::Weight(values)) => {
                out.push(total(values, rows));
            }
            (Self::Sum(out), DiffColumn::Sum(values)) => {
                out.push(total(values, rows));
            }
            (Self::Wide(out), DiffColumn::Wide(values)) => {
                out.push(rows.map(|row| values[row]).fold(i256::ZERO, i256::wrapping_add))
            }
            (Self::Exact(out, sum), DiffColumn::Exact(values)) => {
                sum.clear();
                for row in rows {
                    add_canonical(sum, values.get(row));
                }
                out.push(sum);
            }
            _ => {}
        }
    }

    /// Appends the sum of two rows of two columns.
    pub(crate) fn push_pair(&mut self, left: &DiffColumn, i: usize, right: &DiffColumn, j: usize) {
        match (self, left, right) {
            (Self::Weight(out), DiffColumn::Weight(a), DiffColumn::Weight(b)) => {
                out.push(a[i].bounded_plus(&b[j]))
            }
            (Self::Sum(out), DiffColumn::Sum(a), DiffColumn::Sum(b)) => out.push(a[i].bounded_plus(&b[j])),
            (Self::Wide(out), DiffColumn::Wide(a), DiffColumn::Wide(b)) => out.push(a[i].wrapping_add(b[j])),
            (Self::Exact(out, sum), DiffColumn::Exact(a), DiffColumn::Exact(b)) => {
                sum.clear();
                add_canonical(sum, a.get(i));
                add_canonical(sum, b.get(j));
                out.push(sum);
            }
            _ => {}
        }
    }

    /// Appends one row as it is.
    pub(crate) fn push_row(&mut self, column: &DiffColumn, row: usize) {
        match (self, column) {
            (Self::Weight(out), DiffColumn::Weight(values)) => out.push(values[row]),
            (Self::Sum(out), DiffColumn::Sum(values)) => out.push(values[row]),
            (Self::Wide(out), DiffColumn::Wide(values)) => out.push(values[row]),
            (Self::Exact(out, _), DiffColumn::Exact(values)) => out.push_bytes(values.get(row)),
            _ => {}
        }
    }

    /// Whether the last row that was pushed is zero.
    pub(crate) fn last_is_zero(&self) -> bool {
        match self {
            Self::Weight(out) => out.last() == Some(&0),
            Self::Sum(out) => out.last() == Some(&0),
            Self::Wide(out) => out.last() == Some(&i256::ZERO),
            Self::Exact(out, _) => !out.is_empty() && out.get(out.len() - 1).is_empty(),
        }
    }

    /// The sum of absolute weights of the last `rows` rows; zero for other kinds.
    pub(crate) fn last_mass(&self, rows: usize) -> i64 {
        let Self::Weight(out) = self else { return 0 };
        out[out.len() - rows..].iter().map(|weight| weight.abs()).sum()
    }

    /// Takes the last row back.
    pub(crate) fn pop(&mut self) {
        match self {
            Self::Weight(out) => drop(out.pop()),
            Self::Sum(out) => drop(out.pop()),
            Self::Wide(out) => drop(out.pop()),
            Self::Exact(out, _) => {
                out.ends.pop();
                out.bytes.truncate(out.ends.last().map_or(0, |end| *end));
            }
        }
    }

    pub(crate) fn finish(self) -> DiffColumn {
        match self {
            Self::Weight(out) => DiffColumn::Weight(tight(out).into()),
            Self::Sum(out) => DiffColumn::Sum(tight(out).into()),
            Self::Wide(out) => DiffColumn::Wide(tight(out).into()),
            Self::Exact(out, _) => {
                DiffColumn::Exact(ExactColumn { ends: tight(out.ends), bytes: tight(out.bytes) })
            }
        }
    }
}

/// The sum of the chosen rows. What bounds it stands at the top of this file.
fn total<M: Monoid>(values: &[M], rows: impl Iterator<Item = usize>) -> M {
    rows.fold(M::zero(), |sum, row| sum.bounded_plus(&values[row]))
}

fn sums<M: Monoid + ArrowNativeType>(a: &[M], b: &[M]) -> ScalarBuffer<M> {
    a.iter().zip(b).map(|(x, y)| x.bounded_plus(y)).collect()
}

fn tight<T>(mut values: Vec<T>) -> Vec<T> {
    shrink(&mut values);
    values
}

/// Adds bytes that this module wrote itself or that were validated when they were read, so that they always decode.
pub(crate) fn add_canonical(sum: &mut ExactSum, bytes: &[u8]) {
    let decoded = sum.add_bytes(bytes);
    debug_assert!(decoded.is_some(), "an exact sum in a batch is canonical");
}
