//! The compact byte form of an exact sum: what a trace keeps per group.
//!
//! ```text
//! zero      nothing
//! header    1 byte: index of the lowest limb (0..70), plus 0x80 if special counts follow
//! specials  48 bytes, only if announced: the counts of NaN, +inf and -inf as i128
//! limbs     8 bytes each: the significant limbs in two's complement
//! ```
//! All integers are little-endian. The lowest limb is not zero and the highest does not merely repeat the sign of the one below.
//! Sums of everyday doubles take 9 or 17 bytes: whole numbers need one limb, others mostly one for the fraction and one
//! for the integer part.
//!
//! **Promise.** Equal sums have equal bytes and different sums different ones; zero is the empty slice. Reading accepts exactly
//! what writing produces: any other bytes, as a damaged file may hold, are `None`.

use super::specials::Specials;
use super::{ExactSum, LIMBS, sign_of};

/// The bit of the header that announces special counts.
const HAS_SPECIALS: u8 = 0x80;
const SPECIALS_BYTES: usize = 48;

impl ExactSum {
    /// Appends the compact form to `out`.
    ///
    /// ```
    /// use tailrace_algebra::ExactSum;
    /// let sum = ExactSum::from_iter([(2.5, 2), (0.125, 1)]);
    /// let mut bytes = Vec::new();
    /// sum.write_bytes(&mut bytes);
    /// assert_eq!(bytes.len(), 17);
    /// assert_eq!(ExactSum::read_bytes(&bytes), Some(sum));
    /// ```
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        let (at, digits) = self.digits();
        if digits.is_empty() && self.specials.is_zero() {
            return;
        }
        let has_specials = !self.specials.is_zero();
        out.push(at as u8 | if has_specials { HAS_SPECIALS } else { 0 });
        if has_specials {
            out.extend_from_slice(&self.specials.to_bytes());
        }
        out.extend(digits.iter().flat_map(|limb| limb.to_le_bytes()));
    }

    /// The sum that was written as `bytes`, or `None` if they are not the compact form of any sum.
    pub fn read_bytes(bytes: &[u8]) -> Option<ExactSum> {
        let mut sum = ExactSum::new();
        sum.add_bytes(bytes)?;
        Some(sum)
    }

    /// Adds the sum that was written as `bytes`; on `None` they are not the compact form of any sum, and nothing was added.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Option<()> {
        let Some((&header, body)) = bytes.split_first() else {
            return Some(());
        };
        let (specials, digits) = split_specials(header, body)?;
        let at = usize::from(header & !HAS_SPECIALS);
        self.add_digits(at, digits, specials.is_some())?;
        if let Some(specials) = specials {
            self.specials.merge(&specials);
        }
        Some(())
    }

    /// Checks and adds the limbs. No limbs at all are only right beside special counts, and then at index zero.
    fn add_digits(&mut self, at: usize, digits: &[u8], has_specials: bool) -> Option<()> {
        let (chunks, rest) = digits.as_chunks::<8>();
        if !rest.is_empty() || at + chunks.len() > LIMBS {
            return None;
        }
        if chunks.is_empty() {
            return (has_specials && at == 0).then_some(());
        }
        let mut buffer = [0; LIMBS];
        let limbs = &mut buffer[..chunks.len()];
        for (limb, chunk) in limbs.iter_mut().zip(chunks) {
            *limb = u64::from_le_bytes(*chunk);
        }
        if !is_trimmed(limbs) {
            return None;
        }
        self.add_limbs(at, limbs, false);
        Some(())
    }
}

impl Specials {
    fn to_bytes(self) -> [u8; SPECIALS_BYTES] {
        let mut bytes = [0; SPECIALS_BYTES];
        let counts = [self.nan, self.plus_infinity, self.minus_infinity];
        for (target, count) in bytes.as_chunks_mut::<16>().0.iter_mut().zip(counts) {
            *target = count.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; SPECIALS_BYTES]) -> Option<Specials> {
        let [nan, plus_infinity, minus_infinity] = bytes.as_chunks::<16>().0 else {
            return None;
        };
        let specials = Specials {
            nan: i128::from_le_bytes(*nan),
            plus_infinity: i128::from_le_bytes(*plus_infinity),
            minus_infinity: i128::from_le_bytes(*minus_infinity),
        };
        (!specials.is_zero()).then_some(specials)
    }
}

/// The special counts that the header announces, if any, and the bytes behind them.
fn split_specials(header: u8, body: &[u8]) -> Option<(Option<Specials>, &[u8])> {
    if header & HAS_SPECIALS == 0 {
        return Some((None, body));
    }
    let (counts, digits) = body.split_first_chunk::<SPECIALS_BYTES>()?;
    Some((Some(Specials::from_bytes(counts)?), digits))
}

/// Whether no limb could be left out at either end.
fn is_trimmed(limbs: &[u64]) -> bool {
    let low_matters = limbs.first().is_some_and(|&lowest| lowest != 0);
    let high_matters = match limbs {
        [.., below, top] => *top != sign_of(*below),
        _ => true,
    };
    low_matters && high_matters
}
