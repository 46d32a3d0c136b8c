//! Participants: rows that take part in a join with a residual, or do not.
//!
//! # Computes
//! The rows of `a` that have a partner, or that have none, given `p`, the pairs of the join of `a` with `b`, projected to the rows of `a`.
//! A row `l` has a partner while the weights of the rows of `b` that match it sum to `s(l) > 0`. Its weight in `p` is `a(l) s(l)`, so it has one
//! if its weights in `a` and in `p` have the same sign: also if it is there a negative number of times.
//!
//! # Delta rule
//! The output of a row is a function `f` of its two weights alone, so a touched row changes by `f(a'(l), p'(l)) - f(a(l), p(l))`, and a row
//! that neither change touches by nothing.
//!
//! # State kept
//! None of its own; it reads an index of `a` by the whole row and an index of `p` that has the same columns.
//!
//! # Cost per change
//! Four look-ups per changed row of either side, `O(log n)`.
//!
//! # Example
//! Bids above the limit of their auction: when the first of the limits below a bid of 7 comes, `p` gets `+(a, 7)` and the bid goes out; when the
//! last of them goes, the bid is taken back.

use std::iter::once;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_schema::SchemaRef;
use tailrace_circuit::{BinaryOperator, Context, Input, Operator, OperatorError, Value};
use tailrace_trace::{Arranged, ChangeBatch, IndexedBatch};

use crate::gather::gather;
use crate::key_weights::key_weights;

/// Keeps the rows of the left index that are, or are not, among the pairs that the right index has.
#[derive(Clone, Debug)]
pub struct Participants {
    anti: bool,
    output: Vec<usize>,
    schema: SchemaRef,
}

impl Participants {
    /// Reads two indexes by the whole row, with the same columns; the i-th output column is the layout's `output[i]`-th. With `anti` the rows that
    /// have no partner are kept.
    pub fn new(anti: bool, output: Vec<usize>, schema: SchemaRef) -> Self {
        Self { anti, output, schema }
    }

    /// The change of the output at the given rows, of those only that `touched` picks by their change on the left.
    fn changes(
        &self,
        rows: &IndexedBatch,
        (left, right): (&Arranged, &Arranged),
        touched: impl Fn(i64) -> bool,
    ) -> Result<ChangeBatch, OperatorError> {
        let starts = rows.runs()?;
        let [own, pairs] = [left, right].map(|side| {
            let before = key_weights(rows.key(), &starts, side.before.batches(), true)?;
            let change = key_weights(rows.key(), &starts, once(&side.delta), true)?;
            Ok::<_, OperatorError>((before, change))
        });
        let ((own, own_change), (pairs, pairs_change)) = (own?, pairs?);
        let (mut places, mut weights) = (Vec::new(), Vec::new());
        for run in (0..own.len()).filter(|run| touched(own_change[*run])) {
            let after = self.shown(own[run] + own_change[run], pairs[run] + pairs_change[run]);
            let change = after - self.shown(own[run], pairs[run]);
            if change != 0 {
                places.push(starts[run]);
                weights.push(change);
            }
        }
        let columns = gather(rows, &self.output, &UInt32Array::from(places))?;
        Ok(ChangeBatch::try_new(Arc::clone(&self.schema), columns, weights.into())?)
    }

    /// The weight in the output of a row with these weights.
    fn shown(&self, own: i64, pairs: i64) -> i64 {
        let takes_part = own.signum() * pairs.signum() > 0;
        if takes_part != self.anti { own } else { 0 }
    }
}

impl Operator for Participants {
    fn name(&self) -> &'static str {
        if self.anti { "anti_join" } else { "semi_join" }
    }
}

impl BinaryOperator for Participants {
    fn eval(
        &mut self,
        left: Input<'_>,
        right: Input<'_>,
        _ctx: &Context<'_>,
    ) -> Result<Value, OperatorError> {
        let sides = (left.as_indexed()?, right.as_indexed()?);
        let mut parts = Vec::new();
        if !sides.0.delta.is_empty() {
            parts.push(self.changes(&sides.0.delta, sides, |_| true)?);
        }
        if !sides.1.delta.is_empty() {
            // Rows that changed on the left are told already.
            parts.push(self.changes(&sides.1.delta, sides, |own| own == 0)?);
        }
        Ok(ChangeBatch::concat(Arc::clone(&self.schema), &parts)?.into())
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(self.clone())
    }
}
