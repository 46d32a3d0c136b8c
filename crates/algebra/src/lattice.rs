//! Partial orders and lattices: the shape of time in nested circuits.
//!
//! Outside of recursion, times are totally ordered steps. Inside a nested circuit a time is a pair (step, iteration), and
//! two such pairs may be incomparable: a later step at an earlier iteration. What an operator needs then is the least time
//! at which two changes meet (their join) and the latest time before both (their meet).
//!
//! **Promise.** `less_equal` is reflexive, antisymmetric and transitive. `join` is the least upper bound and `meet` the
//! greatest lower bound; so both are associative, commutative and idempotent and absorb each other.

/// A partial order, apart from `Ord`: a type may have both, and sort by one while time flows by the other.
///
/// ```
/// use tailrace_algebra::{PartialOrder, Product};
/// let (a, b) = (Product::new(1_u64, 5_u32), Product::new(2_u64, 3_u32));
/// assert!(!a.less_equal(&b) && !b.less_equal(&a));
/// assert!(a.less_equal(&a) && !a.less_than(&a));
/// ```
pub trait PartialOrder: PartialEq {
    /// Whether `self` is at or before `other`.
    fn less_equal(&self, other: &Self) -> bool;

    /// Whether `self` is strictly before `other`.
    fn less_than(&self, other: &Self) -> bool {
        self.less_equal(other) && self != other
    }

    /// Whether the two stand in order, one way or the other.
    fn comparable(&self, other: &Self) -> bool {
        self.less_equal(other) || other.less_equal(self)
    }
}

/// A partial order in which every two elements have a least upper and a greatest lower bound.
///
/// ```
/// use tailrace_algebra::{Lattice, Product};
/// let (a, b) = (Product::new(1_u64, 5_u32), Product::new(2_u64, 3_u32));
/// assert_eq!(a.join(&b), Product::new(2, 5));
/// assert_eq!(a.meet(&b), Product::new(1, 3));
/// ```
pub trait Lattice: PartialOrder + Sized {
    /// The least element at or after both.
    fn join(&self, other: &Self) -> Self;

    /// The greatest element at or before both.
    fn meet(&self, other: &Self) -> Self;
}

/// Implements both traits for totally ordered `Copy` types: join is the maximum, meet the minimum.
macro_rules! total_lattice {
    ($($time:ty),*) => {$(
        impl $crate::lattice::PartialOrder for $time {
            fn less_equal(&self, other: &Self) -> bool {
                self <= other
            }
        }

        impl $crate::lattice::Lattice for $time {
            fn join(&self, other: &Self) -> Self {
                *self.max(other)
            }

            fn meet(&self, other: &Self) -> Self {
                *self.min(other)
            }
        }
    )*};
}

pub(crate) use total_lattice;

total_lattice!((), i32, u32, u64, i64);
