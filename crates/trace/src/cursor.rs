//! Cursors: walking the rows of one key over all batches of a trace, in order, forward or backward, with weights added up.
//!
//! An ordered operator (minimum, top-k, lag) looks at the first few rows of a key and stops, so the walk is lazy: it costs O(b) comparisons per row for b
//! batches that hold the key, and nothing for rows that nobody asks for.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::{IndexedBatch, RowComparator, TraceError};

/// One row of a trace with its weight over all batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which batch holds the row (one of them, if several do).
    pub batch: u32,
    /// The row in that batch.
    pub row: u32,
    /// The sum of the row's weights; never zero.
    pub weight: i64,
}

/// A position in one batch: steps and seeks, forward or backward, within a range of rows.
#[derive(Clone, Debug)]
pub struct BatchCursor {
    rows: Range<u32>,
    backward: bool,
}

impl BatchCursor {
    /// At the first row of the range, or at the last if `backward`.
    pub fn new(rows: Range<u32>, backward: bool) -> Self {
        Self { rows, backward }
    }

    /// The row that it stands on; None behind the end.
    #[inline]
    pub fn row(&self) -> Option<u32> {
        if self.rows.is_empty() {
            return None;
        }
        Some(if self.backward { self.rows.end - 1 } else { self.rows.start })
    }

    /// Goes one row on.
    #[inline]
    pub fn step(&mut self) {
        if self.backward { self.rows.end -= 1 } else { self.rows.start += 1 }
    }

    /// Goes on past all rows for which `passed` holds; it must hold on a prefix of the way.
    pub fn seek(&mut self, passed: impl Fn(u32) -> bool) {
        let (start, len) = (self.rows.start, self.rows.len());
        if self.backward {
            let end = self.rows.end;
            let skipped = crate::locate::gallop(0, len, |i| passed(end - 1 - i as u32));
            self.rows.end = end - skipped as u32;
        } else {
            let skipped = crate::locate::gallop(0, len, |i| passed(start + i as u32));
            self.rows.start = start + skipped as u32;
        }
    }
}

/// Walks groups over a list of batches. Comparators of pairs of batches are made when they are first needed, and kept.
pub struct GroupCursor<'a> {
    batches: &'a [Arc<IndexedBatch>],
    /// By the first batch of the pair, then by the second.
    comparators: Vec<OnceCell<Box<[OnceCell<RowComparator<'a>>]>>>,
}

impl<'a> GroupCursor<'a> {
    /// For the batches of a snapshot.
    pub fn new(batches: &'a [Arc<IndexedBatch>]) -> Self {
        Self { batches, comparators: batches.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The rows in `ranges` (one range per batch) in order, each once, with its weight over all batches, none with weight zero.
    pub fn walk(&self, ranges: impl Iterator<Item = Range<u32>>, backward: bool) -> Walk<'_, 'a> {
        let sources = ranges.enumerate().filter(|(_, rows)| !rows.is_empty());
        let sources = sources.map(|(batch, rows)| (batch, BatchCursor::new(rows, backward))).collect();
        Walk { groups: self, sources, backward }
    }

    /// How two rows compare.
    pub fn compare(&self, a: (usize, u32), b: (usize, u32)) -> Result<Ordering, TraceError> {
        let row =
            self.comparators[a.0].get_or_init(|| self.batches.iter().map(|_| OnceCell::new()).collect());
        let cell = &row[b.0];
        if let Some(comparator) = cell.get() {
            return Ok(comparator.compare(a.1 as usize, b.1 as usize));
        }
        let comparator = RowComparator::try_new(self.batches[a.0].columns(), self.batches[b.0].columns())?;
        Ok(cell.get_or_init(|| comparator).compare(a.1 as usize, b.1 as usize))
    }
}

/// The walk over one group.
pub struct Walk<'g, 'a> {
    groups: &'g GroupCursor<'a>,
    sources: Vec<(usize, BatchCursor)>,
    backward: bool,
}

impl Walk<'_, '_> {
    /// The next row with a weight other than zero.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TraceError> {
        loop {
            let Some(entry) = self.next_sum()? else { return Ok(None) };
            if entry.weight != 0 {
                return Ok(Some(entry));
            }
        }
    }

    /// The next row, its weights added up, maybe to zero.
    fn next_sum(&mut self) -> Result<Option<Entry>, TraceError> {
        self.sources.retain(|(_, cursor)| cursor.row().is_some());
        let Some((batch, row)) = self.first()? else { return Ok(None) };
        let mut weight = 0;
        for (other, cursor) in &mut self.sources {
            let Some(other_row) = cursor.row() else { continue };
            if *other == batch || self.groups.compare((batch, row), (*other, other_row))? == Ordering::Equal {
                weight += self.groups.batches[*other].weights()[other_row as usize];
                cursor.step();
            }
        }
        Ok(Some(Entry { batch: batch as u32, row, weight }))
    }

    /// The source whose row comes first.
    fn first(&self) -> Result<Option<(usize, u32)>, TraceError> {
        let mut first: Option<(usize, u32)> = None;
        for (batch, cursor) in &self.sources {
            let Some(row) = cursor.row() else { continue };
            let better = match first {
                None => true,
                Some(best) => {
                    let ordering = self.groups.compare((*batch, row), best)?;
                    ordering == if self.backward { Ordering::Greater } else { Ordering::Less }
                }
            };
            if better {
                first = Some((*batch, row));
            }
        }
        Ok(first)
    }
}

impl Iterator for Walk<'_, '_> {
    type Item = Result<Entry, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().transpose()
    }
}
