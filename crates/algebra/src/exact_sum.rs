//! The exact float sum: the same bits whatever the order, the split or the number of workers.
//!
//! Floating point addition rounds, so a sum depends on the order of its terms, and taking a term away again does not
//! restore what was there before. A view that is maintained by adding and subtracting changes would drift. [`ExactSum`] does
//! not round until it is read: it holds the sum of all terms as one big fixed-point integer. Integers form a group, so the
//! sum is a function of the multiset of terms and of nothing else.
//!
//! # Representation
//! The value is a two's complement integer in units of `2^-2176`, made of 64-bit limbs, lowest first. A product of two
//! doubles has its lowest bit at or above `2^-2148` and lies below `2^2048`; times a weight it lies below `2^2111`. The 70
//! limbs reach `2^2303`, which leaves room for the sum of more than `2^190` such terms.
//! The unit is a multiple of a limb (`2176 = 34 * 64`), so that products of whole sums (see [`crate::moments`]) stay
//! aligned to limbs.
//!
//! Only the limbs in the window `low..high` mean something: those below are zero, those above repeat the sign. What the
//! array holds outside of the window is never read. So clearing is the assignment of an empty window, everyday
//! doubles live in four limbs, and a carry or a borrow runs at most to the end of the window.
//!
//! # The top limb
//! An addition first widens the window to one limb more than the addend has. So the top limb is never part of an addend; it
//! starts as a mere sign and changes by at most one per addition or merge. It would take `2^63` of them to run over, and no check
//! is needed: an addition of everyday doubles is three limbs added with carry, and rarely a step of the top limb.
//!
//! # NaN and infinities
//! They are counted by weight, apart from the finite sum. While a count is not zero it decides the result; when the last
//! such row is deleted, the finite sum is there again, exact.
//!
//! # Promise
//! Two sums are equal exactly if their terms add up to the same real number and the same counts of special values. Nothing
//! here allocates, apart from the buffer that the compact byte form ([`ExactSum::write_bytes`]) goes to.
//! Sums beyond the room named above, which no table can reach, wrap like all two's complement numbers; nothing panics.

mod bytes;
mod decompose;
pub(crate) mod rounding;
mod specials;

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::monoid::{Group, Monoid};
use decompose::{Finite, Placed, product, term};
use specials::Specials;

/// Number of limbs of the working form.
const LIMBS: usize = 70;
/// Number of limbs below the binary point.
pub(crate) const FRACTION_LIMBS: usize = 34;

/// An exact sum of doubles, and of products of two doubles, with integer weights.
///
/// ```
/// use tailrace_algebra::ExactSum;
/// let mut sum = ExactSum::new();
/// sum.add(1e308, 1);
/// sum.add(1e308, 1);
/// sum.add(0.1, 3);
/// assert_eq!(sum.to_f64(), f64::INFINITY);
/// sum.add(1e308, -2);
/// assert_eq!(sum.to_f64(), 0.30000000000000004);
/// sum.add(f64::NAN, 1);
/// assert!(sum.to_f64().is_nan());
/// sum.add(f64::NAN, -1);
/// sum.add(0.1, -3);
/// assert!(sum.is_zero());
/// ```
#[derive(Clone)]
pub struct ExactSum {
    limbs: [u64; LIMBS],
    low: usize,
    high: usize,
    specials: Specials,
}

impl ExactSum {
    /// The empty sum.
    pub fn new() -> Self {
        ExactSum { limbs: [0; LIMBS], low: 0, high: 0, specials: Specials::default() }
    }

    /// Makes this the empty sum again, without touching the limbs.
    pub fn clear(&mut self) {
        (self.low, self.high) = (0, 0);
        self.specials = Specials::default();
    }

    /// Adds `x * weight`, exactly.
    #[inline]
    pub fn add(&mut self, x: f64, weight: i64) {
        match Finite::of(x) {
            // A zero has an exponent like any other number and would widen the window for nothing.
            Some(x) if x.mantissa == 0 || weight == 0 => {}
            Some(x) => self.add_placed(&term(x, weight)),
            None => self.specials.add(x, weight),
        }
    }

