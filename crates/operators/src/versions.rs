//! A trace before and after a change, at the touched groups: the one thing that operators on ordered groups look at.
//!
//! Both versions are the same batches, the later one with the delta added. A [`VersionWalk`] meets each row of a group once, in order, and tells its
//! weight in both, so an operator can stop as soon as it has seen what it needs of either. It reads lazily: rows that nobody asks for cost nothing.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array, new_null_array};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use tailrace_circuit::OperatorError;
use tailrace_trace::{BatchCursor, GroupCursor, IndexedBatch, Snapshot, TraceError, locate};

/// A row, by its batch and its place there.
pub(crate) type Place = (u32, u32);

/// The batches of both versions, with the rows of the touched groups.
pub struct Versions {
    batches: Vec<Arc<IndexedBatch>>,
    /// Number of batches before the change.
    before: usize,
    /// Per batch the rows of each group.
    ranges: Vec<Vec<Range<u32>>>,
    /// Rows that walks met and that are there in neither version.
    cancelled: Cell<usize>,
}

/// A row of a group with its weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionRow {
    pub(crate) place: Place,
    /// The weight before the change.
    pub(crate) old: i64,
    /// The weight after the change.
    pub(crate) new: i64,
}

/// A walk over the rows of one group after the other.
pub(crate) struct VersionWalk<'v, 'c> {
    versions: &'v Versions,
    cursor: &'c GroupCursor<'v>,
    sources: Vec<(usize, BatchCursor)>,
    /// The sources that stand on the row that comes next.
    ties: Vec<usize>,
    backward: bool,
}

impl Versions {
    /// The groups given by runs of sorted keys.
    pub(crate) fn at(
        before: &Snapshot,
        delta: &Arc<IndexedBatch>,
        keys: &[ArrayRef],
        starts: &[u32],
    ) -> Result<Self, OperatorError> {
        let mut batches = before.batches().to_vec();
        let before = batches.len();
        if !delta.is_empty() {
            batches.push(Arc::clone(delta));
        }
        let ranges = batches.iter().map(|batch| locate(keys, starts, batch)).collect::<Result<_, _>>()?;
        Ok(Self { batches, before, ranges, cancelled: Cell::new(0) })
    }

    /// How many rows walks had to step over because they are there in neither version.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.get()
    }

    /// Number of batches of both versions.
    pub(crate) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// The leading columns of a batch.
    pub(crate) fn columns(&self, batch: u32, count: usize) -> &[ArrayRef] {
        &self.batches[batch as usize].columns()[..count]
    }

    /// The rows of the change that belong to a group, in order.
    pub(crate) fn change(&self, group: usize) -> impl Iterator<Item = Place> + use<> {
        let delta = self.ranges.get(self.before).map_or(0..0, |ranges| ranges[group].clone());
        let batch = self.before as u32;
        delta.map(move |row| (batch, row))
    }

    /// Per batch the place of the first row of a group that is not before the row at `place`.
    pub(crate) fn positions_of(
        &self,
        cursor: &GroupCursor<'_>,
        group: usize,
        place: Place,
    ) -> Result<Vec<u32>, TraceError> {
        let target = (place.0 as usize, place.1);
        let position = |(batch, ranges): (usize, &Vec<Range<u32>>)| {
            let mut range = ranges[group].clone();
            while !range.is_empty() {
                let middle = range.start + (range.end - range.start) / 2;
                if cursor.compare((batch, middle), target)? == Ordering::Less {
                    range.start = middle + 1;
                } else {
                    range.end = middle;
                }
            }
            Ok(range.start)
        };
        self.ranges.iter().enumerate().map(position).collect()
    }

    /// Compares rows of all batches.
    pub(crate) fn cursor(&self) -> GroupCursor<'_> {
        GroupCursor::new(&self.batches)
    }

    /// A walk that has not entered a group yet.
    pub(crate) fn walk<'v, 'c>(&'v self, cursor: &'c GroupCursor<'v>, backward: bool) -> VersionWalk<'v, 'c> {
        VersionWalk {
            versions: self,
            cursor,
            sources: Vec::with_capacity(self.batches.len()),
            ties: Vec::new(),
            backward,
        }
    }

    /// One column of the rows at `places`.
    pub(crate) fn gather(
        &self,
        column: usize,
        places: &[Place],
        data_type: &DataType,
    ) -> Result<ArrayRef, OperatorError> {
        if places.is_empty() {
            return Ok(new_empty_array(data_type));
        }
        let indices: Vec<(usize, usize)> =
            places.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        Ok(interleave(&self.sources(column), &indices).map_err(TraceError::from)?)
    }

    /// One column of the rows at `places`, NULL where there is no row.
    pub(crate) fn gather_or_null(
        &self,
        column: usize,
        places: &[Option<Place>],
        data_type: &DataType,
    ) -> Result<ArrayRef, OperatorError> {
        let null = new_null_array(data_type, 1);
        let mut sources = self.sources(column);
        let missing = (sources.len(), 0);
        sources.push(null.as_ref());
        let indices =
            places.iter().map(|place| place.map_or(missing, |(batch, row)| (batch as usize, row as usize)));
        Ok(interleave(&sources, &indices.collect::<Vec<_>>()).map_err(TraceError::from)?)
    }

    fn sources(&self, column: usize) -> Vec<&dyn Array> {
        self.batches.iter().map(|batch| batch.columns()[column].as_ref()).collect()
    }
}

