//! Words that rows are sorted by: one machine integer per row, packed from the highest bits down.
//!
//! Words are sorted by the radix of their highest bits (`radix.rs`), and few or equal ones by the standard library's unstable sort.

/// An unsigned integer that packed columns fit in.
pub(crate) trait Word: Copy + Ord + Default {
    fn from_u64(value: u64) -> Self;
    fn from_u128(value: u128) -> Self;
    fn to_u128(self) -> u128;
    /// The lowest 64 bits.
    fn low(self) -> u64;
    /// This word with `value` put in, `shift` bits above its low end.
    fn or(self, value: Self, shift: u32) -> Self;
    /// The word without its lowest `bits`.
    fn above(self, bits: u32) -> Self;
    /// The next word, or this one if it is the greatest.
    fn next(self) -> Self;
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $word
            }
            #[inline(always)]
            fn from_u128(value: u128) -> Self {
                value as $word
            }
            #[inline(always)]
            fn to_u128(self) -> u128 {
                self as u128
            }
            #[inline(always)]
            fn low(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn or(self, value: Self, shift: u32) -> Self {
                self | value.checked_shl(shift).unwrap_or(0)
            }
            #[inline(always)]
            fn above(self, bits: u32) -> Self {
                self.checked_shr(bits).unwrap_or(0)
            }
            #[inline(always)]
            fn next(self) -> Self {
                self.saturating_add(1)
            }
        }
    };
}
word!(u64);
word!(u128);
