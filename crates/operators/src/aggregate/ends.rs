//! Ordered aggregates: min, max, arg_min, arg_max, first and last are columns of the row at one end of a group.
//!
//! # Computes
//! The first or the last row of the group that has a positive weight, in the order of the kept columns.
//!
//! # Delta rule
//! The end of each touched group before the change is minus, the end after it plus. A group that is not touched keeps its end.
//!
//! # State kept
//! The arguments of all rows, sorted by key. Calls over the same arguments share it: `min(x)` and `max(x)` are two ends of one trace.
//!
//! # Cost per change
//! O(log n): one search per batch of the trace, and a step past each row whose weights cancel.
//!
//! # Example
//! `{(a, 3): 1, (a, 5): 1}` has `min = 3`; the change `{(a, 3): -1}` gives `{(a, 3): -1, (a, 5): +1}`.

use arrow_array::ArrayRef;
use tailrace_circuit::OperatorError;
use tailrace_trace::TraceError;

use super::rows::Rows;
use crate::versions::{Place, VersionWalk, Versions};

/// The ends of all touched groups: where they are before and after the change.
pub(crate) struct Ends {
    before: Vec<Option<Place>>,
    after: Vec<Option<Place>>,
}

impl Ends {
    /// Looks at one end of `groups` groups.
    pub(crate) fn find(versions: &Versions, groups: usize, backward: bool) -> Result<Self, OperatorError> {
        let cursor = versions.cursor();
        let mut walk = versions.walk(&cursor, backward);
        let mut ends = Self { before: Vec::with_capacity(groups), after: Vec::with_capacity(groups) };
        for group in 0..groups {
            walk.enter(group);
            let (old, new) = end(&mut walk)?;
            ends.before.push(old);
            ends.after.push(new);
        }
        Ok(ends)
    }

    /// One value at the ends before and after; NULL where the group has no rows.
    pub(crate) fn values(
        &self,
        rows: &Rows,
        versions: &Versions,
        value: usize,
    ) -> Result<[ArrayRef; 2], OperatorError> {
        let column = rows.value_column(value);
        let data_type = rows.schema().field(column).data_type();
        Ok([
            versions.gather_or_null(column, &self.before, data_type)?,
            versions.gather_or_null(column, &self.after, data_type)?,
        ])
    }
}

/// The first rows on the way that have a positive weight before and after.
fn end(walk: &mut VersionWalk<'_, '_>) -> Result<(Option<Place>, Option<Place>), TraceError> {
    let (mut old, mut new) = (None, None);
    while old.is_none() || new.is_none() {
        let Some(row) = walk.next_row()? else { break };
        old = old.or((row.old > 0).then_some(row.place));
        new = new.or((row.new > 0).then_some(row.place));
    }
    Ok((old, new))
}
