//! Integration, differentiation, delay and delta0 against the recorded streams of the algebra, and the laws between them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;
mod scope;
mod wiring;

use Of::{L, R};
use oracle::{BuildError, Oracle, Rows, Run, Step, Table, int, text};
use proptest::prelude::*;
use scope::{Of, edges, index, ints, plus};
use tailrace_algebra::ZSet;
use tailrace_algebra::stream;
use tailrace_circuit::{Circuit, StreamId, UnaryOperator};
use tailrace_operators::nested::{Outer, Recursion};
use tailrace_operators::{Delay, Differentiate, Integrate};
use wiring::{distinct, join, semi_join};

fn rows() -> Table {
    Table::new([int("k", 0..3).nullable(), text("v", 3)])
}

fn add(
    circuit: &mut Circuit,
    operator: impl UnaryOperator + 'static,
    input: StreamId,
) -> Result<StreamId, BuildError> {
    let schema = circuit.schema(input)?.clone();
    Ok(circuit.add_unary(Box::new(operator), input, schema)?)
}

fn integrate(circuit: &mut Circuit, input: StreamId) -> Result<StreamId, BuildError> {
    let operator = Integrate::new(circuit.schema(input)?.clone())?;
    add(circuit, operator, input)
}

fn differentiate(circuit: &mut Circuit, input: StreamId) -> Result<StreamId, BuildError> {
    let operator = Differentiate::new(circuit.schema(input)?.clone())?;
    add(circuit, operator, input)
}

fn delay(circuit: &mut Circuit, input: StreamId) -> Result<StreamId, BuildError> {
    let operator = Delay::new(circuit.schema(input)?.clone())?;
    add(circuit, operator, input)
}

/// The changes of the first table, step by step.
fn changes(history: &[Vec<Rows>]) -> Vec<Rows> {
    let states: Vec<Rows> = history[1..].iter().map(|contents| contents[0].clone()).collect();
    stream::differentiate(&states).unwrap()
}

fn sum(stream: &[Rows]) -> Rows {
    stream.iter().fold(ZSet::new(), |sum, rows| sum.plus(rows))
}

#[test]
fn oracle_integrate() {
    Oracle::new([rows()]).without_integral().check_history(
        |circuit, inputs| integrate(circuit, inputs[0]),
        |history| sum(&stream::integrate(&changes(history)).unwrap()),
    );
}

#[test]
fn oracle_differentiate() {
    Oracle::new([rows()]).check_history(
        |circuit, inputs| differentiate(circuit, inputs[0]),
        |history| sum(&stream::differentiate(&changes(history)).unwrap()),
    );
}

#[test]
fn oracle_delay() {
    Oracle::new([rows()]).without_integral().check_history(
        |circuit, inputs| delay(circuit, inputs[0]),
        |history| sum(&stream::delay(&changes(history))),
    );
}

/// Inside a scope that runs as many iterations as the longest path has edges, an import is there at iteration 0 and at no other: its sum over the
/// iterations is the outer change, however many there are.
#[test]
fn oracle_delta0() {
    let build = |circuit: &mut Circuit, inputs: &[StreamId]| {
        let pair = ints(["x", "y"]);
        let recursion = Recursion::new(1_000).set("path", pair.clone()).bag("import", pair);
        let built = recursion.build(circuit, &[Outer::Changes(inputs[0])], |inner, inside| {
            let (edges, paths) = (inside.outer[0], inside.relations[0]);
            let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, edges, &[0])?);
            let longer = scope::join(inner, &by_end, &by_start, &[L(0), R(1)])?;
            Ok::<_, BuildError>(vec![plus(inner, edges, longer)?, edges])
        })?;
        Ok(built.relations[1])
    };
    Oracle::new([edges(6)]).check(build, |contents| contents[0].clone());
}

#[test]
fn prop_integrate_inverts_differentiate() {
    Oracle::new([rows()]).without_integral().check(
        |circuit, inputs| {
            let difference = differentiate(circuit, inputs[0])?;
            integrate(circuit, difference)
        },
        |contents| contents[0].clone(),
    );
}

#[test]
fn prop_differentiate_inverts_integrate() {
    Oracle::new([rows()]).check(
        |circuit, inputs| {
            let contents = integrate(circuit, inputs[0])?;
            differentiate(circuit, contents)
        },
        |contents| contents[0].clone(),
    );
}

/// A view over two tables with linear, bilinear and other operators.
fn view(circuit: &mut Circuit, inputs: &[StreamId]) -> Result<StreamId, BuildError> {
    let kept = semi_join(circuit, (inputs[0], inputs[1]), &[0], (true, false))?;
    let joined = join(circuit, (inputs[0], &[0]), (inputs[1], &[0]))?;
    let once = distinct(circuit, joined)?;
    join(circuit, (once, &[1]), (kept, &[1]))
}

/// Runs the steps and gives the view at the end.
fn run(tables: &[Table], steps: &[Step]) -> Result<Rows, TestCaseError> {
    let mut run = Run::start(tables, &view, true)?;
    steps.iter().try_for_each(|step| run.step(step))?;
    Ok(run.view().clone())
}

/// All changes in one step.
fn together(steps: &[Step]) -> Vec<Step> {
    let table = |index: usize| steps.iter().flat_map(|step| step[index].clone()).collect();
    vec![(0..steps[0].len()).map(table).collect()]
}

/// Each row in a step of its own.
fn apart(steps: &[Step]) -> Vec<Step> {
    let width = steps[0].len();
    let single = |table: usize, change: (oracle::Row, i64)| {
        (0..width)
            .map(|index| if index == table { vec![change.clone()] } else { Vec::new() })
            .collect::<Step>()
    };
    let rows = steps.iter().flat_map(|step| step.iter().enumerate());
    rows.flat_map(|(table, changes)| changes.iter().map(move |change| single(table, change.clone())))
        .collect()
}

#[test]
fn prop_any_split_of_the_input_gives_the_same_view() {
    let oracle = Oracle::new([rows(), rows()]);
    oracle.sequences(|steps| {
        let expected = run(oracle.tables(), &steps)?;
        prop_assert_eq!(&run(oracle.tables(), &together(&steps))?, &expected);
        prop_assert_eq!(&run(oracle.tables(), &apart(&steps))?, &expected);
        Ok(())
    });
}
