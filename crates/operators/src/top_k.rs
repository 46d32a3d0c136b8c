//! Top-k: the rows at some positions of each partition.
//!
//! # Computes
//! For each partition the rows at positions `offset .. offset + k` of the order; all from `offset` on if there is no `k`. A row of weight `w` takes `w`
//! positions, so its output weight may be smaller than its weight. Ties are broken by the whole row. Rows of negative weight take no position.
//!
//! # Delta rule
//! The general rule of groups: the answer of each touched partition after the change minus the answer before it. Both answers are read in one walk from
//! the first row on. It ends when both have passed position `offset + k`, or when the change has been passed and positions agree again.
//!
//! # State kept
//! All rows, sorted by partition and order: a deleted row of the answer must be replaced by the next one.
//!
//! # Cost per change
//! O(log n + offset + k) for each touched partition.
//!
//! # Example
//! The top 1 of `{(a, 3): 1, (a, 5): 1}` in descending order is `{(a, 5): 1}`; the change `{(a, 7): +1}` gives `{(a, 5): -1, (a, 7): +1}`.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{Context, OperatorError};
use tailrace_trace::{ChangeBatch, TraceError};

use crate::Scalar;
use crate::ordering::OrderBy;
use crate::positional::{CHECKED, PositionRule, Positional};
use crate::ranked::Ranked;
use crate::versions::{Place, VersionWalk, Versions};

/// Which rows of which partitions.
#[derive(Clone, Debug)]
pub struct TopKSpec {
    /// What rows are divided by; nothing for one partition of all rows.
    pub partition: Vec<Scalar>,
    /// The order inside a partition.
    pub order: Vec<OrderBy>,
    /// Number of rows, or all.
    pub k: Option<usize>,
    /// Number of rows that are left out before them.
    pub offset: usize,
    /// The columns of input and output.
    pub schema: SchemaRef,
}

/// Keeps the first rows of each partition.
pub type TopK = Positional<TopKSpec>;

/// Rows with weights, by their places.
#[derive(Default)]
struct Answer {
    places: Vec<Place>,
    weights: Vec<i64>,
}

impl TopK {
    /// A top-k with empty state.
    pub fn new(spec: TopKSpec) -> Result<Self, OperatorError> {
        Ok(Self::over(Ranked::new(&spec.partition, &spec.order, &spec.schema)?, spec))
    }
}

impl PositionRule for TopKSpec {
    const NAME: &'static str = "top_k";

    fn label(&self) -> String {
        let (from, until) = self.positions();
        let partition: Vec<String> = self.partition.iter().map(ToString::to_string).collect();
        let rows = if until == u64::MAX { format!("{from}..") } else { format!("{from}..{until}") };
        if partition.is_empty() { rows } else { format!("{rows} by {}", partition.join(", ")) }
    }

    fn differ(
        &self,
        ranked: &Ranked,
        versions: &Versions,
        partitions: usize,
        ctx: &Context<'_>,
    ) -> Result<ChangeBatch, OperatorError> {
        let (cursor, mut answer) = (versions.cursor(), Answer::default());
        let mut walk = versions.walk(&cursor, false);
        for partition in 0..partitions {
            if partition % CHECKED == 0 {
                ctx.check()?;
            }
            walk.enter(partition);
            self.differ_in(&mut walk, &mut answer)?;
        }
        let columns = ranked.rows(versions, &answer.places)?;
        Ok(ChangeBatch::try_new(Arc::clone(&self.schema), columns, answer.weights.into())?)
    }
}

impl TopKSpec {
    /// Appends the difference of the answers of one partition.
    fn differ_in(&self, walk: &mut VersionWalk<'_, '_>, answer: &mut Answer) -> Result<(), TraceError> {
        let (from, until) = self.positions();
        let (mut old, mut new) = (0_u64, 0_u64);
        while (old < until || new < until) && !(old == new && walk.is_past_change()) {
            let Some(row) = walk.next_row()? else { return Ok(()) };
            let (old_end, new_end) = (old + row.old.max(0) as u64, new + row.new.max(0) as u64);
            let shown = |start: u64, end: u64| end.min(until).saturating_sub(start.max(from)) as i64;
            let change = shown(new, new_end) - shown(old, old_end);
            if change != 0 {
                answer.places.push(row.place);
                answer.weights.push(change);
            }
            (old, new) = (old_end, new_end);
        }
        Ok(())
    }

    /// The first position of the answer and the first behind it.
    fn positions(&self) -> (u64, u64) {
        let from = self.offset as u64;
        (from, self.k.map_or(u64::MAX, |k| from.saturating_add(k as u64)))
    }
}
