//! Radix sort of packed words by some of their bits, from the lowest digit to the highest.
//!
//! Each pass deals the words out by one digit and keeps the order of words with equal digits, so after the last pass they are ordered by all digits, and
//! words that agree in them stand as they stood before. A pass reads and writes every word once and compares nothing: with the few bits that
//! range-compressed keys need it beats a comparison sort several times over. With many bits it does not: then the highest go by radix, which leaves
//! few words that agree in them, and those are compared.

/// Bits of a digit at most: what is written in a pass stays in the nearest caches, also those of the page tables.
const DIGIT_BITS: u32 = 8;
/// Words that agree in the highest bits and are compared: so few that they are in the cache and need few comparisons each.
const RUN_BITS: u32 = 5;
/// Fewer words than this are sorted faster by comparing.
const LEAST_WORDS: usize = 1024;

/// Of `bits` bits, how many of the highest are worth dealing by: all if few passes do, else as many as leave short runs of words that agree in them.
pub(crate) fn worth_dealing(words: usize, bits: u32) -> u32 {
    let runs = (usize::BITS - words.leading_zeros()).saturating_sub(RUN_BITS);
    if bits <= 3 * DIGIT_BITS { bits } else { runs.next_multiple_of(DIGIT_BITS).min(bits) }
}

/// Sorts words by the `bits` bits above `from`, stable. Returns false, and does nothing, where comparing words is faster.
pub(crate) fn radix_sort<W: Copy + Default>(
    words: &mut Vec<W>,
    from: u32,
    bits: u32,
    shifted: impl Fn(W, u32) -> usize,
) -> bool {
    let passes = bits.div_ceil(DIGIT_BITS);
    if words.len() < LEAST_WORDS {
        return false;
    }
    let mut dealt = vec![W::default(); if passes == 0 { 0 } else { words.len() }];
    for pass in 0..passes {
        let (low, high) = (bits * pass / passes, bits * (pass + 1) / passes);
        let mask = (1 << (high - low)) - 1;
        deal(words, &mut dealt, mask, |word| shifted(word, from + low) & mask);
        std::mem::swap(words, &mut dealt);
    }
    true
}

/// Copies the words, ordered by a digit.
fn deal<W: Copy>(words: &[W], dealt: &mut [W], greatest: usize, digit: impl Fn(W) -> usize) {
    let mut places = vec![0_u32; greatest + 2];
    words.iter().for_each(|word| places[digit(*word) + 1] += 1);
    (1..places.len()).for_each(|place| places[place] += places[place - 1]);
    for word in words {
        let place = &mut places[digit(*word)];
        dealt[*place as usize] = *word;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{radix_sort, worth_dealing};

    fn random(seed: u64) -> impl Iterator<Item = u64> {
        let step =
            |state: &u64| Some((state ^ (state << 13)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        std::iter::successors(Some(seed), step)
    }

    #[test]
    fn differential_radix_sort_and_comparison_sort_agree() {
        for bits in 0..=33 {
            let mask = (1_u64 << bits) - 1;
            let mut words: Vec<u64> =
                random(bits + 1).take(5000).map(|word| word & ((mask << 12) | 0xfff)).collect();
            let mut expected = words.clone();
            expected.sort_by_key(|word| word >> 12);
            assert!(radix_sort(&mut words, 12, bits as u32, |word, by| (word >> by) as usize));
            assert_eq!(words, expected, "{bits} bits");
        }
    }

    #[test]
    fn it_leaves_few_words_to_others() {
        let mut words: Vec<u64> = random(3).take(100).collect();
        assert!(!radix_sort(&mut words, 0, 8, |word, by| (word >> by) as usize));
    }

    #[test]
    fn all_bits_are_dealt_by_if_they_are_few_and_enough_if_they_are_many() {
        assert_eq!(worth_dealing(1 << 20, 20), 20);
        assert_eq!(worth_dealing(1 << 20, 100), 16);
        assert_eq!(worth_dealing(2_000, 100), 8);
    }
}
