//! Joins of all kinds as programs plan them: with and without a residual, with NULLs in keys and values, with computed keys, over inputs whose rows are
//! there a negative number of times. After each step the view and the sum of its changes equal what the definition gives.
//!
//! A table holds no negative weights, so that each input of a join is the difference of two tables.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::Column;
use datafusion_expr::{Expr, lit};
use proptest::prelude::*;
use tailrace_algebra::ZSet;
use tailrace_engine::sql::{JoinKind, Plan};
use tailrace_engine::trace::ChangeBatch;
use tailrace_engine::{Database, Operation, OperationKind};

const TABLES: [&str; 4] = ["left_more", "left_less", "right_more", "right_less"];
const KINDS: [JoinKind; 6] =
    [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];

type Cell = Option<i64>;
type Pair = (Cell, Cell);

/// A row of a table and how many of it come (or go, as far as there are any).
type Change = (usize, Pair, i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Residual {
    None,
    Less,
    /// Reads the left side alone.
    LeftOnly,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: JoinKind,
    residual: Residual,
    /// Whether the keys are computed.
    computed: bool,
    /// Whether all columns go out, or only one of each side.
    whole: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let residual = prop_oneof![Just(Residual::None), Just(Residual::Less), Just(Residual::LeftOnly)];
    (prop::sample::select(&KINDS[..]), residual, any::<bool>(), any::<bool>())
        .prop_map(|(kind, residual, computed, whole)| Shape { kind, residual, computed, whole })
}

fn steps() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let cell = || prop::option::weighted(0.8, 0..3_i64);
    let change = (0..4_usize, (cell(), cell()), -2..3_i64);
    prop::collection::vec(prop::collection::vec(change, 0..6), 1..10)
}

fn side(name: &str, column: &str) -> Expr {
    Expr::Column(Column::new(Some(name), column))
}

fn plan(db: &mut Database, shape: Shape) -> Plan {
    let schema =
        Schema::new(vec![Field::new("k", DataType::Int64, true), Field::new("v", DataType::Int64, true)]);
    let tables = TABLES.map(|name| db.create_table(name, &schema, &[]).unwrap());
    let (left, right) = (tables[0].minus(&tables[1]).unwrap(), tables[2].minus(&tables[3]).unwrap());
    let k = Expr::Column(Column::from_name("k"));
    let key = [if shape.computed { k + lit(1_i64) } else { k }];
    let residual = match shape.residual {
        Residual::None => None,
        Residual::Less => Some(side("left", "v").lt(side("right", "v"))),
        Residual::LeftOnly => Some(side("left", "v").gt(lit(0_i64))),
    };
    let columns = |name: &'static str| {
        let all = if shape.whole { &["k", "v"][..] } else { &["v"] };
        all.iter().map(move |column| (format!("{name}_{column}"), side(name, column)))
    };
    let one_sided = matches!(shape.kind, JoinKind::Semi | JoinKind::Anti);
    let output: Vec<_> = columns("left").chain(columns("right").filter(|_| !one_sided)).collect();
    left.join(&right, shape.kind, (&key, &key), residual.as_ref(), &output).unwrap()
}

/// The definition: pairs that match, and rows of one side by the summed weight of their matches.
fn reference(shape: Shape, left: &ZSet<Pair>, right: &ZSet<Pair>) -> ZSet<Vec<Cell>> {
    let matches = |l: &Pair, r: &Pair| {
        let residual = match shape.residual {
            Residual::None => true,
            Residual::Less => matches!((l.1, r.1), (Some(a), Some(b)) if a < b),
            Residual::LeftOnly => l.1.is_some_and(|v| v > 0),
        };
        l.0.is_some() && l.0 == r.0 && residual
    };
    let shown = |row: Option<&Pair>| match row {
        _ if !shape.whole => vec![row.and_then(|row| row.1)],
        row => vec![row.and_then(|row| row.0), row.and_then(|row| row.1)],
    };
    let pair = |l: Option<&Pair>, r: Option<&Pair>| [shown(l), shown(r)].concat();
    let mut out = ZSet::new();
    let of_left = |l: &Pair| right.iter().filter(|(r, _)| matches(l, r)).map(|(_, w)| w).sum::<i128>() > 0;
    let of_right = |r: &Pair| left.iter().filter(|(l, _)| matches(l, r)).map(|(_, w)| w).sum::<i128>() > 0;
    if !matches!(shape.kind, JoinKind::Semi | JoinKind::Anti) {
        for ((l, a), (r, b)) in left.iter().flat_map(|l| right.iter().map(move |r| (l, r))) {
            if matches(l, r) {
                out.insert(pair(Some(l), Some(r)), a * b);
            }
        }
    }
    for (l, weight) in left.iter() {
        match shape.kind {
            JoinKind::Semi if of_left(l) => out.insert(shown(Some(l)), weight),
            JoinKind::Anti if !of_left(l) => out.insert(shown(Some(l)), weight),
            JoinKind::Left | JoinKind::Full if !of_left(l) => out.insert(pair(Some(l), None), weight),
            _ => {}
        }
    }
    for (r, weight) in right.iter() {
        if matches!(shape.kind, JoinKind::Right | JoinKind::Full) && !of_right(r) {
            out.insert(pair(None, Some(r)), weight);
        }
    }
    out
}

