//! The least or greatest row of sliding frames, by a queue of the rows that can still become it.
//!
//! The queue is sorted: a row that comes in drives out all rows that are worse, since they leave before it does. So the front is the best row of the frame,
//! and each row is compared O(1) times on average.

use std::cmp::Ordering;
use std::collections::VecDeque;

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use tailrace_circuit::OperatorError;
use tailrace_trace::RowComparator;

use crate::sliding::{Extents, Sliding, slide};

/// The best counted row of each frame, compared by columns.
pub(crate) fn extremes(
    extents: &Extents,
    columns: &[ArrayRef],
    counted: Option<&NullBuffer>,
    greatest: bool,
) -> Result<Vec<Option<u32>>, OperatorError> {
    let worse = if greatest { Ordering::Less } else { Ordering::Greater };
    let comparator = RowComparator::try_new(columns, columns)?;
    let best = Vec::with_capacity(extents.len());
    let mut state = Candidates { comparator, counted, worse, rows: VecDeque::new(), best };
    slide(extents, &mut state);
    Ok(state.best)
}

struct Candidates<'a> {
    comparator: RowComparator<'a>,
    counted: Option<&'a NullBuffer>,
    worse: Ordering,
    rows: VecDeque<usize>,
    best: Vec<Option<u32>>,
}

impl Sliding for Candidates<'_> {
    fn clear(&mut self) {
        self.rows.clear();
    }

    fn enter(&mut self, row: usize) {
        if self.counted.is_some_and(|counted| counted.is_null(row)) {
            return;
        }
        while self.rows.back().is_some_and(|last| self.comparator.compare(*last, row) == self.worse) {
            self.rows.pop_back();
        }
        self.rows.push_back(row);
    }

    fn leave(&mut self, row: usize) {
        if self.rows.front() == Some(&row) {
            self.rows.pop_front();
        }
    }

    fn emit(&mut self) {
        self.best.push(self.rows.front().map(|row| *row as u32));
    }
}
