//! Every node counts its evaluations and rows, and tells its state.

use std::time::Duration;

use tailrace_circuit::StateSize;

use crate::mock::{FlatMap, Log, Plus, Whole, batch, schema, with_table};

#[test]
fn rows_in_and_out_are_counted() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let thrice =
        circuit.add_unary(FlatMap::new("thrice", |x| vec![*x, x + 1, x + 2], &log), table, schema()).unwrap();
    let sum = circuit.add_binary(Plus::new(&log), table, thrice, schema()).unwrap();
    circuit.step([(table, batch(&[(10, 1), (20, 1)]))]).unwrap();
    circuit.step([(table, batch(&[(30, 1)]))]).unwrap();
    let figures = |stream: tailrace_circuit::StreamId| {
        let metrics = circuit.view(stream.node()).unwrap().metrics();
        (metrics.evaluations, metrics.rows_in, metrics.rows_out)
    };
    assert_eq!(figures(table), (2, 0, 3));
    assert_eq!(figures(thrice), (2, 3, 9));
    assert_eq!(figures(sum), (2, 12, 9));
}

#[test]
fn time_is_measured_per_node() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let sleep = |x: &i64| {
        std::thread::sleep(Duration::from_millis(5));
        vec![*x]
    };
    let slow = circuit.add_unary(FlatMap::new("slow", sleep, &log), table, schema()).unwrap();
    let fast = circuit.add_unary(FlatMap::identity("fast", &log), slow, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    let time = |stream: tailrace_circuit::StreamId| circuit.view(stream.node()).unwrap().metrics().time;
    assert!(time(slow) >= Duration::from_millis(5));
    assert!(time(fast) < time(slow));
}

#[test]
fn state_is_added_up() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let distinct = circuit.add_unary(Whole::distinct(&log), table, schema()).unwrap();
    circuit.add_unary(Whole::distinct(&log), distinct, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 2), (2, 1)]))]).unwrap();
    assert_eq!(circuit.view(distinct.node()).unwrap().state(), StateSize { rows: 2, bytes: 32, batches: 1 });
    assert_eq!(circuit.state(), StateSize { rows: 4, bytes: 64, batches: 2 });
}
