//! Segments: the stretches of a partition in which outputs can have changed, found without looking at the rest.
//!
//! A row is *core* if its output can differ between the versions: it is changed itself, or fewer than `lag` copies stand between it and a changed row
//! before it, or fewer than `lead` copies between it and a changed row after it. A segment holds core rows and around them as much *context* as their
//! outputs refer to: at least `lag` copies before, at least `lead` after, in both versions, or else the end of the partition. Segments
//! do not share core rows: one ends only where `lead` copies of context stand behind its last core row, and a row that is core for
//! a later change has fewer than `lead` copies between.
//!
//! Numbers count from the start of the partition, so with them there is one segment, from the first row to where both versions number alike again.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;

use tailrace_circuit::OperatorError;
use tailrace_trace::{GroupCursor, RowComparator, TraceError};

use super::{WindowCall, WindowFunction};
use crate::versions::{Place, VersionRow, VersionWalk, Versions};

/// How far outputs look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    /// The greatest offset backward.
    pub(crate) lag: u64,
    /// The greatest offset forward.
    pub(crate) lead: u64,
    /// Whether positions are counted from the start.
    pub(crate) numbers: bool,
    /// Whether equal copies have outputs of their own.
    pub(crate) row_number: bool,
}

/// Where a row stands in one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Copies before it, from the start of the segment on.
    pub(crate) position: u64,
    /// How often it is there.
    pub(crate) copies: u64,
    /// The position of the first row that ties with it.
    pub(crate) peer: u64,
    /// How many different values of the order there are up to it.
    pub(crate) dense: u64,
}

/// A row with its standing before and after the change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentRow {
    pub(crate) place: Place,
    pub(crate) old: Standing,
    pub(crate) new: Standing,
}

/// A stretch of a partition.
#[derive(Default)]
pub(crate) struct Segment {
    pub(crate) rows: Vec<SegmentRow>,
    /// Which of the rows may have changed outputs.
    pub(crate) core: Range<usize>,
}

/// Finds segments.
pub(crate) struct Surveyor<'v, 'c> {
    versions: &'v Versions,
    cursor: &'c GroupCursor<'v>,
    peers: Peers<'v>,
    reach: Reach,
    segment: Segment,
}

/// Compares rows by partition and order only.
struct Peers<'v> {
    versions: &'v Versions,
    decisive: usize,
    comparators: Vec<OnceCell<RowComparator<'v>>>,
}

/// The running count of one version.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    next: u64,
    last: Option<(Place, Standing)>,
}

impl Reach {
    pub(crate) fn of(calls: &[WindowCall]) -> Self {
        let mut reach = Self::default();
        for call in calls {
            match &call.function {
                WindowFunction::Lag { offset, .. } => reach.lag = reach.lag.max(*offset as u64),
                WindowFunction::Lead { offset, .. } => reach.lead = reach.lead.max(*offset as u64),
                WindowFunction::RowNumber => (reach.numbers, reach.row_number) = (true, true),
                WindowFunction::Rank | WindowFunction::DenseRank => reach.numbers = true,
            }
        }
        reach
    }
}

impl<'v, 'c> Surveyor<'v, 'c> {
    pub(crate) fn new(
        versions: &'v Versions,
        cursor: &'c GroupCursor<'v>,
        decisive: usize,
        reach: Reach,
    ) -> Self {
        let peers = Peers {
            versions,
            decisive,
            comparators: (0..versions.batches() * versions.batches()).map(|_| OnceCell::new()).collect(),
        };
        Self { versions, cursor, peers, reach, segment: Segment::default() }
    }

