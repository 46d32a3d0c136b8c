//! The laws of partial orders and lattices for all times, and of antichains over them.

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tailrace_algebra::{Antichain, Iteration, Lattice, PartialOrder, Product, Step};

type Time = Product<Step, Iteration>;
type DeepTime = Product<Time, u32>;

fn order_laws<T: PartialOrder + Debug>(a: &T, b: &T, c: &T) -> TestCaseResult {
    prop_assert!(a.less_equal(a));
    prop_assert!(!(a.less_equal(b) && b.less_equal(a)) || a == b);
    prop_assert!(!(a.less_equal(b) && b.less_equal(c)) || a.less_equal(c));
    prop_assert_eq!(a.less_than(b), a.less_equal(b) && a != b);
    prop_assert_eq!(a.comparable(b), a.less_equal(b) || b.less_equal(a));
    Ok(())
}

fn lattice_laws<T: Lattice + Debug>(a: &T, b: &T, c: &T) -> TestCaseResult {
    order_laws(a, b, c)?;
    let (join, meet) = (a.join(b), a.meet(b));
    prop_assert!(a.less_equal(&join) && b.less_equal(&join));
    prop_assert!(meet.less_equal(a) && meet.less_equal(b));
    // Least and greatest: any other bound is beyond.
    prop_assert_eq!(a.less_equal(c) && b.less_equal(c), join.less_equal(c));
    prop_assert_eq!(c.less_equal(a) && c.less_equal(b), c.less_equal(&meet));
    prop_assert_eq!(&join, &b.join(a));
    prop_assert_eq!(&meet, &b.meet(a));
    prop_assert_eq!(join.join(c), a.join(&b.join(c)));
    prop_assert_eq!(meet.meet(c), a.meet(&b.meet(c)));
    prop_assert_eq!(&a.join(&meet), a);
    prop_assert_eq!(&a.meet(&join), a);
    Ok(())
}

/// Times from a small range, so that many are comparable and many are not.
fn time() -> impl Strategy<Value = Time> {
    (0_u64..5, 0_u32..5).prop_map(|(step, iteration)| Product::new(Step(step), Iteration(iteration)))
}

fn deep_time() -> impl Strategy<Value = DeepTime> {
    (time(), 0_u32..4).prop_map(|(outer, inner)| Product::new(outer, inner))
}

fn times() -> impl Strategy<Value = Vec<Time>> {
    prop::collection::vec(time(), 0..8)
}

/// What a set of times stands for, by brute force over the range: all times at or after one of them.
fn covered(times: &[Time]) -> Vec<Time> {
    let all =
        (0..6).flat_map(|step| (0..6).map(move |iteration| Product::new(Step(step), Iteration(iteration))));
    all.filter(|time| times.iter().any(|start| start.outer <= time.outer && start.inner <= time.inner))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(1000)))]

    #[test]
    fn prop_steps_are_a_lattice(a in 0_u64..9, b in 0_u64..9, c in 0_u64..9) {
        lattice_laws(&Step(a), &Step(b), &Step(c))?;
        lattice_laws(&Iteration(a as u32), &Iteration(b as u32), &Iteration(c as u32))?;
    }

    #[test]
    fn prop_products_are_a_lattice(a in deep_time(), b in deep_time(), c in deep_time()) {
        lattice_laws(&a, &b, &c)?;
    }

    #[test]
    fn prop_sorting_respects_time(a in deep_time(), b in deep_time()) {
        prop_assert!(!a.less_equal(&b) || a <= b);
    }

    #[test]
    fn prop_antichains_are_a_lattice(a in times(), b in times(), c in times()) {
        let antichain = |times: Vec<Time>| times.into_iter().collect::<Antichain<_>>();
        lattice_laws(&antichain(a), &antichain(b), &antichain(c))?;
    }

    #[test]
    fn prop_antichain_elements_are_incomparable(times in times()) {
        let antichain: Antichain<_> = times.into_iter().collect();
        let elements = antichain.elements();
        for (index, a) in elements.iter().enumerate() {
            prop_assert!(elements[..index].iter().all(|b| !a.comparable(b)));
        }
    }

    #[test]
    fn prop_antichain_stands_for_the_times_at_or_after(times in times(), other in times()) {
        let (a, b): (Antichain<_>, Antichain<_>) = (times.iter().copied().collect(), other.iter().copied().collect());
        let (all_a, all_b) = (covered(&times), covered(&other));
        let all = covered(&[Time::default()]);
        prop_assert!(all.iter().all(|time| a.less_equal(time) == all_a.contains(time)));
        prop_assert!(all.iter().all(|time| a.less_than(time) == (all_a.contains(time) && !a.elements().contains(time))));
        prop_assert_eq!(a == b, all_a == all_b);
        prop_assert_eq!(a.dominates(&b), all_b.iter().all(|time| all_a.contains(time)));
        let union: Vec<_> = all.iter().copied().filter(|time| all_a.contains(time) || all_b.contains(time)).collect();
        let common: Vec<_> = all_a.iter().copied().filter(|time| all_b.contains(time)).collect();
        prop_assert_eq!(covered(a.meet(&b).elements()), union);
        prop_assert_eq!(covered(a.join(&b).elements()), common);
    }

    #[test]
    fn prop_antichain_forgets_the_order_of_inserts((times, shuffled) in times().prop_flat_map(|t| (Just(t.clone()), Just(t).prop_shuffle()))) {
        let (a, b): (Antichain<_>, Antichain<_>) = (times.into_iter().collect(), shuffled.into_iter().collect());
        prop_assert_eq!(a, b);
    }

    #[test]
    fn prop_insert_tells_whether_the_time_was_new(times in times(), time in time()) {
        let mut antichain: Antichain<_> = times.iter().copied().collect();
        prop_assert_eq!(antichain.insert(time), !covered(&times).contains(&time));
        prop_assert!(antichain.less_equal(&time));
    }
}

#[test]
fn the_empty_antichain_is_the_end_of_time() {
    let (end, start) = (Antichain::<Step>::new(), Antichain::from_iter([Step(0)]));
    assert!(end.is_empty() && start.dominates(&end) && !end.dominates(&start));
    assert!(!end.less_equal(&Step(u64::MAX)));
    assert_eq!(Iteration(u32::MAX).next(), None);
    assert_eq!(Product::new(Step(3), Iteration(1)).to_string(), "step 3, iteration 1");
}
