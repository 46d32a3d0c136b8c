//! Distinct and positive inside a nested scope: a new weight for each row, by its own weight alone.
//!
//! # Computes
//! At each iteration, `g` of the weight of each row: `distinct` is 1 where the weight is positive and `positive` the weight itself there;
//! both are 0 elsewhere.
//!
//! # Delta rule
//! Let `X(i)` be the weight of a row up to iteration `i` in the earlier steps, and `Y(i)` that with the changes of this step added. Then
//! `out(i) = [g(Y(i)) - g(Y(i-1))] - [g(X(i)) - g(X(i-1))]`: what iteration `i` adds now, less what it added before. This is zero unless the row
//! changed in this step at or before `i`, and at `i` itself in this step or an earlier one. So the rows to look at are those of the change, and
//! those of earlier iterations that are due now by their past (see `agenda.rs`).
//!
//! # State kept
//! The input's rows with their iterations, added up over steps.
//!
//! # Cost per change
//! One look-up for each changed row, and one for each later iteration at which it has a past.
//!
//! # Example
//! A node is reached at iteration 2 and, another way, at 5. When the first way is taken away, iteration 2 gives `-(node)` and
//! iteration 5 gives `+(node)`.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_schema::SchemaRef;
use tailrace_algebra::{Group, Iteration};
use tailrace_circuit::{Context, Input, Moment, Operator, OperatorError, StateSize, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Snapshot, TraceError, meet};

use super::agenda::{Agenda, Visits};
use super::history::History;
use super::iteration;
use super::step_sums::StepSums;
use crate::gather::{gather, share};

/// One of each row of positive weight, in a nested scope.
pub type TimedDistinct = TimedRowWeights<DistinctRule>;

/// The rows of positive weight with their weights, in a nested scope.
pub type TimedPositive = TimedRowWeights<PositiveRule>;

/// A function of the weight of a row that is zero at zero.
pub trait RowRule: Send + 'static {
    /// The name of the operator.
    const NAME: &'static str;

    /// The new weight.
    fn apply(weight: i64) -> i64;
}

/// The rule of `distinct`.
#[derive(Debug)]
pub enum DistinctRule {}

/// The rule of `positive`.
#[derive(Debug)]
pub enum PositiveRule {}

impl RowRule for DistinctRule {
    const NAME: &'static str = "distinct";

    fn apply(weight: i64) -> i64 {
        i64::from(weight > 0)
    }
}

impl RowRule for PositiveRule {
    const NAME: &'static str = "positive";

    fn apply(weight: i64) -> i64 {
        weight.max(0)
    }
}

/// Applies a rule to the weight of each row. Takes changes and gives changes; it keeps its own index.
pub struct TimedRowWeights<R> {
    columns: Vec<usize>,
    history: History,
    /// The weight of each row in this step so far.
    step: StepSums,
    agenda: Agenda,
    rule: PhantomData<R>,
}

/// The weights of one row.
#[derive(Clone, Copy, Default)]
struct Weights {
    /// In earlier steps: before this iteration, and at it.
    past_before: i64,
    past_now: i64,
    /// In this step: before this iteration, and at it.
    step_before: i64,
    step_now: i64,
    /// Whether the row was touched before in this step, so that it is on the agenda already.
    known: bool,
}

impl<R: RowRule> TimedRowWeights<R> {
    /// For rows of this schema.
    pub fn new(schema: &SchemaRef) -> Result<Self, TraceError> {
        let width = schema.fields().len();
        let history = History::new(Layout::rows(Arc::clone(schema), width)?);
        let step = StepSums::new(schema)?;
        Ok(Self {
            columns: (0..width).collect(),
            history,
            step,
            agenda: Agenda::default(),
            rule: PhantomData,
        })
    }

