//! Aggregates against plain definitions over all rows of a group.
//!
//! Sums of floats are checked against integers in units of 2^-60, and quotients against long division, so that the expected bits come from
//! other arithmetic than the engine's.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use oracle::cell::to_batch;
use oracle::order::{Term, ascending, descending};
use oracle::{Cell, Column, Oracle, Row, Rows, Table, flag, int, text};
use proptest::sample::select;
use tailrace_circuit::{Circuit, Context, Input, Interrupt, Operator, UnaryOperator};
use tailrace_operators::{Aggregate, AggregateCall, AggregateFunction, AggregateSpec, OrderBy, Scalar};

use AggregateFunction as F;

/// The columns of the table.
const K: usize = 0;
const T: usize = 1;
const X: usize = 2;
const Y: usize = 3;
const FLOAT: usize = 4;
const DECIMAL: usize = 5;
const FLAG: usize = 6;

/// One call and its definition over the rows of a group.
struct Call {
    function: F,
    args: Vec<usize>,
    filter: bool,
    distinct: bool,
    order: Vec<Term>,
}

fn call(function: F, args: &[usize]) -> Call {
    Call { function, args: args.to_vec(), filter: false, distinct: false, order: vec![] }
}

impl Call {
    fn filtered(self) -> Self {
        Self { filter: true, ..self }
    }

    fn distinct(self) -> Self {
        Self { distinct: true, ..self }
    }

    fn ordered(self, order: Vec<Term>) -> Self {
        Self { order, ..self }
    }
}

