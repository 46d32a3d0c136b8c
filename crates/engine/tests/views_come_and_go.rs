//! Views are added to a running database with data, share what is equal, and free what nobody uses when they go.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use datafusion_expr::{Expr, col, lit};
use tailrace_engine::sql::{AggregateExpr, JoinKind, Plan};
use tailrace_engine::{Database, EngineError, Operation, OperationKind};

fn database() -> (Database, Plan) {
    let mut db = Database::new();
    let schema =
        Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("x", DataType::Int64, true)]);
    let plan = db.create_table("t", &schema, &["id".to_owned()]).unwrap();
    (db, plan)
}

fn upsert(rows: &[(i64, i64)]) -> Operation {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let xs: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    Operation::new(
        OperationKind::Upsert,
        "t",
        RecordBatch::try_from_iter(vec![("id", ids), ("x", xs)]).unwrap(),
    )
}

fn count_by_x(plan: &Plan) -> Plan {
    let count = AggregateExpr {
        function: "count".into(),
        args: vec![],
        distinct: false,
        filter: None,
        order: vec![],
    };
    plan.aggregate(&[("x".into(), col("x"))], &[("n".into(), count)]).unwrap()
}

fn pairs(db: &mut Database, view: &str) -> Vec<(i64, i64)> {
    let rows = db.snapshot(view).unwrap();
    let (a, b) = (rows.column(0).as_primitive::<Int64Type>(), rows.column(1).as_primitive::<Int64Type>());
    let mut pairs: Vec<_> = (0..rows.len()).map(|row| (a.value(row), b.value(row))).collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn a_view_made_late_is_filled_and_kept_up_to_date() {
    let (mut db, t) = database();
    db.apply(&[upsert(&[(1, 5), (2, 5), (3, 6)])]).unwrap();
    db.create_view("counts", count_by_x(&t), vec![]).unwrap();
    assert_eq!(pairs(&mut db, "counts"), vec![(5, 2), (6, 1)]);
    db.apply(&[upsert(&[(1, 6)])]).unwrap();
    assert_eq!(pairs(&mut db, "counts"), vec![(5, 1), (6, 2)]);
}

#[test]
fn equal_views_share_operators_and_dropping_frees_them() {
    let (mut db, t) = database();
    let empty = db.metrics().len();
    db.create_view("a", count_by_x(&t), vec![]).unwrap();
    let one = db.metrics().len();
    db.create_view("b", count_by_x(&t), vec![]).unwrap();
    assert_eq!(db.metrics().len(), one, "an equal view adds no operator");
    db.apply(&[upsert(&[(1, 5)])]).unwrap();
    assert_eq!(pairs(&mut db, "b"), vec![(5, 1)]);
    db.drop_view("a").unwrap();
    db.apply(&[upsert(&[(2, 5)])]).unwrap();
    assert_eq!(pairs(&mut db, "b"), vec![(5, 2)]);
    db.drop_view("b").unwrap();
    assert_eq!(db.metrics().len(), empty, "the last view takes its operators with it");
    db.create_view("c", count_by_x(&t), vec![]).unwrap();
    assert_eq!(pairs(&mut db, "c"), vec![(5, 2)]);
}

#[test]
fn a_failing_step_leaves_tables_and_views_as_they_were() {
    let (mut db, t) = database();
    let quotient = t.project(&[("id".into(), col("id")), ("q".into(), lit(100i64) / col("x"))]).unwrap();
    db.create_view("counts", count_by_x(&t), vec![]).unwrap();
    db.create_view("q", quotient, vec![]).unwrap();
    db.apply(&[upsert(&[(1, 5), (2, 10)])]).unwrap();
    let before = (pairs(&mut db, "t"), pairs(&mut db, "counts"), pairs(&mut db, "q"), db.version());
    for _ in 0..3 {
        let error = db.apply(&[upsert(&[(3, 1), (2, 0)])]).err().unwrap();
        assert!(error.to_string().to_lowercase().contains("divide by zero"), "{error}");
        assert_eq!(
            (pairs(&mut db, "t"), pairs(&mut db, "counts"), pairs(&mut db, "q"), db.version()),
            before
        );
    }
    db.apply(&[upsert(&[(3, 1)])]).unwrap();
    assert_eq!(pairs(&mut db, "q"), vec![(1, 20), (2, 10), (3, 100)]);
}

#[test]
fn a_view_that_cannot_be_filled_is_not_made() {
    let (mut db, t) = database();
    db.apply(&[upsert(&[(1, 0)])]).unwrap();
    let nodes = db.metrics().len();
    let quotient = t.project(&[("q".into(), lit(100i64) / col("x"))]).unwrap();
    assert!(db.create_view("q", quotient, vec![]).is_err());
    assert_eq!(db.metrics().len(), nodes);
    assert!(matches!(db.snapshot("q"), Err(EngineError::UnknownView { .. })));
    db.apply(&[upsert(&[(2, 0)])]).unwrap();
}

#[test]
fn a_filter_spares_the_rows_it_drops_from_a_later_conjunct() {
    let (mut db, t) = database();
    let predicate = col("x").not_eq(lit(0i64)).and((lit(10i64) / col("x")).gt(lit(1i64)));
    db.create_view("v", t.filter(&predicate).unwrap(), vec![]).unwrap();
    db.apply(&[upsert(&[(1, 0), (2, 3), (3, 20)])]).unwrap();
    assert_eq!(pairs(&mut db, "v"), vec![(2, 3)]);
}

#[test]
fn arithmetic_overflow_is_an_error() {
    let (mut db, t) = database();
    db.create_view(
        "v",
        t.project(&[("id".into(), col("id")), ("y".into(), col("x") + lit(1i64))]).unwrap(),
        vec![],
    )
    .unwrap();
    db.create_view(
        "w",
        t.project(&[("id".into(), col("id")), ("y".into(), Expr::Negative(Box::new(col("x"))))]).unwrap(),
        vec![],
    )
    .unwrap();
    assert!(db.apply(&[upsert(&[(1, i64::MAX)])]).is_err());
    assert!(db.apply(&[upsert(&[(1, i64::MIN)])]).is_err());
    db.apply(&[upsert(&[(1, 7)])]).unwrap();
    assert_eq!((pairs(&mut db, "v"), pairs(&mut db, "w")), (vec![(1, 8)], vec![(1, -7)]));
}

#[test]
fn a_self_join_with_a_residual_keeps_rows_apart_by_their_key() {
    let (mut db, t) = database();
    let side =
        |relation: &str, name: &str| Expr::Column(datafusion_common::Column::new(Some(relation), name));
    let residual = side("right", "id").gt(side("left", "id"));
    let output = [("x".to_owned(), side("left", "x")), ("other".to_owned(), side("left", "id") * lit(0i64))];
    let keys = [col("x")];
    let lonely = t.join(&t, JoinKind::Anti, (&keys, &keys), Some(&residual), &output).unwrap();
    db.create_view("last_of_each_x", lonely, vec![]).unwrap();
    db.apply(&[upsert(&[(1, 5), (2, 5), (3, 6)])]).unwrap();
    assert_eq!(pairs(&mut db, "last_of_each_x"), vec![(5, 0), (6, 0)]);
    db.apply(&[upsert(&[(3, 5)])]).unwrap();
    assert_eq!(pairs(&mut db, "last_of_each_x"), vec![(5, 0)]);
}

#[test]
fn unknown_columns_list_the_choices() {
    let (_, t) = database();
    let error = t.filter(&col("y").gt(lit(1i64))).err().unwrap();
    assert_eq!(error.to_string(), "Column 'y' is not found. Existing columns: id, x");
}

#[test]
fn dropping_a_view_of_a_plain_table_keeps_the_table() {
    let (mut db, t) = database();
    db.create_view("all", t.clone(), vec![]).unwrap();
    db.apply(&[upsert(&[(1, 5)])]).unwrap();
    assert_eq!(pairs(&mut db, "all"), vec![(1, 5)]);
    db.drop_view("all").unwrap();
    db.apply(&[upsert(&[(2, 6)])]).unwrap();
    assert_eq!(pairs(&mut db, "t"), vec![(1, 5), (2, 6)]);
    db.create_view("all", t, vec![]).unwrap();
    assert!(matches!(db.drop_table("t"), Err(EngineError::InUse { .. })));
    db.drop_view("all").unwrap();
    db.drop_table("t").unwrap();
    assert!(matches!(db.snapshot("t"), Err(EngineError::UnknownView { .. })));
}

#[test]
fn the_weight_is_no_column_of_a_table_or_view() {
    let (mut db, t) = database();
    let weighty = Schema::new(vec![Field::new("_weight", DataType::Int64, false)]);
    let error = db.create_table("w", &weighty, &[]).err().unwrap();
    assert!(matches!(error, EngineError::ReservedColumn { kind: "table", .. }), "{error}");
    let renamed = t.project(&[("_weight".to_owned(), col("x"))]).unwrap();
    let error = db.create_view("w", renamed, vec![]).err().unwrap();
    assert!(matches!(error, EngineError::ReservedColumn { kind: "view", .. }), "{error}");
    assert!(db.views().is_empty() && db.tables() == ["t"]);
}

#[test]
fn a_stream_of_another_table_of_the_same_name_is_refused_with_both() {
    let (mut db, old) = database();
    db.drop_table("t").unwrap();
    let schema = |second: &str, data_type| {
        Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new(second, data_type, true)])
    };
    for other in [schema("x", DataType::Utf8), schema("y", DataType::Int64)] {
        let new = db.create_table("t", &other, &["id".to_owned()]).unwrap();
        db.create_view("new", new, vec![]).unwrap();
        let error = db.create_view("old", old.clone(), vec![]).err().unwrap().to_string();
        let second = other.field(1);
        assert!(error.contains("(id Int64 NOT NULL, x Int64)"), "{error}");
        assert!(
            error.contains(&format!("(id Int64 NOT NULL, {} {})", second.name(), second.data_type())),
            "{error}"
        );
        assert_eq!(db.views(), ["new"]);
        db.drop_view("new").unwrap();
        db.drop_table("t").unwrap();
    }
}

