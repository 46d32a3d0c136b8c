//! Aggregates: one row per group, with the values of any number of aggregate calls.
//!
//! # Computes
//! For each key whose weights do not sum to zero the row (key, value of each call). Without keys there is one group, which is always there: its row
//! exists also over no input.
//!
//! # Delta rule
//! The general rule of groups, `Δout[k] = f(a'[k]) - f(a[k])` for each touched key `k`. How `f` is read depends on the call:
//!
//! | calls | read off | file |
//! |---|---|---|
//! | count, sum, avg, var, stddev, covar, corr, regr_*, bool_and, bool_or | accumulators, which add up | `linear.rs`, `finish.rs` |
//! | the same with `distinct` | accumulators of the distinct arguments | `distinct.rs` |
//! | min, max, arg_min, arg_max, first, last, any_value | one end of the sorted group | `ends.rs` |
//! | array_agg, string_agg, bit_and, bit_or, bit_xor, quantiles, mode, product | the whole group | `whole.rs`, `quantile.rs` |
//!
//! Calls over the same arguments share accumulators and traces. The old and the new row of a group are compared; equal ones are not sent.
//!
//! NULL arguments are ignored, except by array_agg, first and last. Over no values count is zero and all other calls are NULL. Weights may be
//! negative in the middle: linear calls count them as they are, the others look at rows with positive weight only.
//!
//! # State kept
//! One accumulator row per key for all linear calls together; for the others a trace of (key, arguments) rows.
//!
//! # Cost per change
//! O(log n) for all but the calls that read whole groups.
//!
//! # Example
//! `count(*), sum(x)` by `k` over `{(a, 3): 2}` is `{(a, 2, 6): 1}`; the change `{(a, 4): +1}` gives `{(a, 2, 6): -1, (a, 3, 10): +1}`.

pub(crate) mod accumulator;
mod distinct;
mod emission;
mod ends;
pub(crate) mod finish;
mod function;
mod groups;
pub(crate) mod linear;
mod plan;
mod quantile;
mod rows;
mod sliding;
pub(crate) mod whole;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_cast::display::array_value_to_string;
use arrow_schema::Schema;
use tailrace_circuit::{Context, Input, Operator, OperatorError, StateSize, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, DiffColumn, IndexedBatch, Layout, Snapshot, Spine};

use distinct::Distinct;
use emission::Emission;
use ends::Ends;
use finish::Accumulated;
pub use function::{AggregateCall, AggregateFunction, AggregateSpec, Regression, Share};
use groups::Groups;
use linear::{Linear, Sums, group_weights};
use plan::{Output, Parts};
use rows::{Indexed, Rows};

use crate::state::size;
use crate::versions::Versions;

/// Groups rows and computes aggregate calls per group.
pub struct Aggregate {
    spec: AggregateSpec,
    outputs: Vec<Output>,
    linear: Linear,
    distincts: Vec<Distinct>,
    rows: Vec<Rows>,
    /// Without keys: holds one row once the row of the only group was sent.
    sent: Option<Spine>,
}

/// Where the calls of one change read from.
struct Reading<'a> {
    groups: &'a Groups,
    exists: &'a [Vec<bool>; 2],
    /// Accumulators: those of all rows, then those of the distinct calls.
    sums: Vec<Sums>,
    versions: Vec<Versions>,
}

impl Aggregate {
    /// An aggregate with empty state. Fails if a call does not fit its arguments or the schema does not fit the calls.
    pub fn new(spec: AggregateSpec) -> Result<Self, OperatorError> {
        let Parts { outputs, linear, distincts, rows } = plan::plan(&spec)?;
        let sent = if spec.keys.is_empty() { Some(sent_marker()?) } else { None };
        Ok(Self { spec, outputs, linear, distincts, rows, sent })
    }

