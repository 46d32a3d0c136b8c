//! Semi-join and anti-join: rows that have a partner, or have none.
//!
//! # Computes
//! The rows of `a` whose key is present in `b` (semi), or is not (anti). A key is present while the weights of its rows sum to more than
//! zero. A key with a NULL is never present, unless NULL keys equal each other, so the anti-join keeps such rows.
//!
//! # Delta rule
//! With `s` the filter by presence before the step and `s'` after it: `s'(Δa) + (s' - s)(a)`, since
//! `s'(a + Δa) - s(a) = s'(Δa) + s'(a) - s(a)`. The second term has the rows of `a` whose key appeared (`+`) or vanished (`-`); the anti-join has
//! them with the opposite sign.
//!
//! # State kept
//! None of its own; it reads the index of `a` by the key and an index of `b` that has the key only.
//!
//! # Cost per change
//! One look-up per changed key on either side, `O(log n)`, and the rows of `a` with a key whose presence flips.
//!
//! # Example
//! Customers with an order: the first order of ann gives `+(ann, Ulm)`, the second nothing, the loss of both `-(ann, Ulm)`.

use std::iter::once;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::SchemaRef;
use tailrace_circuit::{BinaryOperator, Context, Input, Operator, OperatorError, Value};
use tailrace_trace::{Arranged, ChangeBatch, IndexedBatch, TraceError, meet};

use crate::gather::{gather, share};
use crate::key_weights::key_weights;

/// What a semi-join keeps and puts out.
#[derive(Clone, Debug)]
pub struct SemiSpec {
    /// Keep the rows without partner.
    pub anti: bool,
    /// The columns of the left layout that go out.
    pub output: Vec<usize>,
    /// The schema of the output.
    pub schema: SchemaRef,
    /// Whether NULL keys equal each other.
    pub null_matches: bool,
}

/// Keeps the rows of the left index whose key is, or is not, in the right one.
#[derive(Clone, Debug)]
pub struct SemiJoin {
    spec: SemiSpec,
}

/// Keys whose presence flips: where each starts in the right delta, and the sign of the rows of `a` that go with it.
struct Flips {
    starts: Vec<u32>,
    signs: Vec<i64>,
}

impl SemiJoin {
    /// Filters the left input by the keys of the right one, whose layout is the key alone.
    pub fn new(spec: SemiSpec) -> Self {
        Self { spec }
    }

    /// `s'(Δa)`: the changed rows, by presence after the step.
    fn changed_rows(&self, left: &Arranged, right: &Arranged) -> Result<ChangeBatch, OperatorError> {
        let delta = &left.delta;
        let starts = delta.runs()?;
        let after = right.before.batches().iter().chain(once(&right.delta));
        let present = key_weights(delta.key(), &starts, after, self.spec.null_matches)?;
        let kept = (0..present.len()).filter(|run| (present[*run] > 0) != self.spec.anti);
        let rows: Vec<u32> = kept.flat_map(|run| starts[run]..starts[run + 1]).collect();
        if rows.len() == delta.len() {
            return self.output(share(delta, &self.spec.output), delta.weights().to_vec());
        }
        let weights = rows.iter().map(|row| delta.weights()[*row as usize]).collect();
        self.output(gather(delta, &self.spec.output, &UInt32Array::from(rows))?, weights)
    }

    /// The keys whose presence is another after the step than before.
    fn flips(&self, right: &Arranged) -> Result<Flips, OperatorError> {
        let delta = &right.delta;
        let runs = delta.runs()?;
        let before = key_weights(delta.key(), &runs, right.before.batches(), self.spec.null_matches)?;
        let mut flips = Flips { starts: Vec::new(), signs: Vec::new() };
        for (run, before) in before.into_iter().enumerate() {
            let change: i64 = delta.weights()[runs[run] as usize..runs[run + 1] as usize].iter().sum();
            let sign = i64::from(before + change > 0) - i64::from(before > 0);
            if sign != 0 {
                flips.starts.push(runs[run]);
                flips.signs.push(if self.spec.anti { -sign } else { sign });
            }
        }
        flips.starts.push(delta.len() as u32);
        Ok(flips)
    }

    /// The part of `(s' - s)(a)` that lies in one batch of `a`.
    fn flipped_rows(
        &self,
        flips: &Flips,
        keys: &[ArrayRef],
        batch: &IndexedBatch,
    ) -> Result<ChangeBatch, OperatorError> {
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        meet(keys, &flips.starts, batch, self.spec.null_matches, |flip, found| {
            let range = found.start as usize..found.end as usize;
            rows.extend(found);
            weights.extend(batch.weights()[range].iter().map(|weight| weight * flips.signs[flip]));
            Ok::<_, TraceError>(())
        })?;
        if rows.is_empty() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.spec.schema)));
        }
        self.output(gather(batch, &self.spec.output, &UInt32Array::from(rows))?, weights)
    }

    fn output(&self, columns: Vec<ArrayRef>, weights: Vec<i64>) -> Result<ChangeBatch, OperatorError> {
        Ok(ChangeBatch::try_new(Arc::clone(&self.spec.schema), columns, weights.into())?)
    }
}

impl Operator for SemiJoin {
    fn name(&self) -> &'static str {
        if self.spec.anti { "anti_join" } else { "semi_join" }
    }
}

impl BinaryOperator for SemiJoin {
    fn eval(
        &mut self,
        left: Input<'_>,
        right: Input<'_>,
        _ctx: &Context<'_>,
    ) -> Result<Value, OperatorError> {
        let (left, right) = (left.as_indexed()?, right.as_indexed()?);
        let mut parts = Vec::new();
        if !left.delta.is_empty() {
            parts.push(self.changed_rows(left, right)?);
        }
        if !right.delta.is_empty() && !left.before.is_empty() {
            let flips = self.flips(right)?;
            for batch in left.before.batches() {
                parts.push(self.flipped_rows(&flips, right.delta.key(), batch)?);
            }
        }
        Ok(ChangeBatch::concat(Arc::clone(&self.spec.schema), &parts)?.into())
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(self.clone())
    }
}
