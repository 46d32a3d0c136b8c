//! Reading linear aggregates off their accumulators, for all touched groups at once.
//!
//! Sums are exact, so rounding happens here and once: an average is the double nearest to the true quotient, a variance the double nearest to
//! the true variance. Integer and decimal results are checked; an overflow names the call and the group.

use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, Float64Array, Int64Array, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use tailrace_algebra::{ExactSum, moments};
use tailrace_circuit::OperatorError;
use tailrace_trace::{DiffColumn, ExactColumn};

use super::accumulator::Term;
use super::function::{AggregateCall, AggregateFunction, Regression, average_scale};
use super::linear::LinearPlan;
use crate::Scalar;

/// How a call is read off the accumulators, which are given by their places among the diff columns.
#[derive(Clone, Debug)]
pub(crate) enum Finish {
    Count(usize),
    Sum {
        sum: usize,
        count: usize,
        to: DataType,
    },
    /// `gained`: digits that the result has more behind the point than the sum.
    Avg {
        sum: usize,
        count: usize,
        to: DataType,
        gained: u32,
    },
    Variance {
        sum: usize,
        squares: usize,
        count: usize,
        ddof: u32,
        root: bool,
    },
    Covariance {
        x: usize,
        y: usize,
        xy: usize,
        count: usize,
        ddof: u32,
    },
    Correlation {
        x: usize,
        y: usize,
        xy: usize,
        xx: usize,
        yy: usize,
        count: usize,
    },
    /// Sums over pairs: of y and x, of their product and of their squares.
    Regression {
        asked: Regression,
        sums: [usize; 5],
        count: usize,
    },
    Truth {
        trues: usize,
        count: usize,
        all: bool,
    },
}

/// Accumulators of all touched groups, and which of the groups are there.
pub(crate) struct Accumulated<'a> {
    pub(crate) sums: &'a [DiffColumn],
    pub(crate) exists: &'a [bool],
}

/// Says what went wrong in the group at a place.
pub(crate) type Blame<'a> = &'a dyn Fn(usize) -> OperatorError;

impl Finish {
    /// Adds the accumulators of a call to the plan; None for a call that is not linear.
    pub(crate) fn plan(
        call: &AggregateCall,
        args: &[Scalar],
        filter: Option<&Scalar>,
        to: &DataType,
        plan: &mut LinearPlan,
    ) -> Option<Self> {
        use AggregateFunction as F;
        let ddof = u32::from(matches!(call.function, F::VarSamp | F::StddevSamp | F::CovarSamp));
        Some(match call.function {
            F::Count => Self::Count(plan.count(args, filter)),
            F::Sum => Self::Sum {
                sum: value_sum(&args[0], filter, plan),
                count: plan.count(args, filter),
                to: to.clone(),
            },
            F::Avg => {
                let (sum, count) = (value_sum(&args[0], filter, plan), plan.count(args, filter));
                Self::Avg { sum, count, to: to.clone(), gained: digits_gained(args[0].data_type()) }
            }
            F::VarSamp | F::VarPop | F::StddevSamp | F::StddevPop => {
                let x = plan.operands().arg(&args[0], Some(DataType::Float64));
                let (sum, squares) =
                    (plan.add(Term::Float, vec![x], filter), plan.add(Term::Product, vec![x], filter));
                let root = matches!(call.function, F::StddevSamp | F::StddevPop);
                Self::Variance { sum, squares, count: plan.count(args, filter), ddof, root }
            }
            F::CovarSamp | F::CovarPop => {
                let (x, y, xy) = pair_sums(args, filter, plan);
                Self::Covariance { x, y, xy, count: plan.count(args, filter), ddof }
            }
            F::Corr => {
                let (x, y, xy) = pair_sums(args, filter, plan);
                let (xx, yy) = pair_squares(args, filter, plan);
                Self::Correlation { x, y, xy, xx, yy, count: plan.count(args, filter) }
            }
            F::Regression(Regression::Count) => Self::Count(plan.count(args, filter)),
            F::Regression(asked) => {
                let (y, x, yx) = pair_sums(args, filter, plan);
                let (yy, xx) = pair_squares(args, filter, plan);
                Self::Regression { asked, sums: [y, x, yx, yy, xx], count: plan.count(args, filter) }
            }
            F::BoolAnd | F::BoolOr => {
                let truth = plan.operands().arg(&args[0], None);
                let trues = plan.add(Term::Truth, vec![truth], filter);
                Self::Truth { trues, count: plan.count(args, filter), all: call.function == F::BoolAnd }
            }
            _ => return None,
        })
    }

