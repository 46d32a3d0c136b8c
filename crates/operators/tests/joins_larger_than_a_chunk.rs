//! Joins with more pairs than are gathered at once: nothing is lost or doubled where a chunk ends.
//!
//! Tables hold the numbers `0..n` under one key, so counts and sums over all pairs have closed forms.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;
mod wiring;

use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::{ColumnarValue, Operator, Volatility, create_udf};
use datafusion_physical_expr::ScalarFunctionExpr;
use tailrace_circuit::{Circuit, Interrupt, OperatorError, StreamId};
use tailrace_operators::{JoinSpec, Scalar, Source};
use tailrace_trace::ChangeBatch;
use wiring::{arrange, column, compare, join_indexes};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, false),
    ]))
}

/// The rows `(7, v)` for `v` of a range.
fn numbers(values: std::ops::Range<i64>) -> ChangeBatch {
    let count = values.clone().count();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(vec![7; count])), Arc::new(Int64Array::from_iter(values))];
    ChangeBatch::try_new(schema(), columns, vec![1; count].into()).unwrap()
}

/// Two sources and the watched join of both on the key.
fn circuit(adapt: impl FnOnce(JoinSpec) -> JoinSpec) -> (Circuit, [StreamId; 2], StreamId) {
    let mut circuit = Circuit::new();
    let [left, right] =
        [(); 2].map(|()| circuit.add_source(Box::new(Source::new(schema())), schema()).unwrap());
    let (rows, others) =
        (arrange(&mut circuit, left, &[0]).unwrap(), arrange(&mut circuit, right, &[0]).unwrap());
    let joined = join_indexes(&mut circuit, rows, others, adapt).unwrap();
    circuit.watch(joined).unwrap();
    (circuit, [left, right], joined)
}

/// The join of the pairs with `left.v < right.v`.
fn ascending(spec: JoinSpec) -> JoinSpec {
    let schema = spec.gathered_schema.clone();
    let less = compare(column(1, &schema), Operator::Lt, column(3, &schema), &schema);
    spec.with_residual(vec![Scalar::new(less, &schema).unwrap()], vec![0, 1, 2, 3], schema)
}

/// The number of pairs in a change, and the sums of both values over them, by weight.
fn totals(changes: &ChangeBatch) -> (i64, i64, i64) {
    let sum = |index: usize| {
        let values = changes.column(index).as_primitive::<Int64Type>().values();
        values.iter().zip(changes.weights()).map(|(value, weight)| value * weight).sum::<i64>()
    };
    (changes.weights().iter().sum(), sum(1), sum(3))
}

#[test]
fn a_residual_is_asked_chunk_by_chunk() {
    let (mut circuit, [left, right], joined) = circuit(ascending);
    let n = 700;
    let output = circuit.step([(left, numbers(0..n)), (right, numbers(0..n))]).unwrap();
    let changes = output.get(joined).unwrap().as_changes().unwrap();
    let pairs = n * (n - 1) / 2;
    let smaller: i64 = (0..n).map(|v| v * (n - 1 - v)).sum();
    let larger: i64 = (0..n).map(|v| v * v).sum();
    assert_eq!(totals(changes), (pairs, smaller, larger));
    assert_eq!(changes.consolidate().unwrap().len() as i64, pairs);
}

#[test]
fn chunks_end_between_the_batches_of_a_trace_too() {
    let (mut circuit, [left, right], joined) = circuit(ascending);
    for part in [0..300, 300..420, 420..700] {
        circuit.step([(right, numbers(part))]).unwrap();
    }
    let output = circuit.step([(left, numbers(0..700))]).unwrap();
    let changes = output.get(joined).unwrap().as_changes().unwrap();
    assert_eq!(totals(changes).0, 700 * 699 / 2);
    assert_eq!(changes.consolidate().unwrap().len(), 700 * 699 / 2);
}

#[test]
fn pairs_without_residual_are_gathered_in_large_chunks() {
    let (mut circuit, [left, right], joined) = circuit(|spec| spec);
    let n = 2100;
    assert!(n * n > 1 << 22);
    let output = circuit.step([(left, numbers(0..n)), (right, numbers(0..n))]).unwrap();
    let changes = output.get(joined).unwrap().as_changes().unwrap();
    let sum = n * (n - 1) / 2 * n;
    assert_eq!(totals(changes), (n * n, sum, sum));
}

/// A residual that is true and notes how many pairs it is asked about at once; it raises `interrupt` at the first question.
fn noting(spec: JoinSpec, asked: &Arc<Mutex<Vec<usize>>>, interrupt: Option<Interrupt>) -> JoinSpec {
    let schema = spec.gathered_schema.clone();
    let asked = Arc::clone(asked);
    let note = move |args: &[ColumnarValue]| {
        if let ColumnarValue::Array(column) = &args[0] {
            asked.lock().unwrap().push(column.len());
        }
        interrupt.iter().for_each(Interrupt::raise);
        Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
    };
    let function =
        create_udf("noting", vec![DataType::Int64], DataType::Boolean, Volatility::Immutable, Arc::new(note));
    let call = ScalarFunctionExpr::try_new(
        Arc::new(function),
        vec![column(1, &schema)],
        &schema,
        Arc::new(datafusion_common::config::ConfigOptions::default()),
    );
    let residual = Scalar::new(Arc::new(call.unwrap()), &schema).unwrap();
    spec.with_residual(vec![residual], vec![0, 1, 2, 3], schema)
}

#[test]
fn the_pairs_of_one_key_are_gathered_in_several_chunks() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (mut circuit, [left, right], joined) = circuit(|spec| noting(spec, &asked, None));
    let n = 700_usize;
    let output = circuit.step([(left, numbers(0..n as i64)), (right, numbers(0..n as i64))]).unwrap();
    let changes = output.get(joined).unwrap().as_changes().unwrap();
    let sum = (n * (n - 1) / 2 * n) as i64;
    assert_eq!(totals(changes), ((n * n) as i64, sum, sum));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().sum::<usize>(), n * n);
    assert!(asked.iter().all(|pairs| *pairs <= 1 << 16), "{asked:?}");
    assert!(asked.len() > 7);
}

#[test]
fn one_row_meets_more_rows_than_fit_a_chunk() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (mut circuit, [left, right], joined) = circuit(|spec| noting(spec, &asked, None));
    let n = (1_i64 << 16) * 2 + 5;
    circuit.step([(right, numbers(0..n))]).unwrap();
    let output = circuit.step([(left, numbers(1..2))]).unwrap();
    let changes = output.get(joined).unwrap().as_changes().unwrap();
    assert_eq!(totals(changes), (n, n, n * (n - 1) / 2));
    assert_eq!(*asked.lock().unwrap(), vec![1 << 16, 1 << 16, 5]);
}

#[test]
fn a_join_of_one_key_is_interrupted_between_chunks() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let interrupt = Interrupt::default();
    let (mut circuit, [left, right], _) = circuit(|spec| noting(spec, &asked, Some(interrupt.clone())));
    let raised = interrupt.clone();
    circuit.interrupt().set_poll(Box::new(move || raised.is_raised()));
    let error = circuit.step([(left, numbers(0..700)), (right, numbers(0..700))]).err().unwrap();
    assert!(matches!(error.root(), OperatorError::Interrupted), "{error}");
    assert_eq!(asked.lock().unwrap().len(), 1);
}
