//! The algebra under Tailrace: what the other crates may rely on without looking at a row.
//!
//! A table is a Z-set, a change is a Z-set, and a view is kept up to date by adding changes. That works because weights and
//! accumulators obey a few laws; this crate states the laws as small traits, provides the values that obey them, and
//! proves both with property tests.
//!
//! | module | what it holds |
//! |---|---|
//! | [`monoid`] | [`Monoid`], [`Group`], [`Ring`] with checked operations, and their instances for integers and tuples |
//! | [`weight`] | [`Weight`], the multiplicity of a row, and checked sums over weight columns |
//! | [`float`] | the one total order of floats, canonical bits, order-preserving integer keys |
//! | [`exact_sum`] | [`ExactSum`], the float sum that does not depend on order, split or merges |
//! | [`moments`] | mean, variance and covariance as correctly rounded functions of exact sums |
//! | [`lattice`] | [`PartialOrder`] and [`Lattice`] |
//! | [`time`] | [`Step`], [`Iteration`] and [`Product`] timestamps |
//! | [`antichain`] | [`Antichain`], the frontier of a set of times |
//! | [`zset`] | [`ZSet`], the plain reference Z-set that oracles compute with |
//! | [`stream`] | reference integration, differentiation and delay over recorded streams |
//!
//! Invariants, stated as absences: no I/O, no Arrow, no `unsafe`, no dependency, no panic. A weight or sum that cannot be
//! represented is `None`. [`ExactSum`] and [`ZSet`] have so much room that no table fills it; their headers say how much, and
//! what happens beyond.

pub mod antichain;
pub mod exact_sum;
pub mod float;
mod integer;
pub mod lattice;
pub mod moments;
pub mod monoid;
pub mod stream;
pub mod time;
pub mod weight;
pub mod zset;

pub use antichain::Antichain;
pub use exact_sum::ExactSum;
pub use float::{OrderedF32, OrderedF64};
pub use lattice::{Lattice, PartialOrder};
pub use monoid::{Group, Monoid, Ring};
pub use time::{Iteration, Product, Step};
pub use weight::Weight;
pub use zset::ZSet;