    /// The weights of the touched rows, and the later visits that they need.
    fn weigh(
        &mut self,
        touched: &Arc<IndexedBatch>,
        delta: &Arc<IndexedBatch>,
        at: i32,
    ) -> Result<(Vec<Weights>, Visits), TraceError> {
        let starts: Vec<u32> = (0..=touched.len() as u32).collect();
        let mut weights = vec![Weights::default(); touched.len()];
        if Arc::ptr_eq(touched, delta) {
            weights.iter_mut().zip(delta.weights()).for_each(|(row, weight)| row.step_now = *weight);
        } else {
            each_row(touched, &starts, delta, |row, _, weight| weights[row].step_now = weight)?;
        }
        self.step.add(touched.columns(), touched.len(), |row, before| {
            weights[row].step_before = before.unwrap_or_default();
            weights[row].known = before.is_some();
            weights[row].step_now
        })?;
        let mut visits = Vec::new();
        for batch in self.history.past().batches() {
            let iterations = iteration::of(batch);
            each_row(touched, &starts, batch, |row, other, weight| match iterations[other] {
                before if before < at => weights[row].past_before += weight,
                now if now == at => weights[row].past_now += weight,
                later if !weights[row].known => visits.push((later, row as u32)),
                _ => {}
            })?;
        }
        Ok((weights, visits))
    }

    fn output(&self, touched: &IndexedBatch, weights: &[Weights]) -> Result<ChangeBatch, TraceError> {
        let changes: Option<Vec<i64>> = weights.iter().map(Weights::change::<R>).collect();
        let changes = changes.ok_or(TraceError::WeightOverflow)?;
        let rows: Vec<u32> = (0..touched.len() as u32).filter(|row| changes[*row as usize] != 0).collect();
        let schema = Arc::clone(self.history.rows().schema());
        if rows.len() == touched.len() {
            return ChangeBatch::try_new(schema, share(touched, &self.columns), changes.into());
        }
        if rows.is_empty() {
            return Ok(ChangeBatch::empty(schema));
        }
        let kept: Vec<i64> = changes.into_iter().filter(|change| *change != 0).collect();
        ChangeBatch::try_new(schema, gather(touched, &self.columns, &UInt32Array::from(rows))?, kept.into())
    }
}

impl Weights {
    /// What the iteration adds now, less what it added in earlier steps; `None` if that is no weight. The sums stay in the range that the
    /// history admits.
    fn change<R: RowRule>(&self) -> Option<i64> {
        let past = self.past_before + self.past_now;
        let before = self.past_before + self.step_before;
        let after = before + self.past_now + self.step_now;
        (R::apply(after) - R::apply(before)).checked_minus(&(R::apply(past) - R::apply(self.past_before)))
    }
}

impl<R: RowRule> Operator for TimedRowWeights<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn clock_start(&mut self, _now: Moment) {
        self.agenda.clear();
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        self.agenda.next(now)
    }

    fn commit(&mut self) {
        self.agenda.clear();
        self.step.clear();
        self.history.commit();
    }

    fn rollback(&mut self) {
        self.agenda.clear();
        self.step.clear();
        self.history.rollback();
    }

    fn state(&self) -> StateSize {
        self.history.size()
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        self.history.checkpoint()
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        self.history.restore(snapshots)
    }
}

impl<R: RowRule> UnaryOperator for TimedRowWeights<R> {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let at = iteration::now(ctx)?;
        let delta = self.history.index(input.as_changes()?, &self.columns)?;
        let touched = self.agenda.take(at, Arc::clone(&delta))?;
        let (weights, visits) = self.weigh(&touched, &delta, at)?;
        self.agenda.plan(&touched, visits);
        self.history.add(&delta, at)?;
        Ok(self.output(&touched, &weights)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self {
            columns: self.columns.clone(),
            history: self.history.fresh(),
            step: self.step.fresh(),
            agenda: Agenda::default(),
            rule: PhantomData,
        })
    }
}

/// Calls `found(row, other, weight)` for each row of `touched` and each row of `batch` with the same values.
fn each_row(
    touched: &IndexedBatch,
    starts: &[u32],
    batch: &IndexedBatch,
    mut found: impl FnMut(usize, usize, i64),
) -> Result<(), TraceError> {
    let weights = batch.weights();
    meet(touched.columns(), starts, batch, true, |row, others| {
        others.for_each(|other| found(row, other as usize, weights[other as usize]));
        Ok(())
    })
}
