//! Operators of groups inside a nested scope: aggregates, top-k, windows, by evaluating them on the touched groups.
//!
//! # Computes
//! At each iteration, `f` of the rows of each key so far, for an operator `f` that treats keys apart.
//!
//! # Delta rule
//! The general rule along both axes. With `X(i)` the rows of a key up to iteration `i` in the earlier steps, and `Y(i)` those with the
//! changes of this step: `out(i) = [f(Y(i)) - f(Y(i-1))] - [f(X(i)) - f(X(i-1))]`. It is zero unless the key changed in this step at or before `i`,
//! and at `i` itself in this step or an earlier one; so the keys to look at are those of the change and those that are due by their past
//! (see `agenda.rs`). The four values are got by evaluating `f` from nothing on the rows of these keys: an operator that is evaluated once on
//! the whole contents gives its whole output, and a rollback makes it new again.
//!
//! **Without key** there is one group, and `f` of no rows may be a row (a count of zero). Before iteration 0 and before the first step there is
//! nothing, not even that row: those terms are left out.
//!
//! # State kept
//! The input's rows with their iterations, by key. For a single group also whether it was sent.
//!
//! # Cost per change
//! The rows of the touched keys, up to four times, at each iteration at which they are touched or due.
//!
//! # Example
//! The least label of each node: node 7 has label 3 from iteration 2 on. When a step takes away label 3, iteration 2 takes back
//! `(7, 3)` and gives `(7, 5)`.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{Field, Schema, SchemaRef};
use tailrace_algebra::Iteration;
use tailrace_circuit::{Context, Input, Moment, Operator, OperatorError, StateSize, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, DiffColumn, IndexedBatch, Layout, Snapshot, Spine, TraceError, meet};

use super::agenda::Agenda;
use super::history::History;
use super::iteration;
use crate::Scalar;
use crate::gather::{gather, share};
use crate::state;

/// Evaluates an operator that treats keys apart, in a nested scope.
pub struct TimedReduce {
    /// The operator, always without state.
    operator: Box<dyn UnaryOperator>,
    shape: Shape,
    history: History,
    agenda: Agenda,
    /// Without keys: holds one row once the only group was sent.
    sent: Option<Spine>,
}

/// How rows are kept, and how they become rows of the input again.
#[derive(Clone)]
struct Shape {
    input: SchemaRef,
    output: SchemaRef,
    /// What is kept of an input row: the keys, then all columns that are no keys themselves.
    kept: Vec<Scalar>,
    /// The place of each input column among them.
    places: Vec<usize>,
    /// The layout of the keys alone.
    keys: Arc<Layout>,
}

/// The rows of the touched keys, by when they came.
#[derive(Default)]
struct Gathered {
    past_before: Vec<ChangeBatch>,
    past_now: Vec<ChangeBatch>,
    step_before: Vec<ChangeBatch>,
    step_now: Vec<ChangeBatch>,
    /// When the keys are due again.
    visits: Vec<(i32, u32)>,
}

impl TimedReduce {
    /// Evaluates `operator`, which reads changes of schema `input`, writes changes of schema `output` and treats rows with different `keys` apart.
    pub fn new(
        operator: Box<dyn UnaryOperator>,
        keys: Vec<Scalar>,
        input: SchemaRef,
        output: SchemaRef,
    ) -> Result<Self, OperatorError> {
        let (shape, rows) = Shape::new(keys, input, output)?;
        Self::of(operator, shape, History::new(rows))
    }

    fn of(operator: Box<dyn UnaryOperator>, shape: Shape, history: History) -> Result<Self, OperatorError> {
        let single = shape.keys.key_len() == 0;
        let sent = single.then(|| Spine::new(Arc::clone(&shape.keys)));
        Ok(Self { operator, shape, history, agenda: Agenda::default(), sent })
    }

    /// The keys that the change touches, each once. The single group is touched when it was never sent.
    fn changed_keys(&self, delta: &IndexedBatch) -> Result<Arc<IndexedBatch>, TraceError> {
        let unsent = self.sent.as_ref().is_some_and(Spine::is_empty);
        if delta.is_empty() && !unsent {
            return Ok(Arc::new(IndexedBatch::empty(&self.shape.keys)));
        }
        let starts = if self.sent.is_some() { vec![0, 0] } else { delta.runs()? };
        let runs = starts.len() - 1;
        let keys = match runs == delta.len() {
            true => delta.key().to_vec(),
            false => delta.keys_at(&UInt32Array::from(starts[..runs].to_vec()))?,
        };
        let ones: ScalarBuffer<i64> = vec![1; runs].into();
        Ok(Arc::new(IndexedBatch::from_sorted(&self.shape.keys, keys, vec![DiffColumn::Weight(ones)])?))
    }

