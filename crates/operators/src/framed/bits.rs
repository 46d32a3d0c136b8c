//! bit_and, bit_or and bit_xor of sliding frames, by two stacks.
//!
//! `and` and `or` have no inverse. So the rows of a frame are kept in two parts: those that came late are folded into one value, those that came early have for each
//! row the fold from there to the end of the part. A row that leaves uncovers the fold of the others; when the early part is used up, the late rows become it. Each
//! row moves once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use tailrace_circuit::OperatorError;

use crate::aggregate::AggregateFunction;
use crate::sliding::{Extents, Sliding, slide};

/// The fold of the counted rows of each frame.
pub(crate) fn bits(
    function: &AggregateFunction,
    extents: &Extents,
    values: &ArrayRef,
    counted: Option<&NullBuffer>,
) -> Result<ArrayRef, OperatorError> {
    macro_rules! fold {
        ($t:ty) => {
            Ok(match function {
                AggregateFunction::BitAnd => folded::<$t>(extents, values, counted, |a, b| a & b),
                AggregateFunction::BitOr => folded::<$t>(extents, values, counted, |a, b| a | b),
                _ => folded::<$t>(extents, values, counted, |a, b| a ^ b),
            })
        };
    }
    match values.data_type() {
        DataType::Int8 => fold!(Int8Type),
        DataType::Int16 => fold!(Int16Type),
        DataType::Int32 => fold!(Int32Type),
        DataType::Int64 => fold!(Int64Type),
        DataType::UInt8 => fold!(UInt8Type),
        DataType::UInt16 => fold!(UInt16Type),
        DataType::UInt32 => fold!(UInt32Type),
        DataType::UInt64 => fold!(UInt64Type),
        other => Err(OperatorError::evaluation(format!("{function} takes integers, got {other}"))),
    }
}

struct Stacks<'a, T, F> {
    values: &'a [T],
    counted: Option<&'a NullBuffer>,
    fold: F,
    /// The fold from a row to the end of the early part, the first row last.
    early: Vec<T>,
    /// The late rows and their fold.
    late: Vec<T>,
    late_fold: Option<T>,
    folds: Vec<Option<T>>,
}

impl<T: Copy, F: Fn(T, T) -> T> Stacks<'_, T, F> {
    fn counts(&self, row: usize) -> bool {
        self.counted.is_none_or(|counted| counted.is_valid(row))
    }

    fn join(&self, a: Option<T>, b: Option<T>) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => Some((self.fold)(a, b)),
            (a, b) => a.or(b),
        }
    }
}

impl<T: Copy, F: Fn(T, T) -> T> Sliding for Stacks<'_, T, F> {
    fn clear(&mut self) {
        self.early.clear();
        self.late.clear();
        self.late_fold = None;
    }

    fn enter(&mut self, row: usize) {
        if self.counts(row) {
            let value = self.values[row];
            self.late.push(value);
            self.late_fold = self.join(self.late_fold, Some(value));
        }
    }

    fn leave(&mut self, row: usize) {
        if !self.counts(row) {
            return;
        }
        if self.early.is_empty() {
            while let Some(value) = self.late.pop() {
                let folded = self.early.last().map_or(value, |later| (self.fold)(value, *later));
                self.early.push(folded);
            }
            self.late_fold = None;
        }
        self.early.pop();
    }

    fn emit(&mut self) {
        let folded = self.join(self.early.last().copied(), self.late_fold);
        self.folds.push(folded);
    }
}

fn folded<T: ArrowPrimitiveType>(
    extents: &Extents,
    values: &ArrayRef,
    counted: Option<&NullBuffer>,
    fold: impl Fn(T::Native, T::Native) -> T::Native,
) -> ArrayRef {
    let values = values.as_primitive::<T>().values();
    let (early, late, folds) = (Vec::new(), Vec::new(), Vec::with_capacity(extents.len()));
    let mut state = Stacks { values, counted, fold, early, late, late_fold: None, folds };
    slide(extents, &mut state);
    Arc::new(PrimitiveArray::<T>::from_iter(state.folds))
}
