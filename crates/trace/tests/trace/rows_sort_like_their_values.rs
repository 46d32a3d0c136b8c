//! `sort_rows` orders rows of every type as their plain values compare, and says which neighbours are equal.

use arrow_array::ArrayRef;
use arrow_array::builder::make_view;
use proptest::prelude::*;
use tailrace_trace::sort_rows;

use crate::columns::{any_type, column, rows, types};
use crate::random::Random;

fn check(columns: &[ArrayRef], len: usize) {
    let rows = rows(columns, len);
    let sorted = sort_rows(columns, len).unwrap();
    let mut expected: Vec<u32> = (0..len as u32).collect();
    expected.sort_by(|a, b| rows[*a as usize].cmp(&rows[*b as usize]));
    assert_eq!(
        sorted.rows,
        expected,
        "order of {:?}",
        columns.iter().map(|c| c.data_type()).collect::<Vec<_>>()
    );
    for i in 0..len {
        let equal = i > 0 && rows[expected[i] as usize] == rows[expected[i - 1] as usize];
        assert_eq!(sorted.equal[i], equal, "place {i}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn prop_one_column_of_every_type(seed: u64, len in 0usize..60) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check(&[column(&data_type, len, &mut random)], len);
        }
    }

    #[test]
    fn prop_several_columns(seed: u64, len in 0usize..200, width in 0usize..5) {
        let mut random = Random::new(seed);
        let columns: Vec<ArrayRef> = (0..width).map(|_| any_type(&mut random)).collect::<Vec<_>>()
            .iter().map(|data_type| column(data_type, len, &mut random)).collect();
        check(&columns, len);
    }

    #[test]
    fn prop_slices_sort_like_copies(seed: u64, skipped in 0usize..10, len in 0usize..40) {
        let mut random = Random::new(seed);
        for data_type in types() {
            let whole = column(&data_type, skipped + len + 3, &mut random);
            check(&[whole.slice(skipped, len)], len);
        }
    }
}

#[test]
fn more_rows_than_one_pass_and_no_rows_at_all() {
    let mut random = Random::new(1);
    let columns = [
        column(&arrow_schema::DataType::Int64, 20_000, &mut random),
        column(&arrow_schema::DataType::Utf8View, 20_000, &mut random),
    ];
    check(&columns, 20_000);
    check(&[], 5);
    assert_ne!(
        make_view(b"a", 0, 0),
        make_view(b"a\0", 0, 0),
        "views tell a text from the same text and a zero byte"
    );
}
