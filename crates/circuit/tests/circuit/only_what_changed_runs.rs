//! A node runs if something it reads changed, or if it says so; the order is that of the schedule.

use tailrace_circuit::Circuit;

use crate::mock::{Delay, FlatMap, Log, Plus, Standing, Table, batch, change, rows, schema, with_table};

#[test]
fn nodes_run_in_the_order_of_the_schedule() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let a = circuit.add_unary(FlatMap::identity("a", &log), table, schema()).unwrap();
    let b = circuit.add_unary(FlatMap::identity("b", &log), table, schema()).unwrap();
    let c = circuit.add_unary(FlatMap::identity("c", &log), a, schema()).unwrap();
    let sum = circuit.add_ternary(Plus::new(&log), [c, b, a], schema()).unwrap();
    circuit.add_unary(FlatMap::identity("d", &log), sum, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take(), ["a borrowed", "b owned", "c borrowed", "plus ooo", "d owned"]);
}

#[test]
fn a_node_without_changed_input_is_skipped() {
    let (mut circuit, left) = with_table();
    let right = circuit.add_source(Box::new(Table::default()), schema()).unwrap();
    let log = Log::default();
    circuit.add_unary(FlatMap::identity("left", &log), left, schema()).unwrap();
    let none = circuit.add_unary(FlatMap::new("none", |_| vec![], &log), right, schema()).unwrap();
    circuit.add_unary(FlatMap::identity("after none", &log), none, schema()).unwrap();
    circuit.step([(right, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take(), ["none owned"]);
    circuit.step([(left, batch(&[]))]).unwrap();
    assert_eq!(log.take(), [""; 0]);
    circuit.step([]).unwrap();
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn a_skipped_input_is_empty_or_idle() {
    let (mut circuit, left) = with_table();
    let right = circuit.add_source(Box::new(Table::default()), schema()).unwrap();
    let log = Log::default();
    let skipped = circuit.add_unary(FlatMap::identity("skipped", &log), right, schema()).unwrap();
    let standing = circuit.add_unary(Box::new(Standing(rows(&[(7, 1)]))), right, schema()).unwrap();
    let sum = circuit.add_ternary(Plus::new(&log), [left, skipped, standing], schema()).unwrap();
    circuit.watch(sum).unwrap();
    for _ in 0..2 {
        let output = circuit.step([(left, batch(&[(1, 1)]))]).unwrap();
        assert_eq!(change(&output, sum), rows(&[(1, 1), (7, 1)]));
    }
}

#[test]
fn a_node_with_work_runs_without_input() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let delay = circuit.add_unary(Delay::new(&log), table, schema()).unwrap();
    circuit.watch(delay).unwrap();
    assert_eq!(log.take(), ["clock starts at step 0 depth 0"]);
    let first = circuit.step([(table, batch(&[(5, 1)]))]).unwrap();
    assert!(first.changes.is_empty());
    let second = circuit.step([]).unwrap();
    assert_eq!(change(&second, delay), rows(&[(5, 1)]));
    let third = circuit.step([]).unwrap();
    assert!(third.changes.is_empty());
    assert_eq!(log.take(), ["delay", "delay"]);
}

#[test]
fn a_woken_source_runs_once() {
    let (mut circuit, table) = with_table();
    circuit.wake(table).unwrap();
    circuit.step([]).unwrap();
    circuit.step([]).unwrap();
    assert_eq!(circuit.view(table.node()).unwrap().metrics().evaluations, 1);
}

#[test]
fn several_inputs_make_one_step() {
    let (mut circuit, left) = with_table();
    let right = circuit.add_source(Box::new(Table::default()), schema()).unwrap();
    let log = Log::default();
    let sum = circuit.add_nary(Plus::new(&log), &[left, right], schema()).unwrap();
    circuit.watch(sum).unwrap();
    let inputs = [(right, batch(&[(2, 1)])), (left, batch(&[(1, 1)])), (right, batch(&[(2, 1), (3, -1)]))];
    let output = circuit.step(inputs).unwrap();
    assert_eq!(change(&output, sum), rows(&[(1, 1), (2, 2), (3, -1)]));
    assert_eq!(log.take(), ["plus oo"]);
    assert_eq!((output.step.0, circuit.current_step().0), (1, 1));
}

#[test]
fn a_builder_gives_every_worker_the_same_circuit() {
    let builder = |circuit: &mut Circuit| {
        let table = circuit.add_source(Box::new(Table::default()), schema())?;
        circuit.add_unary(FlatMap::identity("a", &Log::default()), table, schema())
    };
    let (first, a) = Circuit::build(builder).unwrap();
    let (second, b) = Circuit::build(builder).unwrap();
    assert_eq!(a, b);
    let worker = std::thread::spawn(move || first.nodes().count());
    assert_eq!(worker.join().unwrap(), second.nodes().count());
}

#[test]
fn a_step_in_a_wide_circuit_touches_only_its_own_nodes() {
    let mut circuit = Circuit::new();
    let log = Log::default();
    let mut tables = Vec::new();
    for _ in 0..600 {
        let table = circuit.add_source(Box::new(Table::default()), schema()).unwrap();
        let chain = (0..4).fold(table, |stream, _| {
            circuit.add_unary(FlatMap::identity("a", &log), stream, schema()).unwrap()
        });
        tables.push((table, chain));
    }
    circuit.step([(tables[311].0, batch(&[(1, 1)]))]).unwrap();
    let ran: Vec<_> =
        circuit.nodes().filter(|node| node.metrics().evaluations > 0).map(|node| node.id()).collect();
    assert_eq!(ran.len(), 5);
    assert_eq!((ran[0], ran[4]), (tables[311].0.node(), tables[311].1.node()));
}
