//! A batch of operations on a table with a key does what the same operations do to a map, or it is refused whole.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use tailrace_engine::{Database, EngineError, Operation, OperationKind};

type Model = BTreeMap<i64, Option<i64>>;

#[derive(Clone, Debug)]
struct Op {
    kind: OperationKind,
    rows: Vec<(i64, Option<i64>)>,
}

fn operations() -> impl Strategy<Value = Vec<Op>> {
    let kind = prop_oneof![
        Just(OperationKind::Insert),
        Just(OperationKind::Upsert),
        Just(OperationKind::Update),
        Just(OperationKind::Delete)
    ];
    let row = (0i64..6, prop::option::of(0i64..4));
    let op = (kind, prop::collection::vec(row, 0..4)).prop_map(|(kind, rows)| Op { kind, rows });
    prop::collection::vec(op, 1..4)
}

/// What the operations mean: None if the batch must be refused.
fn model_apply(model: &Model, ops: &[Op]) -> Option<Model> {
    let mut next = model.clone();
    for op in ops {
        let mut seen = std::collections::BTreeSet::new();
        for (key, value) in &op.rows {
            let again = !seen.insert(*key);
            match op.kind {
                OperationKind::Insert if next.contains_key(key) => return None,
                OperationKind::Update if !next.contains_key(key) => return None,
                OperationKind::Delete if again || next.remove(key).is_none() => return None,
                OperationKind::Delete => {}
                _ => drop(next.insert(*key, *value)),
            }
        }
    }
    Some(next)
}

fn operation(op: &Op) -> Operation {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(op.rows.iter().map(|(key, _)| *key)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter(op.rows.iter().map(|(_, value)| *value)));
    let columns =
        if op.kind == OperationKind::Delete { vec![("k", keys)] } else { vec![("v", values), ("k", keys)] };
    Operation::new(
        op.kind,
        "t",
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap(),
    )
}

fn database() -> Database {
    let mut db = Database::new();
    let schema =
        Schema::new(vec![Field::new("v", DataType::Int64, true), Field::new("k", DataType::Int64, false)]);
    let plan = db.create_table("t", &schema, &["k".to_owned()]).unwrap();
    db.create_view("all", plan, vec!["k".to_owned()]).unwrap();
    db
}

fn contents(db: &mut Database, name: &str) -> Model {
    let rows = db.snapshot(name).unwrap();
    assert!(rows.weights().iter().all(|weight| *weight == 1));
    let (values, keys) =
        (rows.column(0).as_primitive::<Int64Type>(), rows.column(1).as_primitive::<Int64Type>());
    (0..rows.len()).map(|row| (keys.value(row), values.is_valid(row).then(|| values.value(row)))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(400)))]

    #[test]
    fn oracle_a_batch_folds_like_a_map(batches in prop::collection::vec(operations(), 1..12)) {
        let mut db = database();
        let mut model = Model::new();
        let mut integrated = BTreeMap::new();
        for ops in &batches {
            let version = db.version();
            let given: Vec<Operation> = ops.iter().map(operation).collect();
            match (db.apply(&given), model_apply(&model, ops)) {
                (Ok(changes), Some(next)) => {
                    model = next;
                    if let Some(delta) = changes.get("all").unwrap() {
                        let (values, keys) = (delta.column(0).as_primitive::<Int64Type>(), delta.column(1).as_primitive::<Int64Type>());
                        for row in 0..delta.len() {
                            let row_value = (keys.value(row), values.is_valid(row).then(|| values.value(row)));
                            *integrated.entry(row_value).or_insert(0) += delta.weights()[row];
                        }
                        integrated.retain(|_, weight| *weight != 0);
                    }
                    prop_assert_eq!(db.version(), version + 1);
                }
                (Err(_), None) => prop_assert_eq!(db.version(), version),
                (Ok(_), None) => prop_assert!(false, "{:?} must be refused", ops),
                (Err(error), Some(_)) => prop_assert!(false, "{:?} was refused: {}", ops, error),
            }
            prop_assert_eq!(&contents(&mut db, "t"), &model);
            prop_assert_eq!(&contents(&mut db, "all"), &model);
            let expected: BTreeMap<(i64, Option<i64>), i64> = model.iter().map(|(key, value)| ((*key, *value), 1)).collect();
            prop_assert_eq!(&integrated, &expected);
        }
        tailrace_tests::count_steps(batches.len());
    }
}

