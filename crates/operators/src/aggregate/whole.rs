//! Aggregates that are a function of the whole group: array_agg, string_agg, bit_and, bit_or, bit_xor, quantiles, mode, product.
//!
//! # Computes
//! A fold over the rows with positive weight, in the order of the kept columns, each as often as its weight says. Copies do not change bit_and and
//! bit_or, and only their parity changes bit_xor, so any weight will do there; a list or a text that would be too long is refused.
//!
//! # Delta rule
//! The general rule of groups: `f(a'[k]) - f(a[k])` for each touched key `k`.
//!
//! # State kept
//! The arguments of all rows, sorted by key, then by the order of the call.
//!
//! # Cost per change
//! The rows of the touched groups.
//!
//! # Example
//! `array_agg(x)` over `{(a, 1): 2, (a, 2): 1}` is `[1, 1, 2]`; the change `{(a, 1): -1}` gives `{(a, [1, 1, 2]): -1, (a, [1, 2]): +1}`.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, ListArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use tailrace_circuit::OperatorError;

use super::function::AggregateFunction;
use super::quantile;
use super::rows::Rows;
use crate::versions::{Place, Versions};

/// A function of a whole group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) function: AggregateFunction,
    /// Equal arguments count once.
    pub(crate) distinct: bool,
}

/// The rows of all touched groups in one version, copies side by side.
pub(crate) struct Expanded {
    pub(crate) values: ArrayRef,
    /// Where each group begins, and the number of copies.
    pub(crate) starts: Vec<usize>,
}

/// The places of all rows of one version, copies side by side.
struct Copies {
    places: Vec<Place>,
    starts: Vec<usize>,
    /// Copies beyond the first of each row.
    repeated: usize,
}

/// More values than this in the groups of one step are refused: the result would not fit a column.
const MOST_VALUES: usize = i32::MAX as usize;
/// More copies of rows than this are refused: they take memory that no one has written.
pub(crate) const MOST_REPEATED: usize = 1 << 24;
/// A longer text than this is refused.
const MOST_BYTES: usize = 1 << 28;

impl Whole {
    /// The value of the call before and after the change.
    pub(crate) fn values(
        &self,
        rows: &Rows,
        versions: &Versions,
        groups: usize,
    ) -> Result<[ArrayRef; 2], OperatorError> {
        let cursor = versions.cursor();
        let mut walk = versions.walk(&cursor, false);
        let (mut before, mut after) = (Copies::new(), Copies::new());
        for group in 0..groups {
            walk.enter(group);
            while let Some(row) = walk.next_row()? {
                before.push(row.place, self.copies(row.old, &before)?);
                after.push(row.place, self.copies(row.new, &after)?);
            }
            before.starts.push(before.places.len());
            after.starts.push(after.places.len());
        }
        let column = rows.value_column(0);
        let data_type = rows.schema().field(column).data_type();
        let read = |copies: Copies| {
            let values = versions.gather(column, &copies.places, data_type)?;
            self.fold(&Expanded { values, starts: copies.starts })
        };
        Ok([read(before)?, read(after)?])
    }

    /// How often a row of this weight counts.
    fn copies(&self, weight: i64, known: &Copies) -> Result<usize, OperatorError> {
        let copies = match self.function {
            _ if weight <= 0 => 0,
            AggregateFunction::BitAnd | AggregateFunction::BitOr => 1,
            _ if self.distinct => 1,
            // At least one, so that the group has a value.
            AggregateFunction::BitXor => 2 - (weight & 1) as usize,
            _ => weight as usize,
        };
        let repeated = known.repeated.saturating_add(copies.saturating_sub(1));
        if repeated > MOST_REPEATED {
            return Err(OperatorError::evaluation(format!(
                "{} would repeat rows more than {MOST_REPEATED} times: one has weight {weight}",
                self.function
            )));
        }
        if known.places.len().saturating_add(copies) > MOST_VALUES {
            let message = format!("{} would hold more than {MOST_VALUES} values", self.function);
            return Err(OperatorError::evaluation(message));
        }
        Ok(copies)
    }

    /// The value of each group.
    pub(crate) fn fold(&self, rows: &Expanded) -> Result<ArrayRef, OperatorError> {
        match &self.function {
            AggregateFunction::ArrayAgg => Ok(rows.lists()),
            AggregateFunction::StringAgg(separator) => rows.joined(separator),
            function if function.sorts() => quantile::fold(function, rows),
            function => rows.bits(function),
        }
    }
}

impl Copies {
    fn new() -> Self {
        Self { places: Vec::new(), starts: vec![0], repeated: 0 }
    }

    fn push(&mut self, place: Place, copies: usize) {
        self.places.extend(std::iter::repeat_n(place, copies));
        self.repeated += copies.saturating_sub(1);
    }
}

impl Expanded {
    fn lists(&self) -> ArrayRef {
        let field = Arc::new(Field::new_list_field(self.values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(self.starts.windows(2).map(|bounds| bounds[1] - bounds[0]));
        let filled: NullBuffer = self.starts.windows(2).map(|bounds| bounds[0] < bounds[1]).collect();
        Arc::new(ListArray::new(field, offsets, Arc::clone(&self.values), Some(filled)))
    }

    fn joined(&self, separator: &str) -> Result<ArrayRef, OperatorError> {
        let strings = self.values.as_string_view();
        let mut out = StringViewBuilder::with_capacity(self.starts.len());
        let mut text = String::new();
        for bounds in self.starts.windows(2) {
            text.clear();
            let lengths = (bounds[0]..bounds[1]).map(|row| strings.value(row).len() + separator.len());
            if lengths.sum::<usize>() > MOST_BYTES {
                let message = format!("string_agg would give a text of more than {MOST_BYTES} bytes");
                return Err(OperatorError::evaluation(message));
            }
            for row in bounds[0]..bounds[1] {
                if row > bounds[0] {
                    text.push_str(separator);
                }
                text.push_str(strings.value(row));
            }
            out.append_option((bounds[0] < bounds[1]).then_some(&text));
        }
        Ok(Arc::new(out.finish()))
    }

    fn bits(&self, function: &AggregateFunction) -> Result<ArrayRef, OperatorError> {
        macro_rules! fold {
            ($t:ty) => {
                Ok(match function {
                    AggregateFunction::BitAnd => self.reduced::<$t>(|a, b| a & b),
                    AggregateFunction::BitOr => self.reduced::<$t>(|a, b| a | b),
                    _ => self.reduced::<$t>(|a, b| a ^ b),
                })
            };
        }
        match self.values.data_type() {
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

    fn reduced<T: ArrowPrimitiveType>(&self, fold: impl Fn(T::Native, T::Native) -> T::Native) -> ArrayRef {
        let values = self.values.as_primitive::<T>().values();
        let groups =
            self.starts.windows(2).map(|bounds| values[bounds[0]..bounds[1]].iter().copied().reduce(&fold));
        Arc::new(PrimitiveArray::<T>::from_iter(groups))
    }
}
