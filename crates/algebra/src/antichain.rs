//! Antichains: the lower edge of a set of times, also called a frontier.
//!
//! A frontier stands for all times at or after one of its elements. Only the minimal elements are kept, so no two of them
//! are comparable. The empty antichain stands for no time at all: everything is finished.
//!
//! **Promise.** The elements are pairwise incomparable, whatever was inserted in whatever order, and two antichains are
//! equal exactly if they stand for the same times. Ordered by "is at or before", antichains form a lattice themselves:
//! the meet stands for the union of the times, the join for the intersection, and the empty one is the greatest.
//!
//! **Why it works.** `insert` refuses an element that is at or after a kept one and otherwise drops the kept ones at or
//! after the new one; both steps leave the set of times at or after some element what it should be.

use crate::lattice::{Lattice, PartialOrder};

/// A set of pairwise incomparable elements.
///
/// ```
/// use tailrace_algebra::{Antichain, Product};
/// let mut frontier = Antichain::new();
/// assert!(frontier.insert(Product::new(1_u64, 5_u32)));
/// assert!(frontier.insert(Product::new(2, 3)));
/// assert!(!frontier.insert(Product::new(2, 5)), "at or after both");
/// assert!(frontier.less_equal(&Product::new(7, 7)));
/// assert!(frontier.insert(Product::new(0, 0)));
/// assert_eq!(frontier.elements(), &[Product::new(0, 0)]);
/// ```
#[derive(Clone, Debug)]
pub struct Antichain<T> {
    elements: Vec<T>,
}

impl<T> Antichain<T> {
    /// The empty antichain, which no time is at or after.
    pub fn new() -> Self {
        Antichain { elements: Vec::new() }
    }

    /// The minimal elements, in no particular order.
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    /// Whether no time is at or after this antichain.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }
}

impl<T: PartialOrder> Antichain<T> {
    /// Adds an element unless it is at or after a kept one; tells whether it was added.
    pub fn insert(&mut self, element: T) -> bool {
        if self.less_equal(&element) {
            return false;
        }
        self.elements.retain(|kept| !element.less_equal(kept));
        self.elements.push(element);
        true
    }

    /// Whether `time` is at or after some element.
    pub fn less_equal(&self, time: &T) -> bool {
        self.elements.iter().any(|element| element.less_equal(time))
    }

    /// Whether `time` is strictly after some element.
    pub fn less_than(&self, time: &T) -> bool {
        self.elements.iter().any(|element| element.less_than(time))
    }

    /// Whether every time of `other` is also one of this antichain.
    pub fn dominates(&self, other: &Antichain<T>) -> bool {
        other.elements.iter().all(|element| self.less_equal(element))
    }
}

impl<T> Default for Antichain<T> {
    fn default() -> Self {
        Antichain::new()
    }
}

impl<T: PartialOrder> FromIterator<T> for Antichain<T> {
    fn from_iter<I: IntoIterator<Item = T>>(times: I) -> Self {
        let mut antichain = Antichain::new();
        antichain.extend(times);
        antichain
    }
}

impl<T: PartialOrder> Extend<T> for Antichain<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, times: I) {
        for time in times {
            self.insert(time);
        }
    }
}

impl<T: PartialOrder> PartialEq for Antichain<T> {
    fn eq(&self, other: &Self) -> bool {
        self.dominates(other) && other.dominates(self)
    }
}

impl<T: PartialOrder + Eq> Eq for Antichain<T> {}

impl<T: PartialOrder> PartialOrder for Antichain<T> {
    fn less_equal(&self, other: &Self) -> bool {
        self.dominates(other)
    }
}

impl<T: Lattice + Clone> Lattice for Antichain<T> {
    fn join(&self, other: &Self) -> Self {
        let pairs = self.elements.iter().flat_map(|a| other.elements.iter().map(move |b| a.join(b)));
        pairs.collect()
    }

    fn meet(&self, other: &Self) -> Self {
        self.elements.iter().chain(&other.elements).cloned().collect()
    }
}
