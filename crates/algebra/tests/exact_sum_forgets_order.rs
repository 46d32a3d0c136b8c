//! The exact sum is a function of the multiset of its terms: order, split and merges leave no trace, and neither do terms that
//! were taken away again, NaN and infinities included. The compact bytes are equal exactly if the sums are.

mod reference;

use proptest::prelude::*;
use reference::{any_float, finite, weight};
use tailrace_algebra::ExactSum;

type Term = (f64, i64);

fn terms() -> impl Strategy<Value = Vec<Term>> {
    prop::collection::vec((any_float(), weight()), 0..24)
}

fn sum_of(terms: &[Term]) -> ExactSum {
    terms.iter().copied().collect()
}

fn bytes_of(sum: &ExactSum) -> Vec<u8> {
    let mut bytes = Vec::new();
    sum.write_bytes(&mut bytes);
    bytes
}

/// Sums the terms by a tree of merges whose shape is drawn from `cuts`, partly by way of bytes.
fn merge_tree(terms: &[Term], cuts: &mut impl Iterator<Item = usize>) -> ExactSum {
    let cut = cuts.next().unwrap_or(0);
    if terms.len() < 2 {
        return sum_of(terms);
    }
    let (left, right) = terms.split_at(cut % terms.len());
    if left.is_empty() {
        return sum_of(right);
    }
    let mut sum = merge_tree(left, cuts);
    let other = merge_tree(right, cuts);
    if cut.is_multiple_of(2) {
        sum.merge(&other);
    } else {
        assert_eq!(sum.add_bytes(&bytes_of(&other)), Some(()));
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(1000)))]

    #[test]
    fn prop_any_order_gives_the_same_bytes((terms, shuffled) in terms().prop_flat_map(|t| (Just(t.clone()), Just(t).prop_shuffle()))) {
        let (a, b) = (sum_of(&terms), sum_of(&shuffled));
        prop_assert_eq!(bytes_of(&a), bytes_of(&b));
        prop_assert_eq!(a.to_f64().to_bits(), b.to_f64().to_bits());
        prop_assert_eq!(a, b);
    }

    #[test]
    fn prop_any_merge_tree_gives_the_same_bytes(terms in terms(), cuts in prop::collection::vec(any::<usize>(), 64)) {
        let merged = merge_tree(&terms, &mut cuts.into_iter());
        prop_assert_eq!(bytes_of(&merged), bytes_of(&sum_of(&terms)));
    }

    #[test]
    fn prop_any_split_of_a_weight_gives_the_same_bytes(x in any_float(), a in -(1_i64 << 62)..1 << 62, b in -(1_i64 << 62)..1 << 62) {
        prop_assert_eq!(bytes_of(&sum_of(&[(x, a), (x, b)])), bytes_of(&sum_of(&[(x, a + b)])));
    }

    #[test]
    fn prop_terms_taken_away_leave_no_trace(kept in terms(), gone in terms()) {
        let mut sum = sum_of(&kept);
        sum.merge(&sum_of(&gone));
        sum.subtract(&sum_of(&gone));
        prop_assert_eq!(bytes_of(&sum), bytes_of(&sum_of(&kept)));
        sum.subtract(&sum_of(&kept));
        prop_assert!(sum.is_zero());
        prop_assert_eq!(bytes_of(&sum), Vec::<u8>::new());
    }

    #[test]
    fn prop_a_cleared_sum_is_as_new(before in terms(), after in terms()) {
        let mut sum = sum_of(&before);
        sum.clear();
        sum.extend(after.iter().copied());
        prop_assert_eq!(bytes_of(&sum), bytes_of(&sum_of(&after)));
    }

    #[test]
    fn prop_bytes_are_equal_exactly_if_sums_are(a in terms(), b in terms()) {
        let (a, b) = (sum_of(&a), sum_of(&b));
        prop_assert_eq!(bytes_of(&a) == bytes_of(&b), a == b);
        let mut difference = a.clone();
        difference.subtract(&b);
        prop_assert_eq!(difference.is_zero(), a == b);
    }

    #[test]
    fn prop_bytes_lead_back(terms in terms()) {
        let sum = sum_of(&terms);
        prop_assert_eq!(ExactSum::read_bytes(&bytes_of(&sum)), Some(sum));
    }

    #[test]
    fn prop_value_of_the_inverse_is_the_inverse_of_the_value(terms in terms()) {
        let sum = sum_of(&terms);
        let mut inverse = sum.clone();
        inverse.negate();
        let (value, inverse) = (sum.to_f64(), inverse.to_f64());
        prop_assert!(inverse == -value || (value.is_nan() && inverse.is_nan()));
    }

    #[test]
    fn prop_bytes_that_are_read_are_those_that_are_written(bytes in hostile()) {
        let mut sum = sum_of(&[(0.1, 3)]);
        let before = sum.clone();
        match ExactSum::read_bytes(&bytes) {
            Some(read) => prop_assert_eq!(bytes_of(&read), bytes),
            None => {
                prop_assert_eq!(sum.add_bytes(&bytes), None);
                prop_assert_eq!(sum, before);
            }
        }
    }

    #[test]
    fn prop_hostile_sums_do_not_panic(a in hostile(), b in hostile(), x in finite(), weight in weight()) {
        let mut sum = ExactSum::read_bytes(&a).unwrap_or_default();
        let _ = sum.add_bytes(&b);
        sum.add(x, weight);
        sum.negate();
        sum.add_product(f64::MAX, x, weight);
        let _ = sum.to_f64();
        let _ = tailrace_algebra::moments::variance(i64::MAX, &sum, &sum, 1);
        prop_assert_eq!(ExactSum::read_bytes(&bytes_of(&sum)), Some(sum));
    }
}

