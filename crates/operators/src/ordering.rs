//! ORDER BY terms as columns that traces can sort: ascending, NULL first, and nothing else.
//!
//! A term that is ascending already, or can be turned around by flipping bits, becomes one plain column, which sorts and compares as machine
//! words. From the first term on for which that is not so, all remaining terms are encoded together into one column of order-preserving bytes.
//! Equal values of the terms have equal columns and the other way round, so ties are the same in both forms.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int64Array};
use arrow_schema::{DataType, Field, TimeUnit};
use tailrace_algebra::float;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, OrderKey, OrderTerm};

use crate::Scalar;

/// One term of an order.
#[derive(Clone, Debug)]
pub struct OrderBy {
    /// What is ordered by.
    pub scalar: Scalar,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything.
    pub nulls_first: bool,
}

impl PartialEq for OrderBy {
    fn eq(&self, other: &Self) -> bool {
        let options = |term: &Self| (term.descending, term.nulls_first);
        options(self) == options(other) && same(&self.scalar, &other.scalar)
    }
}

/// Whether two expressions are the same.
pub(crate) fn same(a: &Scalar, b: &Scalar) -> bool {
    a.expr().as_ref() == b.expr().as_ref()
}

/// The columns that stand for a list of terms.
#[derive(Debug)]
pub(crate) struct Ordering {
    plain: Vec<OrderBy>,
    encoded: Vec<OrderBy>,
    key: Option<OrderKey>,
}

impl Ordering {
    pub(crate) fn new(terms: &[OrderBy]) -> Result<Self, OperatorError> {
        let split = terms.iter().position(|term| !is_plain(term)).unwrap_or(terms.len());
        let (plain, encoded) = (terms[..split].to_vec(), terms[split..].to_vec());
        let key = if encoded.is_empty() { None } else { Some(OrderKey::new(&order_terms(&encoded))?) };
        Ok(Self { plain, encoded, key })
    }

    /// Names and types of the columns.
    pub(crate) fn fields(&self) -> Vec<Field> {
        let plain = self.plain.iter().enumerate().map(|(index, term)| {
            let data_type = if term.descending {
                flipped_type(term.scalar.data_type())
            } else {
                term.scalar.data_type().clone()
            };
            Field::new(format!("order_{index}"), data_type, true)
        });
        let encoded = self.key.iter().map(|_| Field::new("order_key", DataType::BinaryView, false));
        plain.chain(encoded).collect()
    }

    /// Per column the input column that it is, if it is no more than that.
    pub(crate) fn passed(&self) -> Vec<Option<usize>> {
        let plain =
            self.plain.iter().map(|term| if term.descending { None } else { term.scalar.as_column() });
        plain.chain(self.key.iter().map(|_| None)).collect()
    }

    /// The columns of a batch.
    pub(crate) fn evaluate(&self, batch: &ChangeBatch) -> Result<Vec<ArrayRef>, OperatorError> {
        let mut columns = Vec::with_capacity(self.plain.len() + 1);
        for term in &self.plain {
            let values = term.scalar.evaluate(batch)?;
            columns.push(if term.descending { flip(&values) } else { values });
        }
        if let Some(key) = &self.key {
            let values =
                self.encoded.iter().map(|term| term.scalar.evaluate(batch)).collect::<Result<Vec<_>, _>>()?;
            columns.push(key.encode(&values, batch.len())?);
        }
        Ok(columns)
    }
}

fn order_terms(terms: &[OrderBy]) -> Vec<OrderTerm> {
    let term = |term: &OrderBy| OrderTerm {
        data_type: term.scalar.data_type().clone(),
        descending: term.descending,
        nulls_first: term.nulls_first,
    };
    terms.iter().map(term).collect()
}

/// Whether plain ascending order of the values, or of the values with flipped bits, is the wanted order.
fn is_plain(term: &OrderBy) -> bool {
    let nulls = term.nulls_first || !term.scalar.nullable();
    nulls && (!term.descending || is_flippable(term.scalar.data_type()))
}

fn is_flippable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int64
            | DataType::Int32
            | DataType::Date32
            | DataType::Timestamp(..)
            | DataType::Float64
            | DataType::Decimal128(..)
    )
}

fn flipped_type(data_type: &DataType) -> DataType {
    if *data_type == DataType::Float64 { DataType::Int64 } else { data_type.clone() }
}

/// The bitwise complement, which turns the order of integers around. NULL stays NULL.
fn flip(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Int64 => complement::<Int64Type>(values, |value| !value),
        DataType::Int32 => complement::<Int32Type>(values, |value| !value),
        DataType::Date32 => complement::<Date32Type>(values, |value| !value),
        DataType::Timestamp(TimeUnit::Second, _) => complement::<TimestampSecondType>(values, |value| !value),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            complement::<TimestampMillisecondType>(values, |value| !value)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            complement::<TimestampMicrosecondType>(values, |value| !value)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            complement::<TimestampNanosecondType>(values, |value| !value)
        }
        DataType::Decimal128(..) => complement::<Decimal128Type>(values, |value| !value),
        DataType::Float64 => {
            let flipped: Int64Array = values
                .as_primitive::<Float64Type>()
                .unary(|value| (!float::order_key(value) ^ (1 << 63)) as i64);
            Arc::new(flipped)
        }
        _ => Arc::clone(values),
    }
}

fn complement<T: ArrowPrimitiveType>(values: &ArrayRef, not: impl Fn(T::Native) -> T::Native) -> ArrayRef {
    let array = values.as_primitive::<T>();
    Arc::new(array.unary::<_, T>(not).with_data_type(values.data_type().clone()))
}
