//! Timestamps: the step of a circuit, the iteration of a nested one, and their product.
//!
//! **Promise.** [`Step`] and [`Iteration`] are totally ordered and count up from zero; [`Product`] is ordered component by
//! component, which makes it a lattice when its parts are. Nesting deeper is a product of a product.
//!
//! `Ord` on [`Product`] is the lexicographic order. It extends the partial order (what is before stays before), so that sorted
//! containers list times in an order in which they may be processed.

use std::fmt;

use crate::lattice::{Lattice, PartialOrder, total_lattice};

/// The number of a step of the outermost circuit.
///
/// ```
/// use tailrace_algebra::Step;
/// assert_eq!(Step::default().next(), Some(Step(1)));
/// assert_eq!(Step(u64::MAX).next(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Step(pub u64);

/// The number of an iteration of a nested circuit within one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Iteration(pub u32);

/// A time in a nested circuit: the time of the outer circuit and the clock of the inner one.
///
/// ```
/// use tailrace_algebra::{Iteration, Lattice, PartialOrder, Product, Step};
/// let early = Product::new(Step(1), Iteration(0));
/// let late = Product::new(Step(2), Iteration(3));
/// assert!(early.less_than(&late));
/// assert_eq!(early.join(&late), late);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Product<A, B> {
    /// The time of the outer circuit.
    pub outer: A,
    /// The time of the inner circuit.
    pub inner: B,
}

impl Step {
    /// The step after this one, or `None` at the end of time.
    pub fn next(self) -> Option<Step> {
        self.0.checked_add(1).map(Step)
    }
}

impl Iteration {
    /// The iteration after this one, or `None` at the end of time.
    pub fn next(self) -> Option<Iteration> {
        self.0.checked_add(1).map(Iteration)
    }
}

impl<A, B> Product<A, B> {
    /// The time of an outer and an inner clock.
    pub fn new(outer: A, inner: B) -> Self {
        Product { outer, inner }
    }
}

total_lattice!(Step, Iteration);

impl<A: PartialOrder, B: PartialOrder> PartialOrder for Product<A, B> {
    fn less_equal(&self, other: &Self) -> bool {
        self.outer.less_equal(&other.outer) && self.inner.less_equal(&other.inner)
    }
}

impl<A: Lattice, B: Lattice> Lattice for Product<A, B> {
    fn join(&self, other: &Self) -> Self {
        Product::new(self.outer.join(&other.outer), self.inner.join(&other.inner))
    }

    fn meet(&self, other: &Self) -> Self {
        Product::new(self.outer.meet(&other.outer), self.inner.meet(&other.inner))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}", self.0)
    }
}

impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "iteration {}", self.0)
    }
}

impl<A: fmt::Display, B: fmt::Display> fmt::Display for Product<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.outer, self.inner)
    }
}
