//! Join inside a nested scope: pairs of rows with equal keys, each at the iteration at which both are there.
//!
//! # Computes
//! The same as [`Join`](crate::Join), at each iteration.
//!
//! # Delta rule
//! Bilinear along both axes: a change of `a` at step `t1` and iteration `i1` and one of `b` at `(t2, i2)` give their pair at
//! `(max(t1, t2), max(i1, i2))`. At step `t` those pairs are new in which a side is of step `t`. When `δa(i)` and `δb(i)` arrive, they meet
//! `δa(i) ⋈ (past b + earlier δb + δb(i))` and `(past a + earlier δa) ⋈ δb(i)`, so that each pair is met once, when its later side arrives. A
//! partner of this step has an iteration up to `i`, so the pair is of iteration `i`. A partner of an earlier step may be of a later
//! iteration: then the pair waits for it, and the operator says so to the clock.
//!
//! An input may also be an index of the outer scope, held (see [`Subcircuit::import_held`](tailrace_circuit::Subcircuit::import_held)): all its rows
//! are of iteration 0, and no second index of them is needed.
//!
//! # State kept
//! None of its own; it reads the indexes of its inputs by the key.
//!
//! # Cost per change
//! Finding each changed key in the other index, `O(log n)`, and its matches.
//!
//! # Example
//! Paths and edges: the new edge `(3, 4)` comes at iteration 0 and meets the path `(1, 3)` that an earlier step found at iteration 2; the
//! path `(1, 4)` follows at iteration 2.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, UInt32Array};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use tailrace_algebra::{Iteration, Lattice};
use tailrace_circuit::{BinaryOperator, Context, Input, Moment, Operator, OperatorError, Value};
use tailrace_trace::{ChangeBatch, IndexedBatch, Recent, TimedArranged, TraceError};

use super::iteration;
use crate::filter::conjunction_label;
use crate::join::{JoinColumn, JoinSpec, Side};
use crate::pairs::Pairs;

/// Joins two indexed streams of a nested scope on their keys.
pub struct TimedJoin {
    spec: JoinSpec,
    /// The joins that put out the iteration of the past partner behind the columns of `spec`, by the side of the delta. Made when the
    /// layouts are known.
    timed: [Option<JoinSpec>; 2],
    waiting: BTreeMap<i32, Vec<ChangeBatch>>,
}

/// What an input shows at an iteration.
struct Seen<'a> {
    delta: &'a IndexedBatch,
    /// Whether the delta is of this iteration.
    new: bool,
    past: &'a [Arc<IndexedBatch>],
    /// Whether rows of the past carry their iteration.
    timed: bool,
    current: Current<'a>,
}

/// Where the changes of earlier iterations of this step are.
enum Current<'a> {
    /// There are none.
    Nowhere,
    /// All of iteration 0.
    Held(&'a Arc<IndexedBatch>),
    Recent(&'a Recent),
}

impl TimedJoin {
    /// Joins by `spec` two indexes whose keys have the same number and types of columns. Columns are counted in the layouts of the indexes.
    pub fn new(spec: JoinSpec) -> Self {
        Self { spec, timed: [None, None], waiting: BTreeMap::new() }
    }

    /// All pairs of the delta on `side` with the rows of the other input up to now, and with its `new` ones; pairs of this iteration go to `now`.
    fn half(
        &mut self,
        side: Side,
        delta: &IndexedBatch,
        other: &Seen<'_>,
        new: Option<&IndexedBatch>,
        ctx: &Context<'_>,
        now: &mut Vec<ChangeBatch>,
    ) -> Result<(), OperatorError> {
        let (at, starts) = (iteration::now(ctx)?, delta.runs()?);
        let untimed = if other.timed { &[] } else { other.past };
        let current = other.current.before(at)?;
        let present = untimed.iter().chain(&current).map(|batch| &**batch).chain(new);
        now.extend(pairs(&self.spec, side, delta, &starts, present, ctx)?);
        let Some(first) = other.past.first().filter(|_| other.timed) else { return Ok(()) };
        let spec = self.timed[side as usize].get_or_insert_with(|| timed(&self.spec, side, first));
        let past = other.past.iter().map(|batch| &**batch);
        for part in pairs(spec, side, delta, &starts, past, ctx)? {
            self.sort_out(&part, at, now)?;
        }
        Ok(())
    }

    /// Lets rows with a later iteration wait and gives the others to `now`.
    fn sort_out(
        &mut self,
        part: &ChangeBatch,
        at: i32,
        now: &mut Vec<ChangeBatch>,
    ) -> Result<(), TraceError> {
        let width = self.spec.output.len();
        let iterations = part.column(width).as_primitive::<Int32Type>().values().clone();
        let rows = part.project(&(0..width).collect::<Vec<_>>(), Arc::clone(&self.spec.schema));
        if iterations.iter().all(|iteration| *iteration <= at) {
            now.push(rows);
            return Ok(());
        }
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        // A pair is there from the join of its rows' times on.
        let due = |row: &u32| iterations[*row as usize].join(&at);
        order.sort_by_key(due);
        let mut start = 0;
        let sorted = rows.take(&UInt32Array::from(order.clone()))?;
        for visit in order.chunk_by(|a, b| due(a) == due(b)) {
            let piece = slice(&sorted, start, visit.len())?;
            start += visit.len();
            match due(&visit[0]) {
                present if present == at => now.push(piece),
                later => self.waiting.entry(later).or_default().push(piece),
            }
        }
        Ok(())
    }
}

impl Operator for TimedJoin {
    fn name(&self) -> &'static str {
        "join"
    }

    fn label(&self) -> String {
        conjunction_label(&self.spec.residual)
    }

    fn clock_start(&mut self, _now: Moment) {
        self.waiting.clear();
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        let due = self.waiting.keys().map(|at| iteration::iteration(*at)).find(|at| *at > now.iteration);
        due.filter(|_| now.depth == 1)
    }

    fn commit(&mut self) {
        self.waiting.clear();
    }

    fn rollback(&mut self) {
        self.waiting.clear();
    }
}

