//! A double taken apart, and its multiples put into place among the limbs of an exact sum.
//!
//! **Promise.** `Finite::of(x)` is exactly `±mantissa * 2^exponent`. [`term`] and [`product`] give exactly `x * weight` and
//! `x * y * weight` in the unit of [`ExactSum`](super::ExactSum).
//!
//! **Why the widths suffice.** A mantissa has 53 bits; shifted by up to 63 to its place within a limb it has 116 and fills two
//! limbs. Times a weight of up to `2^63` it has at most 180 bits: three limbs, the sign included. With a second
//! mantissa it is 233 bits: four limbs.
//!
//! **Why magnitudes.** Shifting 53 bits into two limbs and multiplying those without sign takes a handful of plain
//! instructions; the sign is put on at the end by inverting all bits, and the one that is still missing to the negative
//! travels as the first carry of the addition.

use super::FRACTION_LIMBS;

/// Bits of the fraction field of a double.
const FRACTION_BITS: u32 = 52;
/// The exponent field of NaN and the infinities.
const SPECIAL_FIELD: u32 = 0x7ff;
/// The exponent of the lowest bit of subnormal doubles, and of those with exponent field 1.
const LEAST_EXPONENT: i32 = -1074;

/// A finite double as `±mantissa * 2^exponent`.
#[derive(Clone, Copy)]
pub(super) struct Finite {
    pub(super) negative: bool,
    /// At most 53 bits.
    pub(super) mantissa: u64,
    /// The exponent of the lowest bit of the mantissa.
    exponent: i32,
}

impl Finite {
    /// Takes `x` apart; `None` for NaN and the infinities.
    #[inline(always)]
    pub(super) fn of(x: f64) -> Option<Finite> {
        let bits = x.to_bits();
        let field = (bits >> FRACTION_BITS) as u32 & SPECIAL_FIELD;
        if field == SPECIAL_FIELD {
            return None;
        }
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        // Subnormal numbers share the exponent of field 1 and lack the hidden bit.
        let mantissa = fraction | (u64::from(field != 0) << FRACTION_BITS);
        let exponent = LEAST_EXPONENT + field.max(1) as i32 - 1;
        Some(Finite { negative: bits >> 63 == 1, mantissa, exponent })
    }
}

/// A number in place: `limbs` in two's complement from index `at` on, plus one unit of the lowest limb if `carry`.
pub(super) struct Placed<const N: usize> {
    pub(super) at: usize,
    pub(super) limbs: [u64; N],
    pub(super) carry: bool,
}

/// `x * weight` in place.
#[inline(always)]
pub(super) fn term(x: Finite, weight: i64) -> Placed<3> {
    let (at, shift) = position(x.exponent);
    let magnitude = times(shifted(x.mantissa, shift), weight.unsigned_abs());
    signed(at, magnitude, x.negative != (weight < 0))
}

/// `x * y * weight` in place.
#[inline(always)]
pub(super) fn product(x: Finite, y: Finite, weight: i64) -> Placed<4> {
    let (at, shift) = position(x.exponent + y.exponent);
    let magnitude = times(times::<2, 3>(shifted(x.mantissa, shift), y.mantissa), weight.unsigned_abs());
    signed(at, magnitude, (x.negative != y.negative) != (weight < 0))
}

/// The limb that holds the bit of `2^exponent`, and the place of that bit in it.
#[inline(always)]
fn position(exponent: i32) -> (usize, u32) {
    // Exponents are at least twice LEAST_EXPONENT, which the fraction limbs cover: the sum is not negative.
    let bit = exponent.wrapping_add(64 * FRACTION_LIMBS as i32) as u32;
    ((bit / 64) as usize, bit % 64)
}

/// A mantissa moved up by less than a limb.
#[inline(always)]
fn shifted(mantissa: u64, shift: u32) -> [u64; 2] {
    // In two steps, as a shift by the whole 64 bits is none.
    [mantissa << shift, (mantissa >> 1) >> (63 - shift)]
}

/// The product with one more limb, `M = N + 1`, for the carry.
#[inline(always)]
fn times<const N: usize, const M: usize>(limbs: [u64; N], factor: u64) -> [u64; M] {
    let mut product = [0; M];
    let mut carry = 0;
    for (digit, limb) in product.iter_mut().zip(limbs.into_iter().chain([0])) {
        (*digit, carry) = limb.carrying_mul(factor, carry);
    }
    product
}

/// The magnitude with its sign: the negative of a number is its inverted bits plus one.
#[inline(always)]
fn signed<const N: usize>(at: usize, magnitude: [u64; N], negative: bool) -> Placed<N> {
    let mask = u64::from(negative).wrapping_neg();
    Placed { at, limbs: magnitude.map(|limb| limb ^ mask), carry: negative }
}
