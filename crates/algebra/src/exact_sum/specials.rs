//! Weighted counts of NaN and the infinities in an exact sum.
//!
//! **Promise.** The counts form a group: adding and removing the same terms, in any order, leaves nothing behind. The value
//! rule commutes with negation: the value of the inverse is the inverse of the value.
//!
//! Counts have 128 bits: `2^64` terms of any 64-bit weight fit.

/// How often each special value is in the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Specials {
    pub(super) nan: i128,
    pub(super) plus_infinity: i128,
    pub(super) minus_infinity: i128,
}

impl Specials {
    /// Counts a NaN or infinity; `x` is none of the finite numbers.
    #[cold]
    pub(super) fn add(&mut self, x: f64, weight: i64) {
        let count = if x.is_nan() {
            &mut self.nan
        } else if x > 0.0 {
            &mut self.plus_infinity
        } else {
            &mut self.minus_infinity
        };
        *count = count.wrapping_add(i128::from(weight));
    }

    pub(super) fn merge(&mut self, other: &Specials) {
        self.nan = self.nan.wrapping_add(other.nan);
        self.plus_infinity = self.plus_infinity.wrapping_add(other.plus_infinity);
        self.minus_infinity = self.minus_infinity.wrapping_add(other.minus_infinity);
    }

    pub(super) fn negated(&self) -> Specials {
        Specials {
            nan: self.nan.wrapping_neg(),
            plus_infinity: self.plus_infinity.wrapping_neg(),
            minus_infinity: self.minus_infinity.wrapping_neg(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        *self == Specials::default()
    }

    /// What the special values make of the sum, or `None` if there are none and the finite part decides.
    ///
    /// A count of negative weight contributes the infinity of the opposite sign; contributions that disagree are NaN.
    pub(super) fn value(&self) -> Option<f64> {
        if self.is_zero() {
            return None;
        }
        let direction = (self.plus_infinity.signum(), -self.minus_infinity.signum());
        Some(match direction {
            _ if self.nan != 0 => f64::NAN,
            (0 | 1, 0 | 1) => f64::INFINITY,
            (0 | -1, 0 | -1) => f64::NEG_INFINITY,
            _ => f64::NAN,
        })
    }
}
