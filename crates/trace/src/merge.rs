//! Merging two indexed batches into one, in pieces of bounded work.
//!
//! Each piece first decides the order: a list of picks (row of the left or of the right batch) with the diffs of equal rows added and zero rows
//! left out. Then every column is copied along the picks. So comparison and copying are two tight loops, and a merge can stop after any piece.
//! The absolute weights of both batches together sum to less than 2^63, or the merge is refused; so no addition can overflow.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::column_merge::{ColumnMerge, RIGHT};
use crate::compare::{Lead, Leads, with_leads};
use crate::diff::DiffBuilder;
use crate::{DiffColumn, IndexedBatch, RowComparator, TraceError};

/// Rows that one piece decides before it copies: the picks stay in the nearest cache.
const PIECE: usize = 4096;

/// An unfinished merge of two batches of one layout.
pub struct Merger {
    left: Arc<IndexedBatch>,
    right: Arc<IndexedBatch>,
    i: usize,
    j: usize,
    columns: Vec<ColumnMerge>,
    diffs: Vec<DiffBuilder>,
    picks: Vec<u32>,
    /// The sum of absolute weights so far.
    mass: i64,
}

impl Merger {
    /// Starts to merge `left` and `right`.
    pub fn new(left: Arc<IndexedBatch>, right: Arc<IndexedBatch>) -> Self {
        let capacity = left.len() + right.len();
        let columns = left
            .columns()
            .iter()
            .zip(right.columns())
            .map(|(l, r)| ColumnMerge::new(l, r, capacity))
            .collect();
        let diffs = left.layout().diffs().iter().map(|kind| DiffBuilder::new(*kind, capacity)).collect();
        Self {
            left,
            right,
            i: 0,
            j: 0,
            columns,
            diffs,
            picks: Vec::with_capacity(PIECE.min(capacity)),
            mass: 0,
        }
    }

    /// Merges two batches at once.
    pub fn merge(left: &Arc<IndexedBatch>, right: &Arc<IndexedBatch>) -> Result<IndexedBatch, TraceError> {
        let mut merger = Self::new(Arc::clone(left), Arc::clone(right));
        merger.work(&mut usize::MAX.clone())?;
        merger.finish()
    }

    /// Rows that are still to be looked at.
    pub fn remaining(&self) -> usize {
        self.left.len() - self.i + self.right.len() - self.j
    }

    /// The two sources.
    pub fn sources(&self) -> [&Arc<IndexedBatch>; 2] {
        [&self.left, &self.right]
    }

    /// Looks at rows until the fuel is spent or none is left; true when done.
    pub fn work(&mut self, fuel: &mut usize) -> Result<bool, TraceError> {
        self.left.mass().checked_add(self.right.mass()).ok_or(TraceError::WeightOverflow)?;
        let (left, right) = (Arc::clone(&self.left), Arc::clone(&self.right));
        let leads = Leads::of(left.columns().first(), right.columns().first());
        let skip = usize::from(leads.exact());
        let rest = RowComparator::try_new(&left.columns()[skip..], &right.columns()[skip..])?;
        while self.remaining() > 0 && *fuel > 0 {
            let before = self.remaining();
            let piece = PIECE.min(*fuel);
            self.picks.clear();
            with_leads!(leads, |left, right| self.decide(left, right, &rest, piece));
            for column in &mut self.columns {
                column.append(&self.picks)?;
            }
            self.mass += self.diffs.first().map_or(0, |weights| weights.last_mass(self.picks.len()));
            *fuel = fuel.saturating_sub(before - self.remaining());
        }
        Ok(self.remaining() == 0)
    }

    /// The merged batch; call it when `work` has returned true.
    pub fn finish(self) -> Result<IndexedBatch, TraceError> {
        let columns = self.columns.into_iter().map(ColumnMerge::finish).collect::<Result<_, _>>()?;
        let diffs = self.diffs.into_iter().map(DiffBuilder::finish).collect();
        IndexedBatch::from_weighed(self.left.layout(), columns, diffs, self.mass)
    }

