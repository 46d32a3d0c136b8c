//! Monoid, group and ring: the three promises the engine builds on.
//!
//! * A [`Monoid`] can be summed in any order and any grouping: partial aggregates may be merged as they come.
//! * A [`Group`] can also be subtracted: a delete is the insert of the negative, and `D` undoes `I`.
//! * A [`Ring`] can also be multiplied: a join multiplies weights, and that is linear on each side.
//!
//! **Promise.** Where the operations are defined, addition is associative and commutative with `zero`, negation is its
//! inverse, multiplication is associative, has `one` and distributes over addition. All structures here are commutative
//! in addition, as Z-sets need it.
//!
//! **Overflow.** Machine integers are only part of a ring, so every operation is checked: `None` says that the true result
//! cannot be represented. A result that is `Some` is always the true one; nothing wraps.
//!
//! **Zero is `Default`.** Each trait has as few required methods as the structure has operations; the rest is provided and
//! may be overridden where an instance can do better.

use crate::weight::Weight;

/// Values that can be added in any order, with `Default` as the neutral element.
///
/// ```
/// use tailrace_algebra::Monoid;
/// assert_eq!(i128::sum([1, 2, 3].iter()), Some(6));
/// assert_eq!((1_i64, 10_i128).checked_plus(&(2, 20)), Some((3, 30)));
/// assert_eq!(i64::MAX.checked_plus(&1), None);
/// ```
pub trait Monoid: Clone + Default + PartialEq {
    /// The sum, or `None` if it cannot be represented.
    fn checked_plus(&self, other: &Self) -> Option<Self>;

    /// The neutral element.
    fn zero() -> Self {
        Self::default()
    }

    /// Whether this is the neutral element: such an entry may be dropped from a trace.
    fn is_zero(&self) -> bool {
        *self == Self::zero()
    }

    /// The sum, for a caller who knows that it can be represented, as a kernel does that has checked the [mass](crate::weight::mass) of a column
    /// once: machine integers then add in one instruction. A sum that cannot be represented gives some value, and no panic.
    fn bounded_plus(&self, other: &Self) -> Self {
        self.checked_plus(other).unwrap_or_default()
    }

    /// Adds in place. On `None` the value is unchanged.
    fn accumulate(&mut self, other: &Self) -> Option<()> {
        *self = self.checked_plus(other)?;
        Some(())
    }

    /// The sum of all items, or `None` as soon as a partial sum cannot be represented.
    fn sum<'a>(items: impl IntoIterator<Item = &'a Self>) -> Option<Self>
    where
        Self: 'a,
    {
        let mut total = Self::zero();
        for item in items {
            total.accumulate(item)?;
        }
        Some(total)
    }
}

/// A monoid with inverses: what was added can be taken away again.
///
/// ```
/// use tailrace_algebra::{Group, Weight};
/// assert_eq!(5_i128.checked_minus(&7), Some(-2));
/// assert_eq!(5_i128.checked_scale(Weight(-3)), Some(-15));
/// ```
pub trait Group: Monoid {
    /// The inverse, or `None` if it cannot be represented.
    fn checked_neg(&self) -> Option<Self>;

    /// `self - other`, or `None` if it or the inverse of `other` cannot be represented.
    fn checked_minus(&self, other: &Self) -> Option<Self> {
        self.checked_plus(&other.checked_neg()?)
    }

    /// `self` added `weight` times: every commutative group is a module over the integers, which is how a row of some
    /// weight enters an accumulator.
    fn checked_scale(&self, weight: Weight) -> Option<Self> {
        let signed = if weight.0 < 0 { self.checked_neg()? } else { self.clone() };
        repeat(signed, weight.0.unsigned_abs())
    }
}

/// A group with multiplication.
///
/// ```
/// use tailrace_algebra::{Ring, Weight};
/// assert_eq!(Weight(3).checked_times(&Weight(-2)), Some(Weight(-6)));
/// assert_eq!(Weight::one(), Weight(1));
/// ```
pub trait Ring: Group {
    /// The neutral element of multiplication.
    fn one() -> Self;

    /// The product, or `None` if it cannot be represented.
    fn checked_times(&self, other: &Self) -> Option<Self>;
}

/// Implements the three traits for machine integers by their own checked operations.
macro_rules! integer_ring {
    ($($integer:ty),*) => {$(
        impl Monoid for $integer {
            fn checked_plus(&self, other: &Self) -> Option<Self> {
                self.checked_add(*other)
            }

            #[inline]
            fn bounded_plus(&self, other: &Self) -> Self {
                self.wrapping_add(*other)
            }
        }

        impl Group for $integer {
            fn checked_neg(&self) -> Option<Self> {
                <$integer>::checked_neg(*self)
            }

            fn checked_minus(&self, other: &Self) -> Option<Self> {
                self.checked_sub(*other)
            }

            fn checked_scale(&self, weight: Weight) -> Option<Self> {
                self.checked_mul(<$integer>::from(weight.0))
            }
        }

        impl Ring for $integer {
            fn one() -> Self {
                1
            }

            fn checked_times(&self, other: &Self) -> Option<Self> {
                self.checked_mul(*other)
            }
        }
    )*};
}

integer_ring!(i64, i128);

/// Implements the three traits for tuples, component by component: several accumulators travel as one.
macro_rules! tuple_ring {
    ($($name:ident . $index:tt),*) => {
        impl<$($name: Monoid),*> Monoid for ($($name,)*) {
            fn checked_plus(&self, other: &Self) -> Option<Self> {
                Some(($(self.$index.checked_plus(&other.$index)?,)*))
            }

            fn is_zero(&self) -> bool {
                $(self.$index.is_zero())&&*
            }
        }

        impl<$($name: Group),*> Group for ($($name,)*) {
            fn checked_neg(&self) -> Option<Self> {
                Some(($(self.$index.checked_neg()?,)*))
            }

            fn checked_minus(&self, other: &Self) -> Option<Self> {
                Some(($(self.$index.checked_minus(&other.$index)?,)*))
            }

            fn checked_scale(&self, weight: Weight) -> Option<Self> {
                Some(($(self.$index.checked_scale(weight)?,)*))
            }
        }

        impl<$($name: Ring),*> Ring for ($($name,)*) {
            fn one() -> Self {
                ($($name::one(),)*)
            }

            fn checked_times(&self, other: &Self) -> Option<Self> {
                Some(($(self.$index.checked_times(&other.$index)?,)*))
            }
        }
    };
}

tuple_ring!(A.0);
tuple_ring!(A.0, B.1);
tuple_ring!(A.0, B.1, C.2);
tuple_ring!(A.0, B.1, C.2, D.3);

/// `value` added `times` times, by doubling. The last doubling is left out so that no step overflows unless the result does.
fn repeat<G: Group>(mut value: G, mut times: u64) -> Option<G> {
    let mut total = G::zero();
    while times > 0 {
        if times & 1 == 1 {
            total.accumulate(&value)?;
        }
        times >>= 1;
        if times > 0 {
            value = value.checked_plus(&value)?;
        }
    }
    Some(total)
}