    /// Adds `x * y * weight`, exactly. A product that involves NaN or an infinity is the IEEE product.
    #[inline]
    pub fn add_product(&mut self, x: f64, y: f64, weight: i64) {
        match (Finite::of(x), Finite::of(y)) {
            (Some(x), Some(y)) if x.mantissa == 0 || y.mantissa == 0 || weight == 0 => {}
            (Some(x), Some(y)) => self.add_placed(&product(x, y, weight)),
            _ => self.specials.add(x * y, weight),
        }
    }

    /// Adds all terms of another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        // By the significant limbs, so that windows do not grow by merging alone.
        let (at, digits) = other.digits();
        if !digits.is_empty() {
            self.add_limbs(at, digits, false);
        }
        self.specials.merge(&other.specials);
    }

    /// Takes all terms of another sum away.
    pub fn subtract(&mut self, other: &ExactSum) {
        self.negate();
        self.merge(other);
        self.negate();
    }

    /// Turns the sum into its inverse: every weight changes its sign.
    pub fn negate(&mut self) {
        negate_limbs(&mut self.limbs[self.low..self.high]);
        self.specials = self.specials.negated();
    }

    /// Whether all terms cancel, special ones included.
    pub fn is_zero(&self) -> bool {
        self.specials.is_zero() && self.limbs[self.low..self.high].iter().all(|&limb| limb == 0)
    }

    /// Whether no NaN and no infinity is part of the sum.
    pub fn is_finite(&self) -> bool {
        self.specials.is_zero()
    }

    /// The double nearest to the sum, ties to even; infinite only if the true sum rounds to that. A sum of zero is `+0.0`.
    ///
    /// With special terms: NaN if a NaN or infinities of both signs are there, else the infinity that is there. An infinity of
    /// negative weight counts as one of the opposite sign, so that negating a sum negates its value.
    pub fn to_f64(&self) -> f64 {
        if let Some(special) = self.specials.value() {
            return special;
        }
        let mut magnitude = [0; LIMBS];
        let (at, negative, length) = self.magnitude(&mut magnitude);
        let unit = 64 * (at as i64 - FRACTION_LIMBS as i64);
        rounding::round(negative, &magnitude[..length], unit, false)
    }

    /// The significant limbs in two's complement, with the index of the lowest: no zero limb at the low end, no limb at the
    /// high end that only repeats the sign. Equal finite sums have equal digits.
    fn digits(&self) -> (usize, &[u64]) {
        let window = &self.limbs[self.low..self.high];
        let zeros = window.iter().take_while(|&&limb| limb == 0).count();
        let mut digits = &window[zeros..];
        while let [rest @ .., below, top] = digits
            && *top == sign_of(*below)
        {
            digits = &digits[..rest.len() + 1];
        }
        let at = if digits.is_empty() { 0 } else { self.low + zeros };
        (at, digits)
    }

    /// Writes the absolute value into `magnitude`; tells the index of its lowest limb, the sign and the length.
    fn magnitude(&self, magnitude: &mut [u64; LIMBS]) -> (usize, bool, usize) {
        let (at, digits) = self.digits();
        let negative = digits.last().is_some_and(|&top| sign_of(top) != 0);
        let target = &mut magnitude[..digits.len()];
        target.copy_from_slice(digits);
        if negative {
            negate_limbs(target);
        }
        (at, negative, digits.len())
    }

    /// The finite part as sign, absolute value and index of the lowest limb.
    pub(crate) fn finite(&self) -> (bool, Vec<u64>, usize) {
        let mut magnitude = [0; LIMBS];
        let (at, negative, length) = self.magnitude(&mut magnitude);
        (negative, magnitude[..length].to_vec(), at)
    }

    #[inline(always)]
    fn add_placed<const N: usize>(&mut self, number: &Placed<N>) {
        self.add_limbs(number.at, &number.limbs, number.carry);
    }

    /// Adds a two's complement number of at least one limb, whose lowest limb has index `at`, and one more if `carry`.
    ///
    /// The window is kept wider than the addend: see "The top limb" above for why nothing runs over its end.
    #[inline(always)]
    fn add_limbs(&mut self, at: usize, addend: &[u64], mut carry: bool) {
        let end = at + addend.len();
        if at < self.low || end >= self.high {
            self.cover(at, end + 1);
        }
        for (limb, &digit) in self.limbs[at..end].iter_mut().zip(addend) {
            (*limb, carry) = limb.carrying_add(digit, carry);
        }
        let addend_sign = addend.last().map_or(0, |&top| sign_of(top));
        let rest = addend_sign.wrapping_add(u64::from(carry));
        if rest != 0 {
            self.ripple(end, rest);
        }
    }

    /// Adds `rest`, which is one or minus one, to the limbs from `from` on. This happens when partial sums change their sign.
    #[inline(never)]
    fn ripple(&mut self, from: usize, rest: u64) {
        for limb in &mut self.limbs[from..self.high] {
            *limb = limb.wrapping_add(rest);
            // Adding one goes on past a limb that became zero, subtracting one past a limb that became all ones.
            if *limb != sign_of(rest) {
                break;
            }
        }
    }

    /// All ones if the window holds a negative number, else zero.
    fn sign(&self) -> u64 {
        self.limbs[self.low..self.high].last().map_or(0, |&top| sign_of(top))
    }

    /// Widens the window to hold `at..end`, as far as there are limbs: with zeros below, with the sign above.
    #[cold]
    fn cover(&mut self, at: usize, end: usize) {
        let end = end.min(LIMBS);
        if self.low == self.high {
            (self.low, self.high) = (at, at);
        }
        if at < self.low {
            self.limbs[at..self.low].fill(0);
            self.low = at;
        }
        if end > self.high {
            let sign = self.sign();
            self.limbs[self.high..end].fill(sign);
            self.high = end;
        }
    }
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum::new()
    }
}