fn table() -> Table {
    let floats = [0.0, 1.0, -1.5, 0.1, 0.2, 1e10, -1e10, 3.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
        .map(Cell::from);
    let decimals = [0, 1, -1, 250, -333, 10_i128.pow(17)].map(Cell::Decimal);
    Table::new([
        int("k", 0..3).nullable(),
        text("t", 4).nullable(),
        int("x", -3..4).nullable(),
        int("y", 0..5),
        Column::new("f", DataType::Float64, select(floats.to_vec())).nullable(),
        Column::new("d", DataType::Decimal128(18, 2), select(decimals.to_vec())).nullable(),
        flag("b").nullable(),
    ])
}

fn check(table: Table, cases: u32, keys: &[usize], calls: &[Call]) {
    Oracle::new([table]).cases(cases).check(
        |circuit, inputs| {
            let input = circuit.schema(inputs[0])?.clone();
            let spec = spec(keys, calls, &input);
            let schema = spec.schema.clone();
            Ok(circuit.add_unary(Box::new(Aggregate::new(spec)?), inputs[0], schema)?)
        },
        |contents| reference(keys, calls, &contents[0]),
    );
}

fn spec(keys: &[usize], calls: &[Call], input: &Schema) -> AggregateSpec {
    let column = |index: &usize| Scalar::column(*index, input);
    let keys: Vec<Scalar> = keys.iter().map(column).collect();
    let aggregate_call = |call: &Call| AggregateCall {
        function: call.function.clone(),
        args: call.args.iter().map(column).collect(),
        filter: call.filter.then(|| column(&FLAG)),
        distinct: call.distinct,
        order: call.order.iter().map(|term| term.order_by(input)).collect::<Vec<OrderBy>>(),
    };
    let calls: Vec<AggregateCall> = calls.iter().map(aggregate_call).collect();
    let schema = output_schema(&keys, &calls);
    AggregateSpec { keys, calls, schema }
}

fn output_schema(keys: &[Scalar], calls: &[AggregateCall]) -> SchemaRef {
    let result = |call: &AggregateCall| {
        let args: Vec<DataType> = call.args.iter().map(|arg| arg.data_type().clone()).collect();
        call.function.return_type(&args).unwrap()
    };
    let types = keys.iter().map(|key| key.data_type().clone()).chain(calls.iter().map(result));
    let fields: Vec<Field> = types
        .enumerate()
        .map(|(index, data_type)| Field::new(format!("c{index}"), data_type, true))
        .collect();
    Arc::new(Schema::new(fields))
}

/// The rows of a group with their weights.
type Group = Vec<(Row, i64)>;

fn reference(keys: &[usize], calls: &[Call], rows: &Rows) -> Rows {
    let mut groups: BTreeMap<Row, Group> = BTreeMap::new();
    if keys.is_empty() {
        groups.insert(vec![], vec![]);
    }
    for (row, weight) in rows.iter() {
        let key = keys.iter().map(|column| row[*column].clone()).collect();
        groups.entry(key).or_default().push((row.clone(), weight as i64));
    }
    let there = |group: &Group| keys.is_empty() || group.iter().map(|(_, weight)| weight).sum::<i64>() != 0;
    let output = |(key, group): (Row, Group)| {
        key.into_iter().chain(calls.iter().map(|call| value(call, &group))).collect::<Row>()
    };
    Rows::from_rows(groups.into_iter().filter(|(_, group)| there(group)).map(output))
}

fn value(call: &Call, group: &Group) -> Cell {
    let args = arguments(call, group);
    let ints = || args.iter().map(|(row, weight)| (row[0].int().unwrap(), *weight));
    let count: i64 = args.iter().map(|(_, weight)| weight).sum();
    match &call.function {
        F::Count => Cell::Int(count),
        F::Sum | F::Avg => {
            let average = call.function == F::Avg;
            if count == 0 || (average && count < 0) {
                return Cell::Null;
            }
            sum_or_average(&args, count, average)
        }
        F::VarSamp => moment(&args, 0, 0, 1).into(),
        F::VarPop => moment(&args, 0, 0, 0).into(),
        F::StddevSamp => moment(&args, 0, 0, 1).map(f64::sqrt).into(),
        F::StddevPop => moment(&args, 0, 0, 0).map(f64::sqrt).into(),
        F::CovarSamp => moment(&args, 0, 1, 1).into(),
        F::CovarPop => moment(&args, 0, 1, 0).into(),
        F::Corr => {
            let parts = (moment(&args, 0, 1, 0), moment(&args, 0, 0, 0), moment(&args, 1, 1, 0));
            let (Some(xy), Some(xx), Some(yy)) = parts else { return Cell::Null };
            Cell::from(xy / (xx.sqrt() * yy.sqrt()))
        }
        F::BoolAnd | F::BoolOr => {
            let of = |truth: bool| {
                args.iter()
                    .filter(|(row, _)| row[0] == Cell::Bool(truth))
                    .map(|(_, weight)| weight)
                    .sum::<i64>()
            };
            let decisive = call.function == F::BoolOr;
            if of(decisive) != 0 {
                decisive.into()
            } else if of(!decisive) != 0 {
                (!decisive).into()
            } else {
                Cell::Null
            }
        }
        F::Min | F::First => ends(call, &args).0,
        F::Max | F::Last => ends(call, &args).1,
        F::ArgMin => by_second(&args).0,
        F::ArgMax => by_second(&args).1,
        F::ArrayAgg => {
            let copies = copies(call, &args);
            if copies.is_empty() { Cell::Null } else { Cell::List(copies) }
        }
        F::StringAgg(separator) => {
            let copies = copies(call, &args);
            let texts: Vec<&str> = copies.iter().map(|cell| cell.text().unwrap()).collect();
            if texts.is_empty() { Cell::Null } else { texts.join(separator).as_str().into() }
        }
        F::BitAnd => {
            ints().filter(|(_, weight)| *weight > 0).map(|(value, _)| value).reduce(|a, b| a & b).into()
        }
        F::BitOr => {
            ints().filter(|(_, weight)| *weight > 0).map(|(value, _)| value).reduce(|a, b| a | b).into()
        }
        F::BitXor => copies(call, &args).iter().map(|cell| cell.int().unwrap()).reduce(|a, b| a ^ b).into(),
        F::AnyValue => ends(call, &args).0,
        F::Mode => {
            let most = args.iter().filter(|(_, weight)| *weight > 0).rev().max_by_key(|(_, weight)| *weight);
            most.map_or(Cell::Null, |(row, _)| row[0].clone())
        }
        // What goes through floats is held against DuckDB (tests/sql/slt/functions_aggregates.slt).
        F::QuantileCont(_) | F::QuantileDisc(_) | F::Product | F::Regression(_) => {
            unreachable!("{:?} has no reference here", call.function)
        }
    }
}

/// The argument lists that count, each once with its weight, ordered as the call says, then by themselves. The columns of the order stand behind the
/// arguments.
fn arguments(call: &Call, group: &Group) -> Group {
    let keeps_nulls = matches!(call.function, F::ArrayAgg | F::First | F::Last);
    let counts = |row: &Row| !call.filter || row[FLAG] == Cell::Bool(true);
    let mut weights: BTreeMap<Row, i64> = BTreeMap::new();
    for (row, weight) in group.iter().filter(|(row, _)| counts(row)) {
        let args: Row = call.args.iter().map(|column| row[*column].clone()).collect();
        if keeps_nulls || args.iter().all(|cell| !cell.is_null()) {
            let order = call.order.iter().map(|term| row[term.column].clone());
            *weights.entry(args.into_iter().chain(order).collect()).or_default() += weight;
        }
    }
    let once = |weight: i64| if call.distinct { i64::from(weight > 0) } else { weight };
    weights.into_iter().map(|(row, weight)| (row, once(weight))).filter(|(_, weight)| *weight != 0).collect()
}

/// The first arguments of positive weight, in the order of the call.
fn copies(call: &Call, args: &Group) -> Vec<Cell> {
    let terms: Vec<Term> = call
        .order
        .iter()
        .enumerate()
        .map(|(index, term)| Term { column: call.args.len() + index, ..*term })
        .collect();
    let mut rows: Vec<&(Row, i64)> = args.iter().collect();
    rows.sort_by(|a, b| oracle::order::compare(&terms, &a.0, &b.0).then_with(|| a.0.cmp(&b.0)));
    rows.into_iter().flat_map(|(row, weight)| (0..*weight).map(|_| row[0].clone())).collect()
}

fn ends(call: &Call, args: &Group) -> (Cell, Cell) {
    let copies = copies(call, args);
    (copies.first().cloned().unwrap_or(Cell::Null), copies.last().cloned().unwrap_or(Cell::Null))
}

fn by_second(args: &Group) -> (Cell, Cell) {
    let mut rows: Vec<(&Cell, &Cell)> =
        args.iter().filter(|(_, weight)| *weight > 0).map(|(row, _)| (&row[1], &row[0])).collect();
    rows.sort();
    let cell = |row: Option<&(&Cell, &Cell)>| row.map_or(Cell::Null, |(_, value)| (*value).clone());
    (cell(rows.first()), cell(rows.last()))
}

fn sum_or_average(args: &Group, count: i64, average: bool) -> Cell {
    match &args[0].0[0] {
        Cell::Int(_) => {
            let sum: i64 = args.iter().map(|(row, weight)| row[0].int().unwrap() * weight).sum();
            if average { quotient(sum.into(), count.into(), 0).into() } else { Cell::Int(sum) }
        }
        Cell::Decimal(_) => {
            let value = |cell: &Cell| if let Cell::Decimal(value) = cell { *value } else { 0 };
            let sum: i128 = args.iter().map(|(row, weight)| value(&row[0]) * i128::from(*weight)).sum();
            Cell::Decimal(if average { rounded(sum * 10_000, count.into()) } else { sum })
        }
        _ => float_sum(args, if average { count } else { 1 }).into(),
    }
}

/// Half away from zero.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let magnitude = (2 * dividend.abs() + divisor) / (2 * divisor);
    if dividend < 0 { -magnitude } else { magnitude }
}

