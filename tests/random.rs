//! How much the random tests draw, and how much they have drawn.
//!
//! Every property test asks [`cases`] for its number of cases, so that one knob of the environment turns all of them:
//! `TAILRACE_RANDOM_FACTOR=8` draws eight times as much (`make soak` does so).
//!
//! A *random step* is a random change that was put through the code under test and whose result was compared with a reference. Tests that
//! take such steps say so by [`count_steps`]; if `TAILRACE_STEPS` names a file, each call appends a line to it. `make test` adds the lines up and
//! fails below the number that the project promises.
//!
//! It uses the standard library alone: no crate's dependencies change because its tests use this.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;

/// The number of cases of a test that draws `usual` ones in `make test`.
pub fn cases(usual: u32) -> u32 {
    let factor = std::env::var("TAILRACE_RANDOM_FACTOR").ok().and_then(|text| text.parse().ok());
    usual.saturating_mul(factor.unwrap_or(1))
}

/// Notes that a test has taken random steps and compared each with its reference.
pub fn count_steps(steps: usize) {
    static LEDGER: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("TAILRACE_STEPS")?;
        OpenOptions::new().append(true).create(true).open(path).ok()
    };
    if let Some(mut file) = LEDGER.get_or_init(open).as_ref() {
        // One write a line: lines of processes that append at the same time do not mix. A line that is lost makes the count smaller, never wrong.
        let _ = file.write_all(format!("{steps}\n").as_bytes());
    }
}