impl PartialEq for ExactSum {
    fn eq(&self, other: &Self) -> bool {
        self.specials == other.specials && self.digits() == other.digits()
    }
}

impl Eq for ExactSum {}

impl Hash for ExactSum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.specials.hash(state);
        self.digits().hash(state);
    }
}

impl fmt::Debug for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, digits) = self.digits();
        let mut shown = f.debug_struct("ExactSum");
        shown.field("value", &self.to_f64()).field("lowest_limb", &at).field("digits", &digits);
        shown.field("specials", &self.specials).finish()
    }
}

impl Extend<(f64, i64)> for ExactSum {
    fn extend<I: IntoIterator<Item = (f64, i64)>>(&mut self, terms: I) {
        for (x, weight) in terms {
            self.add(x, weight);
        }
    }
}

impl FromIterator<(f64, i64)> for ExactSum {
    fn from_iter<I: IntoIterator<Item = (f64, i64)>>(terms: I) -> Self {
        let mut sum = ExactSum::new();
        sum.extend(terms);
        sum
    }
}

impl Monoid for ExactSum {
    fn checked_plus(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.merge(other);
        Some(sum)
    }

    fn is_zero(&self) -> bool {
        ExactSum::is_zero(self)
    }

    fn accumulate(&mut self, other: &Self) -> Option<()> {
        self.merge(other);
        Some(())
    }
}

impl Group for ExactSum {
    fn checked_neg(&self) -> Option<Self> {
        let mut inverse = self.clone();
        inverse.negate();
        Some(inverse)
    }
}

/// All ones if `limb`, as the top of a two's complement number, makes it negative, else zero.
#[inline]
fn sign_of(limb: u64) -> u64 {
    (limb as i64 >> 63) as u64
}

/// Replaces a two's complement number by its negative.
fn negate_limbs(limbs: &mut [u64]) {
    let mut carry = true;
    for limb in limbs {
        (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
    }
}
