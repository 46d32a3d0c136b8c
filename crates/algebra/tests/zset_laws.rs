//! The laws of Z-set operations and of streams of them, and each operation against its definition on lists of rows.

mod reference;

use std::collections::BTreeSet;

use proptest::prelude::*;
use reference::weight;
use tailrace_algebra::stream::{delay, differentiate, integrate};
use tailrace_algebra::{Monoid, Weight, ZSet};

type Row = (u8, u8);

/// Z-sets over few rows, so that rows meet and weights cancel.
fn zset() -> impl Strategy<Value = ZSet<Row>> {
    prop::collection::vec(((0_u8..4, 0_u8..3), -3_i64..4), 0..10).prop_map(|rows| rows.into_iter().collect())
}

fn bag() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0_u8..4, 0_u8..3), 0..10)
}

fn stream() -> impl Strategy<Value = Vec<ZSet<Row>>> {
    prop::collection::vec(zset(), 0..6)
}

fn join(a: &ZSet<Row>, b: &ZSet<Row>) -> ZSet<(Row, Row)> {
    a.join_by(b, |row| row.0, |row| row.1, |a, b| (*a, *b))
}

fn spread(row: &Row) -> Vec<u8> {
    vec![row.1; usize::from(row.0)]
}

/// A list of rows as a Z-set, by counting.
fn counted<T: Ord + Clone>(rows: &[T]) -> ZSet<T> {
    let rows_once: BTreeSet<&T> = rows.iter().collect();
    rows_once
        .iter()
        .map(|&row| (row.clone(), rows.iter().filter(|other| *other == row).count() as i64))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(500)))]

    #[test]
    fn prop_no_row_has_weight_zero(a in zset(), b in zset()) {
        for zset in [&a.plus(&b), &a.minus(&b), &a.map(|row| (row.0, 0)), &a.scale(0)] {
            prop_assert!(zset.iter().all(|(_, weight)| weight != 0));
        }
        prop_assert!(a.minus(&a).is_empty());
    }

    #[test]
    fn prop_row_operations_are_linear(a in zset(), b in zset(), factor in weight()) {
        let sum = a.plus(&b);
        prop_assert_eq!(sum.map(|row| row.0), a.map(|row| row.0).plus(&b.map(|row| row.0)));
        prop_assert_eq!(sum.filter(|row| row.0 > 1), a.filter(|row| row.0 > 1).plus(&b.filter(|row| row.0 > 1)));
        prop_assert_eq!(sum.flat_map(spread), a.flat_map(spread).plus(&b.flat_map(spread)));
        prop_assert_eq!(sum.neg(), a.neg().plus(&b.neg()));
        prop_assert_eq!(a.scale(factor).map(|row| row.1), a.map(|row| row.1).scale(factor));
        prop_assert_eq!(sum.total_weight(), a.total_weight() + b.total_weight());
    }

    #[test]
    fn prop_join_is_bilinear(a in zset(), b in zset(), c in zset()) {
        prop_assert_eq!(join(&a.plus(&b), &c), join(&a, &c).plus(&join(&b, &c)));
        prop_assert_eq!(join(&c, &a.plus(&b)), join(&c, &a).plus(&join(&c, &b)));
        prop_assert_eq!(a.plus(&b).cartesian(&c), a.cartesian(&c).plus(&b.cartesian(&c)));
        prop_assert_eq!(a.cartesian(&b).total_weight(), a.total_weight() * b.total_weight());
    }

    #[test]
    fn prop_distinct_and_positive_are_idempotent(a in zset()) {
        prop_assert_eq!(a.distinct().distinct(), a.distinct());
        prop_assert_eq!(a.positive().positive(), a.positive());
        prop_assert_eq!(a.positive().distinct(), a.distinct());
        prop_assert_eq!(a.positive().minus(&a.neg().positive()), a.clone());
        prop_assert_eq!(a.is_positive(), a == a.positive());
    }

    #[test]
    fn prop_groups_are_a_partition(a in zset()) {
        let groups = a.group_by(|row| row.0);
        prop_assert_eq!(ZSet::sum(groups.values()), Some(a.clone()));
        prop_assert!(groups.iter().all(|(key, group)| !group.is_empty() && group.iter().all(|(row, _)| row.0 == *key)));
    }

    #[test]
    fn oracle_operations_on_bags_are_those_on_lists(a in bag(), b in bag()) {
        let (left, right) = (counted(&a), counted(&b));
        prop_assert_eq!(ZSet::from_rows(a.clone()), left.clone());
        prop_assert_eq!(left.plus(&right), counted(&[a.clone(), b.clone()].concat()));
        prop_assert_eq!(left.map(|row| row.1), counted(&a.iter().map(|row| row.1).collect::<Vec<_>>()));
        prop_assert_eq!(left.flat_map(spread), counted(&a.iter().flat_map(spread).collect::<Vec<_>>()));
        let pairs: Vec<_> = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y))).collect();
        prop_assert_eq!(left.cartesian(&right), counted(&pairs));
        let matches: Vec<_> = pairs.into_iter().filter(|(x, y)| x.0 == y.1).collect();
        prop_assert_eq!(join(&left, &right), counted(&matches));
        let (with, without): (Vec<Row>, Vec<Row>) = a.iter().copied().partition(|x| b.iter().any(|y| x.0 == y.1));
        prop_assert_eq!(left.semijoin_by(&right, |row| row.0, |row| row.1), counted(&with));
        prop_assert_eq!(left.antijoin_by(&right, |row| row.0, |row| row.1), counted(&without));
        let mut sorted = a.clone();
        sorted.sort();
        prop_assert_eq!(left.to_rows(), sorted.clone());
        sorted.dedup();
        prop_assert_eq!(left.distinct(), counted(&sorted));
    }

    #[test]
    fn oracle_aggregates_are_those_of_each_group(a in bag()) {
        let counts = counted(&a).aggregate_by(|row| row.0, |&key, group| (key != 1).then(|| (key, group.total_weight())));
        let keys: BTreeSet<u8> = a.iter().map(|row| row.0).filter(|&key| key != 1).collect();
        let count = |key: u8| a.iter().filter(|row| row.0 == key).count() as i128;
        prop_assert_eq!(counts, ZSet::from_rows(keys.into_iter().map(|key| (key, count(key)))));
    }

    #[test]
    fn prop_integrate_inverts_differentiate(stream in stream()) {
        let back = differentiate(&stream).and_then(|changes| integrate(&changes));
        prop_assert_eq!(back.as_ref(), Some(&stream));
        let forth = integrate(&stream).and_then(|states| differentiate(&states));
        prop_assert_eq!(forth, Some(stream));
    }

    #[test]
    fn prop_incremental_join_is_the_join_of_integrals((a, b) in (1_usize..6).prop_flat_map(|n| (prop::collection::vec(zset(), n), prop::collection::vec(zset(), n)))) {
        // The delta rule of join: a·b + I(z⁻¹a)·b + a·I(z⁻¹b).
        let past = |stream: &[ZSet<Row>]| integrate(&delay(stream)).unwrap_or_default();
        let (past_a, past_b) = (past(&a), past(&b));
        let changes: Vec<_> = (0..a.len())
            .map(|step| join(&a[step], &b[step]).plus(&join(&past_a[step], &b[step])).plus(&join(&a[step], &past_b[step])))
            .collect();
        let (all_a, all_b) = (ZSet::sum(&a).unwrap_or_default(), ZSet::sum(&b).unwrap_or_default());
        prop_assert_eq!(ZSet::sum(&changes), Some(join(&all_a, &all_b)));
    }
}

#[test]
fn weights_beyond_64_bits_are_kept_and_told() {
    let mut rows = ZSet::new();
    rows.insert('a', i64::MAX);
    rows.insert('a', Weight(1));
    assert_eq!(rows.weight(&'a'), 1 << 63);
    assert_eq!(rows.to_weights(), None);
    rows.insert('a', -1);
    assert_eq!(rows.to_weights(), Some(vec![('a', Weight(i64::MAX))]));
}

#[test]
fn checked_operations_tell_what_the_convenient_ones_wrap() {
    let huge = ZSet::from_iter([('a', i128::MAX)]);
    assert_eq!(huge.checked_plus(&huge), None);
    assert_eq!(huge.plus(&huge).minus(&huge), huge);
}

#[test]
fn the_empty_stream_has_empty_images() {
    assert_eq!(delay::<i128>(&[]), []);
    assert_eq!(differentiate::<i128>(&[]), Some(vec![]));
    assert_eq!(integrate(&[i64::MAX, 1]), None);
}