impl VersionWalk<'_, '_> {
    /// Starts at the first row of a group, or at the last if the walk is backward.
    pub(crate) fn enter(&mut self, group: usize) {
        self.start(|_, rows| rows, group);
    }

    /// Starts at the given row of each batch.
    pub(crate) fn enter_from(&mut self, group: usize, positions: &[u32]) {
        self.start(|batch, rows| positions[batch]..rows.end, group);
    }

    /// Ends before the given row of each batch.
    pub(crate) fn enter_before(&mut self, group: usize, positions: &[u32]) {
        self.start(|batch, rows| rows.start..positions[batch], group);
    }

    fn start(&mut self, part: impl Fn(usize, Range<u32>) -> Range<u32>, group: usize) {
        self.sources.clear();
        let ranges = self
            .versions
            .ranges
            .iter()
            .enumerate()
            .map(|(batch, ranges)| (batch, part(batch, ranges[group].clone())));
        let filled = ranges.filter(|(_, rows)| !rows.is_empty());
        self.sources.extend(filled.map(|(batch, rows)| (batch, BatchCursor::new(rows, self.backward))));
    }

    /// Whether all rows of the change have been passed: from here on both versions are the same.
    pub(crate) fn is_past_change(&self) -> bool {
        self.sources.last().is_none_or(|(batch, _)| *batch < self.versions.before)
    }

    /// The next row that is there in either version.
    pub(crate) fn next_row(&mut self) -> Result<Option<VersionRow>, TraceError> {
        loop {
            let Some(place) = self.first()? else { return Ok(None) };
            let found = self.take_ties(place);
            if found.old != 0 || found.new != 0 {
                return Ok(Some(found));
            }
            self.versions.cancelled.set(self.versions.cancelled.get() + 1);
        }
    }

    /// The row that comes first; the sources that stand on it go into `ties`.
    fn first(&mut self) -> Result<Option<Place>, TraceError> {
        let better = if self.backward { Ordering::Greater } else { Ordering::Less };
        let mut first: Option<(usize, u32)> = None;
        self.ties.clear();
        for (source, (batch, cursor)) in self.sources.iter().enumerate() {
            let Some(row) = cursor.row() else { continue };
            let ordering = match first {
                None => better,
                Some(best) => self.cursor.compare((*batch, row), best)?,
            };
            if ordering == better {
                self.ties.clear();
                first = Some((*batch, row));
            }
            if ordering == better || ordering == Ordering::Equal {
                self.ties.push(source);
            }
        }
        Ok(first.map(|(batch, row)| (batch as u32, row)))
    }

    /// Adds up the weights of the first row over the sources that have it and steps past it.
    fn take_ties(&mut self, place: Place) -> VersionRow {
        let mut found = VersionRow { place, old: 0, new: 0 };
        let mut ended = false;
        for source in &self.ties {
            let (batch, cursor) = &mut self.sources[*source];
            let Some(row) = cursor.row() else { continue };
            let weight = self.versions.batches[*batch].weights()[row as usize];
            found.new += weight;
            found.old += if *batch < self.versions.before { weight } else { 0 };
            cursor.step();
            ended |= cursor.row().is_none();
        }
        if ended {
            self.sources.retain(|(_, cursor)| cursor.row().is_some());
        }
        found
    }
}
