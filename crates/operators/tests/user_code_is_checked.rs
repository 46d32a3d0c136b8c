//! Functions of the user: what they see, and what happens when they fail or give nonsense. Sources and sinks beside them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod oracle;
mod wiring;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use oracle::cell::{to_batch, to_rows};
use oracle::{Cell, Oracle, Row, Rows, Table, int, text};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, CircuitError, OperatorError, StreamId};
use tailrace_operators::{Collect, Inspect, MapRows, RowsFn, RowsFnError, Source, TableSource};
use tailrace_trace::{ChangeBatch, Layout, TraceError};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn numbers() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]))
}

/// Each number `n` as many times as it says, as `n` and its square in text.
fn squares(rows: &RecordBatch) -> Result<(RecordBatch, UInt32Array), Failure> {
    let values = rows.column(0).as_primitive::<Int64Type>().values();
    let repeated = |(row, n): (usize, &i64)| std::iter::repeat_n((row as u32, *n), *n as usize);
    let images: Vec<(u32, i64)> = values.iter().enumerate().flat_map(repeated).collect();
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values(images.iter().map(|(_, n)| (n * n).to_string())));
    let origins = images.iter().map(|(row, _)| *row).collect();
    Ok((RecordBatch::try_from_iter([("square", texts)])?, origins))
}

fn squares_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("square", DataType::Utf8View, false)]))
}

#[test]
fn oracle_map_rows() {
    Oracle::new([Table::new([int("n", 0..4), text("v", 2)])]).check(
        |circuit, inputs| {
            let operator = MapRows::new(Arc::new(squares), squares_schema());
            Ok(circuit.add_unary(Box::new(operator), inputs[0], squares_schema())?)
        },
        |contents| {
            contents[0].flat_map(|row| {
                let n = row[0].int().unwrap();
                std::iter::repeat_n(vec![Cell::Str((n * n).to_string())], n as usize)
            })
        },
    );
}

#[test]
fn map_rows_sees_each_row_once() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let function = move |rows: &RecordBatch| {
        counter.fetch_add(rows.num_rows(), Ordering::Relaxed);
        squares(rows)
    };
    let (mut circuit, source, output) = circuit_of(Arc::new(function));
    let changes =
        [(vec![Cell::Int(1)], 1), (vec![Cell::Int(1)], 2), (vec![Cell::Int(2)], 1), (vec![Cell::Int(2)], -1)];
    let result = circuit.step([(source, to_batch(&numbers(), &changes))]).unwrap().take(output).unwrap();
    assert_eq!(to_rows(result.as_changes().unwrap()), ZSet::from_iter([(vec![Cell::from("1")], 3)]));
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

/// A source, a function over it, and the watched result.
fn circuit_of(function: Arc<RowsFn>) -> (Circuit, StreamId, StreamId) {
    let mut circuit = Circuit::new();
    let source = circuit.add_source(Box::new(Source::new(numbers())), numbers()).unwrap();
    let operator = MapRows::new(function, squares_schema());
    let output = circuit.add_unary(Box::new(operator), source, squares_schema()).unwrap();
    circuit.watch(output).unwrap();
    (circuit, source, output)
}

/// The error of a step over the numbers one and two.
fn failure(
    function: impl Fn(&RecordBatch) -> Result<(RecordBatch, UInt32Array), Failure> + Send + Sync + 'static,
) -> Failure {
    let (mut circuit, source, _) = circuit_of(Arc::new(function));
    let changes = to_batch(&numbers(), &[(vec![Cell::Int(1)], 1), (vec![Cell::Int(2)], 1)]);
    match circuit.step([(source, changes)]).map_err(CircuitError::into_root) {
        Err(OperatorError::Callback(error)) => error,
        other => panic!("expected an error of the callback, found {other:?}"),
    }
}

fn texts(values: &[Option<&str>]) -> RecordBatch {
    let column: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
    RecordBatch::try_from_iter([("square", column)]).unwrap()
}

fn found(error: &Failure) -> &RowsFnError {
    error.downcast_ref().unwrap()
}

#[test]
fn an_error_of_the_function_is_passed_on() {
    let error = failure(|_| Err("no more squares".into()));
    assert_eq!(error.to_string(), "no more squares");
}

#[test]
fn a_wrong_number_of_columns_is_named() {
    let error = failure(|rows| {
        let two: ArrayRef = rows.column(0).clone();
        Ok((RecordBatch::try_from_iter([("a", two.clone()), ("b", two)])?, vec![0, 1].into()))
    });
    assert_eq!(error.to_string(), "the function returned 2 columns, expected 1: square");
}

#[test]
fn a_wrong_type_is_named() {
    let error = failure(|_| {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 4]));
        Ok((RecordBatch::try_from_iter([("square", column)])?, vec![0, 1].into()))
    });
    assert_eq!(error.to_string(), "the function returned column 'square' of type Int64, expected Utf8View");
}

#[test]
fn a_null_is_named_by_row() {
    let error = failure(|_| Ok((texts(&[Some("1"), None]), vec![0, 1].into())));
    assert_eq!(*found(&error), RowsFnError::Null { column: "square".to_owned(), row: 1 });
}

#[test]
fn a_wrong_length_is_named() {
    let error = failure(|_| Ok((texts(&[Some("1")]), vec![0, 1].into())));
    assert_eq!(*found(&error), RowsFnError::Length { rows: 1, origins: 2 });
}

#[test]
fn an_origin_outside_the_input_is_named() {
    let error = failure(|_| Ok((texts(&[Some("1"), Some("4")]), vec![0, 2].into())));
    assert_eq!(error.to_string(), "the function returned row 1 for input row 2, but there are 2 input rows");
    let error = failure(|_| Ok((texts(&[Some("1")]), vec![None].into())));
    assert_eq!(
        error.to_string(),
        "the function returned row 0 for input row NULL, but there are 2 input rows"
    );
}