#[test]
fn views_over_one_delay_have_each_their_own_history() {
    let (mut db, t) = database();
    let some = |plan: &Plan| plan.filter(&col("x").gt(lit(5_i64))).unwrap();
    db.create_view("a", t.delay(), vec![]).unwrap();
    db.create_view("b", some(&t.delay()), vec![]).unwrap();
    db.apply(&[upsert(&[(1, 5), (2, 6)])]).unwrap();
    assert!(pairs(&mut db, "a").is_empty() && pairs(&mut db, "b").is_empty());
    db.create_view("c", t.delay().union_all(&[t.delay()]).unwrap(), vec![]).unwrap();
    db.create_view("d", t.integrate(), vec![]).unwrap();
    db.create_view("e", some(&t.integrate()), vec![]).unwrap();
    db.apply(&[upsert(&[(3, 7)])]).unwrap();
    assert_eq!(pairs(&mut db, "a"), vec![(1, 5), (2, 6)]);
    assert_eq!(pairs(&mut db, "b"), vec![(2, 6)]);
    let delays = |db: &Database| db.metrics().iter().filter(|node| node.operator == "delay").count();
    assert_eq!(delays(&db), 3, "within one view a delay is built once");
    for view in ["a", "b", "c", "d", "e"] {
        db.drop_view(view).unwrap();
    }
    assert_eq!(db.metrics().len(), 1, "only the table is left");
}
