//! Aggregates of distinct arguments: count, sum, avg and the other linear ones, with equal arguments counted once.
//!
//! # Computes
//! The linear aggregate over the set of argument lists whose weight is positive.
//!
//! # Delta rule
//! `distinct` of the rows (key, arguments), then the linear rule: a row whose weight becomes positive enters the accumulators with weight one,
//! a row whose weight ceases to be positive leaves them. All other rows change nothing.
//!
//! # State kept
//! The rows (key, arguments) with their weights, and one accumulator per key.
//!
//! # Cost per change
//! O(log n): one search per batch of the trace.
//!
//! # Example
//! `count(distinct x)` over `{(a, 1): 2, (a, 2): 1}` is 2; the change `{(a, 1): -1}` gives nothing, `{(a, 1): -2}` gives
//! `{(a, 2): -1, (a, 1): +1}`.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::Field;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, IndexedBatch, lookup_sums};

use super::groups::Groups;
use super::linear::{Linear, LinearPlan, Sums, group_weights};
use super::rows::{RowPlan, Rows};
use crate::Scalar;

/// Distinct argument lists and the accumulators over them.
pub(crate) struct Distinct {
    pub(crate) rows: Rows,
    pub(crate) linear: Linear,
}

impl Distinct {
    /// `plan` refers to the arguments by [`Distinct::args`].
    pub(crate) fn new(rows: Rows, plan: LinearPlan, keys: &[Field]) -> Result<Self, OperatorError> {
        Ok(Self { linear: Linear::new(plan, keys)?, rows })
    }

    /// The arguments of `plan` as columns of the rows that [`Distinct`] feeds to its accumulators.
    pub(crate) fn args(rows: &Rows, plan: &RowPlan) -> Vec<Scalar> {
        (0..plan.values.len()).map(|value| Scalar::column(rows.value_column(value), rows.schema())).collect()
    }

    /// The same with empty state.
    pub(crate) fn fresh(&self) -> Self {
        Self { rows: self.rows.fresh(), linear: self.linear.fresh() }
    }

    /// Stages the change and gives the sums of the touched groups before and after it.
    pub(crate) fn advance(
        &mut self,
        batch: &ChangeBatch,
        keys: &[ArrayRef],
        groups: &Groups,
    ) -> Result<Sums, OperatorError> {
        let delta = self.rows.index(batch, keys)?.batch;
        let flips = self.flips(&delta)?;
        self.rows.spine.stage(delta)?;
        let changed = Groups::of(&flips.columns()[..self.rows.key_len()], flips.len())?;
        let sums = self.linear.fold(&flips, &changed)?;
        self.linear.advance_at(groups, &changed, sums)
    }

    /// The rows that come or go, with weight one or minus one.
    fn flips(&self, delta: &Arc<IndexedBatch>) -> Result<ChangeBatch, OperatorError> {
        let probe: Vec<u32> = (0..=delta.len() as u32).collect();
        let sums = lookup_sums(delta.columns(), &probe, self.rows.spine.snapshot())?;
        let weights = group_weights(&sums).iter().zip(delta.weights());
        let flips =
            weights.map(|(old, change)| i64::from(old + change > 0) - i64::from(*old > 0)).enumerate();
        let (rows, weights): (Vec<u32>, Vec<i64>) =
            flips.filter(|(_, flip)| *flip != 0).map(|(row, flip)| (row as u32, flip)).unzip();
        Ok(delta.to_changes().take(&UInt32Array::from(rows))?.with_weights(weights.into())?)
    }
}
