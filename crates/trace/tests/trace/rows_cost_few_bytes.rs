//! A row of two integers costs at most 32 bytes in a trace, a text its bytes and at most 24, built, merged and after most of it was taken away.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use arrow_schema::DataType;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Merger, Spine};

use crate::columns::{indexed, schema};
use crate::random::Random;

const ROWS: usize = 50_000;

fn integers(rows: usize, seed: u64, weight: i64) -> ChangeBatch {
    let mut random = Random::new(seed);
    let mut column =
        || -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..rows).map(|_| random.number() as i64))) };
    let columns = vec![column(), column()];
    ChangeBatch::try_new(schema(&[DataType::Int64, DataType::Int64]), columns, vec![weight; rows].into())
        .unwrap()
}

fn texts(rows: usize, seed: u64, weight: i64) -> ChangeBatch {
    let mut random = Random::new(seed);
    let texts = (0..rows).map(|_| format!("a text of 30 bytes {:011}", random.number() % 100_000_000_000));
    let column: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
    ChangeBatch::try_new(schema(&[DataType::Utf8View]), vec![column], vec![weight; rows].into()).unwrap()
}

fn check(what: &str, batch: &IndexedBatch, limit: f64) {
    let each = batch.bytes() as f64 / batch.len() as f64;
    assert!(each <= limit, "{what}: {each:.2} bytes a row, at most {limit} were promised");
}

fn check_all(rows: fn(usize, u64, i64) -> ChangeBatch, limit: f64) {
    let layout = Layout::rows(Arc::clone(rows(0, 0, 1).schema()), 1).unwrap();
    let batch = |len, seed, weight| indexed(&layout, &rows(len, seed, weight));
    let (left, right) = (batch(ROWS, 1, 1), batch(ROWS, 2, 1));
    check("built", &left, limit);
    let merged = Arc::new(Merger::merge(&left, &right).unwrap());
    check("merged", &merged, limit);
    let rest = Merger::merge(&merged, &batch(ROWS, 1, -1)).unwrap();
    assert_eq!(rest.len(), ROWS);
    check("after half was taken away", &rest, limit);
    let folded = ChangeBatch::concat(
        Arc::clone(layout.schema()),
        &[rows(ROWS, 1, 1), rows(ROWS, 1, 1), rows(ROWS, 2, 1)],
    )
    .unwrap();
    check("folded", &indexed(&layout, &folded), limit);
}

#[test]
fn two_integers_cost_at_most_32_bytes() {
    check_all(integers, 32.0);
}

#[test]
fn a_text_costs_its_bytes_and_at_most_24() {
    check_all(texts, 30.0 + 24.0);
}

#[test]
fn a_spine_costs_no_more_than_its_rows() {
    let layout = Layout::rows(schema(&[DataType::Int64, DataType::Int64]), 1).unwrap();
    let mut spine = Spine::new(Arc::clone(&layout));
    for step in 0..60 {
        spine.stage(indexed(&layout, &integers(1_500, step, 1))).unwrap();
        spine.commit();
    }
    let each = spine.bytes() as f64 / spine.len() as f64;
    assert!(each <= 32.0, "{each:.2} bytes a row");
}
