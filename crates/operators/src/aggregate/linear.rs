//! The state of linear aggregates: a trace of keys whose diff columns are the accumulators.
//!
//! The first diff is the weight of the group, so merging batches adds all accumulators at once and a group whose sums are all zero
//! vanishes. Old sums are looked up, new sums are old plus delta.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_buffer::i256;
use arrow_schema::{Field, Schema};
use arrow_select::take::take;
use tailrace_algebra::weight;
use tailrace_circuit::OperatorError;
use tailrace_trace::{
    ChangeBatch, DiffColumn, ExactColumn, IndexedBatch, Layout, Snapshot, Spine, TraceError, lookup_sums,
};

use super::accumulator::{Accumulator, Operands, Term};
use super::groups::Groups;
use crate::Scalar;
use crate::sliding::Extents;

/// Accumulators to be kept, before the state is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinearPlan {
    operands: Operands,
    accumulators: Vec<Accumulator>,
}

/// Accumulators of groups.
pub(crate) struct Linear {
    plan: LinearPlan,
    pub(crate) spine: Spine,
}

/// The sums of the touched groups before and after a change; each a list of diff columns, the first the weight.
pub(crate) struct Sums {
    pub(crate) old: Vec<DiffColumn>,
    pub(crate) new: Vec<DiffColumn>,
}

impl LinearPlan {
    /// The place of the accumulator among the diff columns; a known one is shared.
    pub(crate) fn add(&mut self, term: Term, args: Vec<usize>, filter: Option<&Scalar>) -> usize {
        let filter = filter.map(|filter| self.operands.filter(filter));
        let wanted = Accumulator { term, args, filter };
        let known = self.accumulators.iter().position(|accumulator| *accumulator == wanted);
        1 + known.unwrap_or_else(|| {
            self.accumulators.push(wanted);
            self.accumulators.len() - 1
        })
    }

    /// The place of the number of rows for which no argument is NULL; the weight of the group if that is the same.
    pub(crate) fn count(&mut self, args: &[Scalar], filter: Option<&Scalar>) -> usize {
        if filter.is_none() && self.operands.never_null(args) {
            return 0;
        }
        let args = args.iter().map(|arg| self.operands.arg(arg, None)).collect();
        self.add(Term::Count, args, filter)
    }

    /// The sums of the frames of all rows of a batch; the first is their number of rows.
    pub(crate) fn slide(
        &self,
        batch: &ChangeBatch,
        extents: &Extents,
    ) -> Result<Vec<DiffColumn>, OperatorError> {
        let values = self.operands.evaluate(batch)?;
        let rows = DiffColumn::Weight(extents.iter().map(|frame| frame.len() as i64).collect());
        let sums = self.accumulators.iter().map(|accumulator| accumulator.slide(extents, &values));
        Ok(std::iter::once(rows).chain(sums).collect())
    }

    pub(crate) fn operands(&mut self) -> &mut Operands {
        &mut self.operands
    }
}

impl Linear {
    pub(crate) fn new(plan: LinearPlan, keys: &[Field]) -> Result<Self, OperatorError> {
        let kinds = plan.accumulators.iter().map(|accumulator| accumulator.term.kind()).collect();
        let layout = Layout::accumulators(Arc::new(Schema::new(keys.to_vec())), keys.len(), kinds)?;
        Ok(Self { plan, spine: Spine::new(layout) })
    }

    /// Whether the weight of a group is all that is kept.
    pub(crate) fn only_counts(&self) -> bool {
        self.plan.accumulators.is_empty()
    }

    /// Fails if a column that is counted on to have no NULL has one.
    pub(crate) fn check_nulls(&self, batch: &ChangeBatch) -> Result<(), OperatorError> {
        self.plan.operands.check_nulls(batch)
    }

    /// The change of the sums of each group.
    pub(crate) fn fold(
        &self,
        batch: &ChangeBatch,
        groups: &Groups,
    ) -> Result<Vec<DiffColumn>, OperatorError> {
        weight::mass(batch.weights()).ok_or(TraceError::WeightOverflow)?;
        let values = self.plan.operands.evaluate(batch)?;
        let rows = Accumulator { term: Term::Count, args: Vec::new(), filter: None };
        let all = std::iter::once(&rows).chain(&self.plan.accumulators);
        Ok(all.map(|accumulator| accumulator.fold(groups, &values)).collect())
    }

