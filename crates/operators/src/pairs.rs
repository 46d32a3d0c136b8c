//! The kernel of joins: row numbers of matching pairs, then one gather per column.
//!
//! Pairs are collected as three flat vectors: the row of the delta, the row of the batch, the product of the weights. Columns are gathered only when
//! all pairs are known, or when there are so many that a residual should thin them out first; then in chunks, also of the pairs of one key, so
//! that memory is bounded by what goes out and a step can be interrupted between two chunks. A foreign key finds each row of the
//! delta exactly once; its row numbers are then `0..n` and the columns are shared instead of gathered.
//!
//! Products of weights are multiplied unchecked where the masses of both batches show that none can overflow, which is nearly always.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_select::concat::concat;
use arrow_select::take::take;
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
        let exact = self.delta.mass().checked_mul(batch.mass()).is_some();
        let delta = self.delta;
        meet(delta.key(), starts, batch, self.spec.null_matches, |run, rows| {
            let delta_run = starts[run]..starts[run + 1];
            let pairs = delta_run.len().saturating_mul(rows.len());
            if self.weights.len().saturating_add(pairs) <= self.limit {
                return Ok::<_, OperatorError>(self.multiply(delta_run, batch, rows, exact)?);
            }
            self.multiply_in_chunks(delta_run, batch, rows, exact, ctx)
        })?;
        self.close(batch);
        Ok(())
    }

    /// The output rows of all pairs, in parts.
    pub(crate) fn finish(mut self) -> Result<Vec<ChangeBatch>, OperatorError> {
        self.flush()?;
        Ok(self.done)
    }

    /// Adds all pairs of two runs that are too many for one chunk.
    fn multiply_in_chunks(
        &mut self,
        delta_run: Range<u32>,
        batch: &'a IndexedBatch,
        rows: Range<u32>,
        exact: bool,
        ctx: &Context<'_>,
    ) -> Result<(), OperatorError> {
        for row in delta_run {
            let mut from = rows.start;
            while from < rows.end {
                let room = self.limit.saturating_sub(self.weights.len()).max(1);
                let until = from + room.min((rows.end - from) as usize) as u32;
                self.multiply(row..row + 1, batch, from..until, exact)?;
                from = until;
                if self.weights.len() >= self.limit {
                    ctx.check()?;
                    self.close(batch);
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Adds all pairs of two runs. The products are checked unless they are known to fit.
    #[inline]
    fn multiply(
        &mut self,
        delta_run: Range<u32>,
        batch: &IndexedBatch,
        rows: Range<u32>,
        exact: bool,
    ) -> Result<(), TraceError> {
        if !exact {
            self.check_products(delta_run.clone(), batch, rows.clone())?;
        }
        let weights = &batch.weights()[rows.start as usize..rows.end as usize];
        for row in delta_run {
            let factor = self.delta.weights()[row as usize];
            self.delta_rows.extend(std::iter::repeat_n(row, weights.len()));
            self.batch_rows.extend(rows.clone());
            self.weights.extend(weights.iter().map(|weight| weight.wrapping_mul(factor)));
        }
        Ok(())
    }

    fn check_products(
        &self,
        delta_run: Range<u32>,
        batch: &IndexedBatch,
        rows: Range<u32>,
    ) -> Result<(), TraceError> {
        for row in delta_run {
            let factor = self.delta.weights()[row as usize];
            for other in rows.clone() {
                factor.checked_mul(batch.weights()[other as usize]).ok_or(TraceError::WeightOverflow)?;
            }
        }
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
