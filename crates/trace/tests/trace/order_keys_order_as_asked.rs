//! An order key is a column of bytes whose plain order is the wanted order: any mix of directions and places of NULL.

use std::cmp::Ordering;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use proptest::prelude::*;
use tailrace_trace::{OrderKey, OrderTerm};

use crate::columns::{Row, Value, any_type, column, rows};
use crate::random::Random;

/// The definition of ORDER BY.
fn compare(terms: &[OrderTerm], a: &Row, b: &Row) -> Ordering {
    let column = |((a, b), term): ((&Value, &Value), &OrderTerm)| match (a == &Value::Null, b == &Value::Null)
    {
        (true, true) => Ordering::Equal,
        (true, false) => {
            if term.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if term.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (false, false) => {
            if term.descending {
                b.cmp(a)
            } else {
                a.cmp(b)
            }
        }
    };
    a.iter().zip(b).zip(terms).map(column).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(128)))]

    #[test]
    fn prop_bytes_compare_as_the_terms_say(seed: u64, width in 0usize..4, len in 0usize..25) {
        let mut random = Random::new(seed);
        let term = |random: &mut Random| OrderTerm {
            data_type: scalar_type(random),
            descending: random.chance(50),
            nulls_first: random.chance(50),
        };
        let terms: Vec<OrderTerm> = (0..width).map(|_| term(&mut random)).collect();
        let columns: Vec<ArrayRef> = terms.iter().map(|term| column(&term.data_type, len, &mut random)).collect();
        let encoded = OrderKey::new(&terms).unwrap().encode(&columns, len).unwrap();
        let (bytes, rows) = (encoded.as_binary_view(), rows(&columns, len));
        for i in 0..len {
            for j in 0..len {
                prop_assert_eq!(bytes.value(i).cmp(bytes.value(j)), compare(&terms, &rows[i], &rows[j]), "{:?} {:?}", &rows[i], &rows[j]);
            }
        }
    }
}

/// NULLs inside lists and structs follow the rule of the whole, which `compare` does not model.
fn scalar_type(random: &mut Random) -> arrow_schema::DataType {
    loop {
        let data_type = any_type(random);
        if !data_type.is_nested() {
            return data_type;
        }
    }
}
