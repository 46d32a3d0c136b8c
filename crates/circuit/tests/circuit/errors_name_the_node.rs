//! Errors say which node, which operator, and what was expected.

use std::error::Error;

use tailrace_circuit::{OperatorError, Value};

use crate::mock::{FlatMap, Log, batch, schema, with_table};

#[test]
fn giving_changes_to_a_node_that_is_no_source_is_refused() {
    let (mut circuit, table) = with_table();
    let a = circuit.add_unary(FlatMap::identity("a", &Log::default()), table, schema()).unwrap();
    let error = circuit.step([(table, batch(&[(1, 1)])), (a, batch(&[(1, 1)]))]).unwrap_err();
    assert_eq!(error.to_string(), "flat_map a (node 1): there is no such source in this circuit");
    circuit.remove(a.node()).unwrap();
    let error = circuit.step([(a, batch(&[(1, 1)]))]).unwrap_err();
    assert_eq!(error.to_string(), "missing (node 1): there is no such source in this circuit");
    assert!(circuit.evaluate_integral(table).unwrap().is_empty());
}

#[test]
fn the_wrong_shape_is_named_beside_the_right_one() {
    let many = Value::Many(vec![batch(&[(1, 1)]), batch(&[])]);
    assert_eq!((many.rows(), many.is_empty(), many.as_many().unwrap().len()), (1, false, 2));
    let text = |error: OperatorError| error.to_string();
    assert_eq!(text(many.as_changes().unwrap_err()), "expected changes, found outputs of a nested scope");
    assert_eq!(
        text(many.as_indexed().unwrap_err()),
        "expected indexed changes, found outputs of a nested scope"
    );
    let changes = Value::from(batch(&[]));
    assert_eq!(text(changes.as_many().unwrap_err()), "expected outputs of a nested scope, found changes");
    assert_eq!(
        text(changes.into_timed().unwrap_err()),
        "expected indexed changes of a nested scope, found changes"
    );
}

#[test]
fn a_missing_output_of_a_scope_is_an_error() {
    let mut inner = tailrace_circuit::Subcircuit::new("scope", "");
    let input = inner.import(schema()).unwrap();
    inner.export(input).unwrap();
    let (mut circuit, table) = with_table();
    let nested = circuit.add_nary(Box::new(inner), &[table], schema()).unwrap();
    circuit.select(nested, 1, schema()).unwrap();
    let error = circuit.step([(table, batch(&[(1, 1)]))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "select output 1 (node 2): there is no such output of a nested scope in this circuit"
    );
    assert!(error.source().is_some());
}

#[test]
fn the_cause_of_a_users_error_is_kept() {
    let error = OperatorError::callback("the function returned 3 rows for 4");
    assert_eq!(error.to_string(), "the function returned 3 rows for 4");
}
