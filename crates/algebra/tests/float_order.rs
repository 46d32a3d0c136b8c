//! Floats have one total order, canonical bits, and integer keys that keep the order.

use std::cmp::Ordering;
use std::collections::HashSet;

use proptest::prelude::*;
use tailrace_algebra::float::{
    canonical, canonical_f32, from_order_key, from_order_key_f32, order_key, order_key_f32,
};
use tailrace_algebra::{OrderedF32, OrderedF64};

/// The order as documented: IEEE comparison, and NaN equal to itself and after everything else.
fn documented_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Floats of any bits, often with the same value as another.
fn any_f64() -> impl Strategy<Value = f64> {
    let telling = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        5e-324,
        -5e-324,
    ];
    let payload = any::<u64>().prop_map(|bits| f64::from_bits(bits | 0x7ff0_0000_0000_0001));
    prop_oneof![2 => prop::sample::select(telling.to_vec()), 2 => any::<u64>().prop_map(f64::from_bits), 1 => payload]
}

fn any_f32() -> impl Strategy<Value = f32> {
    prop_oneof![any_f64().prop_map(|x| x as f32), any::<u32>().prop_map(f32::from_bits)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(5000)))]

    #[test]
    fn prop_order_key_keeps_the_order(a in any_f64(), b in any_f64()) {
        prop_assert_eq!(order_key(a).cmp(&order_key(b)), documented_order(a, b));
        prop_assert_eq!(OrderedF64::new(a).cmp(&OrderedF64::new(b)), documented_order(a, b));
        prop_assert_eq!(OrderedF64::new(a) == OrderedF64::new(b), documented_order(a, b).is_eq());
    }

    #[test]
    fn prop_order_key_f32_keeps_the_order(a in any_f32(), b in any_f32()) {
        let expected = documented_order(a.into(), b.into());
        prop_assert_eq!(order_key_f32(a).cmp(&order_key_f32(b)), expected);
        prop_assert_eq!(OrderedF32::new(a).cmp(&OrderedF32::new(b)), expected);
    }

    #[test]
    fn prop_order_key_leads_back_to_the_canonical_float(x in any_f64(), y in any_f32()) {
        prop_assert_eq!(from_order_key(order_key(x)).to_bits(), canonical(x).to_bits());
        prop_assert_eq!(from_order_key_f32(order_key_f32(y)).to_bits(), canonical_f32(y).to_bits());
    }

    #[test]
    fn prop_any_integer_decodes_to_a_canonical_float(key in any::<u64>(), key_f32 in any::<u32>()) {
        let (x, y) = (from_order_key(key), from_order_key_f32(key_f32));
        prop_assert_eq!(x.to_bits(), canonical(x).to_bits());
        prop_assert_eq!(y.to_bits(), canonical_f32(y).to_bits());
    }

    #[test]
    fn prop_canonical_changes_bits_only(x in any_f64(), y in any_f32()) {
        prop_assert!(documented_order(canonical(x), x).is_eq());
        prop_assert!(documented_order(canonical_f32(y).into(), y.into()).is_eq());
        prop_assert!(x == 0.0 || x.is_nan() || canonical(x).to_bits() == x.to_bits());
    }

    #[test]
    fn prop_equal_floats_hash_alike(a in any_f64(), b in any_f64()) {
        let set: HashSet<_> = [OrderedF64::new(a), OrderedF64::new(b)].into();
        prop_assert_eq!(set.len() == 1, documented_order(a, b).is_eq());
    }
}

#[test]
fn the_order_as_documented() {
    let ascending =
        [f64::NEG_INFINITY, f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
    assert!(ascending.is_sorted_by(|a, b| order_key(*a) < order_key(*b)));
    assert_eq!(order_key(-0.0), order_key(0.0));
    assert_eq!(order_key(-f64::NAN), order_key(f64::NAN));
}
