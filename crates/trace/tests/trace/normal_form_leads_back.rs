//! The normal form keeps every value, gives one representation to each, and leads back to plain Arrow types.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int64Array, LargeStringArray, ListArray, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use tailrace_trace::{
    external_array, external_schema, external_type, normal_array, normal_schema, normal_type,
};

use crate::columns::{column, types, values};
use crate::random::Random;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(32)))]

    #[test]
    fn prop_normal_of_external_is_the_same_column(seed: u64, len in 0usize..40) {
        let mut random = Random::new(seed);
        for data_type in types() {
            let column = column(&data_type, len, &mut random);
            let outside = external_array(&column).unwrap();
            prop_assert_eq!(outside.data_type(), &external_type(&data_type));
            let inside = normal_array(&outside).unwrap();
            prop_assert_eq!(inside.data_type(), &data_type);
            prop_assert_eq!(normal_type(outside.data_type()), data_type);
            prop_assert_eq!(values(&inside), values(&column));
        }
    }
}

#[test]
fn texts_of_every_encoding_become_views() {
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    ["x", "y", "x"].iter().for_each(|text| dictionary.append_value(text));
    let encodings: [ArrayRef; 3] = [
        Arc::new(StringArray::from(vec!["x", "y", "x"])),
        Arc::new(LargeStringArray::from(vec!["x", "y", "x"])),
        Arc::new(dictionary.finish()),
    ];
    for encoding in encodings {
        let normal = normal_array(&encoding).unwrap();
        assert_eq!(normal.as_string_view().iter().collect::<Vec<_>>(), [Some("x"), Some("y"), Some("x")]);
        assert_eq!(external_array(&normal).unwrap().data_type(), &DataType::Utf8);
    }
    let binary: ArrayRef = Arc::new(BinaryArray::from(vec![&b"x"[..]]));
    assert_eq!(normal_array(&binary).unwrap().data_type(), &DataType::BinaryView);
}

#[test]
fn floats_have_one_zero_and_one_nan_at_every_depth() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, -f64::NAN, 1.0]));
    let field = Arc::new(Field::new("item", DataType::Float64, true));
    let list: ArrayRef = Arc::new(ListArray::new(
        field,
        arrow_buffer::OffsetBuffer::from_lengths([2, 1]),
        Arc::clone(&floats),
        None,
    ));
    let normal = normal_array(&list).unwrap();
    for found in [normal_array(&floats).unwrap(), Arc::clone(normal.as_list::<i32>().values())] {
        let bits: Vec<u64> =
            found.as_primitive::<Float64Type>().values().iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits, [0, 0x7ff8_0000_0000_0000, 1f64.to_bits()]);
    }
}

#[test]
fn clean_columns_keep_their_buffers() {
    let columns: [ArrayRef; 2] =
        [Arc::new(Int64Array::from(vec![1, 2])), Arc::new(Float64Array::from(vec![1.0, 2.0]))];
    for column in columns {
        let normal = normal_array(&column).unwrap();
        assert_eq!(normal.to_data().buffers()[0].as_ptr(), column.to_data().buffers()[0].as_ptr());
    }
}

#[test]
fn schemas_keep_names_and_nullability() {
    let schema =
        Schema::new(vec![Field::new("a", DataType::LargeUtf8, false), Field::new("b", DataType::Int8, true)]);
    let normal = normal_schema(&schema);
    assert_eq!(normal.field(0), &Field::new("a", DataType::Utf8View, false));
    assert_eq!(external_schema(&normal).field(0), &Field::new("a", DataType::Utf8, false));
    assert_eq!(normal.field(1), schema.field(1));
}
