//! The laws of monoid, group and ring, for every type that claims them.
//!
//! Integers obey them as far as results can be represented, so the laws are stated on `Option`: if both sides exist they are equal.
//! For values that stay away from the limits both sides must exist.

mod reference;

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use reference::{any_float, weight};
use tailrace_algebra::{ExactSum, Group, Monoid, Ring, Weight, ZSet};

/// Both sides, where both can be represented, are equal.
fn agree<T: PartialEq + Debug>(left: Option<T>, right: Option<T>) -> TestCaseResult {
    if let (Some(left), Some(right)) = (left, right) {
        prop_assert_eq!(left, right);
    }
    Ok(())
}

fn monoid_laws<M: Monoid + Debug>(a: &M, b: &M, c: &M) -> TestCaseResult {
    agree(
        a.checked_plus(b).and_then(|ab| ab.checked_plus(c)),
        b.checked_plus(c).and_then(|bc| a.checked_plus(&bc)),
    )?;
    prop_assert_eq!(a.checked_plus(b), b.checked_plus(a));
    prop_assert_eq!(a.checked_plus(&M::zero()), Some(a.clone()));
    prop_assert_eq!(a.is_zero(), *a == M::zero());
    prop_assert!(M::zero().is_zero());
    let mut accumulated = a.clone();
    let done = accumulated.accumulate(b);
    prop_assert_eq!(done.map(|()| accumulated.clone()), a.checked_plus(b));
    if done.is_none() {
        prop_assert_eq!(&accumulated, a, "unchanged when it fails");
    }
    agree(M::sum([a, b, c]), M::sum([c, a, b]))
}

fn group_laws<G: Group + Debug>(a: &G, b: &G, c: &G, weight: Weight) -> TestCaseResult {
    monoid_laws(a, b, c)?;
    agree(a.checked_neg().and_then(|inverse| a.checked_plus(&inverse)), Some(G::zero()))?;
    agree(a.checked_neg().and_then(|inverse| inverse.checked_neg()), Some(a.clone()))?;
    agree(a.checked_minus(b).and_then(|difference| difference.checked_plus(b)), Some(a.clone()))?;
    agree(a.checked_minus(b), b.checked_neg().and_then(|inverse| a.checked_plus(&inverse)))?;
    module_laws(a, b, weight)
}

/// A group is a module over the weights: scaling is repeated addition.
fn module_laws<G: Group + Debug>(a: &G, b: &G, weight: Weight) -> TestCaseResult {
    prop_assert_eq!(a.checked_scale(Weight::ZERO), Some(G::zero()));
    prop_assert_eq!(a.checked_scale(Weight::ONE), Some(a.clone()));
    let scaled_sum = a.checked_plus(b).and_then(|sum| sum.checked_scale(weight));
    let sum_of_scaled = a.checked_scale(weight).and_then(|a| a.checked_plus(&b.checked_scale(weight)?));
    agree(scaled_sum, sum_of_scaled)?;
    let one_more = weight.checked_add(Weight::ONE).and_then(|weight| a.checked_scale(weight));
    agree(one_more, a.checked_scale(weight).and_then(|scaled| scaled.checked_plus(a)))
}

fn ring_laws<R: Ring + Debug>(a: &R, b: &R, c: &R, weight: Weight) -> TestCaseResult {
    group_laws(a, b, c, weight)?;
    agree(
        a.checked_times(b).and_then(|ab| ab.checked_times(c)),
        b.checked_times(c).and_then(|bc| a.checked_times(&bc)),
    )?;
    prop_assert_eq!(a.checked_times(b), b.checked_times(a), "weights commute");
    prop_assert_eq!(a.checked_times(&R::one()), Some(a.clone()));
    prop_assert_eq!(a.checked_times(&R::zero()), Some(R::zero()));
    let times_sum = b.checked_plus(c).and_then(|sum| a.checked_times(&sum));
    agree(times_sum, a.checked_times(b).and_then(|ab| ab.checked_plus(&a.checked_times(c)?)))
}

fn exact_sum() -> impl Strategy<Value = ExactSum> {
    prop::collection::vec((any_float(), weight()), 0..6).prop_map(|terms| terms.into_iter().collect())
}

fn zset() -> impl Strategy<Value = ZSet<u8>> {
    prop::collection::vec((0_u8..5, weight()), 0..6).prop_map(|rows| rows.into_iter().collect())
}

