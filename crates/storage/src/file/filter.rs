//! Membership filters: blocked Bloom filters over 64-bit hashes that the caller makes of its keys.
//!
//! Each block of rows has its own filter, a run of lines. The upper half of a hash chooses the line, the lower half one bit in each of its eight words; a probe
//! touches one cache line. With 12 bits a key about one foreign key in 200 passes; none that is there is ever rejected. Filters of many blocks share a
//! page, which goes through the cache as rows do, so that filters do not occupy memory when nobody probes.

use arrow_buffer::Buffer;

use super::archive::{ALIGNMENT, Line};

const WORDS: usize = ALIGNMENT / 4;
const BITS: usize = ALIGNMENT * 8;
/// Odd numbers that spread the lower half of a hash, another one for each word.
const SALTS: [u32; WORDS] =
    [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1, 0xd3a2_646d, 0xfd70_46c5, 0xb55a_4f09];

/// The filter of some keys.
pub(crate) fn build(hashes: &[u64], bits_per_key: usize) -> Vec<Line> {
    if bits_per_key == 0 || hashes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line([0; ALIGNMENT]); (hashes.len() * bits_per_key).div_ceil(BITS)];
    let count = lines.len();
    for hash in hashes {
        let line = &mut lines[line_of(*hash, count)].0;
        for (word, bit) in bits(*hash).enumerate() {
            line[word * 4 + bit / 8] |= 1 << (bit % 8);
        }
    }
    lines
}

/// Filters in a page in memory.
#[derive(Debug)]
pub struct FilterPage {
    /// The lines of all filters.
    lines: Buffer,
    /// Bytes of memory.
    pub(crate) bytes: usize,
}

impl FilterPage {
    pub(crate) fn new(lines: Buffer, bytes: usize) -> Self {
        Self { lines, bytes }
    }

    /// How many lines there are.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len() / ALIGNMENT
    }

    /// Whether a key of this hash may be in the block whose filter are `count` lines from `first` on.
    pub(crate) fn may_contain(&self, first: usize, count: usize, hash: u64) -> bool {
        let Some(start) =
            first.checked_add(line_of(hash, count)).and_then(|line| line.checked_mul(ALIGNMENT))
        else {
            return true;
        };
        // A line that is not there proves nothing.
        let Some(line) = self.lines.as_slice().get(start..start + ALIGNMENT) else { return true };
        bits(hash).enumerate().all(|(word, bit)| line[word * 4 + bit / 8] & (1 << (bit % 8)) != 0)
    }
}

fn line_of(hash: u64, count: usize) -> usize {
    (((hash >> 32) * count as u64) >> 32) as usize
}

fn bits(hash: u64) -> impl Iterator<Item = usize> {
    SALTS.iter().map(move |salt| ((hash as u32).wrapping_mul(*salt) >> 27) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> u64 {
        let mixed = (number ^ (number >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d)
    }

    fn page(lines: &[Line]) -> FilterPage {
        let bytes: Vec<u8> = lines.iter().flat_map(|line| line.0).collect();
        FilterPage::new(Buffer::from_vec(bytes), 0)
    }

    #[test]
    fn what_is_there_passes_and_most_of_the_rest_does_not() {
        let hashes: Vec<u64> = (0..10_000).map(|number| hash(number * 7 + 1)).collect();
        let lines = build(&hashes, 12);
        let (count, page) = (lines.len(), page(&lines));
        assert!(hashes.iter().all(|hash| page.may_contain(0, count, *hash)));
        let passed = (0..100_000).filter(|number| page.may_contain(0, count, hash(number * 7 + 2))).count();
        assert!(passed < 1_000, "{passed} of 100000 foreign keys passed");
    }

    #[test]
    fn no_keys_and_wrong_places_are_no_harm() {
        assert!(build(&[], 12).is_empty() && build(&[1], 0).is_empty());
        let page = page(&build(&[1, 2, 3], 12));
        assert!(page.may_contain(usize::MAX, 5, 1) && page.may_contain(1 << 40, 5, 1));
    }
}