/// Bytes that are nearly right: whole limbs of telling values behind any header, cut or not; and bytes that are not.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let limb = prop_oneof![Just(0), Just(u64::MAX), Just(1 << 63), Just((1 << 63) - 1), any::<u64>()];
    let near =
        (any::<u8>(), prop::collection::vec(limb, 0..72), prop_oneof![9 => Just(0_usize), 1 => 0_usize..20]);
    let near = near.prop_map(|(header, limbs, cut)| {
        let mut bytes = vec![header];
        bytes.extend(limbs.iter().flat_map(|limb| limb.to_le_bytes()));
        bytes.truncate(bytes.len().saturating_sub(cut));
        bytes
    });
    prop_oneof![3 => near, 1 => prop::collection::vec(any::<u8>(), 0..80)]
}

#[test]
fn special_values_come_and_go() {
    let mut sum = sum_of(&[(0.1, 1), (0.2, 1)]);
    let finite = bytes_of(&sum);
    let mut check = |x: f64, weight: i64, expect: f64| {
        sum.add(x, weight);
        let read = sum.to_f64();
        assert!(
            read == expect || (read.is_nan() && expect.is_nan()),
            "{x} by {weight}: {read}, not {expect}"
        );
        bytes_of(&sum)
    };
    check(f64::INFINITY, 2, f64::INFINITY);
    check(f64::NEG_INFINITY, 1, f64::NAN);
    check(f64::INFINITY, -2, f64::NEG_INFINITY);
    check(f64::NAN, 1, f64::NAN);
    check(f64::NEG_INFINITY, -1, f64::NAN);
    assert_eq!(check(-f64::NAN, -1, 0.30000000000000004), finite);
}

#[test]
fn special_products_follow_ieee() {
    let check = |x: f64, y: f64, expect: f64| {
        let mut sum = ExactSum::new();
        sum.add_product(x, y, 1);
        assert!(!sum.is_finite());
        assert!(sum.to_f64() == expect || expect.is_nan() && sum.to_f64().is_nan());
        sum.add_product(y, x, -1);
        assert!(sum.is_zero());
    };
    check(f64::INFINITY, -2.0, f64::NEG_INFINITY);
    check(f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY);
    check(f64::INFINITY, 0.0, f64::NAN);
    check(f64::NAN, 1.0, f64::NAN);
}

#[test]
fn everyday_sums_are_small_in_bytes() {
    let check =
        |terms: &[Term], expect: usize| assert_eq!(bytes_of(&sum_of(terms)).len(), expect, "{terms:?}");
    check(&[], 0);
    check(&[(1.0, 1), (41.0, 1)], 9);
    check(&[(-1e15, 1000)], 9);
    check(&[(19.99, 1), (-0.01, 3), (1e6, 7)], 17);
    check(&[(f64::NAN, 1)], 49);
    check(&[(f64::NAN, 1), (0.5, 1)], 65);
}

#[test]
fn bytes_that_no_sum_writes_are_refused() {
    let limbs = |header: u8, limbs: &[u64]| {
        [vec![header], limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect()].concat()
    };
    let check = |bytes: Vec<u8>, accepted: bool| {
        assert_eq!(ExactSum::read_bytes(&bytes).is_some(), accepted, "{bytes:?}")
    };
    check(limbs(34, &[1]), true);
    check(limbs(34, &[]), false);
    check(limbs(34, &[0, 1]), false);
    check(limbs(34, &[1, 0]), false);
    check(limbs(34, &[1 << 63, 0]), true);
    check(limbs(34, &[1 << 63, u64::MAX]), false);
    check(limbs(69, &[1]), true);
    check(limbs(70, &[1]), false);
    check(limbs(69, &[1, 1]), false);
    check(limbs(127, &[1]), false);
    check([limbs(34, &[1]), vec![0]].concat(), false);
    check(limbs(0x80, &[1, 0, 0, 0, 0, 0]), true);
    check(limbs(0x81, &[1, 0, 0, 0, 0, 0]), false);
    check(limbs(0x80, &[0, 0, 0, 0, 0, 0]), false);
    check(limbs(0x80, &[1, 0, 0, 0, 0]), false);
    check(limbs(0x80 | 34, &[1, 0, 0, 0, 0, 0, 7]), true);
    check(limbs(0x80 | 34, &[0, 0, 0, 0, 0, 0, 7]), false);
}
