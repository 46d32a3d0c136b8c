//! Keys as bytes in the order of keys, for the index and the filters of files.
//!
//! The bytes are those of arrow-row, whose order is that of a trace. They are not promised to stay the same for ever, so a file says which encoding it was
//! written with; a reader with another one does not use its index, and finds its rows by looking at all blocks.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::Schema;

use crate::{OrderKey, OrderTerm, TraceError};

/// The encoding of this version. A test holds its bytes; it changes when they do.
pub(crate) const ENCODING: u32 = 1;

/// Bounds are cut to about this length.
const LONGEST: usize = 64;

/// Encodes the key columns of a schema.
#[derive(Debug)]
pub(crate) struct KeyBytes {
    key_len: usize,
    /// None if a type of the key has no order-preserving bytes.
    order: Option<OrderKey>,
}

impl KeyBytes {
    pub(crate) fn new(schema: &Schema, key_len: usize) -> Self {
        let term = |data_type| OrderTerm { data_type, descending: false, nulls_first: true };
        let fields = schema.fields().iter().take(key_len);
        let terms: Vec<OrderTerm> = fields.map(|field| term(field.data_type().clone())).collect();
        Self { key_len, order: OrderKey::new(&terms).ok() }
    }

    /// One value for each row; none if keys have no bytes.
    pub(crate) fn encode(&self, columns: &[ArrayRef], len: usize) -> Result<Option<ArrayRef>, TraceError> {
        let key = &columns[..self.key_len];
        self.order.as_ref().map(|order| order.encode(key, len)).transpose()
    }
}

/// A lower and an upper bound of sorted keys, cut to a bounded length, and a hash of each different key.
pub(crate) fn summary(keys: Option<&ArrayRef>) -> (Vec<u8>, Vec<u8>, Vec<u64>) {
    let Some(keys) = keys.map(|keys| keys.as_binary_view()).filter(|keys| !keys.is_empty()) else {
        return (Vec::new(), vec![0xff; LONGEST], Vec::new());
    };
    let (first, last) = (keys.value(0), keys.value(keys.len() - 1));
    let mut hashes: Vec<u64> = Vec::new();
    for row in 0..keys.len() {
        if row == 0 || keys.value(row) != keys.value(row - 1) {
            hashes.push(hash(keys.value(row)));
        }
    }
    (lower(first), upper(last), hashes)
}

/// A hash that is the same everywhere and always: FNV-1a, with its bits mixed at the end.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn lower(key: &[u8]) -> Vec<u8> {
    key[..key.len().min(LONGEST)].to_vec()
}

/// The least short bytes that are not below the key: a longer key is cut and its last byte raised.
fn upper(key: &[u8]) -> Vec<u8> {
    let mut bound = lower(key);
    if bound.len() == key.len() {
        return bound;
    }
    while bound.last() == Some(&0xff) {
        bound.pop();
    }
    match bound.last_mut() {
        Some(last) => *last += 1,
        None => return key.to_vec(),
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringViewArray};
    use arrow_schema::{DataType, Field};
    use std::sync::Arc;

    #[test]
    fn bounds_are_short_and_hold() {
        let long = [7; 100];
        assert!(lower(&long).as_slice() <= &long[..] && upper(&long).as_slice() >= &long[..]);
        assert_eq!((lower(&long).len(), upper(&long)[63]), (64, 8));
        let high = [0xff; 100];
        assert!(upper(&high).as_slice() >= &high[..]);
        assert_eq!(upper(b"short"), b"short");
    }

    /// If this fails, arrow-row writes other bytes than before: raise `ENCODING`, so that old files are read without their index.
    #[test]
    fn the_encoding_is_the_one_that_files_name() {
        let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8View, true)];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![Some(-2), None])),
            Arc::new(StringViewArray::from(vec![Some("ab"), None])),
        ];
        let keys = KeyBytes::new(&Schema::new(fields), 2).encode(&columns, 2).unwrap().unwrap();
        let keys = keys.as_binary_view();
        let first = [1, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 2, b'a', b'b', 0, 0, 0, 0, 0, 0, 2];
        assert_eq!((ENCODING, keys.value(0), keys.value(1)), (1, &first[..], &[0; 10][..]));
    }
}
