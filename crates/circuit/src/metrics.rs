//! Figures per node: how often it ran, how many rows went through, how long it took.
//!
//! **Promise.** They cost one reading of the clock per evaluation. State sizes are not counted along: they are asked for when
//! somebody looks.

use std::time::Duration;

/// What a node has done since it was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Evaluations, rolled back ones included.
    pub evaluations: u64,
    /// Rows of change read, over all inputs.
    pub rows_in: u64,
    /// Rows of change written.
    pub rows_out: u64,
    /// Time spent in evaluations.
    pub time: Duration,
}

impl Metrics {
    pub(crate) fn record(&mut self, rows_in: usize, rows_out: usize, time: Duration) {
        self.evaluations += 1;
        self.rows_in += rows_in as u64;
        self.rows_out += rows_out as u64;
        self.time += time;
    }
}