fn weighted(table: &str, rows: &ZSet<Pair>) -> Operation {
    let cells = |get: fn(&Pair) -> Cell| -> ArrayRef {
        Arc::new(rows.iter().map(|(row, _)| get(row)).collect::<Int64Array>())
    };
    let weights: ArrayRef =
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|(_, weight)| weight as i64)));
    let columns = [("k", cells(|row| row.0)), ("v", cells(|row| row.1)), ("_weight", weights)];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    Operation::new(OperationKind::Weighted, table, RecordBatch::try_from_iter_with_nullable(columns).unwrap())
}

/// The changes of one step that leave no table below zero.
fn possible(tables: &[ZSet<Pair>], changes: &[Change]) -> Vec<ZSet<Pair>> {
    let mut step = vec![ZSet::new(); tables.len()];
    for (table, row, weight) in changes {
        let there = tables[*table].weight(row) + step[*table].weight(row);
        step[*table].insert(*row, i128::from(*weight).max(-there));
    }
    step
}

fn rows(changes: &ChangeBatch) -> ZSet<Vec<Cell>> {
    let mut rows = ZSet::new();
    for row in 0..changes.len() {
        let cell = |column: &ArrayRef| {
            let values = column.as_primitive::<Int64Type>();
            values.is_valid(row).then(|| values.value(row))
        };
        rows.insert(changes.columns().iter().map(cell).collect(), i128::from(changes.weights()[row]));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(600)))]

    #[test]
    fn oracle_joins_of_all_kinds_follow_their_definition(shape in shape(), steps in steps()) {
        let mut db = Database::new();
        let plan = plan(&mut db, shape);
        db.create_view("joined", plan, vec![]).unwrap();
        let mut tables = vec![ZSet::new(); TABLES.len()];
        let mut summed = ZSet::new();
        for (number, changes) in steps.iter().enumerate() {
            let step = possible(&tables, changes);
            let operations: Vec<Operation> = TABLES.iter().zip(&step).map(|(table, rows)| weighted(table, rows)).collect();
            let told = db.apply(&operations).unwrap();
            if let Some(delta) = told.get("joined").unwrap() {
                summed = summed.plus(&rows(delta));
            }
            tables = tables.iter().zip(&step).map(|(table, change)| table.plus(change)).collect();
            let expected = reference(shape, &tables[0].minus(&tables[1]), &tables[2].minus(&tables[3]));
            prop_assert_eq!(&summed, &expected, "the sum of changes after step {}", number);
            if number % 2 == 1 {
                prop_assert_eq!(&rows(&db.snapshot("joined").unwrap()), &expected, "the content");
            }
        }
        tailrace_tests::count_steps(steps.len());
    }

    /// Inside a recursion the left side is there a negative number of times, and is turned round again behind the semi-join.
    #[test]
    fn oracle_a_semi_join_in_a_recursion_follows_its_definition(steps in steps()) {
        let mut db = Database::new();
        let shape = Shape { kind: JoinKind::Inner, residual: Residual::None, computed: false, whole: true };
        plan(&mut db, shape);
        let (seed, rest) = (db.table(TABLES[0]).unwrap(), db.table(TABLES[1]).unwrap());
        let relation = Plan::relation(seed.schema());
        let k = [Expr::Column(Column::from_name("k"))];
        let output = [("k".to_owned(), side("left", "k")), ("v".to_owned(), side("left", "v"))];
        let less = side("left", "v").lt(side("right", "v"));
        let reached = rest.negate().join(&relation, JoinKind::Semi, (&k, &k), Some(&less), &output).unwrap();
        let body = seed.union_all(&[reached.negate()]).unwrap();
        let found = Plan::fixpoint("reach", &[(relation, body)], 100).unwrap().swap_remove(0);
        db.create_view("reached", found, vec![]).unwrap();
        let mut tables = vec![ZSet::new(); TABLES.len()];
        for changes in &steps {
            let step = possible(&tables, changes);
            let operations: Vec<Operation> = TABLES.iter().zip(&step).map(|(table, rows)| weighted(table, rows)).collect();
            db.apply(&operations).unwrap();
            tables = tables.iter().zip(&step).map(|(table, change)| table.plus(change)).collect();
            let mut reached = tables[0].distinct();
            loop {
                let follows = |row: &Pair| reached.iter().any(|(r, _)| row.0.is_some() && row.0 == r.0 && matches!((row.1, r.1), (Some(a), Some(b)) if a < b));
                let next = reached.plus(&tables[1].filter(follows)).distinct();
                if next == reached {
                    break;
                }
                reached = next;
            }
            let expected = reached.map(|(k, v)| vec![*k, *v]);
            prop_assert_eq!(rows(&db.snapshot("reached").unwrap()), expected);
        }
        tailrace_tests::count_steps(steps.len());
    }
}

#[test]
fn the_pairs_of_an_outer_join_with_a_residual_are_built_once() {
    for kind in KINDS {
        let mut db = Database::new();
        let plan = plan(&mut db, Shape { kind, residual: Residual::Less, computed: false, whole: true });
        db.create_view("joined", plan, vec![]).unwrap();
        let joins = db.metrics().iter().filter(|node| node.operator == "join").count();
        assert_eq!(joins, 1, "{kind:?}");
    }
}