    /// The value of the call for each group; NULL for groups that are not there.
    pub(crate) fn read(&self, groups: &Accumulated<'_>, blame: Blame<'_>) -> Result<ArrayRef, OperatorError> {
        match self {
            Self::Count(count) => Ok(Arc::new(Int64Array::new(groups.buffer(*count)?, None))),
            Self::Sum { sum, count, to } => groups.sum(*sum, *count, to, blame),
            Self::Avg { sum, count, to, gained } => groups.average(*sum, *count, to, *gained, blame),
            Self::Variance { sum, squares, count, ddof, root } => {
                let counts = groups.weights(*count)?;
                let value = |row: usize, [x, xx]: [&ExactSum; 2]| {
                    let variance = moments::variance(counts[row], x, xx, *ddof)?;
                    Some(if *root { variance.sqrt() } else { variance })
                };
                groups.moment([*sum, *squares], value)
            }
            Self::Covariance { x, y, xy, count, ddof } => {
                let counts = groups.weights(*count)?;
                groups.moment([*x, *y, *xy], |row, [x, y, xy]| {
                    moments::covariance(counts[row], x, y, xy, *ddof)
                })
            }
            Self::Correlation { x, y, xy, xx, yy, count } => {
                let counts = groups.weights(*count)?;
                groups.moment([*x, *y, *xy, *xx, *yy], |row, sums| correlation(counts[row], sums))
            }
            Self::Regression { asked, sums, count } => {
                let counts = groups.weights(*count)?;
                groups.moment(*sums, |row, sums| regression(*asked, counts[row], sums))
            }
            Self::Truth { trues, count, all } => groups.truth(*trues, *count, *all),
        }
    }
}