#[test]
fn a_duplicate_key_names_table_row_and_key() {
    let mut db = database();
    let op = Op { kind: OperationKind::Insert, rows: vec![(1, None), (2, None), (1, Some(3))] };
    let error = db.apply(&[operation(&op)]).err().unwrap();
    assert!(matches!(error, EngineError::DuplicateKey { row: 2, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "table 't': row 2 of the insert has key (k=1), which exists already; use upsert to replace it"
    );
    assert!(contents(&mut db, "t").is_empty());
}

#[test]
fn weighted_changes_must_leave_a_table() {
    let mut db = database();
    let rows = |keys: Vec<i64>, weights: Vec<i64>| {
        let columns: Vec<(&str, ArrayRef)> =
            vec![("k", Arc::new(Int64Array::from(keys))), ("_weight", Arc::new(Int64Array::from(weights)))];
        Operation::new(OperationKind::Weighted, "t", RecordBatch::try_from_iter(columns).unwrap())
    };
    assert!(db.apply(&[rows(vec![1, 2], vec![1, 1])]).is_ok());
    assert!(matches!(db.apply(&[rows(vec![1], vec![1])]), Err(EngineError::BadWeight { weight: 2, .. })));
    assert!(matches!(db.apply(&[rows(vec![9], vec![-1])]), Err(EngineError::BadWeight { weight: -1, .. })));
    assert!(db.apply(&[rows(vec![1], vec![-1])]).is_ok());
    assert_eq!(contents(&mut db, "t").keys().copied().collect::<Vec<_>>(), vec![2]);
}

fn weighted(rows: &[(i64, Option<i64>, i64)]) -> Operation {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)))),
        ("v", Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.1)))),
        ("_weight", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)))),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    Operation::new(OperationKind::Weighted, "t", RecordBatch::try_from_iter_with_nullable(columns).unwrap())
}

#[test]
fn after_weighted_changes_a_key_is_not_taken_for_another() {
    let mut db = database();
    db.apply(&[operation(&Op { kind: OperationKind::Insert, rows: vec![(1, Some(1))] })]).unwrap();
    let before = contents(&mut db, "t");
    // Key 1 has two rows for now, and key 99 none: two rows for two keys.
    let update = operation(&Op { kind: OperationKind::Update, rows: vec![(1, Some(5)), (99, Some(6))] });
    let error = db.apply(&[weighted(&[(1, Some(2), 1)]), update]).err().unwrap();
    assert!(matches!(error, EngineError::BadWeight { weight: 2, .. }), "{error}");
    let delete = operation(&Op { kind: OperationKind::Delete, rows: vec![(1, None)] });
    for weight in [1, -2] {
        let error = db.apply(&[weighted(&[(1, Some(1), weight)]), delete.clone()]).err().unwrap();
        assert!(matches!(error, EngineError::BadWeight { .. }), "{error}");
    }
    assert_eq!(contents(&mut db, "t"), before);
}

#[test]
fn an_upsert_after_weighted_changes_leaves_one_row() {
    let mut db = database();
    db.apply(&[operation(&Op { kind: OperationKind::Insert, rows: vec![(1, Some(1))] })]).unwrap();
    let upsert = operation(&Op { kind: OperationKind::Upsert, rows: vec![(1, Some(7))] });
    for raw in [(1, Some(1), 3), (1, Some(2), 1), (1, Some(1), -4)] {
        db.apply(&[weighted(&[raw]), upsert.clone()]).unwrap();
        assert_eq!(contents(&mut db, "t"), Model::from([(1, Some(7))]));
    }
}
