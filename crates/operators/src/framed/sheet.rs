//! Sheets: the touched partitions of one version as plain rows, one after the other, each as often as its weight says.
//!
//! Rows stand in the order of the trace, so partitions and groups of peers are stretches of a sheet. A row that is there in both versions is noted with
//! both places, copy by copy, so that what did not change can be left out.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, OperatorError};
use tailrace_trace::{ChangeBatch, RowComparator};

use crate::aggregate::whole::MOST_REPEATED;
use crate::positional::CHECKED;
use crate::ranked::Ranked;
use crate::versions::{Place, Versions};

/// The rows of one version.
pub(crate) struct Sheet {
    pub(crate) rows: ChangeBatch,
    /// Where each partition begins, and the number of rows.
    partitions: Vec<usize>,
    /// Where each group of peers begins, and the number of rows.
    peers: Vec<usize>,
    /// The group of peers of each row.
    groups: Vec<u32>,
}

/// Both versions.
pub(crate) struct Sheets {
    pub(crate) old: Sheet,
    pub(crate) new: Sheet,
    /// Rows that are copies of the same, in the old and in the new sheet.
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// A sheet of places, before the rows are fetched.
struct Draft {
    places: Vec<Place>,
    partitions: Vec<usize>,
    repeated: u64,
}

impl Sheets {
    /// Lays out both versions of the touched partitions.
    pub(crate) fn read(
        ranked: &Ranked,
        versions: &Versions,
        partitions: usize,
        input: &SchemaRef,
        ctx: &Context<'_>,
    ) -> Result<Self, OperatorError> {
        let cursor = versions.cursor();
        let mut walk = versions.walk(&cursor, false);
        let (mut old, mut new, mut pairs) = (Draft::new(), Draft::new(), Vec::new());
        for partition in 0..partitions {
            if partition % CHECKED == 0 {
                ctx.check()?;
            }
            walk.enter(partition);
            while let Some(row) = walk.next_row()? {
                let (before, after) = (old.push(row.place, row.old)?, new.push(row.place, row.new)?);
                pairs.extend(before.zip(after));
            }
            old.partitions.push(old.places.len());
            new.partitions.push(new.places.len());
        }
        Ok(Self { old: old.fetch(ranked, versions, input)?, new: new.fetch(ranked, versions, input)?, pairs })
    }
}

impl Sheet {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows of each partition.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = Range<usize>> {
        self.partitions.windows(2).map(|bounds| bounds[0]..bounds[1])
    }

    /// The rows that tie with a row.
    pub(crate) fn peers(&self, row: usize) -> Range<usize> {
        let group = self.groups[row] as usize;
        self.peers[group]..self.peers[group + 1]
    }

    /// Where the group of peers begins that is so many groups behind that of the row (before it if negative), inside the partition; or where that ends.
    pub(crate) fn group_start(&self, row: usize, away: i64, partition: &Range<usize>) -> usize {
        let (first, last) = (self.groups[partition.start], self.groups[partition.end - 1]);
        let group = i64::from(self.groups[row]).saturating_add(away);
        self.peers[group.clamp(i64::from(first), i64::from(last) + 1) as usize]
    }
}

impl Draft {
    fn new() -> Self {
        Self { places: Vec::new(), partitions: vec![0], repeated: 0 }
    }

    /// Adds the copies of a row and tells where they stand.
    fn push(&mut self, place: Place, weight: i64) -> Result<Range<u32>, OperatorError> {
        let copies = weight.max(0) as u64;
        self.repeated = self.repeated.saturating_add(copies.saturating_sub(1));
        if self.repeated > MOST_REPEATED as u64 || self.places.len() as u64 + copies > u64::from(u32::MAX) {
            return Err(OperatorError::evaluation(format!(
                "a window would repeat rows more than {MOST_REPEATED} times: one has weight {weight}"
            )));
        }
        let start = self.places.len() as u32;
        self.places.extend(std::iter::repeat_n(place, copies as usize));
        Ok(start..self.places.len() as u32)
    }

    fn fetch(self, ranked: &Ranked, versions: &Versions, input: &SchemaRef) -> Result<Sheet, OperatorError> {
        let columns = ranked.rows(versions, &self.places)?;
        let weights = vec![1; self.places.len()];
        let rows = ChangeBatch::try_new(Arc::clone(input), columns, weights.into())?;
        let (peers, groups) = self.peers(ranked, versions)?;
        Ok(Sheet { rows, partitions: self.partitions, peers, groups })
    }

    /// Where each group of peers begins, and the group of each row.
    fn peers(&self, ranked: &Ranked, versions: &Versions) -> Result<(Vec<usize>, Vec<u32>), OperatorError> {
        let standing = ranked.standing(versions, &self.places)?;
        let comparator = RowComparator::try_new(&standing, &standing)?;
        let (mut starts, mut groups) = (Vec::new(), Vec::with_capacity(self.places.len()));
        for bounds in self.partitions.windows(2) {
            for row in bounds[0]..bounds[1] {
                if row == bounds[0] || comparator.compare(row - 1, row).is_ne() {
                    starts.push(row);
                }
                groups.push(starts.len() as u32 - 1);
            }
        }
        starts.push(self.places.len());
        Ok((starts, groups))
    }
}
