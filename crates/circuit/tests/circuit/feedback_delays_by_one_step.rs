//! A feedback variable of the outermost scope shows what was fed to it at the step before.

use tailrace_circuit::{GraphError, OperatorError};

use crate::mock::{Log, Plus, Trap, batch, change, rows, schema, with_table};

#[test]
fn integration_is_a_loop_of_plus_and_feedback() {
    let (mut circuit, table) = with_table();
    let before = circuit.feedback(schema()).unwrap();
    let integral = circuit.add_binary(Plus::new(&Log::default()), table, before, schema()).unwrap();
    circuit.connect(before, integral).unwrap();
    circuit.watch(integral).unwrap();
    let output = circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(change(&output, integral), rows(&[(1, 1)]));
    let output = circuit.step([(table, batch(&[(2, 1)]))]).unwrap();
    assert_eq!(change(&output, integral), rows(&[(1, 1), (2, 1)]));
    let output = circuit.step([]).unwrap();
    assert_eq!(change(&output, integral), rows(&[(1, 1), (2, 1)]));
    circuit.step([(table, batch(&[(1, -1), (2, -1)]))]).unwrap();
    assert!(circuit.step([]).unwrap().changes.is_empty());
}

#[test]
fn a_failed_step_feeds_nothing_back() {
    let (mut circuit, table) = with_table();
    let before = circuit.feedback(schema()).unwrap();
    let integral = circuit.add_binary(Plus::new(&Log::default()), table, before, schema()).unwrap();
    circuit.connect(before, integral).unwrap();
    let act = |_: &tailrace_circuit::Context<'_>| Err(OperatorError::evaluation("no"));
    circuit.add_unary(Box::new(Trap { on: 13, act }), integral, schema()).unwrap();
    circuit.watch(integral).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    circuit.step([(table, batch(&[(13, 1)]))]).unwrap_err();
    let output = circuit.step([]).unwrap();
    assert_eq!(change(&output, integral), rows(&[(1, 1)]));
}

#[test]
fn a_loop_can_be_taken_apart() {
    let (mut circuit, table) = with_table();
    let before = circuit.feedback(schema()).unwrap();
    let integral = circuit.add_binary(Plus::new(&Log::default()), table, before, schema()).unwrap();
    assert_eq!(circuit.connect(table, integral), Err(GraphError::NotFeedback { stream: table }));
    circuit.connect(before, integral).unwrap();
    assert_eq!(circuit.connect(before, integral), Err(GraphError::NotFeedback { stream: before }));
    let in_use = GraphError::InUse { node: integral.node(), readers: vec![before.node()] };
    assert_eq!(circuit.remove(integral.node()), Err(in_use));
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    circuit.disconnect(before).unwrap();
    assert_eq!(circuit.prune(integral.node()), [integral.node(), before.node()]);
    circuit.step([]).unwrap();
}
