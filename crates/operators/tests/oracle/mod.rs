//! The oracle: runs a circuit on random changes and compares its view with the query recomputed from scratch, after every step.
//!
//! A test names its tables (columns over small domains, so that rows collide, cancel and are NULL), builds a circuit over
//! their streams and gives a reference: a function from the tables' contents to the view's, written with the plain
//! [`ZSet`](tailrace_algebra::ZSet).
//!
//! ```ignore
//! Oracle::new([Table::new([int("k", 0..4).nullable(), text("v", 3)])]).check(
//!     |circuit, inputs| Ok(circuit.add_unary(Box::new(Negate), inputs[0], circuit.schema(inputs[0])?.clone())?),
//!     |contents| contents[0].neg(),
//! );
//! ```
//!
//! Each step also checks the promises that every operator makes:
//! * *a rollback leaves no trace*: some steps fail in their last node first, and are run again;
//! * *a fresh copy on the whole contents gives the whole content* (how views are filled);
//! * *a checkpoint given to a circuit built in the same way continues the run*;
//! * *a fork goes on by itself*: some runs continue in one while the original takes steps of its own.
//!
//! `TAILRACE_RANDOM_FACTOR` multiplies the number of cases of each test; the steps taken are counted (`tests/random.rs`).
#![allow(dead_code, unused_imports, reason = "each test file uses the part that it needs")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

pub mod cell;
mod fuse;
pub mod order;
mod run;
pub mod table;

use std::error::Error;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, StreamId};

pub use cell::{Cell, Row};
pub use run::Run;
pub use table::{Column, Step, Table, flag, float, int, list, steps, text};

/// The contents of a table or view.
pub type Rows = ZSet<Row>;

/// What building a circuit may fail with.
pub type BuildError = Box<dyn Error>;

/// Tables, and how thoroughly to test over them.
pub struct Oracle {
    tables: Vec<Table>,
    cases: u32,
    integral: bool,
}

impl Oracle {
    /// Over these tables.
    pub fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        Self { tables: tables.into_iter().collect(), cases: 250, integral: true }
    }

    /// Runs this many sequences of steps, times the factor of the environment. One sequence has six steps on average.
    pub fn cases(self, cases: u32) -> Self {
        Self { cases, ..self }
    }

    /// For a stream that depends on when changes came: its content is not recomputed from its inputs.
    pub fn without_integral(self) -> Self {
        Self { integral: false, ..self }
    }

    /// Compares the stream that `build` returns with `reference` after every step of random sequences.
    pub fn check(
        &self,
        build: impl Fn(&mut Circuit, &[StreamId]) -> Result<StreamId, BuildError>,
        reference: impl Fn(&[Rows]) -> Rows,
    ) {
        self.sequences(|steps| {
            let mut run = Run::start(&self.tables, &build, self.integral)?;
            run.compare(&reference)?;
            steps.iter().try_for_each(|step| {
                run.step(step)?;
                run.compare(&reference)
            })
        });
    }

    /// Compares with a reference that sees the whole history: the contents of the tables before the first step and after each.
    pub fn check_history(
        &self,
        build: impl Fn(&mut Circuit, &[StreamId]) -> Result<StreamId, BuildError>,
        reference: impl Fn(&[Vec<Rows>]) -> Rows,
    ) {
        self.sequences(|steps| {
            let mut run = Run::start(&self.tables, &build, self.integral)?;
            let mut history = vec![run.contents().to_vec()];
            steps.iter().try_for_each(|step| {
                run.step(step)?;
                history.push(run.contents().to_vec());
                run.compare(&|_: &[Rows]| reference(&history))
            })
        });
    }

    /// Calls `test` with random sequences of steps; shrinks and shows the one that fails.
    pub fn sequences(&self, test: impl Fn(Vec<Step>) -> Result<(), TestCaseError>) {
        let counted = |steps: Vec<Step>| {
            let taken = steps.len();
            test(steps)?;
            tailrace_tests::count_steps(taken);
            Ok(())
        };
        let result = TestRunner::new(config(self.cases)).run(&steps(&self.tables), counted);
        if let Err(error) = result {
            panic!("{error}");
        }
    }

    /// The tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }
}

/// The configuration of property tests with this many cases, times the factor of the environment.
pub fn config(cases: u32) -> Config {
    let cases = tailrace_tests::cases(cases);
    Config { cases, failure_persistence: None, max_shrink_iters: 4096, ..Config::default() }
}
