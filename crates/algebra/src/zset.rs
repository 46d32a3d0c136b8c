//! The reference Z-set: rows with integer weights, as plain as possible.
//!
//! This is the value type of the oracles. It is not fast and not meant to be: each operation is its definition, so that a test
//! can compare what the engine maintains with what these few lines compute from scratch.
//!
//! **Promise.** No row has weight zero, so equal Z-sets are `==` and print alike. `map`, `filter`, `flat_map` and `neg` are
//! linear, `join_by` and `cartesian` are bilinear, `distinct` and `positive` are idempotent.
//!
//! **Overflow.** Weights are kept in 128 bits, as the sum of `2^64` weights of 64 bits and the product of any two fit
//! in there. An oracle that multiplies further computes modulo `2^128`: what is linear or bilinear is then still right
//! whenever the true result fits, whatever happened in between. [`Monoid::checked_plus`] and the like say `None` instead.

use std::collections::BTreeMap;
use std::fmt;

use crate::monoid::{Group, Monoid};
use crate::weight::Weight;

/// A finite map from rows to weights that are not zero.
///
/// ```
/// use tailrace_algebra::ZSet;
/// let orders = ZSet::from_iter([(("ann", 5), 1), (("bob", 7), 2)]);
/// let cities = ZSet::from_iter([(("ann", "Ulm"), 1), (("bob", "Bern"), 1)]);
/// let joined = orders.join_by(&cities, |o| o.0, |c| c.0, |o, c| (c.1, o.1));
/// assert_eq!(joined, ZSet::from_iter([(("Ulm", 5), 1), (("Bern", 7), 2)]));
///
/// let cancelled = joined.plus(&joined.neg());
/// assert!(cancelled.is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZSet<T> {
    weights: BTreeMap<T, i128>,
}

impl<T> ZSet<T> {
    /// The empty Z-set.
    pub fn new() -> Self {
        ZSet { weights: BTreeMap::new() }
    }

    /// Whether no row has a weight.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The number of different rows.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// The rows in ascending order, each with its weight.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&T, i128)> + ExactSizeIterator {
        self.weights.iter().map(|(row, &weight)| (row, weight))
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> i128 {
        self.weights.values().fold(0, |total, &weight| total.wrapping_add(weight))
    }

    /// Whether every row has a positive weight: the Z-set is a bag.
    pub fn is_positive(&self) -> bool {
        self.weights.values().all(|&weight| weight > 0)
    }
}

impl<T: Ord + Clone> ZSet<T> {
    /// The rows of `rows`, each as often as it occurs.
    pub fn from_rows(rows: impl IntoIterator<Item = T>) -> Self {
        rows.into_iter().map(|row| (row, 1)).collect()
    }

    /// The weight of a row, zero if it is not there.
    pub fn weight(&self, row: &T) -> i128 {
        self.weights.get(row).copied().unwrap_or(0)
    }

    /// Adds to the weight of a row.
    pub fn insert(&mut self, row: T, weight: impl Into<i128>) {
        let sum = self.weight(&row).wrapping_add(weight.into());
        self.set(row, sum);
    }

    /// The rows with their weights as the engine has them, or `None` if a weight has more than 64 bits.
    pub fn to_weights(&self) -> Option<Vec<(T, Weight)>> {
        self.iter().map(|(row, weight)| Some((row.clone(), Weight(i64::try_from(weight).ok()?)))).collect()
    }

    /// The rows as a list, each repeated as often as its weight says; those of negative weight are left out.
    pub fn to_rows(&self) -> Vec<T> {
        let repeated = |(row, weight): (&T, i128)| {
            let times = usize::try_from(weight).unwrap_or(0);
            std::iter::repeat_n(row.clone(), times)
        };
        self.iter().flat_map(repeated).collect()
    }

    /// The sum of two Z-sets: UNION ALL.
    pub fn plus(&self, other: &Self) -> Self {
        let both = self.iter().chain(other.iter());
        both.map(|(row, weight)| (row.clone(), weight)).collect()
    }

    /// All weights negated.
    pub fn neg(&self) -> Self {
        self.scale(-1)
    }