/// The sum of floats divided by `count`; NaN and infinities are counted by weight, apart.
fn float_sum(args: &Group, count: i64) -> f64 {
    let value = |row: &Row| row[0].float().unwrap();
    let weight_of = |is: &dyn Fn(f64) -> bool| {
        args.iter().filter(|(row, _)| is(value(row))).map(|(_, weight)| weight).sum::<i64>()
    };
    let (nan, plus, minus) =
        (weight_of(&f64::is_nan), weight_of(&|x| x == f64::INFINITY), weight_of(&|x| x == f64::NEG_INFINITY));
    // An infinity of negative weight counts as one of the opposite sign.
    let (up, down) = (plus > 0 || minus < 0, plus < 0 || minus > 0);
    match (nan != 0, up, down) {
        (true, ..) | (_, true, true) => return f64::NAN,
        (_, true, _) => return f64::INFINITY,
        (_, _, true) => return f64::NEG_INFINITY,
        _ => {}
    }
    let units = |x: f64| (x * 2f64.powi(60)) as i128;
    let sum: i128 = args
        .iter()
        .filter(|(row, _)| value(row).is_finite())
        .map(|(row, weight)| units(value(row)) * i128::from(*weight))
        .sum();
    quotient(sum, count.into(), 60)
}

/// `n Σxy - Σx Σy` over `n (n - ddof)`, for integers.
fn moment(args: &Group, x: usize, y: usize, ddof: i128) -> Option<f64> {
    let sum = |term: &dyn Fn(&Row) -> i64| {
        args.iter().map(|(row, weight)| i128::from(term(row) * weight)).sum::<i128>()
    };
    let at = |row: &Row, column: usize| row[column].int().unwrap();
    let n = sum(&|_| 1);
    if n <= ddof {
        return None;
    }
    let numerator = n * sum(&|row| at(row, x) * at(row, y)) - sum(&|row| at(row, x)) * sum(&|row| at(row, y));
    Some(quotient(numerator, n * (n - ddof), 0))
}

