//! Accumulators over sliding frames: the sums of the rows of each frame.
//!
//! Accumulators are groups, so a row that leaves a frame is subtracted and the sum is that of the rows which are left, exactly: floats too.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_buffer::{NullBuffer, i256};
use tailrace_algebra::ExactSum;
use tailrace_trace::{DiffColumn, ExactColumn};

use super::accumulator::{Accumulator, Term, Values, scaled};
use crate::sliding::{Extents, Sliding, slide};

impl Accumulator {
    /// The sum of each frame's rows, which count once each.
    pub(crate) fn slide(&self, extents: &Extents, values: &Values) -> DiffColumn {
        let valid = self.validity(values);
        let valid = valid.as_ref();
        let arg = |place: usize| values.arg(self.args[place.min(self.args.len() - 1)]);
        match self.term {
            Term::Count => DiffColumn::Weight(running(extents, valid, 0, |sum, _, sign| sum + sign).into()),
            Term::Truth => {
                let truth = arg(0).as_boolean().values();
                let add = |sum: i64, row: usize, sign: i64| sum + sign * i64::from(truth.value(row));
                DiffColumn::Weight(running(extents, valid, 0, add).into())
            }
            Term::Integer => {
                let integers = arg(0).as_primitive::<Int64Type>().values();
                let add =
                    |sum: i128, row: usize, sign: i64| sum + i128::from(integers[row]) * i128::from(sign);
                DiffColumn::Sum(running(extents, valid, 0, add).into())
            }
            Term::Decimal => {
                let decimals = arg(0).as_primitive::<Decimal128Type>().values();
                let add = |sum: i256, row: usize, sign: i64| sum.wrapping_add(scaled(decimals[row], sign));
                DiffColumn::Wide(running(extents, valid, i256::ZERO, add).into())
            }
            Term::Float => {
                let floats = arg(0).as_primitive::<Float64Type>().values();
                DiffColumn::Exact(exact(extents, valid, |sum, row, sign| sum.add(floats[row], sign)))
            }
            Term::Product => {
                let (x, y) = (arg(0).as_primitive::<Float64Type>(), arg(1).as_primitive::<Float64Type>());
                let (x, y) = (x.values(), y.values());
                DiffColumn::Exact(exact(extents, valid, |sum, row, sign| {
                    sum.add_product(x[row], y[row], sign)
                }))
            }
        }
    }
}

/// A sum of plain numbers.
struct Running<'a, T, A> {
    valid: Option<&'a NullBuffer>,
    zero: T,
    sum: T,
    add: A,
    sums: Vec<T>,
}

impl<T: Copy, A: Fn(T, usize, i64) -> T> Running<'_, T, A> {
    fn count(&mut self, row: usize, sign: i64) {
        if self.valid.is_none_or(|valid| valid.is_valid(row)) {
            self.sum = (self.add)(self.sum, row, sign);
        }
    }
}

impl<T: Copy, A: Fn(T, usize, i64) -> T> Sliding for Running<'_, T, A> {
    fn clear(&mut self) {
        self.sum = self.zero;
    }

    fn enter(&mut self, row: usize) {
        self.count(row, 1);
    }

    fn leave(&mut self, row: usize) {
        self.count(row, -1);
    }

    fn emit(&mut self) {
        self.sums.push(self.sum);
    }
}

/// A sum of floats.
struct RunningExact<'a, A> {
    valid: Option<&'a NullBuffer>,
    sum: ExactSum,
    add: A,
    sums: ExactColumn,
}

impl<A: Fn(&mut ExactSum, usize, i64)> RunningExact<'_, A> {
    fn count(&mut self, row: usize, sign: i64) {
        if self.valid.is_none_or(|valid| valid.is_valid(row)) {
            (self.add)(&mut self.sum, row, sign);
        }
    }
}

impl<A: Fn(&mut ExactSum, usize, i64)> Sliding for RunningExact<'_, A> {
    fn clear(&mut self) {
        self.sum.clear();
    }

    fn enter(&mut self, row: usize) {
        self.count(row, 1);
    }

    fn leave(&mut self, row: usize) {
        self.count(row, -1);
    }

    fn emit(&mut self) {
        self.sums.push(&self.sum);
    }
}

fn running<T: Copy>(
    extents: &Extents,
    valid: Option<&NullBuffer>,
    zero: T,
    add: impl Fn(T, usize, i64) -> T,
) -> Vec<T> {
    let mut state = Running { valid, zero, sum: zero, add, sums: Vec::with_capacity(extents.len()) };
    slide(extents, &mut state);
    state.sums
}

fn exact(
    extents: &Extents,
    valid: Option<&NullBuffer>,
    add: impl Fn(&mut ExactSum, usize, i64),
) -> ExactColumn {
    let mut state = RunningExact { valid, sum: ExactSum::new(), add, sums: ExactColumn::default() };
    slide(extents, &mut state);
    state.sums
}
