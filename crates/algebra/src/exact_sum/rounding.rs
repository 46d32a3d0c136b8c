//! From a big integer to the nearest double, with one rounding.
//!
//! **Promise.** The result is the double nearest to the exact value, ties to the one with an even mantissa, subnormal numbers
//! included; values that round beyond the largest double become infinite. Zero is `+0.0`.
//!
//! **Why it works.** The lowest bit of the result is known from the highest bit of the value: 52 places below, but not below
//! `2^-1074`. The bits from there on are the mantissa; the first bit below it and the question whether any lower bit is
//! set decide about rounding up. A mantissa that rounds up to `2^53` carries into the exponent field by plain
//! addition, since the bits of doubles, read as integers, rise with the value; likewise from the largest double to infinity.

/// The exponent of the lowest bit of subnormal doubles.
const LEAST_EXPONENT: i64 = -1074;
/// The exponent of the highest bit of the largest double.
const GREATEST_EXPONENT: i64 = 1023;

/// Rounds `magnitude * 2^unit`, negated if `negative`, to a double.
///
/// `inexact` says that the true value is a little larger than `magnitude`, by less than one unit; the caller then provides more
/// bits of magnitude than a mantissa has.
pub(crate) fn round(negative: bool, magnitude: &[u64], unit: i64, inexact: bool) -> f64 {
    let Some(top) = bit_length(magnitude).checked_sub(1) else {
        return 0.0;
    };
    let highest = unit + top as i64;
    if highest > GREATEST_EXPONENT {
        return signed(negative, f64::INFINITY);
    }
    let lowest = (highest - 52).max(LEAST_EXPONENT);
    let mantissa = rounded_shift(magnitude, lowest - unit, inexact);
    let field = ((lowest - LEAST_EXPONENT) as u64) << 52;
    signed(negative, f64::from_bits(field + mantissa))
}

/// `magnitude / 2^places`, rounded to the nearest integer, ties to even. A negative number of places shifts left.
fn rounded_shift(magnitude: &[u64], places: i64, inexact: bool) -> u64 {
    let Some(below) = places.checked_sub(1).and_then(|below| usize::try_from(below).ok()) else {
        // Nothing is cut off: fewer than 53 bits, moved up.
        return bits_from(magnitude, 0) << places.unsigned_abs();
    };
    let floor = bits_from(magnitude, below + 1);
    let half = bits_from(magnitude, below) & 1 == 1;
    let more = inexact || any_bit_below(magnitude, below);
    floor + u64::from(half && (more || floor & 1 == 1))
}

/// The number of bits up to the highest that is set.
fn bit_length(magnitude: &[u64]) -> usize {
    let Some(top) = magnitude.iter().rposition(|&limb| limb != 0) else {
        return 0;
    };
    64 * (top + 1) - magnitude[top].leading_zeros() as usize
}

/// The 64 bits from bit `start` on.
fn bits_from(magnitude: &[u64], start: usize) -> u64 {
    let limb = |index: usize| u128::from(magnitude.get(index).copied().unwrap_or(0));
    let (index, shift) = (start / 64, start % 64);
    ((limb(index) | limb(index + 1) << 64) >> shift) as u64
}

/// Whether a bit below bit `end` is set.
fn any_bit_below(magnitude: &[u64], end: usize) -> bool {
    let whole = (end / 64).min(magnitude.len());
    let part = magnitude.get(end / 64).is_some_and(|limb| limb & ((1 << (end % 64)) - 1) != 0);
    part || magnitude[..whole].iter().any(|&limb| limb != 0)
}

fn signed(negative: bool, x: f64) -> f64 {
    // A magnitude that rounds to zero keeps no sign, so that zero has one form.
    if negative { 0.0 - x } else { x }
}
