//! The kernel of joins: row numbers of matching pairs, then one gather per column.
//!
//! Pairs are collected as three flat vectors: the row of the delta, the row of the batch, the product of the weights. Columns are gathered only when
//! all pairs are known, or when there are so many that a residual should thin them out first. A foreign key finds each row of the
//! delta exactly once; its row numbers are then `0..n` and the columns are shared instead of gathered.
//!
//! Products of weights are multiplied unchecked where the masses of both batches show that none can overflow, which is nearly always.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_select::concat::concat;
use arrow_select::take::take;
use tailrace_algebra::Ring;
use tailrace_circuit::{Context, OperatorError};
use tailrace_trace::{ChangeBatch, IndexedBatch, TraceError, meet};

use crate::filter::keep;
use crate::join::{JoinColumn, JoinSpec, Side};

/// Pairs after which a residual is asked: small enough for the cache.
const CHUNK: usize = 1 << 16;
/// Pairs after which columns are gathered even without a residual, to bound the vectors of row numbers.
const LARGE_CHUNK: usize = 1 << 22;

/// Pairs of rows of a delta with rows of batches of the other side.
pub(crate) struct Pairs<'a> {
    spec: &'a JoinSpec,
    side: Side,
    delta: &'a IndexedBatch,
    limit: usize,
    delta_rows: Vec<u32>,
    batch_rows: Vec<u32>,
    weights: Vec<i64>,
    /// The batches that the pairs come from, each with the number of pairs up to its last one.
    pieces: Vec<(&'a IndexedBatch, usize)>,
    done: Vec<ChangeBatch>,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(spec: &'a JoinSpec, side: Side, delta: &'a IndexedBatch) -> Self {
        let limit = if spec.residual.is_empty() { LARGE_CHUNK } else { CHUNK };
        let (delta_rows, batch_rows, weights) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            spec,
            side,
            delta,
            limit,
            delta_rows,
            batch_rows,
            weights,
            pieces: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Adds all pairs with rows of `batch`; `starts` are the runs of the delta.
    pub(crate) fn meet(
        &mut self,
        starts: &[u32],
        batch: &'a IndexedBatch,
        ctx: &Context<'_>,
    ) -> Result<(), OperatorError> {
        let exact = self.delta.mass().checked_times(&batch.mass()).is_some();
        let delta = self.delta;
        meet(delta.key(), starts, batch, self.spec.null_matches, |run, rows| {
            let delta_run = starts[run]..starts[run + 1];
            if exact {
                self.multiply(delta_run, batch, rows)
            } else {
                self.multiply_checked(delta_run, batch, rows)?
            }
            if self.weights.len() >= self.limit {
                ctx.check()?;
                self.close(batch);
                self.flush()?;
            }
            Ok::<_, OperatorError>(())
        })?;
        self.close(batch);
        Ok(())
    }

    /// The output rows of all pairs, in parts.
    pub(crate) fn finish(mut self) -> Result<Vec<ChangeBatch>, OperatorError> {
        self.flush()?;
        Ok(self.done)
    }

    /// Adds all pairs of two runs, whose products are known to fit.
    #[inline]
    fn multiply(&mut self, delta_run: Range<u32>, batch: &IndexedBatch, rows: Range<u32>) {
        let weights = &batch.weights()[rows.start as usize..rows.end as usize];
        for row in delta_run {
            let factor = self.delta.weights()[row as usize];
            self.delta_rows.extend(std::iter::repeat_n(row, weights.len()));
            self.batch_rows.extend(rows.clone());
            self.weights.extend(weights.iter().map(|weight| weight.wrapping_mul(factor)));
        }
    }

    fn multiply_checked(
        &mut self,
        delta_run: Range<u32>,
        batch: &IndexedBatch,
        rows: Range<u32>,
    ) -> Result<(), TraceError> {
        for row in delta_run.clone() {
            let factor = self.delta.weights()[row as usize];
            for other in rows.clone() {
                factor.checked_times(&batch.weights()[other as usize]).ok_or(TraceError::WeightOverflow)?;
            }
        }
        self.multiply(delta_run, batch, rows);
        Ok(())
    }

    /// Notes that the pairs since the last note come from `batch`.
    fn close(&mut self, batch: &'a IndexedBatch) {
        let from = self.pieces.last().map_or(0, |(_, end)| *end);
        if self.weights.len() > from {
            self.pieces.push((batch, self.weights.len()));
        }
    }

    /// Turns the pairs collected so far into rows.
    fn flush(&mut self) -> Result<(), OperatorError> {
        if self.weights.is_empty() {
            return Ok(());
        }
        let columns = self.gather()?;
        let weights = std::mem::take(&mut self.weights);
        self.pieces.clear();
        let spec = self.spec;
        let pairs = ChangeBatch::try_new(Arc::clone(&spec.gathered_schema), columns, weights.into())?;
        let kept = keep(&spec.residual, pairs, |_| true)?;
        if !kept.is_empty() {
            self.done.push(kept.project(&spec.output, Arc::clone(&spec.schema)));
        }
        Ok(())
    }

    fn gather(&mut self) -> Result<Vec<ArrayRef>, TraceError> {
        let delta_rows = Rows::new(std::mem::take(&mut self.delta_rows));
        let batch_rows = Rows::new(std::mem::take(&mut self.batch_rows));
        let column = |column: &JoinColumn| match (column, self.side) {
            (JoinColumn::Left(index), Side::Left) | (JoinColumn::Right(index), Side::Right) => {
                delta_rows.all(&self.delta.columns()[*index])
            }
            (JoinColumn::Left(index) | JoinColumn::Right(index), _) => {
                self.gather_pieces(*index, &batch_rows)
            }
        };
        self.spec.gathered.iter().map(column).collect()
    }

    /// One column of the batches, at the rows of their pairs.
    fn gather_pieces(&self, index: usize, rows: &Rows) -> Result<ArrayRef, TraceError> {
        if let [(batch, _)] = self.pieces[..] {
            return rows.all(&batch.columns()[index]);
        }
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|(_, end)| *end));
        let piece = |(start, (batch, end)): (usize, &(&IndexedBatch, usize))| {
            rows.some(start..*end, &batch.columns()[index])
        };
        let parts: Vec<ArrayRef> = starts.zip(&self.pieces).map(piece).collect::<Result<_, _>>()?;
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        Ok(concat(&parts)?)
    }
}

/// Row numbers, and whether they count `0..n`.
struct Rows {
    rows: ScalarBuffer<u32>,
    counting: bool,
}

impl Rows {
    fn new(rows: Vec<u32>) -> Self {
        let counting = rows.iter().zip(0..).all(|(row, place)| *row == place);
        Self { rows: rows.into(), counting }
    }

    /// The column at all the rows; the column itself if they are all of its rows in order.
    fn all(&self, column: &ArrayRef) -> Result<ArrayRef, TraceError> {
        if self.counting && column.len() == self.rows.len() {
            return Ok(Arc::clone(column));
        }
        self.some(0..self.rows.len(), column)
    }

    fn some(&self, range: Range<usize>, column: &ArrayRef) -> Result<ArrayRef, TraceError> {
        let rows = UInt32Array::new(self.rows.slice(range.start, range.len()), None);
        Ok(take(column, &rows, None)?)
    }
}
