//! Weights: how often a row is in a Z-set, negative for rows to be taken away.
//!
//! **Promise.** Arithmetic is checked: a weight that does not fit into 64 bits is `None`, never a wrapped number.
//! [`Weight`] is an `i64` in memory (`repr(transparent)`), and the kernels of the other crates keep weights as plain
//! columns of `i64`; the functions at module level work on such columns.
//!
//! **Why `mass` exists.** The mass of a column, the sum of its absolute values, bounds every sum of any of its rows in any
//! order. A kernel that has checked the mass once may add weights of that column without checking each addition.

use std::fmt;

use crate::monoid::{Group, Monoid, Ring};

/// The multiplicity of a row.
///
/// ```
/// use tailrace_algebra::Weight;
/// assert_eq!(Weight(2).checked_add(Weight(-2)), Some(Weight::ZERO));
/// assert_eq!(Weight(2).checked_mul(Weight(-3)), Some(Weight(-6)));
/// assert_eq!(Weight(i64::MIN).checked_neg(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Weight(pub i64);

impl Weight {
    /// The weight of a row that is not there.
    pub const ZERO: Weight = Weight(0);
    /// The weight of one insert.
    pub const ONE: Weight = Weight(1);

    /// The sum, or `None` if it does not fit.
    pub fn checked_add(self, other: Weight) -> Option<Weight> {
        self.0.checked_add(other.0).map(Weight)
    }

    /// The negative, or `None` for the one weight that has none.
    pub fn checked_neg(self) -> Option<Weight> {
        self.0.checked_neg().map(Weight)
    }

    /// The product, or `None` if it does not fit.
    pub fn checked_mul(self, other: Weight) -> Option<Weight> {
        self.0.checked_mul(other.0).map(Weight)
    }
}

/// The sum of a column of weights, or `None` if the sum does not fit into an `i64`.
///
/// Only the result matters: a partial sum may exceed the range, so the answer does not depend on the order of the rows.
///
/// ```
/// use tailrace_algebra::weight;
/// assert_eq!(weight::checked_sum(&[i64::MAX, 1, -1]), Some(i64::MAX));
/// assert_eq!(weight::checked_sum(&[i64::MAX, 1]), None);
/// ```
pub fn checked_sum(weights: &[i64]) -> Option<i64> {
    let total: i128 = weights.chunks(CHUNK).map(chunk_sum).sum();
    i64::try_from(total).ok()
}

/// The sum of the absolute values of a column of weights, or `None` if it exceeds `i64::MAX`.
///
/// ```
/// use tailrace_algebra::weight;
/// assert_eq!(weight::mass(&[3, -4]), Some(7));
/// assert_eq!(weight::mass(&[i64::MIN]), None);
/// ```
pub fn mass(weights: &[i64]) -> Option<i64> {
    let total: u128 = weights.chunks(CHUNK).map(chunk_mass).sum();
    i64::try_from(total).ok()
}

impl Monoid for Weight {
    fn checked_plus(&self, other: &Self) -> Option<Self> {
        self.checked_add(*other)
    }
}

impl Group for Weight {
    fn checked_neg(&self) -> Option<Self> {
        Weight::checked_neg(*self)
    }

    fn checked_minus(&self, other: &Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Weight)
    }

    fn checked_scale(&self, weight: Weight) -> Option<Self> {
        self.checked_mul(weight)
    }
}

impl Ring for Weight {
    fn one() -> Self {
        Weight::ONE
    }

    fn checked_times(&self, other: &Self) -> Option<Self> {
        self.checked_mul(*other)
    }
}

impl From<i64> for Weight {
    fn from(weight: i64) -> Self {
        Weight(weight)
    }
}

impl From<Weight> for i64 {
    fn from(weight: Weight) -> Self {
        weight.0
    }
}

impl From<Weight> for i128 {
    fn from(weight: Weight) -> Self {
        i128::from(weight.0)
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+}", self.0)
    }
}

/// Rows summed in 64-bit halves at a time: `2^30` halves of 32 bits stay below `2^62`, so the loops need no check
/// and the compiler turns them into vector instructions.
const CHUNK: usize = 1 << 30;
const LOW_HALF: u64 = 0xffff_ffff;

fn chunk_sum(weights: &[i64]) -> i128 {
    let (mut high, mut low) = (0_i64, 0_u64);
    for &weight in weights {
        high += weight >> 32;
        low += weight as u64 & LOW_HALF;
    }
    (i128::from(high) << 32) + i128::from(low)
}

fn chunk_mass(weights: &[i64]) -> u128 {
    let (mut high, mut low) = (0_u64, 0_u64);
    for &weight in weights {
        let magnitude = weight.unsigned_abs();
        high += magnitude >> 32;
        low += magnitude & LOW_HALF;
    }
    (u128::from(high) << 32) + u128::from(low)
}
