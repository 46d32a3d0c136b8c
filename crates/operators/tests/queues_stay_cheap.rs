//! A queue takes its oldest rows away first, so the least row of what is left stands behind all that is gone. Operators that look for it do not step over the same
//! cancelled rows for ever: what they kept is merged once it has cost as much as merging does.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tailrace_circuit::{Circuit, StreamId, UnaryOperator};
use tailrace_operators::{
    Aggregate, AggregateCall, AggregateFunction, AggregateSpec, OrderBy, Scalar, Source, TopK, TopKSpec,
};
use tailrace_trace::ChangeBatch;

const ROWS: i64 = 20_000;
const TAKEN: i64 = 100;
const STEPS: i64 = 60;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, false)]))
}

fn numbers(values: Range<i64>, weight: i64) -> ChangeBatch {
    let count = values.clone().count();
    let column: ArrayRef = Arc::new(Int64Array::from_iter(values));
    ChangeBatch::try_new(schema(), vec![column], vec![weight; count].into()).unwrap()
}

/// Takes the least rows away step by step; after each the operator must say that the next one is the least.
fn drain(operator: Box<dyn UnaryOperator>, schema_of_answer: SchemaRef) {
    let mut circuit = Circuit::new();
    let source = circuit.add_source(Box::new(Source::new(schema())), schema()).unwrap();
    let least = circuit.add_unary(operator, source, schema_of_answer).unwrap();
    circuit.watch(least).unwrap();
    circuit.step([(source, numbers(0..ROWS, 1))]).unwrap();
    for step in 0..STEPS {
        let taken = numbers(step * TAKEN..(step + 1) * TAKEN, -1);
        let answer = change(&mut circuit, source, least, taken);
        assert_eq!(answer, [(step * TAKEN, -1), ((step + 1) * TAKEN, 1)]);
    }
    let kept = circuit.view(least.node()).unwrap().state().rows as i64;
    assert!(kept < ROWS, "{kept} rows are kept of {} that are left", ROWS - STEPS * TAKEN);
}

fn change(circuit: &mut Circuit, source: StreamId, least: StreamId, rows: ChangeBatch) -> Vec<(i64, i64)> {
    let output = circuit.step([(source, rows)]).unwrap();
    let changes = output.get(least).unwrap().as_changes().unwrap().clone();
    let values = changes.column(0).as_primitive::<Int64Type>().values();
    let mut changes: Vec<_> = values.iter().copied().zip(changes.weights().iter().copied()).collect();
    changes.sort_unstable();
    changes
}

#[test]
fn the_minimum_of_a_queue() {
    let call = AggregateCall {
        function: AggregateFunction::Min,
        args: vec![Scalar::column(0, &schema())],
        filter: None,
        distinct: false,
        order: Vec::new(),
    };
    let answer = Arc::new(Schema::new(vec![Field::new("min", DataType::Int64, true)]));
    let spec = AggregateSpec { keys: Vec::new(), calls: vec![call], schema: Arc::clone(&answer) };
    drain(Box::new(Aggregate::new(spec).unwrap()), answer);
}

#[test]
fn the_first_of_a_queue() {
    let order = vec![OrderBy { scalar: Scalar::column(0, &schema()), descending: false, nulls_first: true }];
    let spec = TopKSpec { partition: Vec::new(), order, k: Some(1), offset: 0, schema: schema() };
    drain(Box::new(TopK::new(spec).unwrap()), schema());
}
