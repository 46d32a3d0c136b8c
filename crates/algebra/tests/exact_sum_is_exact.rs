//! The exact sum against naive big integers: the value read is the true sum, rounded once.

mod reference;

use proptest::prelude::*;
use reference::{Big, finite, is_nearest, total, weight};
use tailrace_algebra::ExactSum;

/// A sum together with the terms it was made of.
fn sum_of(terms: &[(f64, i64)]) -> ExactSum {
    terms.iter().copied().collect()
}

fn products_of(terms: &[(f64, f64, i64)]) -> ExactSum {
    let mut sum = ExactSum::new();
    for &(x, y, weight) in terms {
        sum.add_product(x, y, weight);
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(2000)))]

    #[test]
    fn prop_sum_is_the_true_sum_rounded(terms in prop::collection::vec((finite(), weight()), 0..12)) {
        let read = sum_of(&terms).to_f64();
        prop_assert!(is_nearest(read, &total(&terms), &Big::from_i128(1)), "{read:e}");
    }

    #[test]
    fn prop_sum_is_zero_exactly_if_the_true_sum_is(terms in prop::collection::vec((finite(), -2_i64..3), 0..6)) {
        let doubled: Vec<_> = terms.iter().chain(&terms).copied().collect();
        let undone: Vec<_> = doubled.iter().copied().chain(terms.iter().map(|&(x, weight)| (x, -2 * weight))).collect();
        prop_assert!(sum_of(&undone).is_zero());
        prop_assert_eq!(sum_of(&doubled).is_zero(), total(&doubled) == Big::zero());
    }

    #[test]
    fn prop_sum_of_products_is_the_true_sum_rounded(terms in prop::collection::vec((finite(), finite(), weight()), 0..8)) {
        let read = products_of(&terms).to_f64();
        let product = |&(x, y, weight): &(f64, f64, i64)| Big::from_product(x, y).times(&Big::from_i128(weight.into()));
        let expected = terms.iter().map(product).fold(Big::zero(), |sum, term| sum.plus(&term));
        prop_assert!(is_nearest(read, &expected, &Big::from_i128(1)), "{read:e}");
    }

    #[test]
    fn prop_product_with_one_is_the_number(x in finite(), weight in weight()) {
        prop_assert_eq!(products_of(&[(x, 1.0, weight)]), sum_of(&[(x, weight)]));
        prop_assert_eq!(products_of(&[(1.0, x, weight)]), sum_of(&[(x, weight)]));
    }

    #[test]
    fn prop_one_double_comes_back(x in finite()) {
        prop_assert_eq!(sum_of(&[(x, 1)]).to_f64(), x);
        prop_assert_eq!(sum_of(&[(x, -1)]).to_f64(), -x);
    }

    #[test]
    fn prop_a_long_run_of_terms_around_zero_is_exact(terms in prop::collection::vec((-4_i64..5, -40_i32..40), 0..400)) {
        // The partial sums change their sign all the time, at all distances from the binary point.
        let scaled: Vec<_> = terms.iter().map(|&(x, power)| (2_f64.powi(4 * power), x)).collect();
        prop_assert!(is_nearest(sum_of(&scaled).to_f64(), &total(&scaled), &Big::from_i128(1)));
    }
}

#[test]
fn sums_beyond_the_largest_double_come_back() {
    let mut sum = sum_of(&[(1e308, 1), (1e308, 1)]);
    assert_eq!(sum.to_f64(), f64::INFINITY);
    sum.add(1e308, -1);
    assert_eq!(sum.to_f64(), 1e308);
    sum.add(f64::MAX, i64::MIN);
    assert_eq!(sum.to_f64(), f64::NEG_INFINITY);
    sum.add(f64::MAX, i64::MAX);
    sum.add(f64::MAX, 1);
    assert_eq!(sum.to_f64(), 1e308);
}

#[test]
fn the_largest_double_rounds_to_infinity_from_half_a_place_on() {
    let half_place = 2_f64.powi(970);
    assert_eq!(sum_of(&[(f64::MAX, 1), (half_place.next_down(), 1)]).to_f64(), f64::MAX);
    assert_eq!(sum_of(&[(f64::MAX, 1), (half_place, 1)]).to_f64(), f64::INFINITY);
    assert_eq!(sum_of(&[(f64::MAX, -1), (half_place, -1)]).to_f64(), f64::NEG_INFINITY);
}

#[test]
fn ties_go_to_even_and_a_trace_of_more_breaks_them() {
    let half = 2_f64.powi(-53);
    assert_eq!(sum_of(&[(1.0, 1), (half, 1)]).to_f64(), 1.0);
    assert_eq!(sum_of(&[(1.0_f64.next_up(), 1), (half, 1)]).to_f64(), 1.0 + 4.0 * half);
    assert_eq!(sum_of(&[(1.0, 1), (half, 1), (5e-324, 1)]).to_f64(), 1.0_f64.next_up());
    assert_eq!(sum_of(&[(1.0, 1), (half, 1), (5e-324, -1)]).to_f64(), 1.0);
}

#[test]
fn products_below_the_least_double_round_like_any_other() {
    let least = 5e-324;
    assert_eq!(products_of(&[(least, least, 1)]).to_f64().to_bits(), 0);
    assert_eq!(products_of(&[(least, least, -1)]).to_f64().to_bits(), 0, "zero has no sign");
    assert!(!products_of(&[(least, least, 1)]).is_zero());
    assert_eq!(products_of(&[(least, 0.5, 1)]).to_f64(), 0.0, "tie to even");
    assert_eq!(products_of(&[(least, 0.5, 1), (least, least, 1)]).to_f64(), least);
    assert_eq!(products_of(&[(least, 1.5, 1)]).to_f64(), 2.0 * least);
}

#[test]
fn the_extremes_of_products_and_weights_fit() {
    let mut sum =
        products_of(&[(f64::MAX, f64::MAX, i64::MIN), (f64::MAX, f64::MIN, i64::MAX), (5e-324, 5e-324, 1)]);
    assert_eq!(sum.to_f64(), f64::NEG_INFINITY);
    for _ in 0..100 {
        let same = sum.clone();
        sum.merge(&same);
    }
    let mut bytes = Vec::new();
    sum.write_bytes(&mut bytes);
    assert_eq!(ExactSum::read_bytes(&bytes), Some(sum.clone()));
    let mut inverse = sum.clone();
    inverse.negate();
    assert_eq!(inverse.to_f64(), f64::INFINITY);
    inverse.merge(&sum);
    assert!(inverse.is_zero());
}

#[test]
fn zeros_of_either_sign_leave_no_trace() {
    let sum = sum_of(&[(-0.0, 5), (0.0, -1), (1.0, 0)]);
    assert!(sum.is_zero());
    assert_eq!(sum.to_f64().to_bits(), 0);
}