    /// Calls `found` with every segment of a partition.
    pub(crate) fn survey(
        &mut self,
        partition: usize,
        mut found: impl FnMut(&Segment) -> Result<(), OperatorError>,
    ) -> Result<(), OperatorError> {
        let mut changes = self.versions.change(partition);
        while let Some(change) = changes.next() {
            let rows = self.collect(partition, change)?;
            // The walk has met the changes inside of the segment, the first of them taken already.
            let met = rows.iter().filter(|row| row.old != row.new).count();
            changes.by_ref().take(met.saturating_sub(1)).for_each(drop);
            found(&self.segment)?;
            if self.reach.numbers {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes the segment of the change at `change`; gives its rows from the first changed one on.
    fn collect(&mut self, partition: usize, change: Place) -> Result<Vec<VersionRow>, TraceError> {
        let (versions, reach) = (self.versions, self.reach);
        let mut forward = versions.walk(self.cursor, false);
        let mut before = Vec::new();
        if reach.numbers {
            forward.enter(partition);
        } else {
            let middle = versions.positions_of(self.cursor, partition, change)?;
            let mut backward = versions.walk(self.cursor, true);
            backward.enter_before(partition, &middle);
            before = context_before(&mut backward, reach)?;
            forward.enter_from(partition, &middle);
        }
        self.segment.rows.clear();
        self.segment.core = 0..0;
        let mut counts = [Count::default(); 2];
        for row in before.iter().rev() {
            self.push(row, &mut counts)?;
        }
        self.go_forward(&mut forward, &mut counts)
    }

    /// Walks on until core and context are complete.
    fn go_forward(
        &mut self,
        walk: &mut VersionWalk<'v, '_>,
        counts: &mut [Count; 2],
    ) -> Result<Vec<VersionRow>, TraceError> {
        let (mut since, mut context, mut met) = (0_u64, 0_u64, Vec::new());
        let mut changed = false;
        while !(changed && since >= self.reach.lag && context >= self.reach.lead && self.agree(walk, counts))
        {
            let Some(row) = walk.next_row()? else { break };
            self.push(&row, counts)?;
            if row.old != row.new {
                if !changed {
                    self.begin_core();
                }
                (changed, since, context) = (true, 0, 0);
                self.segment.core.end = self.segment.rows.len();
                met.push(row);
            } else if changed {
                let copies = row.new.max(0) as u64;
                let is_core = since < self.reach.lag || !self.number_alike();
                if is_core {
                    self.segment.core.end = self.segment.rows.len();
                    context = 0;
                } else {
                    context += copies;
                }
                since += copies;
            }
        }
        Ok(met)
    }

    /// Whether nothing behind this point can be numbered differently.
    fn agree(&self, walk: &VersionWalk<'_, '_>, counts: &[Count; 2]) -> bool {
        !self.reach.numbers
            || (walk.is_past_change() && self.number_alike() && counts[0].next == counts[1].next)
    }

    /// Whether the last row is numbered alike in both versions, so that rows behind it are too until the next change.
    fn number_alike(&self) -> bool {
        !self.reach.numbers
            || self.segment.rows.last().is_some_and(|row| row.old == row.new && row.old.copies > 0)
    }

    /// The core begins with the rows that have fewer than `lead` copies between them and the row that was pushed last.
    fn begin_core(&mut self) {
        let rows = &self.segment.rows;
        let (mut start, mut copies) = (rows.len() - 1, 0);
        while start > 0 && copies < self.reach.lead {
            start -= 1;
            copies += rows[start].new.copies;
        }
        self.segment.core = start..rows.len();
    }

    fn push(&mut self, row: &VersionRow, counts: &mut [Count; 2]) -> Result<(), TraceError> {
        let old = self.stand(&mut counts[0], row.place, row.old)?;
        let new = self.stand(&mut counts[1], row.place, row.new)?;
        self.segment.rows.push(SegmentRow { place: row.place, old, new });
        Ok(())
    }

    fn stand(&self, count: &mut Count, place: Place, weight: i64) -> Result<Standing, TraceError> {
        let copies = weight.max(0) as u64;
        let mut standing = Standing { position: count.next, copies, peer: count.next, dense: 1 };
        if copies == 0 {
            return Ok(standing);
        }
        if let (true, Some((last, before))) = (self.reach.numbers, count.last) {
            let is_peer = self.peers.compare(last, place)? == Ordering::Equal;
            standing.peer = if is_peer { before.peer } else { count.next };
            standing.dense = before.dense + u64::from(!is_peer);
        }
        *count = Count { next: count.next + copies, last: Some((place, standing)) };
        Ok(standing)
    }
}

impl<'v> Peers<'v> {
    fn compare(&self, a: Place, b: Place) -> Result<Ordering, TraceError> {
        let cell = &self.comparators[a.0 as usize * self.versions.batches() + b.0 as usize];
        if let Some(comparator) = cell.get() {
            return Ok(comparator.compare(a.1 as usize, b.1 as usize));
        }
        let (left, right) =
            (self.versions.columns(a.0, self.decisive), self.versions.columns(b.0, self.decisive));
        let comparator = RowComparator::try_new(left, right)?;
        Ok(cell.get_or_init(|| comparator).compare(a.1 as usize, b.1 as usize))
    }
}

/// The rows before a change that are core or context, nearest first.
fn context_before(walk: &mut VersionWalk<'_, '_>, reach: Reach) -> Result<Vec<VersionRow>, TraceError> {
    let (mut rows, mut after, mut context) = (Vec::new(), 0_u64, [0_u64; 2]);
    while after < reach.lead || context[0] < reach.lag || context[1] < reach.lag {
        let Some(row) = walk.next_row()? else { break };
        let copies = [row.old.max(0) as u64, row.new.max(0) as u64];
        if after < reach.lead {
            after += copies[1];
        } else {
            context = [context[0] + copies[0], context[1] + copies[1]];
        }
        rows.push(row);
    }
    Ok(rows)
}
