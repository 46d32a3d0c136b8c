//! Accumulators: the sums that linear aggregates are read off, and how rows of a change fold into them.
//!
//! An accumulator is a group homomorphism from rows to a diff column: a row of weight `w` contributes `w` times its term if it passes the
//! filter and none of the arguments is NULL, and nothing otherwise. Folding is one typed loop per accumulator over the rows of each group.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, ScalarBuffer, i256};
use arrow_schema::DataType;
use tailrace_algebra::ExactSum;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, DiffColumn, DiffKind, ExactColumn};

use super::groups::Groups;
use crate::Scalar;
use crate::ordering::same;

/// What a row contributes for each unit of its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// One.
    Count,
    /// One if the argument is true.
    Truth,
    /// The argument, an integer.
    Integer,
    /// The argument, a decimal.
    Decimal,
    /// The argument, a float.
    Float,
    /// The product of both arguments, or the square of the only one.
    Product,
}

/// A term with its arguments and filter, given by their places in [`Operands`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Accumulator {
    pub(crate) term: Term,
    pub(crate) args: Vec<usize>,
    pub(crate) filter: Option<usize>,
}

/// The expressions that accumulators refer to, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operands {
    args: Vec<(Scalar, Option<DataType>)>,
    filters: Vec<Scalar>,
    /// Columns whose NULLs nobody would notice, because they are declared to have none.
    never_null: Vec<usize>,
}

/// The values of the operands on one change.
pub(crate) struct Values {
    args: Vec<ArrayRef>,
    filters: Vec<NullBuffer>,
    weights: ScalarBuffer<i64>,
}

impl Term {
    /// The kind of diff column that the sum is kept in.
    pub(crate) fn kind(self) -> DiffKind {
        match self {
            Self::Count | Self::Truth => DiffKind::Weight,
            Self::Integer => DiffKind::Sum,
            Self::Decimal => DiffKind::Wide,
            Self::Float | Self::Product => DiffKind::Exact,
        }
    }
}

impl Operands {
    /// The place of an argument, read as `cast` if that is given.
    pub(crate) fn arg(&mut self, scalar: &Scalar, cast: Option<DataType>) -> usize {
        let known =
            self.args.iter().position(|(other, other_cast)| same(scalar, other) && cast == *other_cast);
        known.unwrap_or_else(|| {
            self.args.push((scalar.clone(), cast));
            self.args.len() - 1
        })
    }

    /// The place of a filter.
    pub(crate) fn filter(&mut self, scalar: &Scalar) -> usize {
        self.filters.iter().position(|other| same(scalar, other)).unwrap_or_else(|| {
            self.filters.push(scalar.clone());
            self.filters.len() - 1
        })
    }

    /// Whether these are columns that are never NULL; if so it is checked from now on.
    pub(crate) fn never_null(&mut self, args: &[Scalar]) -> bool {
        let columns: Option<Vec<usize>> =
            args.iter().map(|arg| arg.as_column().filter(|_| !arg.nullable())).collect();
        self.never_null.extend(columns.iter().flatten());
        columns.is_some()
    }

    /// Evaluates all operands.
    pub(crate) fn evaluate(&self, batch: &ChangeBatch) -> Result<Values, OperatorError> {
        self.check_nulls(batch)?;
        let args = self
            .args
            .iter()
            .map(|(scalar, cast)| evaluate_as(scalar, cast.as_ref(), batch))
            .collect::<Result<_, _>>()?;
        let filters = self.filters.iter().map(|filter| passing(filter, batch)).collect::<Result<_, _>>()?;
        Ok(Values { args, filters, weights: batch.weights().clone() })
    }

    /// Fails if a column that is counted on to have no NULL has one.
    pub(crate) fn check_nulls(&self, batch: &ChangeBatch) -> Result<(), OperatorError> {
        match self.never_null.iter().find(|column| batch.column(**column).null_count() > 0) {
            None => Ok(()),
            Some(column) => {
                let name = batch.schema().field(*column).name();
                Err(OperatorError::evaluation(format!("column '{name}' is declared NOT NULL but holds NULL")))
            }
        }
    }
}

impl Values {
    /// The values of the argument at a place.
    pub(crate) fn arg(&self, place: usize) -> &ArrayRef {
        &self.args[place]
    }
}