    fn gather(&self, touched: &IndexedBatch, delta: &IndexedBatch, at: i32) -> Result<Gathered, TraceError> {
        let starts: Vec<u32> = (0..=touched.len() as u32).collect();
        let mut gathered = Gathered::default();
        let mut known = vec![false; touched.len()];
        for batch in &self.history.current().before(at)? {
            let mut rows = Vec::new();
            meet(touched.columns(), &starts, batch, true, |key, found| {
                known[key] = true;
                rows.extend(found);
                Ok::<_, TraceError>(())
            })?;
            self.shape.push(&mut gathered.step_before, batch, rows)?;
        }
        for batch in self.history.past().batches() {
            self.gather_past(touched, &starts, batch, at, &known, &mut gathered)?;
        }
        gathered.step_now.extend((!delta.is_empty()).then(|| self.shape.all(delta)).transpose()?);
        Ok(gathered)
    }

    fn gather_past(
        &self,
        touched: &IndexedBatch,
        starts: &[u32],
        batch: &IndexedBatch,
        at: i32,
        known: &[bool],
        gathered: &mut Gathered,
    ) -> Result<(), TraceError> {
        let iterations = iteration::of(batch);
        let (mut before, mut now) = (Vec::new(), Vec::new());
        meet(touched.columns(), starts, batch, true, |key, found| {
            for row in found {
                match iterations[row as usize] {
                    earlier if earlier < at => before.push(row),
                    same if same == at => now.push(row),
                    later if !known[key] => gathered.visits.push((later, key as u32)),
                    _ => {}
                }
            }
            Ok::<_, TraceError>(())
        })?;
        self.shape.push(&mut gathered.past_before, batch, before)?;
        self.shape.push(&mut gathered.past_now, batch, now)
    }

    /// The four terms of the rule, added up.
    fn difference(
        &mut self,
        rows: &Gathered,
        at: i32,
        ctx: &Context<'_>,
    ) -> Result<ChangeBatch, OperatorError> {
        let Gathered { past_before, past_now, step_before, step_now, .. } = rows;
        let mut terms = vec![self.apply(&[past_before, past_now, step_before, step_now], ctx)?];
        if at > 0 {
            terms.push(self.apply(&[past_before, step_before], ctx)?.negate()?);
        }
        let began = self.sent.as_ref().is_none_or(|sent| !sent.is_empty());
        let moved = at == 0 || !past_now.is_empty();
        if began && moved {
            terms.push(self.apply(&[past_before, past_now], ctx)?.negate()?);
            if at > 0 {
                terms.push(self.apply(&[past_before], ctx)?);
            }
        }
        Ok(ChangeBatch::concat(Arc::clone(&self.shape.output), &terms)?.consolidate()?)
    }

    /// The output of the operator for these rows and no others.
    fn apply(
        &mut self,
        parts: &[&Vec<ChangeBatch>],
        ctx: &Context<'_>,
    ) -> Result<ChangeBatch, OperatorError> {
        let parts: Vec<ChangeBatch> = parts.iter().flat_map(|part| part.iter().cloned()).collect();
        if parts.is_empty() && self.sent.is_none() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.shape.output)));
        }
        let rows = ChangeBatch::concat(Arc::clone(&self.shape.input), &parts)?;
        let output = self.operator.eval(Input::Owned(rows.into()), ctx);
        self.operator.rollback();
        output?.into_changes()
    }

    fn mark_sent(&mut self) -> Result<(), TraceError> {
        match &mut self.sent {
            Some(sent) if sent.is_empty() => {
                // At a later iteration of the first step the row is staged already, which a commit adds up: no harm.
                let one = DiffColumn::Weight(vec![1].into());
                sent.stage(Arc::new(IndexedBatch::from_sorted(&self.shape.keys, Vec::new(), vec![one])?))
            }
            _ => Ok(()),
        }
    }
}

