//! SQL behaviour, told as texts: tables, data, a query, and the rows that a reader computes by hand.
//!
//! Every query runs three ways: once over the filled tables; as a view that is made before the data comes, statement by statement; and as that view
//! after all rows have gone and come again. All must give the rows that the test says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod harness;

mod aggregates;
mod basics;
mod benchmarks;
mod statements;
mod subqueries;
mod windows;
