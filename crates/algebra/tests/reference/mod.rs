//! Naive big integers and a definition of correct rounding: what the exact sums are measured against.
//!
//! Values are integers in units of `2^-2148`, the lowest bit that a product of two doubles can have. Everything is
//! written for plainness: schoolbook digits, no windows, no carries kept for later.

#![allow(dead_code, reason = "each test file uses its part")]

use std::cmp::Ordering;

use proptest::prelude::*;

/// The exponent of the unit.
const UNIT: i32 = -2148;

/// A signed integer with 32-bit digits, lowest first, no leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Big {
    negative: bool,
    digits: Vec<u32>,
}

impl Big {
    pub fn from_i128(x: i128) -> Big {
        let magnitude = x.unsigned_abs();
        let digits = (0..4).map(|index| (magnitude >> (32 * index)) as u32).collect();
        Big { negative: x < 0, digits }.trimmed()
    }

    /// A finite double in units of `2^-2148`. Infinity counts as `2^1024`, the first number too large for a double.
    pub fn from_f64(x: f64) -> Big {
        let bits = x.to_bits();
        let field = (bits >> 52) as i32 & 0x7ff;
        let fraction = (bits & 0xf_ffff_ffff_ffff) as i128;
        let (mantissa, exponent) = match field {
            0 => (fraction, -1074),
            _ => (fraction + (1 << 52), field - 1075),
        };
        let signed = if x < 0.0 { -mantissa } else { mantissa };
        Big::from_i128(signed).shifted((exponent - UNIT) as usize)
    }

    /// The product of two doubles in units of `2^-2148`.
    pub fn from_product(x: f64, y: f64) -> Big {
        let product = Big::from_f64(x).times(&Big::from_f64(y));
        product.unshifted(-UNIT as usize)
    }

    pub fn zero() -> Big {
        Big::from_i128(0)
    }

    pub fn plus(&self, other: &Big) -> Big {
        if self.negative == other.negative {
            return Big { negative: self.negative, digits: add(&self.digits, &other.digits) }.trimmed();
        }
        let (larger, smaller) =
            if self.compare_magnitude(other).is_lt() { (other, self) } else { (self, other) };
        Big { negative: larger.negative, digits: subtract(&larger.digits, &smaller.digits) }.trimmed()
    }

    pub fn negated(&self) -> Big {
        Big { negative: !self.negative, digits: self.digits.clone() }.trimmed()
    }

    pub fn minus(&self, other: &Big) -> Big {
        self.plus(&other.negated())
    }

    pub fn times(&self, other: &Big) -> Big {
        let mut digits = vec![0_u32; self.digits.len() + other.digits.len() + 1];
        for (i, &a) in self.digits.iter().enumerate() {
            let mut carry = 0_u64;
            for (j, &b) in other.digits.iter().enumerate() {
                let sum = u64::from(a) * u64::from(b) + u64::from(digits[i + j]) + carry;
                digits[i + j] = sum as u32;
                carry = sum >> 32;
            }
            digits[i + other.digits.len()] = carry as u32;
        }
        Big { negative: self.negative != other.negative, digits }.trimmed()
    }

    /// Times a power of two.
    pub fn shifted(&self, places: usize) -> Big {
        let power =
            Big { negative: false, digits: [vec![0; places / 32], vec![1 << (places % 32)]].concat() };
        self.times(&power)
    }

    /// Divided by a power of two that is known to divide.
    fn unshifted(&self, places: usize) -> Big {
        let up = self.shifted((32 - places % 32) % 32);
        let digits = up.digits.get(places.div_ceil(32)..).unwrap_or(&[]).to_vec();
        Big { negative: self.negative, digits }.trimmed()
    }

    fn compare_magnitude(&self, other: &Big) -> Ordering {
        let by_digits = || self.digits.iter().rev().cmp(other.digits.iter().rev());
        self.digits.len().cmp(&other.digits.len()).then_with(by_digits)
    }

    fn trimmed(mut self) -> Big {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        self.negative &= !self.digits.is_empty();
        self
    }
}

/// Whether `y` is the double nearest to `numerator / denominator` (the numerator in units of `2^-2148`), ties to even:
/// no neighbour of `y` is nearer, and one as near has the odd mantissa.
pub fn is_nearest(y: f64, numerator: &Big, denominator: &Big) -> bool {
    let distance = |y: f64| numerator.minus(&Big::from_f64(y).times(denominator));
    let own = distance(y);
    [y.next_up(), y.next_down()].into_iter().filter(|&other| other != y).all(|other| {
        match own.compare_magnitude(&distance(other)) {
            Ordering::Less => true,
            Ordering::Equal => y.to_bits() & 1 == 0,
            Ordering::Greater => false,
        }
    })
}

/// The exact sum of weighted terms.
pub fn total<'a>(terms: impl IntoIterator<Item = &'a (f64, i64)>) -> Big {
    let product = |&(x, weight): &(f64, i64)| Big::from_f64(x).times(&Big::from_i128(weight.into()));
    terms.into_iter().map(product).fold(Big::zero(), |sum, term| sum.plus(&term))
}

/// Finite doubles of all kinds: everyday ones, whole ones, any bits, subnormal ones, near the largest, and exact powers of two.
pub fn finite() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![
        4 => (-1_000_000_i64..1_000_000).prop_map(|cents| cents as f64 / 100.0),
        2 => (-1000_i32..1000).prop_map(f64::from),
        3 => POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO,
        1 => POSITIVE | NEGATIVE | SUBNORMAL,
        1 => prop_oneof![Just(f64::MAX), Just(f64::MIN), Just(1e308), Just(-1e308), Just(f64::MIN_POSITIVE), Just(5e-324)],
        2 => (-1022_i32..1024, any::<bool>()).prop_map(|(power, minus)| if minus { -(2_f64.powi(power)) } else { 2_f64.powi(power) }),
    ]
}

/// Finite doubles and the special ones.
pub fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => finite(),
        1 => prop_oneof![Just(f64::NAN), Just(-f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY)],
    ]
}

/// Weights, mostly small.
pub fn weight() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -3_i64..4,
        2 => any::<i64>(),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)],
    ]
}

fn add(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut carry = 0_u64;
    let digit = |digits: &[u32], index: usize| u64::from(digits.get(index).copied().unwrap_or(0));
    let sum = (0..a.len().max(b.len()) + 1).map(|index| {
        carry += digit(a, index) + digit(b, index);
        let low = carry as u32;
        carry >>= 32;
        low
    });
    sum.collect()
}

/// `a - b` for `a` not less than `b`.
fn subtract(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut borrow = 0_i64;
    let difference = a.iter().enumerate().map(|(index, &digit)| {
        borrow += i64::from(digit) - i64::from(b.get(index).copied().unwrap_or(0));
        let low = borrow as u32;
        borrow >>= 32;
        low
    });
    difference.collect()
}