impl Shape {
    /// The shape, and the layout of what is kept.
    fn new(
        keys: Vec<Scalar>,
        input: SchemaRef,
        output: SchemaRef,
    ) -> Result<(Self, Arc<Layout>), TraceError> {
        let key_len = keys.len();
        let mut kept = keys;
        let mut places = Vec::with_capacity(input.fields().len());
        for column in 0..input.fields().len() {
            let place = kept.iter().position(|scalar| scalar.as_column() == Some(column));
            places.push(place.unwrap_or(kept.len()));
            if place.is_none() {
                kept.push(Scalar::column(column, &input));
            }
        }
        let field =
            |scalar: &Scalar| Field::new(scalar.to_string(), scalar.data_type().clone(), scalar.nullable());
        let fields: Vec<Field> = kept.iter().map(field).collect();
        let keys = Layout::rows(Arc::new(Schema::new(fields[..key_len].to_vec())), key_len)?;
        let rows = Layout::rows(Arc::new(Schema::new(fields)), key_len)?;
        Ok((Self { input, output, kept, places, keys }, rows))
    }

    /// What is kept of these rows.
    fn keep(&self, changes: &ChangeBatch) -> Result<Vec<ArrayRef>, OperatorError> {
        self.kept.iter().map(|scalar| scalar.evaluate(changes)).collect()
    }

    /// Kept rows as rows of the input.
    fn push(
        &self,
        parts: &mut Vec<ChangeBatch>,
        batch: &IndexedBatch,
        rows: Vec<u32>,
    ) -> Result<(), TraceError> {
        if rows.is_empty() {
            return Ok(());
        }
        let weights: ScalarBuffer<i64> = rows.iter().map(|row| batch.weights()[*row as usize]).collect();
        let columns = gather(batch, &self.places, &UInt32Array::from(rows))?;
        parts.push(ChangeBatch::try_new(Arc::clone(&self.input), columns, weights)?);
        Ok(())
    }

    /// All rows of a batch as rows of the input.
    fn all(&self, batch: &IndexedBatch) -> Result<ChangeBatch, TraceError> {
        ChangeBatch::try_new(Arc::clone(&self.input), share(batch, &self.places), batch.weights().clone())
    }
}

impl Operator for TimedReduce {
    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn label(&self) -> String {
        self.operator.label()
    }

    fn clock_start(&mut self, now: Moment) {
        self.agenda.clear();
        self.operator.clock_start(now);
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        self.agenda.next(now)
    }

    fn commit(&mut self) {
        self.agenda.clear();
        self.history.commit();
        self.sent.iter_mut().for_each(Spine::commit);
    }

    fn rollback(&mut self) {
        self.agenda.clear();
        self.operator.rollback();
        self.history.rollback();
        self.sent.iter_mut().for_each(Spine::rollback);
    }

    fn state(&self) -> StateSize {
        self.history.size()
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        let sent = self.sent.iter().map(|sent| sent.snapshot().clone());
        self.history.checkpoint().into_iter().chain(sent).collect()
    }

    fn restore(&mut self, mut snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        let (expected, found) = (1 + usize::from(self.sent.is_some()), snapshots.len());
        if expected != found {
            return Err(OperatorError::WrongState { expected, found });
        }
        let rest = snapshots.split_off(1);
        self.history.restore(snapshots)?;
        self.sent.as_mut().map_or(Ok(()), |sent| state::restore([sent], rest))
    }
}

impl UnaryOperator for TimedReduce {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let at = iteration::now(ctx)?;
        let changes = input.as_changes()?;
        let delta = self.history.index_columns(&self.shape.keep(changes)?, changes.weights())?;
        let touched = self.agenda.take(at, self.changed_keys(&delta)?)?;
        if touched.is_empty() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.shape.output)).into());
        }
        let mut rows = self.gather(&touched, &delta, at)?;
        self.agenda.plan(&touched, std::mem::take(&mut rows.visits));
        self.history.add(&delta, at)?;
        let output = self.difference(&rows, at, ctx)?;
        self.mark_sent()?;
        Ok(output.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        let sent = self.sent.as_ref().map(|sent| Spine::new(Arc::clone(sent.layout())));
        Box::new(Self {
            operator: self.operator.fresh(),
            shape: self.shape.clone(),
            history: self.history.fresh(),
            agenda: Agenda::default(),
            sent,
        })
    }
}