/// The double nearest to `dividend / divisor / 2^scale`, by long division with a sticky bit.
fn quotient(dividend: i128, divisor: i128, scale: i32) -> f64 {
    let (magnitude, by) = (dividend.unsigned_abs(), divisor.unsigned_abs());
    if magnitude == 0 {
        return 0.0;
    }
    let bits = |value: u128| 128 - value.leading_zeros() as i32;
    let shift = (60 + bits(by) - bits(magnitude)).max(0);
    let (whole, rest) = ((magnitude << shift) / by, (magnitude << shift) % by);
    let nearest = (whole | u128::from(rest != 0)) as f64 * 2f64.powi(-shift - scale);
    if (dividend < 0) != (divisor < 0) { -nearest } else { nearest }
}

fn linear_calls() -> Vec<Call> {
    vec![
        call(F::Count, &[]),
        call(F::Count, &[X]),
        call(F::Count, &[Y]),
        call(F::Sum, &[X]),
        call(F::Sum, &[Y]),
        call(F::Avg, &[X]),
        call(F::Sum, &[FLOAT]),
        call(F::Avg, &[FLOAT]),
        call(F::Sum, &[DECIMAL]),
        call(F::Avg, &[DECIMAL]),
        call(F::BoolAnd, &[FLAG]),
        call(F::BoolOr, &[FLAG]),
    ]
}

fn moment_calls() -> Vec<Call> {
    vec![
        call(F::VarSamp, &[X]),
        call(F::VarPop, &[Y]),
        call(F::StddevSamp, &[Y]),
        call(F::StddevPop, &[X]),
        call(F::CovarSamp, &[X, Y]),
        call(F::CovarPop, &[Y, X]),
        call(F::Corr, &[X, Y]),
    ]
}

fn ordered_calls() -> Vec<Call> {
    vec![
        call(F::Min, &[X]),
        call(F::Max, &[X]),
        call(F::Max, &[T]),
        call(F::Min, &[FLOAT]),
        call(F::ArgMin, &[T, X]),
        call(F::ArgMax, &[T, X]),
        call(F::First, &[X]),
        call(F::Last, &[T]).ordered(vec![descending(X).nulls_last(), ascending(Y)]),
        call(F::First, &[T]).ordered(vec![descending(X).nulls_last(), ascending(Y)]),
    ]
}