    /// Stages the change and gives the sums before and after it, for the groups of the change itself.
    pub(crate) fn advance(&mut self, groups: &Groups, delta: Vec<DiffColumn>) -> Result<Sums, OperatorError> {
        let batch = self.indexed(&groups.keys, &delta)?;
        let old = lookup_sums(&groups.keys, &groups.probe(), self.spine.snapshot())?;
        let new = if self.spine.is_empty() { delta } else { plus_all(&old, &delta) };
        self.spine.stage(batch)?;
        Ok(Sums { old, new })
    }

    /// The same for other groups than those of the change.
    pub(crate) fn advance_at(
        &mut self,
        groups: &Groups,
        changed: &Groups,
        delta: Vec<DiffColumn>,
    ) -> Result<Sums, OperatorError> {
        let batch = self.indexed(&changed.keys, &delta)?;
        let probe = groups.probe();
        let old = lookup_sums(&groups.keys, &probe, self.spine.snapshot())?;
        let change = Snapshot::new(Arc::clone(self.spine.layout()), vec![Arc::clone(&batch)]);
        let new = plus_all(&old, &lookup_sums(&groups.keys, &probe, &change)?);
        self.spine.stage(batch)?;
        Ok(Sums { old, new })
    }

    /// The same with empty state.
    pub(crate) fn fresh(&self) -> Self {
        Self { plan: self.plan.clone(), spine: Spine::new(Arc::clone(self.spine.layout())) }
    }

    /// The change as a batch of the trace, without the groups whose sums do not change.
    fn indexed(&self, keys: &[ArrayRef], delta: &[DiffColumn]) -> Result<Arc<IndexedBatch>, OperatorError> {
        let len = delta.first().map_or(0, DiffColumn::len);
        let kept: Vec<u32> = (0..len as u32)
            .filter(|row| !delta.iter().all(|column| is_zero(column, *row as usize)))
            .collect();
        let layout = self.spine.layout();
        if kept.len() == len {
            return Ok(Arc::new(IndexedBatch::from_sorted(layout, keys.to_vec(), delta.to_vec())?));
        }
        let diffs = delta.iter().map(|column| pick(column, &kept)).collect();
        let rows = UInt32Array::from(kept);
        let keys = keys
            .iter()
            .map(|key| take(key, &rows, None))
            .collect::<Result<_, _>>()
            .map_err(TraceError::from)?;
        Ok(Arc::new(IndexedBatch::from_sorted(layout, keys, diffs)?))
    }
}

/// The weights of the groups.
pub(crate) fn group_weights(sums: &[DiffColumn]) -> &[i64] {
    match sums.first() {
        Some(DiffColumn::Weight(weights)) => weights,
        _ => &[],
    }
}

fn is_zero(column: &DiffColumn, row: usize) -> bool {
    match column {
        DiffColumn::Weight(values) => values[row] == 0,
        DiffColumn::Sum(values) => values[row] == 0,
        DiffColumn::Wide(values) => values[row] == i256::ZERO,
        DiffColumn::Exact(values) => values.get(row).is_empty(),
    }
}

fn pick(column: &DiffColumn, rows: &[u32]) -> DiffColumn {
    let places = rows.iter().map(|row| *row as usize);
    match column {
        DiffColumn::Weight(values) => DiffColumn::Weight(places.map(|row| values[row]).collect()),
        DiffColumn::Sum(values) => DiffColumn::Sum(places.map(|row| values[row]).collect()),
        DiffColumn::Wide(values) => DiffColumn::Wide(places.map(|row| values[row]).collect()),
        DiffColumn::Exact(values) => {
            let mut picked = ExactColumn::default();
            places.for_each(|row| picked.push_bytes(values.get(row)));
            DiffColumn::Exact(picked)
        }
    }
}

fn plus_all(old: &[DiffColumn], delta: &[DiffColumn]) -> Vec<DiffColumn> {
    old.iter().zip(delta).map(|(a, b)| a.plus(b)).collect()
}