    /// The difference of two Z-sets.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.neg())
    }

    /// All weights multiplied.
    pub fn scale(&self, factor: impl Into<i128>) -> Self {
        let factor = factor.into();
        self.iter().map(|(row, weight)| (row.clone(), weight.wrapping_mul(factor))).collect()
    }

    /// Each row replaced by its image: SELECT.
    pub fn map<U: Ord + Clone>(&self, image: impl Fn(&T) -> U) -> ZSet<U> {
        self.iter().map(|(row, weight)| (image(row), weight)).collect()
    }

    /// The rows that satisfy a predicate: WHERE.
    pub fn filter(&self, keep: impl Fn(&T) -> bool) -> Self {
        let kept = self.iter().filter(|(row, _)| keep(row));
        kept.map(|(row, weight)| (row.clone(), weight)).collect()
    }

    /// Each row replaced by any number of rows of the same weight: UNNEST.
    pub fn flat_map<U: Ord + Clone, I: IntoIterator<Item = U>>(&self, images: impl Fn(&T) -> I) -> ZSet<U> {
        let spread =
            self.iter().flat_map(|(row, weight)| images(row).into_iter().map(move |image| (image, weight)));
        spread.collect()
    }

    /// Weight one for each row of positive weight: SELECT DISTINCT.
    pub fn distinct(&self) -> Self {
        self.positive().iter().map(|(row, _)| (row.clone(), 1)).collect()
    }

    /// The rows of positive weight, with their weights.
    pub fn positive(&self) -> Self {
        let kept = self.iter().filter(|&(_, weight)| weight > 0);
        kept.map(|(row, weight)| (row.clone(), weight)).collect()
    }

    /// The rows of each key: GROUP BY.
    pub fn group_by<K: Ord>(&self, key: impl Fn(&T) -> K) -> BTreeMap<K, ZSet<T>> {
        let mut groups: BTreeMap<K, ZSet<T>> = BTreeMap::new();
        for (row, weight) in self.iter() {
            groups.entry(key(row)).or_default().insert(row.clone(), weight);
        }
        groups
    }

    /// One row of weight one for each group, unless `fold` makes nothing of it: GROUP BY with aggregates.
    pub fn aggregate_by<K: Ord, R: Ord + Clone>(
        &self,
        key: impl Fn(&T) -> K,
        fold: impl Fn(&K, &ZSet<T>) -> Option<R>,
    ) -> ZSet<R> {
        let groups = self.group_by(key);
        ZSet::from_rows(groups.iter().filter_map(|(key, group)| fold(key, group)))
    }

    /// All pairs of rows with equal keys, weights multiplied: INNER JOIN.
    pub fn join_by<U: Ord + Clone, K: Ord, R: Ord + Clone>(
        &self,
        other: &ZSet<U>,
        key: impl Fn(&T) -> K,
        other_key: impl Fn(&U) -> K,
        combine: impl Fn(&T, &U) -> R,
    ) -> ZSet<R> {
        let groups = other.group_by(other_key);
        let mut joined = ZSet::new();
        for (row, weight) in self.iter() {
            for (match_row, match_weight) in groups.get(&key(row)).into_iter().flat_map(ZSet::iter) {
                joined.insert(combine(row, match_row), weight.wrapping_mul(match_weight));
            }
        }
        joined
    }

    /// The rows whose key is the key of a row of positive weight on the other side: WHERE EXISTS.
    pub fn semijoin_by<U: Ord + Clone, K: Ord>(
        &self,
        other: &ZSet<U>,
        key: impl Fn(&T) -> K,
        other_key: impl Fn(&U) -> K,
    ) -> Self {
        let groups = other.positive().group_by(other_key);
        self.filter(|row| groups.contains_key(&key(row)))
    }

    /// The rows that [`ZSet::semijoin_by`] leaves out: WHERE NOT EXISTS.
    pub fn antijoin_by<U: Ord + Clone, K: Ord>(
        &self,
        other: &ZSet<U>,
        key: impl Fn(&T) -> K,
        other_key: impl Fn(&U) -> K,
    ) -> Self {
        let groups = other.positive().group_by(other_key);
        self.filter(|row| !groups.contains_key(&key(row)))
    }

    /// All pairs of rows, weights multiplied: CROSS JOIN.
    pub fn cartesian<U: Ord + Clone>(&self, other: &ZSet<U>) -> ZSet<(T, U)> {
        self.join_by(other, |_| (), |_| (), |left, right| (left.clone(), right.clone()))
    }

    /// Gives a row a weight; zero takes it out.
    fn set(&mut self, row: T, weight: i128) {
        if weight == 0 {
            self.weights.remove(&row);
        } else {
            self.weights.insert(row, weight);
        }
    }
}

impl<T> Default for ZSet<T> {
    fn default() -> Self {
        ZSet::new()
    }
}

impl<T: Ord + Clone, W: Into<i128>> FromIterator<(T, W)> for ZSet<T> {
    fn from_iter<I: IntoIterator<Item = (T, W)>>(rows: I) -> Self {
        let mut zset = ZSet::new();
        zset.extend(rows);
        zset
    }
}

impl<T: Ord + Clone, W: Into<i128>> Extend<(T, W)> for ZSet<T> {
    fn extend<I: IntoIterator<Item = (T, W)>>(&mut self, rows: I) {
        for (row, weight) in rows {
            self.insert(row, weight);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for ZSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.weights).finish()
    }
}

impl<T: Ord + Clone> Monoid for ZSet<T> {
    fn checked_plus(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        for (row, weight) in other.iter() {
            let total = sum.weight(row).checked_add(weight)?;
            sum.set(row.clone(), total);
        }
        Some(sum)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Ord + Clone> Group for ZSet<T> {
    fn checked_neg(&self) -> Option<Self> {
        let negated = self.iter().map(|(row, weight)| Some((row.clone(), weight.checked_neg()?)));
        negated.collect()
    }
}