    fn decide<L: Lead>(&mut self, left: L, right: L, rest: &RowComparator<'_>, piece: usize) {
        if let ([DiffBuilder::Weight(out)], [DiffColumn::Weight(a)], [DiffColumn::Weight(b)]) =
            (&mut self.diffs[..], self.left.diffs(), self.right.diffs())
        {
            (self.i, self.j) =
                decide_weights(left, right, rest, (a, b), (self.i, self.j), piece, &mut self.picks, out);
        } else {
            self.decide_diffs(left, right, rest, piece);
        }
    }

    fn decide_diffs<L: Lead>(&mut self, left: L, right: L, rest: &RowComparator<'_>, piece: usize) {
        let (a, b) = (Arc::clone(&self.left), Arc::clone(&self.right));
        for _ in 0..piece {
            match order(left, right, rest, (self.i, a.len()), (self.j, b.len())) {
                None => return,
                Some(Ordering::Less) => {
                    self.keep(&a, self.i, 0);
                    self.i += 1;
                }
                Some(Ordering::Greater) => {
                    self.keep(&b, self.j, RIGHT);
                    self.j += 1;
                }
                Some(Ordering::Equal) => {
                    self.add(&a, &b);
                    self.i += 1;
                    self.j += 1;
                }
            }
        }
    }

    fn keep(&mut self, source: &IndexedBatch, row: usize, side: u32) {
        self.picks.push(row as u32 | side);
        for (builder, diff) in self.diffs.iter_mut().zip(source.diffs()) {
            builder.push_row(diff, row);
        }
    }

    fn add(&mut self, a: &IndexedBatch, b: &IndexedBatch) {
        for ((builder, l), r) in self.diffs.iter_mut().zip(a.diffs()).zip(b.diffs()) {
            builder.push_pair(l, self.i, r, self.j);
        }
        if self.diffs.iter().all(DiffBuilder::last_is_zero) {
            self.diffs.iter_mut().for_each(DiffBuilder::pop);
        } else {
            self.picks.push(self.i as u32);
        }
    }
}

/// Which side comes next; None at the end of both.
#[inline(always)]
fn order<L: Lead>(
    left: L,
    right: L,
    rest: &RowComparator<'_>,
    i: (usize, usize),
    j: (usize, usize),
) -> Option<Ordering> {
    match (i.0 < i.1, j.0 < j.1) {
        (true, true) => Some(left.at(i.0).cmp(&right.at(j.0)).then_with(|| rest.compare(i.0, j.0))),
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
        (false, false) => None,
    }
}

/// The loop for rows with plain weights. When the words differ the next row is chosen without a branch, since which side is next is a coin toss.
#[expect(
    clippy::too_many_arguments,
    reason = "one hot loop over plain slices, with nothing behind a pointer to self"
)]
fn decide_weights<L: Lead>(
    left: L,
    right: L,
    rest: &RowComparator<'_>,
    (a, b): (&[i64], &[i64]),
    (mut i, mut j): (usize, usize),
    piece: usize,
    picks: &mut Vec<u32>,
    out: &mut Vec<i64>,
) -> (usize, usize) {
    let mut budget = piece;
    while budget > 0 && i < a.len() && j < b.len() {
        budget -= 1;
        let (x, y) = (left.at(i), right.at(j));
        let ordering = if x != y { x.cmp(&y) } else { rest.compare(i, j) };
        if ordering == Ordering::Equal {
            let sum = a[i] + b[j];
            if sum != 0 {
                picks.push(i as u32);
                out.push(sum);
            }
            i += 1;
            j += 1;
        } else {
            let take_left = ordering == Ordering::Less;
            picks.push(if take_left { i as u32 } else { j as u32 | RIGHT });
            out.push(if take_left { a[i] } else { b[j] });
            i += usize::from(take_left);
            j += usize::from(!take_left);
        }
    }
    if j >= b.len() {
        let end = a.len().min(i + budget);
        picks.extend((i..end).map(|row| row as u32));
        out.extend_from_slice(&a[i..end]);
        i = end;
    } else if i >= a.len() {
        let end = b.len().min(j + budget);
        picks.extend((j..end).map(|row| row as u32 | RIGHT));
        out.extend_from_slice(&b[j..end]);
        j = end;
    }
    (i, j)
}