fn whole_calls() -> Vec<Call> {
    vec![
        call(F::AnyValue, &[X]),
        call(F::Mode, &[X]),
        call(F::ArrayAgg, &[X]),
        call(F::ArrayAgg, &[T]).ordered(vec![descending(Y), ascending(X).nulls_last()]),
        call(F::StringAgg(", ".to_owned()), &[T]),
        call(F::BitAnd, &[X]),
        call(F::BitOr, &[Y]),
        call(F::BitXor, &[X]),
    ]
}

fn distinct_calls() -> Vec<Call> {
    let linear = [
        call(F::Count, &[X]),
        call(F::Sum, &[X]),
        call(F::Avg, &[X]),
        call(F::Count, &[T]),
        call(F::Count, &[T, X]),
        call(F::Sum, &[FLOAT]),
        call(F::VarPop, &[Y]),
        call(F::BoolOr, &[FLAG]),
        call(F::Min, &[X]),
        call(F::ArrayAgg, &[X]),
        call(F::ArrayAgg, &[X]).ordered(vec![descending(X)]),
        call(F::StringAgg(String::new()), &[T]),
        call(F::BitXor, &[X]),
    ];
    linear.into_iter().map(Call::distinct).collect()
}

#[test]
fn oracle_linear_calls() {
    check(table(), 500, &[K], &linear_calls());
}

#[test]
fn oracle_linear_calls_by_two_keys() {
    check(table(), 300, &[T, K], &linear_calls());
}

#[test]
fn oracle_linear_calls_over_all_rows() {
    check(table(), 300, &[], &linear_calls());
}

#[test]
fn oracle_moments() {
    check(table(), 400, &[K], &moment_calls());
}

#[test]
fn oracle_ordered_calls() {
    check(table(), 500, &[K], &ordered_calls());
}

#[test]
fn oracle_ordered_calls_over_all_rows() {
    check(table(), 300, &[], &ordered_calls());
}

#[test]
fn oracle_whole_group_calls() {
    check(table(), 300, &[K], &whole_calls());
}

#[test]
fn oracle_distinct_calls() {
    check(table(), 400, &[K], &distinct_calls());
}

#[test]
fn oracle_distinct_calls_over_all_rows() {
    check(table(), 200, &[], &distinct_calls());
}

#[test]
fn oracle_filtered_calls_beside_unfiltered_ones() {
    let all = [linear_calls(), moment_calls(), ordered_calls(), whole_calls(), distinct_calls()]
        .into_iter()
        .flatten();
    let mut calls: Vec<Call> = all.map(Call::filtered).collect();
    calls.extend(linear_calls());
    calls.extend(ordered_calls());
    check(table(), 200, &[K], &calls);
}

#[test]
fn oracle_all_calls_of_bags() {
    let calls: Vec<Call> = [linear_calls(), moment_calls(), ordered_calls(), whole_calls(), distinct_calls()]
        .into_iter()
        .flatten()
        .collect();
    check(table().bag(), 300, &[T], &calls);
}

#[test]
fn oracle_keys_without_calls_are_the_groups() {
    check(table(), 100, &[T, X], &[]);
}

/// An operator that is driven by hand.
struct Driven {
    operator: Box<dyn UnaryOperator>,
    input: SchemaRef,
    view: Rows,
}