impl Accumulated<'_> {
    fn sum(
        &self,
        sum: usize,
        count: usize,
        to: &DataType,
        blame: Blame<'_>,
    ) -> Result<ArrayRef, OperatorError> {
        let counts = self.weights(count)?;
        let there = |row: usize| self.exists[row] && counts[row] != 0;
        match (&self.sums[sum], to) {
            (DiffColumn::Exact(sums), _) => Ok(floats(sums, |row, sum| there(row).then(|| sum.to_f64()))),
            (DiffColumn::Sum(sums), _) => checked(to, self.len(), blame, |row| there(row).then(|| sums[row])),
            (DiffColumn::Wide(sums), DataType::Int64) => checked(to, self.len(), blame, |row| {
                there(row).then(|| sums[row].to_i128().unwrap_or(i128::MAX))
            }),
            (DiffColumn::Wide(sums), _) => {
                decimals(to, self.len(), blame, |row| there(row).then(|| sums[row]))
            }
            _ => Err(wrong("sums")),
        }
    }

    fn average(
        &self,
        sum: usize,
        count: usize,
        to: &DataType,
        gained: u32,
        blame: Blame<'_>,
    ) -> Result<ArrayRef, OperatorError> {
        let counts = self.weights(count)?;
        let there = |row: usize| self.exists[row] && counts[row] > 0;
        match (&self.sums[sum], to) {
            (DiffColumn::Exact(sums), _) => {
                Ok(floats(sums, |row, sum| if there(row) { mean(counts[row], sum) } else { None }))
            }
            (DiffColumn::Sum(sums), DataType::Float64) => {
                let value =
                    |row: usize| if there(row) { mean_of_integers(counts[row], sums[row]) } else { None };
                Ok(Arc::new(Float64Array::from_iter((0..self.len()).map(value))))
            }
            (DiffColumn::Sum(sums), _) => {
                checked(to, self.len(), blame, |row| there(row).then(|| rounded(sums[row], counts[row])))
            }
            (DiffColumn::Wide(sums), DataType::Float64) => {
                let value = |row: usize| {
                    if there(row) {
                        mean_of_integers(counts[row], sums[row].to_i128().unwrap_or(i128::MAX))
                    } else {
                        None
                    }
                };
                Ok(Arc::new(Float64Array::from_iter((0..self.len()).map(value))))
            }
            (DiffColumn::Wide(sums), _) => {
                let factor = i256::from_i128(10_i128.pow(gained));
                let value = |row: usize| {
                    sums[row].checked_mul(factor).map_or(i256::MAX, |sum| rounded_wide(sum, counts[row]))
                };
                decimals(to, self.len(), blame, |row| there(row).then(|| value(row)))
            }
            _ => Err(wrong("sums")),
        }
    }

    fn truth(&self, trues: usize, count: usize, all: bool) -> Result<ArrayRef, OperatorError> {
        let (trues, counts) = (self.weights(trues)?, self.weights(count)?);
        let mut values = BooleanBuilder::with_capacity(self.len());
        for row in 0..self.len() {
            let falses = counts[row] - trues[row];
            let (decisive, other) = if all { (falses, trues[row]) } else { (trues[row], falses) };
            let decided = if decisive != 0 { Some(!all) } else { (other != 0).then_some(all) };
            values.append_option(decided.filter(|_| self.exists[row]));
        }
        Ok(Arc::new(values.finish()))
    }

    /// A float computed from several exact sums of each group.
    fn moment<const N: usize>(
        &self,
        places: [usize; N],
        value: impl Fn(usize, [&ExactSum; N]) -> Option<f64>,
    ) -> Result<ArrayRef, OperatorError> {
        let columns = places.iter().map(|place| self.exact(*place)).collect::<Result<Vec<_>, _>>()?;
        let mut sums: Vec<ExactSum> = vec![ExactSum::new(); N];
        let values = (0..self.len()).map(|row| {
            if !self.exists[row] {
                return None;
            }
            sums.iter_mut().zip(&columns).for_each(|(sum, column)| load(sum, column.get(row)));
            value(row, std::array::from_fn(|place| &sums[place]))
        });
        Ok(Arc::new(Float64Array::from_iter(values)))
    }

    fn len(&self) -> usize {
        self.exists.len()
    }

    fn weights(&self, place: usize) -> Result<&[i64], OperatorError> {
        match &self.sums[place] {
            DiffColumn::Weight(weights) => Ok(weights),
            _ => Err(wrong("weights")),
        }
    }

    fn buffer(&self, place: usize) -> Result<arrow_buffer::ScalarBuffer<i64>, OperatorError> {
        match &self.sums[place] {
            DiffColumn::Weight(weights) => Ok(weights.clone()),
            _ => Err(wrong("weights")),
        }
    }

    fn exact(&self, place: usize) -> Result<&ExactColumn, OperatorError> {
        match &self.sums[place] {
            DiffColumn::Exact(sums) => Ok(sums),
            _ => Err(wrong("exact sums")),
        }
    }
}

