//! Mean, variance and covariance as functions of exact sums.
//!
//! A linear aggregate keeps the count and the sums of `x`, `x²` or `x·y`, each exact. The textbook formula
//!
//! ```text
//! variance = (n Σx² - (Σx)²) / (n (n - ddof))        covariance = (n Σxy - Σx Σy) / (n (n - ddof))
//! ```
//!
//! is notorious for cancellation in floating point. Here the numerator is a big integer, so nothing cancels but what should,
//! and there is one rounding, in the division.
//!
//! **Promise.** The result is the double nearest to the true value, and a function of the count and the sums alone: equal
//! groups have equal bits, however they came about. The variance of a constant is exactly zero.
//!
//! `n` counts the rows by weight. `None` means that there are too few of them for the statistic (SQL: NULL).

use crate::exact_sum::ExactSum;
use crate::integer::Integer;

/// The mean of `n` values with the given sum; `None` if `n` is not positive.
///
/// ```
/// use tailrace_algebra::{ExactSum, moments};
/// let sum = ExactSum::from_iter([(0.1, 3)]);
/// assert_eq!(moments::mean(3, &sum), Some(0.1));
/// assert_eq!(moments::mean(0, &ExactSum::new()), None);
/// ```
pub fn mean(n: i64, sum: &ExactSum) -> Option<f64> {
    let count = rows_beyond(n, 0)?;
    if !sum.is_finite() {
        return Some(sum.to_f64());
    }
    Some(Integer::of(sum).divided(count, 1))
}

/// The variance of `n` values from their sum and the sum of their squares; `None` unless `n > ddof`.
///
/// `ddof` is 0 for the population and 1 for a sample. NaN if a value is NaN or infinite.
///
/// ```
/// use tailrace_algebra::{ExactSum, moments};
/// let (mut sum, mut squares) = (ExactSum::new(), ExactSum::new());
/// for x in [1e15, 1e15 + 1.0, 1e15 + 2.0] {
///     sum.add(x, 1);
///     squares.add_product(x, x, 1);
/// }
/// assert_eq!(moments::variance(3, &sum, &squares, 1), Some(1.0));
/// assert_eq!(moments::variance(1, &sum, &squares, 1), None);
/// ```
pub fn variance(n: i64, sum: &ExactSum, sum_sq: &ExactSum, ddof: u32) -> Option<f64> {
    covariance(n, sum, sum, sum_sq, ddof)
}

/// The covariance of `n` pairs from the sums of both sides and of their products; `None` unless `n > ddof`.
///
/// ```
/// use tailrace_algebra::{ExactSum, moments};
/// let (mut x_sum, mut y_sum, mut xy_sum) = (ExactSum::new(), ExactSum::new(), ExactSum::new());
/// for (x, y) in [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)] {
///     x_sum.add(x, 1);
///     y_sum.add(y, 1);
///     xy_sum.add_product(x, y, 1);
/// }
/// assert_eq!(moments::covariance(3, &x_sum, &y_sum, &xy_sum, 1), Some(2.0));
/// ```
pub fn covariance(n: i64, sum_x: &ExactSum, sum_y: &ExactSum, sum_xy: &ExactSum, ddof: u32) -> Option<f64> {
    let (count, freedom) = (rows_beyond(n, 0)?, rows_beyond(n, ddof)?);
    if ![sum_x, sum_y, sum_xy].iter().all(|sum| sum.is_finite()) {
        return Some(f64::NAN);
    }
    let scaled = Integer::of(sum_xy).times_small(count);
    let product = Integer::of(sum_x).times(&Integer::of(sum_y));
    Some(scaled.minus(&product).divided(count, freedom))
}

/// `n - ddof`, if that is positive.
fn rows_beyond(n: i64, ddof: u32) -> Option<u64> {
    let rows = n.checked_sub(i64::from(ddof))?;
    u64::try_from(rows).ok().filter(|&rows| rows > 0)
}