impl Driven {
    fn new(calls: &[Call]) -> Self {
        let input = Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, false),
            Field::new("x", DataType::Int64, true),
        ]));
        let operator = Box::new(Aggregate::new(spec(&[0], calls, &input)).unwrap());
        Self { operator, input, view: Rows::new() }
    }

    fn step(&mut self, rows: &[(i64, Option<i64>, i64)]) -> Result<(), String> {
        let rows: Vec<(Row, i64)> =
            rows.iter().map(|(k, x, weight)| (vec![Cell::Int(*k), Cell::from(*x)], *weight)).collect();
        let value = to_batch(&self.input, &rows).into();
        let interrupt = Interrupt::default();
        match self.operator.eval(Input::Owned(value), &Context::at_step(Default::default(), &interrupt)) {
            Ok(output) => {
                self.operator.commit();
                self.view = self.view.plus(&oracle::cell::to_rows(output.as_changes().unwrap()));
                Ok(())
            }
            Err(error) => {
                self.operator.rollback();
                Err(error.to_string())
            }
        }
    }
}

#[test]
fn an_overflow_names_the_call_and_the_group_and_leaves_no_trace() {
    let mut driven = Driven::new(&[call(F::Sum, &[1]), call(F::Max, &[1])]);
    driven.step(&[(1, Some(i64::MAX), 1), (2, Some(5), 1)]).unwrap();
    let before = driven.view.clone();
    let error = driven.step(&[(1, Some(1), 1), (2, Some(6), 1)]).unwrap_err();
    assert!(error.contains("sum(x@1)") && error.contains("k@0 = 1") && error.contains("Int64"), "{error}");
    driven.step(&[(2, Some(7), 1)]).unwrap();
    let expected = before.plus(&Rows::from_iter([
        (vec![Cell::Int(2), Cell::Int(5), Cell::Int(5)], -1),
        (vec![Cell::Int(2), Cell::Int(12), Cell::Int(7)], 1),
    ]));
    assert_eq!(driven.view, expected);
}

#[test]
fn a_sum_may_leave_the_range_on_the_way() {
    let mut driven = Driven::new(&[call(F::Sum, &[1]), call(F::Avg, &[1])]);
    driven.step(&[(1, Some(i64::MAX), 3), (1, Some(i64::MIN), 2), (1, None, 1)]).unwrap();
    let average = (i64::MAX as f64 * 3.0 + i64::MIN as f64 * 2.0) / 5.0;
    let sum = i64::MAX - 2;
    assert_eq!(driven.view, Rows::from_iter([(vec![Cell::Int(1), Cell::Int(sum), Cell::from(average)], 1)]));
}

#[test]
fn wrong_calls_are_refused_with_the_choices() {
    assert_eq!(F::from_name("SUM"), Some(F::Sum));
    assert_eq!(F::from_name("harmonic_mean"), None);
    assert!(F::Sum.return_type(&[DataType::Utf8View]).unwrap_err().contains("integers, floats"));
    assert!(F::Corr.return_type(&[DataType::Int64]).unwrap_err().contains("2 argument"));
    assert_eq!(F::Avg.return_type(&[DataType::Decimal128(10, 36)]), Ok(DataType::Decimal128(38, 38)));
    assert_eq!(F::Sum.return_type(&[DataType::Float32]), Ok(DataType::Float64));
}

#[test]
fn the_only_group_is_there_before_any_row() {
    let mut circuit = Circuit::new();
    let table = table();
    let layout = tailrace_trace::Layout::rows(table.schema().clone(), 0).unwrap();
    let source = tailrace_operators::TableSource::new(layout, (0..7).collect());
    let input = circuit.add_source(Box::new(source), table.schema().clone()).unwrap();
    let spec = spec(&[], &[call(F::Count, &[]), call(F::Max, &[X])], table.schema());
    let schema = spec.schema.clone();
    let operator = Aggregate::new(spec).unwrap();
    assert!(operator.has_work());
    let output = circuit.add_unary(Box::new(operator), input, schema).unwrap();
    circuit.watch(output).unwrap();
    let changes = circuit.step([]).unwrap().take(output).unwrap();
    assert_eq!(
        oracle::cell::to_rows(changes.as_changes().unwrap()),
        Rows::from_rows([vec![Cell::Int(0), Cell::Null]])
    );
    assert!(circuit.step([]).unwrap().take(output).is_none_or(|changes| changes.is_empty()));
}