/// The accumulator that adds up an argument: integers as integers, decimals as decimals, all else as floats.
fn value_sum(arg: &Scalar, filter: Option<&Scalar>, plan: &mut LinearPlan) -> usize {
    let (term, cast) = match arg.data_type() {
        DataType::Decimal128(..) => (Term::Decimal, None),
        DataType::UInt64 => (Term::Decimal, Some(DataType::Decimal128(20, 0))),
        DataType::Duration(_) => (Term::Integer, Some(DataType::Int64)),
        integer if integer.is_integer() => (Term::Integer, Some(DataType::Int64)),
        _ => (Term::Float, Some(DataType::Float64)),
    };
    let arg = plan.operands().arg(arg, cast);
    plan.add(term, vec![arg], filter)
}

/// The sums of x, of y and of x times y over the pairs without NULL.
fn pair_sums(args: &[Scalar], filter: Option<&Scalar>, plan: &mut LinearPlan) -> (usize, usize, usize) {
    let [x, y] = float_pair(args, plan);
    (
        plan.add(Term::Float, vec![x, y], filter),
        plan.add(Term::Float, vec![y, x], filter),
        plan.add(Term::Product, vec![x, y], filter),
    )
}

/// The sums of the squares of x and of y over the pairs without NULL.
fn pair_squares(args: &[Scalar], filter: Option<&Scalar>, plan: &mut LinearPlan) -> (usize, usize) {
    let [x, y] = float_pair(args, plan);
    (plan.add(Term::Product, vec![x, x, y], filter), plan.add(Term::Product, vec![y, y, x], filter))
}

fn float_pair(args: &[Scalar], plan: &mut LinearPlan) -> [usize; 2] {
    [&args[0], &args[1]].map(|arg| plan.operands().arg(arg, Some(DataType::Float64)))
}

fn correlation(count: i64, [x, y, xy, xx, yy]: [&ExactSum; 5]) -> Option<f64> {
    let covariance = moments::covariance(count, x, y, xy, 0)?;
    let (var_x, var_y) = (moments::variance(count, x, xx, 0)?, moments::variance(count, y, yy, 0)?);
    Some(tailrace_algebra::float::canonical(covariance / (var_x.sqrt() * var_y.sqrt())))
}

/// NULL where no line is defined: over no pairs, or if all x are equal.
fn regression(asked: Regression, count: i64, [y, x, yx, yy, xx]: [&ExactSum; 5]) -> Option<f64> {
    if count <= 0 {
        return None;
    }
    let (mean_x, mean_y) = (moments::mean(count, x)?, moments::mean(count, y)?);
    let (var_x, var_y) = (moments::variance(count, x, xx, 0)?, moments::variance(count, y, yy, 0)?);
    let covariance = moments::covariance(count, y, x, yx, 0)?;
    let slope = || (var_x != 0.0).then(|| covariance / var_x);
    let value = match asked {
        Regression::Count => count as f64,
        Regression::AvgX => mean_x,
        Regression::AvgY => mean_y,
        Regression::Sxx => var_x * count as f64,
        Regression::Syy => var_y * count as f64,
        Regression::Sxy => covariance * count as f64,
        Regression::Slope => slope()?,
        Regression::Intercept => mean_y - slope()? * mean_x,
        Regression::R2 if var_x == 0.0 => return None,
        Regression::R2 if var_y == 0.0 => 1.0,
        Regression::R2 => covariance * covariance / (var_x * var_y),
    };
    Some(tailrace_algebra::float::canonical(value))
}

/// The mean of floats. A sum that is a double already needs one division of doubles, which rounds correctly.
fn mean(count: i64, sum: &mut ExactSum) -> Option<f64> {
    const EXACT: i64 = 1 << 53;
    let rounded = sum.to_f64();
    if !rounded.is_finite() || count >= EXACT {
        return moments::mean(count, sum);
    }
    sum.add(rounded, -1);
    if sum.is_zero() {
        return Some(rounded / count as f64);
    }
    sum.add(rounded, 1);
    moments::mean(count, sum)
}