    /// Evaluates the change of the groups that a change touches.
    fn advance(&mut self, batch: &ChangeBatch, ctx: &Context<'_>) -> Result<ChangeBatch, OperatorError> {
        let keys = self.spec.keys.iter().map(|key| key.evaluate(batch)).collect::<Result<Vec<_>, _>>()?;
        let deltas = self.rows.iter().map(|rows| rows.index(batch, &keys)).collect::<Result<Vec<_>, _>>()?;
        ctx.check()?;
        let (groups, delta) = self.group(batch, &keys, &deltas)?;
        ctx.check()?;
        let mut sums = vec![self.linear.advance(&groups, delta)?];
        for distinct in &mut self.distincts {
            ctx.check()?;
            sums.push(distinct.advance(batch, &keys, &groups)?);
        }
        let mut versions = Vec::with_capacity(deltas.len());
        for (rows, Indexed { batch, .. }) in self.rows.iter_mut().zip(deltas) {
            ctx.check()?;
            versions.push(rows.versions(&batch, &groups)?);
            rows.spine.stage(batch)?;
        }
        let exists = self.exists(&sums[0]);
        let reading = Reading { groups: &groups, exists: &exists, sums, versions };
        let values = self.read(&reading)?;
        for (rows, versions) in self.rows.iter_mut().zip(&reading.versions) {
            rows.spine.charge(versions.cancelled());
        }
        self.mark_sent()?;
        Emission { keys: &groups.keys, exists, values }.changes(&self.spec.schema)
    }

    /// The touched groups and the change of their sums. Where the number of rows is all that is summed up and all calls read one index, which leaves no row out, the
    /// groups stand in it in order, so that nothing is sorted twice. A group whose rows cancel there is not touched.
    fn group(
        &self,
        batch: &ChangeBatch,
        keys: &[ArrayRef],
        deltas: &[Indexed],
    ) -> Result<(Groups, Vec<DiffColumn>), OperatorError> {
        match deltas {
            [Indexed { batch: index, whole: true }]
                if self.linear.only_counts() && self.distincts.is_empty() && !keys.is_empty() =>
            {
                self.linear.check_nulls(batch)?;
                let groups = Groups::of_index(index)?;
                let counts = groups.total(index.weights());
                Ok((groups, vec![DiffColumn::Weight(counts)]))
            }
            _ => {
                let groups = Groups::of(keys, batch.len())?;
                let delta = self.linear.fold(batch, &groups)?;
                Ok((groups, delta))
            }
        }
    }

    /// Which groups are there before and after.
    fn exists(&self, sums: &Sums) -> [Vec<bool>; 2] {
        match &self.sent {
            Some(sent) => [vec![!sent.is_empty()], vec![true]],
            None => [&sums.old, &sums.new]
                .map(|sums| group_weights(sums).iter().map(|weight| *weight != 0).collect()),
        }
    }