impl Accumulator {
    /// The sum of each group's rows.
    pub(crate) fn fold(&self, groups: &Groups, values: &Values) -> DiffColumn {
        let valid = self.validity(values);
        let weights = &values.weights[..];
        let arg = |place: usize| &values.args[self.args[place.min(self.args.len() - 1)]];
        match self.term {
            Term::Count => {
                DiffColumn::Weight(total(groups, valid.as_ref(), 0, |sum, row| sum + weights[row]).into())
            }
            Term::Truth => {
                let truth = arg(0).as_boolean().values();
                let add = |sum: i64, row: usize| if truth.value(row) { sum + weights[row] } else { sum };
                DiffColumn::Weight(total(groups, valid.as_ref(), 0, add).into())
            }
            Term::Integer => {
                let integers = arg(0).as_primitive::<Int64Type>().values();
                let add = |sum: i128, row: usize| sum + i128::from(integers[row]) * i128::from(weights[row]);
                DiffColumn::Sum(total(groups, valid.as_ref(), 0, add).into())
            }
            Term::Decimal => {
                let decimals = arg(0).as_primitive::<Decimal128Type>().values();
                let add = |sum: i256, row: usize| sum.wrapping_add(scaled(decimals[row], weights[row]));
                DiffColumn::Wide(total(groups, valid.as_ref(), i256::ZERO, add).into())
            }
            Term::Float => {
                let floats = arg(0).as_primitive::<Float64Type>().values();
                DiffColumn::Exact(exact(groups, valid.as_ref(), |sum, row| {
                    sum.add(floats[row], weights[row])
                }))
            }
            Term::Product => {
                let (x, y) = (
                    arg(0).as_primitive::<Float64Type>().values(),
                    arg(1).as_primitive::<Float64Type>().values(),
                );
                DiffColumn::Exact(exact(groups, valid.as_ref(), |sum, row| {
                    sum.add_product(x[row], y[row], weights[row])
                }))
            }
        }
    }

    /// Which rows count; None if all do.
    pub(crate) fn validity(&self, values: &Values) -> Option<NullBuffer> {
        let args = self.args.iter().map(|place| values.args[*place].logical_nulls());
        let filter = self.filter.map(|place| values.filters[place].clone());
        args.chain(std::iter::once(filter))
            .fold(None, |all, one| NullBuffer::union(all.as_ref(), one.as_ref()))
    }
}

/// The rows for which a filter is true, as the valid rows of a null buffer.
pub(crate) fn passing(filter: &Scalar, batch: &ChangeBatch) -> Result<NullBuffer, OperatorError> {
    let mask = filter.evaluate_mask(batch)?;
    let passing = match mask.nulls() {
        None => mask.values().clone(),
        Some(nulls) => mask.values() & nulls.inner(),
    };
    Ok(NullBuffer::new(passing))
}

fn evaluate_as(
    scalar: &Scalar,
    cast: Option<&DataType>,
    batch: &ChangeBatch,
) -> Result<ArrayRef, OperatorError> {
    let values = scalar.evaluate(batch)?;
    match cast {
        Some(target) if values.data_type() != target => arrow_cast::cast(&values, target)
            .map_err(|error| OperatorError::evaluation(format!("{scalar}: {error}"))),
        _ => Ok(values),
    }
}

/// Folds each group's valid rows.
#[inline]
fn total<T: Copy>(
    groups: &Groups,
    valid: Option<&NullBuffer>,
    zero: T,
    add: impl Fn(T, usize) -> T,
) -> Vec<T> {
    match valid {
        None => {
            groups.runs().map(|rows| rows.iter().fold(zero, |sum, row| add(sum, *row as usize))).collect()
        }
        Some(valid) => {
            let counted =
                |sum: T, row: &u32| if valid.is_valid(*row as usize) { add(sum, *row as usize) } else { sum };
            groups.runs().map(|rows| rows.iter().fold(zero, counted)).collect()
        }
    }
}

/// Folds each group's valid rows into exact sums, one after the other in the same scratch.
fn exact(groups: &Groups, valid: Option<&NullBuffer>, add: impl Fn(&mut ExactSum, usize)) -> ExactColumn {
    let mut column = ExactColumn::default();
    let mut sum = ExactSum::new();
    for rows in groups.runs() {
        sum.clear();
        let counted =
            rows.iter().map(|row| *row as usize).filter(|row| valid.is_none_or(|valid| valid.is_valid(*row)));
        counted.for_each(|row| add(&mut sum, row));
        column.push(&sum);
    }
    column
}

pub(crate) fn scaled(value: i128, weight: i64) -> i256 {
    i256::from_i128(value).wrapping_mul(i256::from_i128(i128::from(weight)))
}