/// The mean of integers, correctly rounded.
fn mean_of_integers(count: i64, sum: i128) -> Option<f64> {
    const EXACT: u128 = 1 << 53;
    if sum.unsigned_abs() <= EXACT && count.unsigned_abs() as u128 <= EXACT {
        return Some(sum as f64 / count as f64);
    }
    // Three parts of at most 48 bits are doubles, and so are they times a power of two.
    let parts = [(sum & 0xffff_ffff_ffff, 0), ((sum >> 48) & 0xffff_ffff_ffff, 48), (sum >> 96, 96)];
    let exact: ExactSum = parts.iter().map(|(part, shift)| (*part as f64 * 2f64.powi(*shift), 1)).collect();
    moments::mean(count, &exact)
}

/// The digits that an average has more behind the point than its argument.
fn digits_gained(argument: &DataType) -> u32 {
    match argument {
        DataType::Decimal128(_, scale) => u32::from((average_scale(*scale) - scale).unsigned_abs()),
        _ => 0,
    }
}

/// The quotient, rounded half away from zero; the count is positive.
fn rounded(sum: i128, count: i64) -> i128 {
    let count = i128::from(count);
    let half = if sum < 0 { -(count / 2) } else { count / 2 };
    (sum + half) / count
}

fn rounded_wide(sum: i256, count: i64) -> i256 {
    let count = i256::from_i128(i128::from(count));
    let half = count.wrapping_div(i256::from_i128(2));
    let half = if sum.is_negative() { half.wrapping_neg() } else { half };
    sum.wrapping_add(half).wrapping_div(count)
}

fn floats(sums: &ExactColumn, mut value: impl FnMut(usize, &mut ExactSum) -> Option<f64>) -> ArrayRef {
    let mut sum = ExactSum::new();
    let values = (0..sums.len()).map(|row| {
        load(&mut sum, sums.get(row));
        value(row, &mut sum)
    });
    Arc::new(Float64Array::from_iter(values))
}

fn load(sum: &mut ExactSum, bytes: &[u8]) {
    sum.clear();
    let decoded = sum.add_bytes(bytes);
    debug_assert!(decoded.is_some(), "sums in a trace are canonical");
}

/// 64-bit integers of a type, where they fit.
fn checked(
    to: &DataType,
    len: usize,
    blame: Blame<'_>,
    value: impl Fn(usize) -> Option<i128>,
) -> Result<ArrayRef, OperatorError> {
    let fit = |row: usize| value(row).map(|value| i64::try_from(value).map_err(|_| blame(row))).transpose();
    match to {
        DataType::Duration(TimeUnit::Second) => primitive::<DurationSecondType>(len, fit),
        DataType::Duration(TimeUnit::Millisecond) => primitive::<DurationMillisecondType>(len, fit),
        DataType::Duration(TimeUnit::Microsecond) => primitive::<DurationMicrosecondType>(len, fit),
        DataType::Duration(TimeUnit::Nanosecond) => primitive::<DurationNanosecondType>(len, fit),
        _ => primitive::<Int64Type>(len, fit),
    }
}

fn decimals(
    to: &DataType,
    len: usize,
    blame: Blame<'_>,
    value: impl Fn(usize) -> Option<i256>,
) -> Result<ArrayRef, OperatorError> {
    let bound = 10_u128.pow(38);
    let small = |value: i256| value.to_i128().filter(|value| value.unsigned_abs() < bound);
    let fit = |row: usize| value(row).map(|value| small(value).ok_or_else(|| blame(row))).transpose();
    let values = (0..len).map(fit).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<Decimal128Type>::from_iter(values).with_data_type(to.clone())))
}

fn primitive<T: ArrowPrimitiveType>(
    len: usize,
    value: impl Fn(usize) -> Result<Option<T::Native>, OperatorError>,
) -> Result<ArrayRef, OperatorError> {
    let values = (0..len).map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(values)))
}

fn wrong(expected: &'static str) -> OperatorError {
    OperatorError::WrongValue { expected, found: "sums of another kind" }
}
