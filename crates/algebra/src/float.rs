//! The one total order of floats, and the bits that stand for it.
//!
//! SQL groups, joins, sorts and takes distinct rows by float columns, so equality must be an equivalence and the order
//! total, which IEEE comparison is not. Tailrace orders floats
//!
//! ```text
//! -inf < ... < -0.0 == 0.0 < ... < +inf < NaN        (all NaNs are one value)
//! ```
//!
//! **Promise.** [`canonical`] maps equal floats to the same bits and keeps all others as they are. [`order_key`] maps
//! floats to integers such that `order_key(a) < order_key(b)` exactly if `a` is before `b`, and [`from_order_key`] leads back.
//!
//! **Why the key works.** Read as integers, the bits of non-negative floats rise with the value; those of negative floats
//! fall. Setting the sign bit of the former and inverting the latter puts all into one rising sequence; the canonical
//! NaN is positive and has larger bits than infinity, so it comes last.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The one NaN: quiet, positive, no payload.
const NAN_F64: f64 = f64::from_bits(0x7ff8_0000_0000_0000);
const NAN_F32: f32 = f32::from_bits(0x7fc0_0000);
const SIGN_F64: u64 = 1 << 63;
const SIGN_F32: u32 = 1 << 31;

/// The representative of all floats equal to `x`: one NaN, and `0.0` for `-0.0`.
///
/// ```
/// use tailrace_algebra::float;
/// assert_eq!(float::canonical(-0.0).to_bits(), 0.0_f64.to_bits());
/// assert_eq!(float::canonical(-f64::NAN).to_bits(), float::canonical(0.0 / 0.0).to_bits());
/// assert_eq!(float::canonical(-1.5), -1.5);
/// ```
#[inline]
pub fn canonical(x: f64) -> f64 {
    // Adding zero changes nothing but the sign of a negative zero.
    if x.is_nan() { NAN_F64 } else { x + 0.0 }
}

/// [`canonical`] for `f32`.
#[inline]
pub fn canonical_f32(x: f32) -> f32 {
    if x.is_nan() { NAN_F32 } else { x + 0.0 }
}

/// An integer that stands where `x` stands in the total order.
///
/// ```
/// use tailrace_algebra::float::{from_order_key, order_key};
/// assert!(order_key(-1.0) < order_key(0.0));
/// assert!(order_key(f64::INFINITY) < order_key(f64::NAN));
/// assert_eq!(from_order_key(order_key(-2.5)), -2.5);
/// ```
#[inline]
pub fn order_key(x: f64) -> u64 {
    let bits = canonical(x).to_bits();
    // All ones for a negative float, only the sign bit for another.
    bits ^ (((bits as i64 >> 63) as u64) | SIGN_F64)
}

/// [`order_key`] for `f32`.
#[inline]
pub fn order_key_f32(x: f32) -> u32 {
    let bits = canonical_f32(x).to_bits();
    bits ^ (((bits as i32 >> 31) as u32) | SIGN_F32)
}

/// The canonical float of an order key. An integer that is no float's key gives the canonical form of the float its bits decode to.
#[inline]
pub fn from_order_key(key: u64) -> f64 {
    let mask = if key & SIGN_F64 == 0 { u64::MAX } else { SIGN_F64 };
    canonical(f64::from_bits(key ^ mask))
}

/// [`from_order_key`] for `f32`.
#[inline]
pub fn from_order_key_f32(key: u32) -> f32 {
    let mask = if key & SIGN_F32 == 0 { u32::MAX } else { SIGN_F32 };
    canonical_f32(f32::from_bits(key ^ mask))
}

/// An `f64` in canonical form with the total order of this module: usable as a key in maps and sets.
///
/// ```
/// use tailrace_algebra::OrderedF64;
/// assert_eq!(OrderedF64::new(f64::NAN), OrderedF64::new(-f64::NAN));
/// assert!(OrderedF64::new(f64::INFINITY) < OrderedF64::new(f64::NAN));
/// assert_eq!(OrderedF64::new(-0.0).get().to_bits(), 0);
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct OrderedF64(f64);

/// An `f32` in canonical form with the total order of this module: usable as a key in maps and sets.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct OrderedF32(f32);

/// Gives a float new-type its constructor, its order and its hash, all by way of the order key.
macro_rules! ordered {
    ($name:ident, $float:ty, $canonical:path, $order_key:path) => {
        impl $name {
            /// The canonical form of `x`.
            #[inline]
            pub fn new(x: $float) -> Self {
                $name($canonical(x))
            }

            /// The float, in canonical form.
            #[inline]
            pub fn get(self) -> $float {
                self.0
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.to_bits() == other.0.to_bits()
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                $order_key(self.0).cmp(&$order_key(other.0))
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.to_bits().hash(state);
            }
        }

        impl From<$float> for $name {
            fn from(x: $float) -> Self {
                $name::new(x)
            }
        }

        impl From<$name> for $float {
            fn from(ordered: $name) -> Self {
                ordered.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

ordered!(OrderedF64, f64, canonical, order_key);
ordered!(OrderedF32, f32, canonical_f32, order_key_f32);