/// A table source under an operator that is built over its stream.
fn table() -> (Circuit, StreamId) {
    let mut circuit = Circuit::new();
    let layout = Layout::rows(numbers(), 1).unwrap();
    let source = circuit.add_source(Box::new(TableSource::new(layout, vec![0])), numbers()).unwrap();
    (circuit, source)
}

fn ones(weight: i64) -> ChangeBatch {
    to_batch(&numbers(), &[(vec![Cell::Int(1)], weight), (vec![Cell::Int(2)], 1), (vec![Cell::Int(2)], -1)])
}

#[test]
fn inspect_sees_consolidated_changes_and_can_fail_the_step() {
    let (mut circuit, source) = table();
    let seen: Arc<Mutex<Vec<Rows>>> = Arc::default();
    let log = Arc::clone(&seen);
    let callback = move |changes: &ChangeBatch| {
        assert_eq!(changes.len(), 1);
        log.lock().unwrap().push(to_rows(changes));
        if changes.weights()[0] > 5 { Err("too many".into()) } else { Ok(()) }
    };
    let output = circuit.add_unary(Box::new(Inspect::new(Arc::new(callback))), source, numbers()).unwrap();
    circuit.watch(output).unwrap();
    circuit.step([(source, ones(1))]).unwrap();
    let error = circuit.step([(source, ones(6))]).unwrap_err();
    assert_eq!(error.root().to_string(), "too many");
    let row = |weight: i64| ZSet::from_iter([(vec![Cell::Int(1)], weight)]);
    assert_eq!(to_rows(circuit.evaluate_integral(output).unwrap().as_changes().unwrap()), row(1));
    assert_eq!(*seen.lock().unwrap(), [row(1), row(6)]);
}

#[test]
fn oracle_inspect_changes_nothing() {
    Oracle::new([Table::new([int("n", 0..4), text("v", 2)])]).check(
        |circuit, inputs| {
            let schema = circuit.schema(inputs[0])?.clone();
            Ok(circuit.add_unary(Box::new(Inspect::new(Arc::new(|_| Ok(())))), inputs[0], schema)?)
        },
        |contents| contents[0].clone(),
    );
}

#[test]
fn collect_hands_on_committed_steps_only() {
    let (mut circuit, source) = table();
    let seen: Arc<Mutex<Vec<Rows>>> = Arc::default();
    let log = Arc::clone(&seen);
    let collect = Collect::new(Arc::new(move |changes| log.lock().unwrap().push(to_rows(&changes))));
    circuit.add_sink(Box::new(collect), source).unwrap();
    let fail = |changes: &ChangeBatch| if changes.weights()[0] < 0 { Err("negative".into()) } else { Ok(()) };
    let output = circuit.add_unary(Box::new(Inspect::new(Arc::new(fail))), source, numbers()).unwrap();
    circuit.watch(output).unwrap();
    circuit.step([(source, ones(2))]).unwrap();
    circuit.step([(source, ones(-1))]).unwrap_err();
    circuit.step([(source, ones(3))]).unwrap();
    let row = |weight: i64| ZSet::from_iter([(vec![Cell::Int(1)], weight)]);
    assert_eq!(*seen.lock().unwrap(), [row(2), row(3)]);
}

#[test]
fn a_table_refuses_columns_of_another_type() {
    let (mut circuit, source) = table();
    let wrong: Row = vec![Cell::from("one")];
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Utf8View, false)]));
    let error = circuit.step([(source, to_batch(&schema, &[(wrong, 1)]))]).unwrap_err();
    assert_eq!(error.root().to_string(), "column 'n' has type Utf8View, expected Int64");
    circuit.step([(source, ones(1))]).unwrap();
    assert_eq!(circuit.evaluate_integral(source).unwrap().rows(), 1);
}

#[test]
fn a_table_refuses_weights_that_overflow_and_stays_as_it_was() {
    let (mut circuit, source) = table();
    circuit.step([(source, ones(i64::MAX - 10))]).unwrap();
    let error = circuit.step([(source, ones(20))]).unwrap_err();
    assert!(matches!(error.root(), OperatorError::Trace(TraceError::WeightOverflow)), "{error}");
    circuit.step([(source, ones(3))]).unwrap();
    let contents = circuit.evaluate_integral(source).unwrap();
    assert_eq!(contents.as_changes().unwrap().weights()[..], [i64::MAX - 7]);
}

#[test]
fn a_source_without_memory_has_no_contents() {
    let mut circuit = Circuit::new();
    let source = circuit.add_source(Box::new(Source::new(numbers())), numbers()).unwrap();
    circuit.step([(source, ones(1))]).unwrap();
    let error = circuit.evaluate_integral(source).unwrap_err();
    assert!(matches!(error.root(), OperatorError::NoIntegral), "{error}");
}

#[test]
fn a_join_whose_weights_overflow_fails_and_leaves_no_trace() {
    let (mut circuit, source) = table();
    let index = wiring::arrange(&mut circuit, source, &[0]).unwrap();
    let output = wiring::join_indexes(&mut circuit, index, index, |spec| spec).unwrap();
    circuit.watch(output).unwrap();
    let error = circuit.step([(source, ones(1 << 40))]).unwrap_err();
    assert!(matches!(error.root(), OperatorError::Trace(TraceError::WeightOverflow)), "{error}");
    let result = circuit.step([(source, ones(3))]).unwrap().take(output).unwrap();
    let pair = vec![Cell::Int(1), Cell::Int(1)];
    assert_eq!(to_rows(result.as_changes().unwrap()), ZSet::from_iter([(pair, 9)]));
}
