//! The content hash is the same for the same Z-set, however it is ordered and cut, another for another one, and adds up.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use tailrace_trace::{ChangeBatch, content_hash, normal_array, normal_schema};

use crate::columns::{any_type, changes, schema, types, zset_of};
use crate::random::Random;

/// The rows in another order, cut in two.
fn shuffled(batch: &ChangeBatch, random: &mut Random) -> [ChangeBatch; 2] {
    let mut places: Vec<u32> = (0..batch.len() as u32).collect();
    (1..places.len()).for_each(|place| places.swap(place, random.below(place + 1)));
    let cut = random.below(places.len() + 1);
    [&places[..cut], &places[cut..]].map(|part| batch.take(&UInt32Array::from(part.to_vec())).unwrap())
}

fn check(batch: &ChangeBatch, random: &mut Random) {
    let hash = content_hash(batch).unwrap();
    assert_eq!(content_hash(&batch.consolidate().unwrap()).unwrap(), hash);
    let [a, b] = shuffled(batch, random).map(|part| content_hash(&part).unwrap());
    assert_eq!(a.wrapping_add(b), hash);
    assert_eq!(content_hash(&batch.clone().negate().unwrap()).unwrap(), hash.wrapping_neg());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn prop_hash_forgets_order_and_cut_for_every_type(seed: u64, len in 0usize..60) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check(&changes(&schema(&[data_type]), len, &mut random), &mut random);
        }
    }

    #[test]
    fn prop_hashes_are_equal_if_and_only_if_contents_are(seed: u64, len in 0usize..4, width in 0usize..4) {
        let mut random = Random::new(seed);
        let types: Vec<_> = (0..width).map(|_| any_type(&mut random)).collect();
        let schema = schema(&types);
        let [a, b] = [(); 2].map(|()| changes(&schema, len, &mut random));
        let equal = content_hash(&a).unwrap() == content_hash(&b).unwrap();
        prop_assert_eq!(equal, zset_of(&a) == zset_of(&b));
    }
}

#[test]
fn the_hash_of_known_rows_is_what_another_implementation_gives() {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![Some(7), None])),
        Arc::new(StringArray::from(vec!["a text that is longer than a view", ""])),
        Arc::new(Float64Array::from(vec![-0.0, f64::NAN])),
    ];
    let fields = vec![
        Field::new("a", DataType::Int64, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", DataType::Float64, true),
    ];
    let columns: Vec<ArrayRef> = columns.iter().map(|column| normal_array(column).unwrap()).collect();
    let batch =
        ChangeBatch::try_new(normal_schema(&Schema::new(fields)), columns, vec![2, -1].into()).unwrap();
    assert_eq!(format!("{:032x}", content_hash(&batch).unwrap()), "a38d0c862bba661930dfd2929e9347fa");
}