    /// The values of all calls before and after.
    fn read(&self, reading: &Reading<'_>) -> Result<[Vec<ArrayRef>; 2], OperatorError> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (call, output) in self.outputs.iter().enumerate() {
            let [before, after] = self.read_call(call, output, reading)?;
            old.push(before);
            new.push(after);
        }
        Ok([old, new])
    }

    fn read_call(
        &self,
        call: usize,
        output: &Output,
        reading: &Reading<'_>,
    ) -> Result<[ArrayRef; 2], OperatorError> {
        let groups = reading.groups.len();
        match output {
            Output::Linear { source, finish } => {
                let sums = &reading.sums[*source];
                let blame = |group: usize| self.overflow(call, reading.groups, group);
                let read =
                    |sums: &[DiffColumn], exists: &[bool]| finish.read(&Accumulated { sums, exists }, &blame);
                let new = read(&sums.new, &reading.exists[1])?;
                // On the first load there are no old rows to be read.
                let any_old = reading.exists[0].contains(&true);
                let old = if any_old { read(&sums.old, &reading.exists[0])? } else { Arc::clone(&new) };
                Ok([old, new])
            }
            Output::End { rows, value, backward } => {
                let versions = &reading.versions[*rows];
                Ends::find(versions, groups, *backward)?.values(&self.rows[*rows], versions, *value)
            }
            Output::Whole { rows, whole } => {
                whole.values(&self.rows[*rows], &reading.versions[*rows], groups)
            }
        }
    }

    fn overflow(&self, call: usize, groups: &Groups, group: usize) -> OperatorError {
        let to = self.spec.schema.field(self.spec.keys.len() + call).data_type();
        let key = self.spec.keys.iter().zip(&groups.keys).map(|(scalar, column)| {
            format!("{scalar} = {}", array_value_to_string(column, group).unwrap_or_default())
        });
        let key: Vec<String> = key.collect();
        let place = if key.is_empty() { String::new() } else { format!(" in the group {}", key.join(", ")) };
        OperatorError::evaluation(format!("{} does not fit into {to}{place}", self.spec.calls[call]))
    }

    fn mark_sent(&mut self) -> Result<(), OperatorError> {
        if let Some(sent) = &mut self.sent
            && sent.is_empty()
        {
            let one = DiffColumn::Weight(vec![1].into());
            let row = IndexedBatch::from_sorted(sent.layout(), Vec::new(), vec![one])?;
            sent.stage(Arc::new(row))?;
        }
        Ok(())
    }

    fn spines(&self) -> impl Iterator<Item = &Spine> {
        let distincts =
            self.distincts.iter().flat_map(|distinct| [&distinct.rows.spine, &distinct.linear.spine]);
        let rows = self.rows.iter().map(|rows| &rows.spine);
        std::iter::once(&self.linear.spine).chain(distincts).chain(rows).chain(&self.sent)
    }

    fn spines_mut(&mut self) -> impl Iterator<Item = &mut Spine> {
        let distincts = self
            .distincts
            .iter_mut()
            .flat_map(|distinct| [&mut distinct.rows.spine, &mut distinct.linear.spine]);
        let rows = self.rows.iter_mut().map(|rows| &mut rows.spine);
        std::iter::once(&mut self.linear.spine).chain(distincts).chain(rows).chain(&mut self.sent)
    }
}

impl Operator for Aggregate {
    fn name(&self) -> &'static str {
        "aggregate"
    }

    fn label(&self) -> String {
        let list = |items: Vec<String>| items.join(", ");
        let calls = list(self.spec.calls.iter().map(ToString::to_string).collect());
        let keys = list(self.spec.keys.iter().map(ToString::to_string).collect());
        if keys.is_empty() { calls } else { format!("{calls} by {keys}") }
    }

    fn has_work(&self) -> bool {
        self.sent.as_ref().is_some_and(Spine::is_empty)
    }

    fn commit(&mut self) {
        self.spines_mut().for_each(Spine::commit);
    }

    fn rollback(&mut self) {
        self.spines_mut().for_each(Spine::rollback);
    }

    fn state(&self) -> StateSize {
        let mut total = StateSize::default();
        self.spines().for_each(|spine| total += size(spine));
        total
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        self.spines().map(|spine| spine.snapshot().clone()).collect()
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        let (expected, found) = (self.spines().count(), snapshots.len());
        if expected != found {
            return Err(OperatorError::WrongState { expected, found });
        }
        self.spines_mut()
            .zip(snapshots)
            .for_each(|(spine, snapshot)| *spine = Spine::from_snapshot(snapshot));
        Ok(())
    }
}

impl UnaryOperator for Aggregate {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        ctx.check()?;
        let batch = input.as_changes()?;
        if batch.is_empty() && !self.has_work() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.spec.schema)).into());
        }
        Ok(self.advance(batch, ctx)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        let (linear, distincts, rows) = (
            self.linear.fresh(),
            self.distincts.iter().map(Distinct::fresh),
            self.rows.iter().map(Rows::fresh),
        );
        let sent = self.sent.as_ref().map(|sent| Spine::new(Arc::clone(sent.layout())));
        let (spec, outputs) = (self.spec.clone(), self.outputs.clone());
        Box::new(Self { spec, outputs, linear, distincts: distincts.collect(), rows: rows.collect(), sent })
    }
}

/// A trace of rows without columns.
fn sent_marker() -> Result<Spine, OperatorError> {
    Ok(Spine::new(Layout::rows(Arc::new(Schema::empty()), 0)?))
}
