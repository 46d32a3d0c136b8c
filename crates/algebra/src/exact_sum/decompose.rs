//! A double taken apart, and its multiples put into place among the limbs of an exact sum.
//!
//! **Promise.** `Finite::of(x)` is exactly `mantissa * 2^exponent`. `place` and `place_product` give the limbs, in two's
//! complement and sign extended, of exactly `mantissa * 2^exponent` (times the weight) in the unit of
//! [`ExactSum`](super::ExactSum).
//!
//! **Why the widths suffice.** A mantissa has 53 bits and a weight 63 (and `2^63` itself), so their product has at most 117 with
//! its sign; shifted by up to 63 it fits 180 bits: three limbs. With two mantissas it is 170 and 233 bits: four limbs.

use super::FRACTION_LIMBS;

/// Bits of the fraction field of a double.
const FRACTION_BITS: u32 = 52;
/// The exponent field of NaN and the infinities.
const SPECIAL_FIELD: i32 = 0x7ff;
/// The exponent of the lowest bit of a double with exponent field 1, and of all subnormal ones.
const LEAST_EXPONENT: i32 = -1074;

/// A finite double as `mantissa * 2^exponent`.
pub(super) struct Finite {
    /// At most 53 bits and a sign.
    pub(super) mantissa: i64,
    /// The exponent of the lowest bit of the mantissa.
    pub(super) exponent: i32,
}

impl Finite {
    /// Takes `x` apart; `None` for NaN and the infinities.
    #[inline]
    pub(super) fn of(x: f64) -> Option<Finite> {
        let bits = x.to_bits();
        let field = (bits >> FRACTION_BITS) as i32 & SPECIAL_FIELD;
        if field == SPECIAL_FIELD {
            return None;
        }
        let fraction = (bits & ((1 << FRACTION_BITS) - 1)) as i64;
        // Subnormal numbers share the exponent of field 1 and lack the hidden bit.
        let magnitude = fraction | (i64::from(field != 0) << FRACTION_BITS);
        let mantissa = if x.is_sign_negative() { -magnitude } else { magnitude };
        Some(Finite { mantissa, exponent: LEAST_EXPONENT + field.max(1) - 1 })
    }
}

/// The limbs of `value * 2^exponent` and the index of the lowest, for `|value| <= 2^116`.
#[inline]
pub(super) fn place(value: i128, exponent: i32) -> (usize, [u64; 3]) {
    let (at, shift) = position(exponent);
    let low = (value as u128) << shift;
    let high = (value >> 64) >> (64 - shift);
    (at, [low as u64, (low >> 64) as u64, high as u64])
}

/// The limbs of `product * weight * 2^exponent` and the index of the lowest, for `|product| <= 2^106`.
#[inline]
pub(super) fn place_product(product: i128, weight: i64, exponent: i32) -> (usize, [u64; 4]) {
    let (at, shift) = position(exponent);
    // The lower and the upper limb of the product, the upper one signed, each times the weight: below 2^127 and 2^106.
    let low_part = i128::from(product as u64) * i128::from(weight);
    let high_part = (product >> 64) * i128::from(weight) + (low_part >> 64);
    // high_part and the lower half of low_part now make one number of three limbs; shift it into four.
    let bottom = u128::from(low_part as u64) << shift;
    let top = (high_part as u128) << shift;
    let middle = (bottom >> 64) as u64 | top as u64;
    let last = ((high_part >> 64) >> (64 - shift)) as u64;
    (at, [bottom as u64, middle, (top >> 64) as u64, last])
}

/// The limb that holds the bit of `2^exponent`, and the place of that bit in it.
#[inline]
fn position(exponent: i32) -> (usize, u32) {
    // Exponents are at least twice LEAST_EXPONENT, which the fraction limbs cover: the sum is not negative.
    let bit = exponent.wrapping_add(64 * FRACTION_LIMBS as i32) as u32;
    ((bit / 64) as usize, bit % 64)
}
