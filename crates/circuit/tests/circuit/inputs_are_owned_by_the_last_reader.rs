//! The last reader of a stream in the schedule owns its value; all others borrow it.

use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use tailrace_circuit::{Context, Input, Operator, OperatorError, UnaryOperator, Value};

use crate::mock::{FlatMap, Log, Plus, batch, schema, with_table};

/// Notes the columns' address and how many hold them.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<Vec<(usize, usize)>>>);

impl Operator for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }
}

impl UnaryOperator for Counter {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        let owned = input.is_owned();
        let (schema, columns, weights) = input.into_changes()?.into_parts();
        let column: &ArrayRef = &columns[0];
        let holders = Arc::strong_count(column) + usize::from(!owned) * 100;
        self.0.lock().unwrap().push((Arc::as_ptr(column).addr(), holders));
        Ok(tailrace_trace::ChangeBatch::try_new(schema, columns, weights)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

#[test]
fn a_chain_passes_one_batch_along_without_a_copy() {
    let (mut circuit, table) = with_table();
    let seen = Counter::default();
    let mut stream = table;
    for _ in 0..3 {
        stream = circuit.add_unary(Box::new(seen.clone()), stream, schema()).unwrap();
    }
    circuit.watch(stream).unwrap();
    let mut output = circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    let (_, columns, _) = output.take(stream).unwrap().into_changes().unwrap().into_parts();
    let seen = seen.0.lock().unwrap();
    assert!(
        seen.iter().all(|(address, holders)| (*address, *holders) == (Arc::as_ptr(&columns[0]).addr(), 1))
    );
    assert_eq!((seen.len(), Arc::strong_count(&columns[0])), (3, 1));
}

#[test]
fn only_the_last_of_several_readers_owns() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    for label in ["a", "b", "c"] {
        circuit.add_unary(FlatMap::identity(label, &log), table, schema()).unwrap();
    }
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take(), ["a borrowed", "b borrowed", "c owned"]);
}

#[test]
fn a_watched_stream_is_owned_by_its_watcher() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    circuit.add_unary(FlatMap::identity("a", &log), table, schema()).unwrap();
    circuit.watch(table).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    circuit.unwatch(table).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take(), ["a borrowed", "a owned"]);
}

#[test]
fn who_reads_a_stream_twice_borrows_it_twice() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let sum = circuit.add_binary(Plus::new(&log), table, table, schema()).unwrap();
    circuit.watch(sum).unwrap();
    let output = circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(crate::mock::change(&output, sum), crate::mock::rows(&[(1, 2)]));
    assert_eq!(log.take(), ["plus bb"]);
}

#[test]
fn the_new_last_reader_takes_over_when_readers_change() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    circuit.add_unary(FlatMap::identity("a", &log), table, schema()).unwrap();
    let b = circuit.add_unary(FlatMap::identity("b", &log), table, schema()).unwrap();
    circuit.remove(b.node()).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    circuit.add_unary(FlatMap::identity("c", &log), table, schema()).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take(), ["a owned", "a borrowed", "c owned"]);
}
