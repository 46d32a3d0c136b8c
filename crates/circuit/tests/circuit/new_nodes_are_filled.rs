//! A node added on top of streams with content is filled from that content, and goes on from there.

use tailrace_algebra::Step;
use tailrace_circuit::OperatorError;

use crate::mock::{Delay, FlatMap, Log, Plus, Trap, Whole, batch, change, rows, schema, with_table, zset};

#[test]
fn a_filled_view_goes_on_from_the_content() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let even = circuit.add_unary(FlatMap::new("halve", |x| vec![x / 2], &log), table, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 1), (2, 1), (3, 1)]))]).unwrap();
    circuit.step([(table, batch(&[(1, -1)]))]).unwrap();
    let distinct = circuit.add_unary(Whole::distinct(&log), even, schema()).unwrap();
    let count = circuit.add_unary(Whole::count(&log), distinct, schema()).unwrap();
    circuit.watch(even).unwrap();
    circuit.watch(count).unwrap();
    log.take();
    let output = circuit.fill(&[distinct.node(), count.node()]).unwrap();
    assert_eq!(change(&output, count), rows(&[(1, 1)]));
    assert_eq!(change(&output, even), rows(&[]));
    assert_eq!(log.take(), ["halve owned", "distinct", "count", "count commit", "distinct commit"]);
    let output = circuit.step([(table, batch(&[(5, 1)]))]).unwrap();
    assert_eq!(change(&output, count), rows(&[(1, -1), (2, 1)]));
    assert_eq!(circuit.current_step(), Step(3));
}

#[test]
fn a_new_node_runs_even_on_empty_content() {
    let (mut circuit, table) = with_table();
    let count = circuit.add_unary(Whole::count(&Log::default()), table, schema()).unwrap();
    circuit.watch(count).unwrap();
    let output = circuit.fill(&[count.node()]).unwrap();
    assert_eq!(change(&output, count), rows(&[(0, 1)]));
}

#[test]
fn a_shared_node_is_evaluated_once() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let shared = circuit.add_unary(FlatMap::identity("shared", &log), table, schema()).unwrap();
    let a = circuit.add_unary(FlatMap::identity("a", &log), shared, schema()).unwrap();
    let b = circuit.add_unary(FlatMap::identity("b", &log), shared, schema()).unwrap();
    let sum = circuit.add_binary(Plus::new(&log), a, b, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    log.take();
    let contents = circuit.evaluate_integrals(&[sum, shared, sum]).unwrap();
    let contents: Vec<_> = contents.iter().map(|value| zset(value.as_changes().unwrap())).collect();
    assert_eq!(contents, [rows(&[(1, 2)]), rows(&[(1, 1)]), rows(&[(1, 2)])]);
    assert_eq!(log.take(), ["shared owned", "a owned", "b owned", "plus oo"]);
}

#[test]
fn a_failed_filling_can_be_taken_back() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    circuit.step([(table, batch(&[(13, 1)]))]).unwrap();
    let distinct = circuit.add_unary(Whole::distinct(&log), table, schema()).unwrap();
    let fail = |_: &tailrace_circuit::Context<'_>| Err(OperatorError::evaluation("no"));
    let trap = circuit.add_unary(Box::new(Trap { on: 13, act: fail }), distinct, schema()).unwrap();
    assert_eq!(circuit.fill(&[distinct.node(), trap.node()]).unwrap_err().node, trap.node());
    assert_eq!(log.take(), ["distinct", "distinct rollback"]);
    circuit.prune(trap.node());
    circuit.step([(table, batch(&[(13, 1)]))]).unwrap();
    assert_eq!(circuit.nodes().count(), 1);
}

#[test]
fn content_that_depends_on_history_is_refused() {
    let (mut circuit, table) = with_table();
    let delay = circuit.add_unary(Delay::new(&Log::default()), table, schema()).unwrap();
    let error = circuit.evaluate_integral(delay).unwrap_err();
    assert!(matches!(error.root(), OperatorError::NoIntegral));
    assert_eq!((error.operator, error.node), ("delay", delay.node()));
}

#[test]
fn a_panic_while_evaluating_contents_is_an_error() {
    let (mut circuit, table) = with_table();
    circuit.step([(table, batch(&[(13, 1)]))]).unwrap();
    let act = |_: &tailrace_circuit::Context<'_>| panic!("bug");
    let trap = circuit.add_unary(Box::new(Trap { on: 13, act }), table, schema()).unwrap();
    let error = circuit.evaluate_integral(trap).unwrap_err();
    assert_eq!(error.to_string(), "trap x = 13 (node 1): panicked: bug");
    circuit.prune(trap.node());
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
}
