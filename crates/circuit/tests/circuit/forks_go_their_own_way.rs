//! A fork has what its original had, and neither notices the other from then on. (That it holds for every operator is checked where the operators are.)

use tailrace_algebra::Step;

use crate::mock::{Delay, FlatMap, Log, Plus, Printer, batch, change, rows, schema, with_table};

#[test]
fn both_go_on_from_the_same_names_and_steps() {
    let (mut circuit, table) = with_table();
    let double = FlatMap::new("double", |x| vec![2 * x], &Log::default());
    let double = circuit.add_unary(double, table, schema()).unwrap();
    circuit.watch(double).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    let mut fork = circuit.fork().unwrap();
    assert_eq!(fork.current_step(), Step(1));
    let output = fork.step([(table, batch(&[(5, 1)]))]).unwrap();
    assert_eq!(change(&output, double), rows(&[(10, 1)]));
    let output = circuit.step([(table, batch(&[(7, 1)]))]).unwrap();
    assert_eq!(change(&output, double), rows(&[(14, 1)]));
    let added = fork.add_unary(FlatMap::identity("late", &Log::default()), double, schema()).unwrap();
    assert!(circuit.schema(added).is_err(), "the original does not know the node");
    assert_eq!(fork.remove(added.node()), Ok(()));
}

#[test]
fn sinks_stay_behind() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    circuit.add_sink(Box::new(Printer { log: log.clone(), staged: None }), table).unwrap();
    let mut fork = circuit.fork().unwrap();
    fork.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert!(log.take().is_empty());
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take().len(), 1);
}

#[test]
fn what_was_fed_back_shows_in_both() {
    let (mut circuit, table) = with_table();
    let variable = circuit.feedback(schema()).unwrap();
    let sum = circuit.add_binary(Plus::new(&Log::default()), table, variable, schema()).unwrap();
    circuit.connect(variable, sum).unwrap();
    circuit.watch(sum).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    let mut fork = circuit.fork().unwrap();
    let output = fork.step([(table, batch(&[(2, 1)]))]).unwrap();
    assert_eq!(change(&output, sum), rows(&[(1, 1), (2, 1)]));
    assert_eq!(change(&fork.step([]).unwrap(), sum), rows(&[(1, 1), (2, 1)]));
    assert_eq!(change(&circuit.step([]).unwrap(), sum), rows(&[(1, 1)]));
}

#[test]
fn the_clock_of_a_fork_starts_where_the_original_stands() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    circuit.add_unary(Delay::new(&log), table, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    log.take();
    circuit.fork().unwrap();
    assert_eq!(log.take(), ["clock starts at step 1 depth 0"]);
}
