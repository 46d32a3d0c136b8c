//! Digests of texts and bytes: md5, sha1 and sha256, as their standards define them, in hexadecimal letters.

use std::fmt::Write;
use std::sync::LazyLock;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::Result;

use super::definition::Definition;
use super::rows::text_column;

/// All digests.
pub(crate) static DIGESTS: &[Definition] = &[
    Definition {
        name: "md5",
        takes: bytes,
        usage: USAGE,
        gives: |_| DataType::Utf8View,
        run: |args| digests(args, md5),
    },
    Definition {
        name: "sha1",
        takes: bytes,
        usage: USAGE,
        gives: |_| DataType::Utf8View,
        run: |args| digests(args, sha1),
    },
    Definition {
        name: "sha256",
        takes: bytes,
        usage: USAGE,
        gives: |_| DataType::Utf8View,
        run: |args| digests(args, sha256),
    },
];

const USAGE: &str = "a text or bytes";

fn bytes(args: &[DataType]) -> Option<Vec<DataType>> {
    match args {
        [DataType::Binary | DataType::BinaryView | DataType::LargeBinary] => Some(vec![DataType::BinaryView]),
        [found] if found.is_string() || found.is_null() => Some(vec![DataType::Utf8View]),
        _ => None,
    }
}

fn digests(args: &[ArrayRef], digest: fn(&[u8]) -> Vec<u8>) -> Result<ArrayRef> {
    let array = &args[0];
    let value = |row: usize| match array.data_type() {
        DataType::BinaryView => array.as_binary_view().value(row),
        _ => array.as_string_view().value(row).as_bytes(),
    };
    text_column(array.len(), |row| {
        if array.is_null(row) {
            return Ok(None);
        }
        let mut out = String::with_capacity(64);
        digest(value(row)).iter().for_each(|byte| {
            let _ = write!(out, "{byte:02x}");
        });
        Ok(Some(out))
    })
}

/// The message with a one bit, zeros and its length in bits, so that it is whole blocks of 64 bytes.
fn padded(message: &[u8], little: bool) -> Vec<u8> {
    let bits = (message.len() as u64).wrapping_mul(8);
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64), 0);
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&if little { bits.to_le_bytes() } else { bits.to_be_bytes() });
    padded
}

fn md5(message: &[u8]) -> Vec<u8> {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let table = &*SINES;
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded(message, true).chunks_exact(64) {
        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (mixed, word) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), (7 * i) % 16),
            };
            let sum = a.wrapping_add(mixed).wrapping_add(table[i]).wrapping_add(words[word]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4]));
        }
        state.iter_mut().zip([a, b, c, d]).for_each(|(word, add)| *word = word.wrapping_add(add));
    }
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn sha1(message: &[u8]) -> Vec<u8> {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded(message, false).chunks_exact(64) {
        let mut words = big_words(block);
        for i in 16..80 {
            words.push((words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.iter().enumerate() {
            let (mixed, constant) = match i / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let sum = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, sum.wrapping_add(*word));
        }
        state.iter_mut().zip([a, b, c, d, e]).for_each(|(word, add)| *word = word.wrapping_add(add));
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn sha256(message: &[u8]) -> Vec<u8> {
    let (table, start) = &*ROOTS;
    let mut state = start.clone();
    for block in padded(message, false).chunks_exact(64) {
        let mut words = big_words(block);
        for i in 16..64 {
            let (x, y) = (words[i - 15], words[i - 2]);
            let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            words.push(words[i - 16].wrapping_add(s0).wrapping_add(words[i - 7]).wrapping_add(s1));
        }
        let mut s = state.clone();
        for i in 0..64 {
            let s1 = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
            let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
            let first =
                s[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(table[i]).wrapping_add(words[i]);
            let s0 = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
            let second = s0.wrapping_add((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            s.rotate_right(1);
            s[4] = s[4].wrapping_add(first);
            s[0] = first.wrapping_add(second);
        }
        state.iter_mut().zip(s).for_each(|(word, add)| *word = word.wrapping_add(add));
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The sines of 1 to 64, as md5 wants them.
static SINES: LazyLock<Vec<u32>> =
    LazyLock::new(|| (1..=64).map(|i| (f64::from(i).sin().abs() * 4_294_967_296.0) as u32).collect());

/// The cube roots of the first 64 primes and the square roots of the first 8, as sha256 wants them.
static ROOTS: LazyLock<(Vec<u32>, Vec<u32>)> = LazyLock::new(|| {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    let primes: Vec<u32> = (2_u32..).filter(is_prime).take(64).collect();
    let cubes = primes.iter().map(|prime| root_bits(*prime, 3)).collect();
    (cubes, primes[..8].iter().map(|prime| root_bits(*prime, 2)).collect())
});

/// The first 32 bits behind the point of the square or cube root of a prime.
fn root_bits(prime: u32, degree: u32) -> u32 {
    let wanted = u128::from(prime) << (32 * degree);
    let (mut low, mut high) = (0_u128, 1_u128 << 40);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle.pow(degree) <= wanted { low = middle } else { high = middle }
    }
    low as u32
}

fn big_words(block: &[u8]) -> Vec<u32> {
    block.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_of_the_standards() {
        assert_eq!(hex(&md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex(&md5(b"abc")), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex(&sha1(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(&sha256(b"abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(
            hex(&sha256(long.as_bytes())),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }
}
