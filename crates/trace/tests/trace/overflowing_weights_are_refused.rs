//! Weights whose absolute values sum to 2^63 or more are refused, with a clear error, and nothing changes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType;
use tailrace_algebra::ZSet;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Spine, TraceError};

use crate::columns::{Row, indexed, schema, zset_of};

fn weighted(rows: &[(i64, i64)]) -> ChangeBatch {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let weights: Vec<i64> = rows.iter().map(|row| row.1).collect();
    ChangeBatch::try_new(schema(&[DataType::Int64]), vec![keys], weights.into()).unwrap()
}

fn layout() -> Arc<Layout> {
    Layout::rows(schema(&[DataType::Int64]), 1).unwrap()
}

fn sum(spine: &Spine) -> ZSet<Row> {
    zset_of(&spine.snapshot().to_changes().unwrap())
}

#[test]
fn a_batch_that_overflows_alone_is_refused() {
    for rows in [vec![(1, i64::MAX), (1, 1)], vec![(1, i64::MAX), (2, -1)], vec![(1, i64::MIN)]] {
        let built = IndexedBatch::from_changes(&layout(), &weighted(&rows), &[0]);
        assert!(matches!(built, Err(TraceError::WeightOverflow)), "{rows:?}");
        assert!(matches!(weighted(&rows).consolidate(), Err(TraceError::WeightOverflow)), "{rows:?}");
    }
    assert!(matches!(weighted(&[(1, i64::MIN)]).negate(), Err(TraceError::WeightOverflow)));
}

#[test]
fn a_trace_refuses_what_would_overflow_it_and_stays_as_it_was() {
    let layout = layout();
    let mut spine = Spine::new(Arc::clone(&layout));
    spine.stage(indexed(&layout, &weighted(&[(1, i64::MAX - 5), (2, 3)]))).unwrap();
    spine.commit();
    let before = sum(&spine);
    for rows in [[(1, 3)], [(3, 3)], [(3, -3)]] {
        assert!(matches!(spine.stage(indexed(&layout, &weighted(&rows))), Err(TraceError::WeightOverflow)));
        spine.rollback();
        assert_eq!(sum(&spine), before);
    }
    spine.stage(indexed(&layout, &weighted(&[(3, 1)]))).unwrap();
    assert!(spine.stage(indexed(&layout, &weighted(&[(3, 2)]))).is_err(), "what is staged counts");
    spine.rollback();
    spine.stage(indexed(&layout, &weighted(&[(3, 2)]))).unwrap();
    spine.commit();
    assert_eq!(sum(&spine).weight(&vec![crate::columns::Value::Int(3)]), 2);
}

#[test]
fn weights_that_cancel_make_room_again() {
    let layout = layout();
    let mut spine = Spine::new(Arc::clone(&layout));
    for round in 0..5 {
        spine.stage(indexed(&layout, &weighted(&[(round, i64::MAX / 2)]))).unwrap();
        spine.commit();
        spine.stage(indexed(&layout, &weighted(&[(round, -(i64::MAX / 2))]))).unwrap();
        spine.commit();
    }
    assert!(sum(&spine).is_empty());
}
