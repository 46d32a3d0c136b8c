//! The kernel of joins: row numbers of matching pairs, then one gather per column.
//!
//! Pairs are collected as three flat vectors: the row of the delta, the row of the batch, the product of the weights. A residual thins them out chunk
//! by chunk, on the columns that it reads; columns of the output are gathered when all pairs are known, or when there are very many. A
//! foreign key finds each row of the delta exactly once; its row numbers are then `0..n` and the columns are shared instead of gathered.
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

use crate::join::{JoinColumn, JoinSpec, Side};
use crate::residual::Residual;

/// Pairs after which a residual is asked: small enough for the cache.
const CHUNK: usize = 1 << 16;
/// Pairs after which columns are gathered, to bound the vectors of row numbers.
const LARGE_CHUNK: usize = 1 << 22;

/// Pairs of rows of a delta with rows of batches of the other side.
pub(crate) struct Pairs<'a> {
    spec: &'a JoinSpec,
    residual: Option<Residual>,
    side: Side,
    delta: &'a IndexedBatch,
    delta_rows: Vec<u32>,
    batch_rows: Vec<u32>,
    weights: Vec<i64>,
    /// How many of the pairs are known to pass the residual.
    passed: usize,
    /// The batches that the pairs come from, each with the number of pairs up to its last one.
    pieces: Vec<(&'a IndexedBatch, usize)>,
    done: Vec<ChangeBatch>,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(
        spec: &'a JoinSpec,
        side: Side,
        delta: &'a IndexedBatch,
    ) -> Result<Self, OperatorError> {
        Ok(Self {
            spec,
            residual: Residual::of(spec)?,
            side,
            delta,
            delta_rows: Vec::new(),
            batch_rows: Vec::new(),
            weights: Vec::new(),
            passed: 0,
            pieces: Vec::new(),
            done: Vec::new(),
        })
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
            if !exact {
                self.check_products(delta_run.clone(), batch, rows.clone())?;
            }
            if self.room() >= delta_run.len() * rows.len() {
                self.multiply(delta_run, batch, rows);
                return Ok(());
            }
            self.multiply_in_chunks(delta_run, batch, rows, ctx)
        })?;
        self.close(batch);
        Ok(())
    }

    /// The output rows of all pairs, in parts.
    pub(crate) fn finish(mut self) -> Result<Vec<ChangeBatch>, OperatorError> {
        self.test()?;
        self.flush()?;
        Ok(self.done)
    }

    /// Pairs that may be added before some have to be worked off.
    fn room(&self) -> usize {
        let limit = if self.residual.is_some() { self.passed + CHUNK } else { LARGE_CHUNK };
        limit.saturating_sub(self.weights.len())
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

    /// The same for so many pairs that some are worked off in between.
    fn multiply_in_chunks(
        &mut self,
        delta_run: Range<u32>,
        batch: &'a IndexedBatch,
        rows: Range<u32>,
        ctx: &Context<'_>,
    ) -> Result<(), OperatorError> {
        for row in delta_run {
            let mut left = rows.clone();
            while !left.is_empty() {
                let chunk = left.start..left.end.min(left.start.saturating_add(self.room() as u32));
                left.start = chunk.end;
                self.multiply(row..row + 1, batch, chunk);
                if self.room() == 0 {
                    ctx.check()?;
                    self.close(batch);
                    self.work_off()?;
                }
            }
        }
        Ok(())
    }

    fn check_products(
        &self,
        delta_run: Range<u32>,
        batch: &IndexedBatch,
        rows: Range<u32>,
    ) -> Result<(), TraceError> {
        let factors = &self.delta.weights()[delta_run.start as usize..delta_run.end as usize];
        let weights = &batch.weights()[rows.start as usize..rows.end as usize];
        let greatest =
            |weights: &[i64]| weights.iter().map(|weight| weight.unsigned_abs()).max().unwrap_or(0);
        let product = greatest(factors).checked_mul(greatest(weights));
        let fits = product.is_some_and(|product| product <= i64::MAX as u64);
        if fits { Ok(()) } else { Err(TraceError::WeightOverflow) }
    }

    /// Notes that the pairs since the last note come from `batch`.
    fn close(&mut self, batch: &'a IndexedBatch) {
        let from = self.pieces.last().map_or(0, |(_, end)| *end);
        if self.weights.len() > from {
            self.pieces.push((batch, self.weights.len()));
        }
    }

    fn work_off(&mut self) -> Result<(), OperatorError> {
        self.test()?;
        if self.weights.len() >= LARGE_CHUNK { self.flush() } else { Ok(()) }
    }

    /// Drops the pairs that do not pass the residual.
    fn test(&mut self) -> Result<(), OperatorError> {
        let (from, pairs) = (self.passed, self.weights.len() - self.passed);
        if let (Some(residual), true) = (&self.residual, pairs > 0) {
            let columns = residual.columns.iter().map(|column| self.spec.gathered[*column]);
            let places = residual.passing(self.gather(columns, from)?, pairs)?;
            if places.len() < pairs {
                self.retain(from, &places);
            }
        }
        self.passed = self.weights.len();
        Ok(())
    }

    /// Keeps the pairs before `from`, and of those after it the ones at these places.
    fn retain(&mut self, from: usize, places: &[u32]) {
        for (to, place) in places.iter().enumerate() {
            let (to, place) = (from + to, from + *place as usize);
            self.delta_rows[to] = self.delta_rows[place];
            self.batch_rows[to] = self.batch_rows[place];
            self.weights[to] = self.weights[place];
        }
        let len = from + places.len();
        self.delta_rows.truncate(len);
        self.batch_rows.truncate(len);
        self.weights.truncate(len);
        for (_, end) in self.pieces.iter_mut().filter(|(_, end)| *end > from) {
            *end = from + places.partition_point(|place| (*place as usize) < *end - from);
        }
    }

    /// Turns the pairs collected so far into rows.
    fn flush(&mut self) -> Result<(), OperatorError> {
        if !self.weights.is_empty() {
            let spec = self.spec;
            let columns = self.gather(spec.output.iter().map(|column| spec.gathered[*column]), 0)?;
            let weights = std::mem::take(&mut self.weights);
            self.done.push(ChangeBatch::try_new(Arc::clone(&spec.schema), columns, weights.into())?);
        }
        self.delta_rows.clear();
        self.batch_rows.clear();
        self.pieces.clear();
        self.passed = 0;
        Ok(())
    }

    /// Columns of the pairs from `from` on.
    fn gather(
        &self,
        columns: impl Iterator<Item = JoinColumn>,
        from: usize,
    ) -> Result<Vec<ArrayRef>, TraceError> {
        let delta_rows = Rows::new(&self.delta_rows[from..]);
        let batch_rows = Rows::new(&self.batch_rows[from..]);
        let column = |column: JoinColumn| match (column, self.side) {
            (JoinColumn::Left(index), Side::Left) | (JoinColumn::Right(index), Side::Right) => {
                delta_rows.all(&self.delta.columns()[index])
            }
            (JoinColumn::Left(index) | JoinColumn::Right(index), _) => {
                self.gather_pieces(index, &batch_rows, from)
            }
        };
        columns.map(column).collect()
    }

    /// One column of the batches, at the rows of their pairs from `from` on.
    fn gather_pieces(&self, index: usize, rows: &Rows, from: usize) -> Result<ArrayRef, TraceError> {
        let mut start = from;
        let mut parts: Vec<(&IndexedBatch, Range<usize>)> = Vec::new();
        for (batch, end) in self.pieces.iter().filter(|(_, end)| *end > from) {
            match parts.last_mut() {
                Some((last, range)) if std::ptr::eq(*last, *batch) => range.end = end - from,
                _ => parts.push((batch, start - from..end - from)),
            }
            start = *end;
        }
        if let [(batch, _)] = parts[..] {
            return rows.all(&batch.columns()[index]);
        }
        let piece = |(batch, range): (&IndexedBatch, Range<usize>)| rows.some(range, &batch.columns()[index]);
        let parts: Vec<ArrayRef> = parts.into_iter().map(piece).collect::<Result<_, _>>()?;
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
    fn new(rows: &[u32]) -> Self {
        let counting = rows.iter().zip(0..).all(|(row, place)| *row == place);
        Self { rows: rows.to_vec().into(), counting }
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
