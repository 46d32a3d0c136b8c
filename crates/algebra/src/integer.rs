//! Big integers in units of a power of two: just enough arithmetic for exact statistics.
//!
//! **Promise.** Addition, subtraction and multiplication are exact; the quotient is the correctly rounded double.
//!
//! An [`Integer`] is `±magnitude * 2^(64 * exponent)` with the magnitude in limbs, lowest first. The exponent spares the zeros that a
//! common unit would need: sums of everyday numbers stay at two to four limbs. Multiplication is by the schoolbook, which is the
//! fastest for so few.

use crate::exact_sum::{ExactSum, FRACTION_LIMBS, rounding};

/// A big integer times a power of `2^64`.
pub(crate) struct Integer {
    negative: bool,
    magnitude: Vec<u64>,
    exponent: i64,
}

impl Integer {
    /// The finite part of an exact sum.
    pub(crate) fn of(sum: &ExactSum) -> Integer {
        let (negative, magnitude, at) = sum.finite();
        Integer { negative, magnitude, exponent: at as i64 - FRACTION_LIMBS as i64 }
    }

    pub(crate) fn times(&self, other: &Integer) -> Integer {
        Integer {
            negative: self.negative != other.negative,
            magnitude: multiply(&self.magnitude, &other.magnitude),
            exponent: self.exponent + other.exponent,
        }
    }

    pub(crate) fn times_small(&self, factor: u64) -> Integer {
        Integer { magnitude: multiply(&self.magnitude, &[factor]), ..*self }
    }

    pub(crate) fn minus(&self, other: &Integer) -> Integer {
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.at_exponent(exponent), other.at_exponent(exponent));
        let (negative, magnitude) = if self.negative != other.negative {
            (self.negative, add(a, &b))
        } else if is_less(&a, &b) {
            (!self.negative, subtract(b, &a))
        } else {
            (self.negative, subtract(a, &b))
        };
        Integer { negative, magnitude, exponent }
    }

    /// The double nearest to `self / (a * b)`; neither divisor is zero.
    ///
    /// Dividing by one divisor after the other gives the same floor as dividing by their product, and the remainders tell whether
    /// anything was cut off. Three more limbs leave at least 66 bits of quotient below a divisor of 126 bits.
    pub(crate) fn divided(&self, a: u64, b: u64) -> f64 {
        let mut quotient = self.at_exponent(self.exponent - 3);
        let cut_by_a = divide(&mut quotient, a);
        let cut_by_b = divide(&mut quotient, b);
        let unit = 64 * (self.exponent - 3);
        rounding::round(self.negative, &quotient, unit, cut_by_a || cut_by_b)
    }

    /// The magnitude in units of `2^(64 * exponent)`, which is not above the own exponent.
    fn at_exponent(&self, exponent: i64) -> Vec<u64> {
        let zeros = (self.exponent - exponent).unsigned_abs() as usize;
        let mut limbs = vec![0; zeros];
        limbs.extend_from_slice(&self.magnitude);
        limbs
    }
}

fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0; a.len() + b.len()];
    for (at, &digit) in a.iter().enumerate() {
        let mut carry = 0;
        let (row, above) = product[at..].split_at_mut(b.len());
        for (limb, &other) in row.iter_mut().zip(b) {
            let sum = u128::from(digit) * u128::from(other) + u128::from(*limb) + u128::from(carry);
            (*limb, carry) = (sum as u64, (sum >> 64) as u64);
        }
        // This limb is still zero: earlier rows end below it.
        if let Some(limb) = above.first_mut() {
            *limb = carry;
        }
    }
    product
}

fn add(mut a: Vec<u64>, b: &[u64]) -> Vec<u64> {
    a.resize(a.len().max(b.len()) + 1, 0);
    let mut carry = false;
    for (index, limb) in a.iter_mut().enumerate() {
        (*limb, carry) = limb.carrying_add(digit(b, index), carry);
    }
    a
}

/// `a - b`, where `b` is not greater.
fn subtract(mut a: Vec<u64>, b: &[u64]) -> Vec<u64> {
    let mut borrow = false;
    for (index, limb) in a.iter_mut().enumerate() {
        (*limb, borrow) = limb.borrowing_sub(digit(b, index), borrow);
    }
    a
}

fn is_less(a: &[u64], b: &[u64]) -> bool {
    let longest = a.len().max(b.len());
    let different = (0..longest).rev().find(|&index| digit(a, index) != digit(b, index));
    different.is_some_and(|index| digit(a, index) < digit(b, index))
}

fn digit(limbs: &[u64], index: usize) -> u64 {
    limbs.get(index).copied().unwrap_or(0)
}

/// Divides in place, rounding down; tells whether a remainder was cut off. The divisor is not zero.
fn divide(limbs: &mut [u64], divisor: u64) -> bool {
    let divisor = u128::from(divisor.max(1));
    let mut remainder = 0;
    for limb in limbs.iter_mut().rev() {
        let dividend = (remainder << 64) | u128::from(*limb);
        *limb = (dividend / divisor) as u64;
        remainder = dividend % divisor;
    }
    remainder != 0
}

#[cfg(test)]
mod tests {
    use super::Integer;

    /// Quotients whose first 66 bits look like a tie, so that only the remainder tells to round up. Found by search; the
    /// expected values are those of rational arithmetic in another language.
    #[test]
    fn a_remainder_breaks_the_tie() {
        let one = Integer { negative: false, magnitude: vec![1], exponent: 0 };
        let cases = [
            (6384276735980275136, 5639228708296360404, 2.7775928632943397e-38),
            (7069827400481568524, 7249285746102905846, 1.9511738641791842e-38),
            (5506180626481616722, 7315776044553233204, 2.482499352444516e-38),
        ];
        for (a, b, expected) in cases {
            assert_eq!(one.divided(a, b), expected, "1 / ({a} * {b})");
        }
    }
}
