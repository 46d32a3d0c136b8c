//! Frames: which rows of its partition a row's value is computed over.
//!
//! An edge is a place of the partition, told in rows, in groups of peers or by a value of the order. RANGE without an offset is told in groups, since
//! its current row means all peers. A value edge is found by binary search among the rows that have a value; NULL rows have their peers there, as in
//! PostgreSQL.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use tailrace_circuit::OperatorError;
use tailrace_trace::RowComparator;

use super::sheet::Sheet;
use crate::Scalar;
use crate::ordering::OrderBy;
use crate::sliding::Extents;

/// One end of a frame.
#[derive(Clone, Debug)]
pub enum FrameEdge {
    /// The end of the partition.
    Partition,
    /// A row so many rows behind the current one, before it if negative.
    Rows(i64),
    /// The peers so many groups behind those of the current row, before them if negative.
    Groups(i64),
    /// The rows whose value of the order is this one, or the next inside the frame. The order has one term.
    Value(Scalar),
}

/// A frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Where it begins, that row or group included.
    pub start: FrameEdge,
    /// Where it ends, that row or group included.
    pub end: FrameEdge,
}

/// Finds the frames of the rows of a sheet.
pub(crate) struct Framing<'a> {
    sheet: &'a Sheet,
    order: &'a [OrderBy],
}

/// A value edge of all rows.
struct Values {
    /// Values of the order, in the type of the targets.
    values: [ArrayRef; 1],
    targets: [ArrayRef; 1],
    descending: bool,
}

/// How the places of one edge are found.
enum Finder {
    First,
    Last,
    Rows(i64),
    Groups(i64),
    /// The first row at or behind the value, or the first behind it.
    Value(Values, bool),
}

impl Frame {
    /// The whole partition.
    pub fn partition() -> Self {
        Self { start: FrameEdge::Partition, end: FrameEdge::Partition }
    }

    /// All rows up to the current one and its peers, which is the frame of SQL where none is given.
    pub fn up_to_peers() -> Self {
        Self { start: FrameEdge::Partition, end: FrameEdge::Groups(0) }
    }

    /// A frame of values needs an order of one term.
    pub(crate) fn check(&self, order: &[OrderBy]) -> Result<(), OperatorError> {
        let by_value = |edge: &FrameEdge| matches!(edge, FrameEdge::Value(_));
        if order.len() != 1 && (by_value(&self.start) || by_value(&self.end)) {
            let message = format!("a RANGE frame needs an order of one term, got {}", order.len());
            return Err(OperatorError::evaluation(message));
        }
        Ok(())
    }
}

impl<'a> Framing<'a> {
    pub(crate) fn new(sheet: &'a Sheet, order: &'a [OrderBy]) -> Self {
        Self { sheet, order }
    }

    /// The frame of each row.
    pub(crate) fn extents(&self, frame: &Frame) -> Result<Extents, OperatorError> {
        let start = self.finder(&frame.start, false)?;
        let end = self.finder(&frame.end, true)?;
        let mut extents = Extents::with_capacity(self.sheet.len());
        let (starts, ends) = (start.comparator()?, end.comparator()?);
        for partition in self.sheet.partitions() {
            let valued = [start.valued(&partition), end.valued(&partition)];
            for row in partition.clone() {
                let from = start.place(self.sheet, row, &partition, &valued[0], starts.as_ref());
                let until = end.place(self.sheet, row, &partition, &valued[1], ends.as_ref());
                extents.push(from, until);
            }
        }
        Ok(extents)
    }

    /// An edge as the place where the frame begins, or the place behind its end.
    fn finder(&self, edge: &FrameEdge, is_end: bool) -> Result<Finder, OperatorError> {
        let behind = i64::from(is_end);
        Ok(match edge {
            FrameEdge::Partition if is_end => Finder::Last,
            FrameEdge::Partition => Finder::First,
            FrameEdge::Rows(away) => Finder::Rows(away.saturating_add(behind)),
            FrameEdge::Groups(away) => Finder::Groups(away.saturating_add(behind)),
            FrameEdge::Value(target) => {
                let term = &self.order[0];
                let targets = target.evaluate(&self.sheet.rows)?;
                let values = term.scalar.evaluate(&self.sheet.rows)?;
                let values = arrow_cast::cast(&values, targets.data_type())
                    .map_err(|error| OperatorError::evaluation(format!("{}: {error}", term.scalar)))?;
                let descending = term.descending;
                Finder::Value(Values { values: [values], targets: [targets], descending }, is_end)
            }
        })
    }
}

impl Finder {
    /// Compares targets with values.
    fn comparator(&self) -> Result<Option<RowComparator<'_>>, OperatorError> {
        match self {
            Self::Value(edge, _) => Ok(Some(RowComparator::try_new(&edge.targets, &edge.values)?)),
            _ => Ok(None),
        }
    }

    /// The rows of a partition whose value is not NULL: they stand side by side.
    fn valued(&self, partition: &Range<usize>) -> Range<usize> {
        let Self::Value(edge, _) = self else { return partition.clone() };
        let is_null = |row: usize| edge.values[0].is_null(row);
        let nulls_first = partition.clone().next().is_some_and(is_null);
        let turn = first_where(partition, |row| is_null(row) != nulls_first);
        if nulls_first { turn..partition.end } else { partition.start..turn }
    }

    fn place(
        &self,
        sheet: &Sheet,
        row: usize,
        partition: &Range<usize>,
        valued: &Range<usize>,
        comparator: Option<&RowComparator<'_>>,
    ) -> usize {
        match (self, comparator) {
            (Self::First, _) => partition.start,
            (Self::Rows(away), _) => {
                let place = (row as i64).saturating_add(*away);
                place.clamp(partition.start as i64, partition.end as i64) as usize
            }
            (Self::Groups(away), _) => sheet.group_start(row, *away, partition),
            (Self::Value(edge, is_end), Some(comparator)) => {
                if edge.targets[0].is_null(row) {
                    let peers = sheet.peers(row);
                    return if *is_end { peers.end } else { peers.start };
                }
                let before = if edge.descending { Ordering::Less } else { Ordering::Greater };
                first_where(valued, |other| {
                    let target = comparator.compare(row, other);
                    target != before && !(*is_end && target == Ordering::Equal)
                })
            }
            (Self::Last | Self::Value(..), _) => partition.end,
        }
    }
}

/// The first row of a range for which a condition holds that holds for all rows behind it too; the end if there is none.
fn first_where(rows: &Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (rows.start, rows.end);
    while start < end {
        let middle = start + (end - start) / 2;
        if holds(middle) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}
