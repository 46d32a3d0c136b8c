//! One circuit under test: its tables, its view so far, and the checks of every step.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, NodeId, StreamId, Value};
use tailrace_operators::TableSource;
use tailrace_trace::{ChangeBatch, Layout};

use super::cell::{to_batch, to_rows};
use super::fuse::Fuse;
use super::{BuildError, Rows, Step, Table};

/// A function that builds the circuit under test over the streams of the tables.
type Build<'a> = dyn Fn(&mut Circuit, &[StreamId]) -> Result<StreamId, BuildError> + 'a;

/// A running circuit and what is known about it.
pub struct Run<'a> {
    tables: &'a [Table],
    build: &'a Build<'a>,
    integral: bool,
    parts: Parts,
    contents: Vec<Rows>,
    view: Rows,
    steps: usize,
}

struct Parts {
    circuit: Circuit,
    sources: Vec<StreamId>,
    output: StreamId,
    fuse: Fuse,
    last: StreamId,
}

impl<'a> Run<'a> {
    /// Builds the circuit and fills it with nothing.
    pub fn start(tables: &'a [Table], build: &'a Build<'a>, integral: bool) -> Result<Self, TestCaseError> {
        let mut parts = assemble(tables, build)?;
        let sources = parts.sources.len();
        let nodes: Vec<NodeId> = parts.circuit.nodes().map(|node| node.id()).skip(sources).collect();
        let mut filled = parts.circuit.fill(&nodes).map_err(failed)?;
        let view = filled.take(parts.output).map_or_else(ZSet::new, |value| rows_of(&value));
        let contents = vec![ZSet::new(); tables.len()];
        Ok(Self { tables, build, integral, parts, contents, view, steps: 0 })
    }

    /// Runs one step with all its checks.
    pub fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.steps += 1;
        let batches: Vec<ChangeBatch> =
            self.tables.iter().zip(step).map(|(table, changes)| to_batch(table.schema(), changes)).collect();
        if self.steps.is_multiple_of(2) {
            self.fail(&batches)?;
        }
        if self.steps.is_multiple_of(3) {
            self.move_house()?;
        }
        if self.steps % 4 == 1 {
            self.branch_off(&batches)?;
        }
        let inputs = self.parts.sources.iter().copied().zip(batches);
        let mut output = self.parts.circuit.step(inputs).map_err(failed)?;
        if let Some(value) = output.take(self.parts.output) {
            self.view = self.view.plus(&rows_of(&value));
        }
        for (contents, changes) in self.contents.iter_mut().zip(step) {
            contents.extend(changes.iter().cloned());
        }
        Ok(())
    }

    /// Compares the view with the reference, and with what a fresh copy makes of the whole contents.
    pub fn compare(&self, reference: &dyn Fn(&[Rows]) -> Rows) -> Result<(), TestCaseError> {
        let expected = reference(&self.contents);
        prop_assert_eq!(&self.view, &expected, "view and reference differ after step {}", self.steps);
        if self.integral {
            let integral = self.parts.circuit.evaluate_integral(self.parts.output).map_err(failed)?;
            prop_assert_eq!(rows_of(&integral), expected, "the integral differs after step {}", self.steps);
        }
        Ok(())
    }

    /// The contents of the tables.
    pub fn contents(&self) -> &[Rows] {
        &self.contents
    }

    /// All changes of the output, added up.
    pub fn view(&self) -> &Rows {
        &self.view
    }

    /// The circuit.
    pub fn circuit(&self) -> &Circuit {
        &self.parts.circuit
    }

    /// Runs a step that fails in its last node.
    fn fail(&mut self, batches: &[ChangeBatch]) -> Result<(), TestCaseError> {
        let Parts { circuit, sources, fuse, last, .. } = &mut self.parts;
        fuse.arm(true);
        circuit.wake(*last).map_err(failed)?;
        let result = circuit.step(sources.iter().copied().zip(batches.iter().cloned()));
        fuse.arm(false);
        match result {
            Err(error) if error.operator == "fuse" => Ok(()),
            Err(error) => Err(failed(error)),
            Ok(_) => Err(TestCaseError::fail("the step was meant to fail")),
        }
    }

    /// Takes the state to a circuit built anew.
    fn move_house(&mut self) -> Result<(), TestCaseError> {
        let checkpoint = self.parts.circuit.checkpoint();
        self.parts = assemble(self.tables, self.build)?;
        self.parts.circuit.restore(checkpoint).map_err(failed)
    }

    /// Goes on with a fork, while the original takes a step that the fork must not notice.
    fn branch_off(&mut self, batches: &[ChangeBatch]) -> Result<(), TestCaseError> {
        let fork = self.parts.circuit.fork().map_err(failed)?;
        let mut original = std::mem::replace(&mut self.parts.circuit, fork);
        let inputs = self.parts.sources.iter().copied().zip(batches.iter().cloned());
        original.step(inputs).map_err(failed).map(drop)
    }
}

/// Rows of change of a value.
pub fn rows_of(value: &Value) -> Rows {
    match value {
        Value::Changes(batch) => to_rows(batch),
        Value::Indexed(arranged) => to_rows(&arranged.delta.to_changes()),
        other => panic!("the oracle cannot read {}", other.kind()),
    }
}

fn assemble(tables: &[Table], build: &Build<'_>) -> Result<Parts, TestCaseError> {
    let mut circuit = Circuit::new();
    let source = |table: &Table| {
        let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
        let layout = Layout::rows(table.schema().clone(), columns.len()).map_err(failed)?;
        let source = TableSource::new(layout, columns);
        circuit.add_source(Box::new(source), table.schema().clone()).map_err(failed)
    };
    let sources = tables.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    let output = build(&mut circuit, &sources).map_err(failed)?;
    circuit.watch(output).map_err(failed)?;
    let fuse = Fuse::default();
    let schema = circuit.schema(output).map_err(failed)?.clone();
    let last = circuit.add_source(Box::new(fuse.clone()), schema).map_err(failed)?;
    Ok(Parts { circuit, sources, output, fuse, last })
}

fn failed(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}