impl BinaryOperator for TimedJoin {
    fn eval(&mut self, left: Input<'_>, right: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let at = iteration::now(ctx)?;
        let (left, right) = (Seen::at(at, left.value())?, Seen::at(at, right.value())?);
        let mut now = self.waiting.remove(&at).unwrap_or_default();
        if let Some(delta) = left.change() {
            self.half(Side::Left, delta, &right, right.change(), ctx, &mut now)?;
        }
        if let Some(delta) = right.change() {
            self.half(Side::Right, delta, &left, None, ctx, &mut now)?;
        }
        Ok(ChangeBatch::concat(Arc::clone(&self.spec.schema), &now)?.into())
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(Self::new(self.spec.clone()))
    }
}

impl<'a> Seen<'a> {
    fn at(at: i32, value: &'a Value) -> Result<Self, OperatorError> {
        let Value::Indexed(held) = value else {
            let TimedArranged { delta, past, current } = value.as_timed()?;
            let current = Current::Recent(current);
            return Ok(Self { delta, new: true, past: past.batches(), timed: true, current });
        };
        let (new, past) = (at == 0, held.before.batches());
        let current = if new { Current::Nowhere } else { Current::Held(&held.delta) };
        Ok(Self { delta: &held.delta, new, past, timed: false, current })
    }

    /// The rows that are new at this iteration.
    fn change(&self) -> Option<&'a IndexedBatch> {
        (self.new && !self.delta.is_empty()).then_some(self.delta)
    }
}

impl Current<'_> {
    fn before(&self, at: i32) -> Result<Vec<Arc<IndexedBatch>>, TraceError> {
        match self {
            Current::Nowhere => Ok(Vec::new()),
            Current::Held(delta) => Ok(vec![Arc::clone(delta)]),
            Current::Recent(recent) => recent.before(at),
        }
    }
}

/// The join that puts out the iteration of the partner, which stands last in `partner`, behind the columns of `spec`.
fn timed(spec: &JoinSpec, side: Side, partner: &IndexedBatch) -> JoinSpec {
    let last = partner.columns().len() - 1;
    let iteration = match side {
        Side::Left => JoinColumn::Right(last),
        Side::Right => JoinColumn::Left(last),
    };
    let field = partner.layout().schema().fields()[last].clone();
    let widen = |schema: &SchemaRef| {
        let fields: Vec<FieldRef> = schema.fields().iter().cloned().chain([field.clone()]).collect();
        Arc::new(Schema::new(fields))
    };
    JoinSpec {
        gathered: spec.gathered.iter().copied().chain([iteration]).collect(),
        gathered_schema: widen(&spec.gathered_schema),
        output: spec.output.iter().copied().chain([spec.gathered.len()]).collect(),
        schema: widen(&spec.schema),
        ..spec.clone()
    }
}

/// The output rows of all pairs of `delta` with rows of `batches`.
fn pairs<'a>(
    spec: &'a JoinSpec,
    side: Side,
    delta: &'a IndexedBatch,
    starts: &[u32],
    batches: impl Iterator<Item = &'a IndexedBatch>,
    ctx: &Context<'_>,
) -> Result<Vec<ChangeBatch>, OperatorError> {
    let mut pairs = Pairs::new(spec, side, delta)?;
    for batch in batches {
        ctx.check()?;
        pairs.meet(starts, batch, ctx)?;
    }
    pairs.finish()
}

fn slice(batch: &ChangeBatch, start: usize, len: usize) -> Result<ChangeBatch, TraceError> {
    let columns = batch.columns().iter().map(|column| column.slice(start, len)).collect();
    ChangeBatch::try_new(Arc::clone(batch.schema()), columns, batch.weights().slice(start, len))
}