/// Integers of all sizes: small ones whose products fit, and the limits.
fn wide() -> impl Strategy<Value = i128> {
    prop_oneof![3 => weight().prop_map(i128::from), 1 => any::<i128>(), 1 => prop_oneof![Just(i128::MIN), Just(i128::MAX)]]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(1000)))]

    #[test]
    fn prop_i64_is_a_ring(a in weight(), b in weight(), c in weight(), w in weight()) {
        ring_laws(&a, &b, &c, Weight(w))?;
    }

    #[test]
    fn prop_i128_is_a_ring(a in wide(), b in wide(), c in wide(), w in weight()) {
        ring_laws(&a, &b, &c, Weight(w))?;
    }

    #[test]
    fn prop_weights_are_a_ring(a in weight(), b in weight(), c in weight(), w in weight()) {
        ring_laws(&Weight(a), &Weight(b), &Weight(c), Weight(w))?;
    }

    #[test]
    fn prop_weights_compute_like_wide_integers(a in weight(), b in weight()) {
        let narrow = |x: i128| i64::try_from(x).ok().map(Weight);
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(Weight(a).checked_add(Weight(b)), narrow(wide_a + wide_b));
        prop_assert_eq!(Weight(a).checked_mul(Weight(b)), narrow(wide_a * wide_b));
        prop_assert_eq!(Weight(a).checked_neg(), narrow(-wide_a));
        prop_assert_eq!(Weight(a).checked_minus(&Weight(b)), narrow(wide_a - wide_b));
    }

    #[test]
    fn prop_tuples_are_rings(a in (weight(), wide()), b in (weight(), wide()), c in (weight(), wide()), w in weight()) {
        ring_laws(&a, &b, &c, Weight(w))?;
    }

    #[test]
    fn prop_accumulator_tuples_are_groups(
        a in (weight(), exact_sum(), zset()),
        b in (weight(), exact_sum(), zset()),
        c in (weight(), exact_sum(), zset()),
        w in weight(),
    ) {
        group_laws(&a, &b, &c, Weight(w))?;
    }

    #[test]
    fn prop_exact_sums_are_a_group(a in exact_sum(), b in exact_sum(), c in exact_sum(), w in weight()) {
        group_laws(&a, &b, &c, Weight(w))?;
        // Nothing overflows, so every side exists.
        prop_assert!(a.checked_plus(&b).and_then(|sum| sum.checked_scale(Weight(w))).is_some());
    }

    #[test]
    fn prop_scaled_exact_sum_is_the_sum_of_scaled_weights(terms in prop::collection::vec((any_float(), -1000_i64..1000), 0..6), w in -1000_i64..1000) {
        let sum: ExactSum = terms.iter().copied().collect();
        let scaled: ExactSum = terms.iter().map(|&(x, weight)| (x, weight * w)).collect();
        prop_assert_eq!(sum.checked_scale(Weight(w)), Some(scaled));
    }

    #[test]
    fn prop_zsets_are_a_group(a in zset(), b in zset(), c in zset(), w in weight()) {
        group_laws(&a, &b, &c, Weight(w))?;
        prop_assert_eq!(a.checked_plus(&b), Some(a.plus(&b)));
        prop_assert_eq!(a.checked_neg(), Some(a.neg()));
        prop_assert_eq!(a.checked_minus(&b), Some(a.minus(&b)));
        let fits = a.iter().all(|(_, weight)| weight.checked_mul(i128::from(w)).is_some());
        prop_assert_eq!(a.checked_scale(Weight(w)), fits.then(|| a.scale(w)));
    }

    #[test]
    fn prop_column_sums_are_the_true_sums_where_they_fit(column in prop::collection::vec(weight(), 0..40)) {
        let sum: i128 = column.iter().map(|&w| i128::from(w)).sum();
        let mass: i128 = column.iter().map(|&w| i128::from(w).abs()).sum();
        prop_assert_eq!(tailrace_algebra::weight::checked_sum(&column), i64::try_from(sum).ok());
        prop_assert_eq!(tailrace_algebra::weight::mass(&column), i64::try_from(mass).ok());
    }
}

#[test]
fn doubling_overflows_only_if_the_result_does() {
    // A group that has nothing but the provided scaling.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Byte(i8);
    impl Monoid for Byte {
        fn checked_plus(&self, other: &Self) -> Option<Self> {
            self.0.checked_add(other.0).map(Byte)
        }
    }
    impl Group for Byte {
        fn checked_neg(&self) -> Option<Self> {
            self.0.checked_neg().map(Byte)
        }
    }
    for value in (i8::MIN + 1)..=i8::MAX {
        for times in -300_i64..300 {
            let expected = i8::try_from(i64::from(value) * times).ok().map(Byte);
            assert_eq!(Byte(value).checked_scale(Weight(times)), expected, "{value} times {times}");
        }
    }
}

#[test]
fn a_weight_is_an_i64_in_memory() {
    assert_eq!(size_of::<Weight>(), size_of::<i64>());
    assert_eq!(Weight(-3).to_string(), "-3");
    assert_eq!(Weight(3).to_string(), "+3");
}
