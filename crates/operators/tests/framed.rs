//! Window functions over frames against a look at every row of every frame.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{Column, IsNotNullExpr, binary, lit};
use oracle::cell::{to_batch, to_rows};
use oracle::order::{Term, ascending, compare, descending, partitions};
use oracle::{Cell, Oracle, Row, Rows, Table, float, int, text};
use tailrace_algebra::ExactSum;
use tailrace_circuit::Circuit;
use tailrace_operators::{
    AggregateFunction, Frame, FrameEdge, Framed, FramedCall, FramedFunction, FramedSpec, Scalar, Source,
};

/// One end of a frame as the reference sees it.
#[derive(Clone, Copy, Debug)]
enum Edge {
    Unbounded,
    Rows(i64),
    Groups(i64),
    /// So much behind in the order, which is over the column `v`.
    Range(i64),
}

use Edge::{Groups, Range as ByValue, Rows as ByRow, Unbounded};
use FramedFunction as F;

/// A call of a column, over a frame, of all rows or of those whose text is not NULL.
#[derive(Clone, Debug)]
struct Call {
    function: FramedFunction,
    column: Option<usize>,
    frame: (Edge, Edge),
    ignore_nulls: bool,
    filtered: bool,
}

/// Partitions, order and calls of one window.
struct Case {
    by: Vec<usize>,
    terms: Vec<Term>,
    calls: Vec<Call>,
}

/// Columns: key, integer, text, float.
fn table() -> Table {
    Table::new([
        int("k", 0..2).nullable(),
        int("v", -2..4).nullable(),
        text("t", 4).nullable(),
        float("x").nullable(),
    ])
}

fn call(function: FramedFunction, column: usize, frame: (Edge, Edge)) -> Call {
    Call { function, column: Some(column), frame, ignore_nulls: false, filtered: false }
}

fn agg(function: AggregateFunction, column: usize, frame: (Edge, Edge)) -> Call {
    call(F::Aggregate(function), column, frame)
}

fn placed(function: FramedFunction) -> Call {
    let frame = (Unbounded, Unbounded);
    Call { function, column: None, frame, ignore_nulls: false, filtered: false }
}

impl Call {
    fn ignoring_nulls(self) -> Self {
        Self { ignore_nulls: true, ..self }
    }

    fn filtered(self) -> Self {
        Self { filtered: true, ..self }
    }
}

fn check(table: Table, cases: u32, case: &Case) {
    Oracle::new([table]).cases(cases).check(
        |circuit, inputs| {
            let input = circuit.schema(inputs[0])?.clone();
            let partition = case.by.iter().map(|column| Scalar::column(*column, &input)).collect();
            let order = case.terms.iter().map(|term| term.order_by(&input)).collect();
            let calls = case.calls.iter().map(|call| framed(call, &case.terms, &input)).collect();
            let schema = output_schema(&input, &case.calls);
            let spec = FramedSpec { partition, order, calls, schema: schema.clone() };
            Ok(circuit.add_unary(Box::new(Framed::new(spec)?), inputs[0], schema)?)
        },
        |contents| reference(case, &contents[0]),
    );
}

fn framed(call: &Call, terms: &[Term], input: &Schema) -> FramedCall {
    let edge = |edge: Edge| match edge {
        Unbounded => FrameEdge::Partition,
        ByRow(away) => FrameEdge::Rows(away),
        Groups(away) => FrameEdge::Groups(away),
        ByValue(away) => {
            let away = if terms[0].descending { -away } else { away };
            let target = binary(Arc::new(Column::new("v", 1)), Operator::Plus, lit(away), input).unwrap();
            FrameEdge::Value(Scalar::new(target, input).unwrap())
        }
    };
    let known = IsNotNullExpr::new(Arc::new(Column::new("t", 2)));
    FramedCall {
        function: call.function.clone(),
        args: call.column.iter().map(|column| Scalar::column(*column, input)).collect(),
        filter: call.filtered.then(|| Scalar::new(Arc::new(known), input).unwrap()),
        ignore_nulls: call.ignore_nulls,
        frame: Frame { start: edge(call.frame.0), end: edge(call.frame.1) },
    }
}

fn output_schema(input: &Schema, calls: &[Call]) -> SchemaRef {
    let data_type = |call: &Call| {
        let arg = call.column.map(|column| input.field(column).data_type().clone());
        match (&call.function, arg) {
            (F::Aggregate(function), arg) => function.return_type(&Vec::from_iter(arg)).unwrap(),
            (F::PercentRank | F::CumeDist, _) => DataType::Float64,
            (_, Some(arg)) => arg,
            _ => DataType::Int64,
        }
    };
    let added =
        calls.iter().enumerate().map(|(index, call)| Field::new(format!("w{index}"), data_type(call), true));
    let fields: Vec<Field> = input.fields().iter().map(|field| field.as_ref().clone()).chain(added).collect();
    Arc::new(Schema::new(fields))
}

fn reference(case: &Case, rows: &Rows) -> Rows {
    let outputs = |copies: Vec<Row>| {
        let output = |index: usize| {
            let added = case.calls.iter().map(|call| value(call, &case.terms, &copies, index));
            copies[index].iter().cloned().chain(added).collect::<Row>()
        };
        (0..copies.len()).map(output).collect::<Vec<_>>()
    };
    Rows::from_rows(partitions(rows, &case.by, &case.terms).into_iter().flat_map(outputs))
}

/// The rows for which both edges say that they are inside.
fn frame_of(call: &Call, terms: &[Term], copies: &[Row], index: usize) -> Vec<usize> {
    let (start, end) = call.frame;
    let inside = |other: &usize| {
        let at_least = distance(start, terms, copies, index, *other).is_none_or(|distance| distance >= 0);
        let at_most = distance(end, terms, copies, index, *other).is_none_or(|distance| distance <= 0);
        at_least && at_most
    };
    (0..copies.len()).filter(inside).collect()
}

/// How far a row is behind an edge of the frame of another; None if the edge is not there.
fn distance(edge: Edge, terms: &[Term], copies: &[Row], index: usize, other: usize) -> Option<i64> {
    match edge {
        Unbounded => None,
        ByRow(away) => Some(other as i64 - index as i64 - away),
        Groups(away) => Some(group(terms, copies, other) - group(terms, copies, index) - away),
        ByValue(away) => {
            let own = copies[index][1].int();
            match (own, copies[other][1].int()) {
                (Some(own), Some(value)) if terms[0].descending => Some(own - value - away),
                (Some(own), Some(value)) => Some(value - own - away),
                // NULLs stand beyond all values, on one side, and are their own peers.
                _ => Some(group(terms, copies, other).cmp(&group(terms, copies, index)) as i64 * 1000),
            }
        }
    }
}

fn group(terms: &[Term], copies: &[Row], index: usize) -> i64 {
    (1..=index).filter(|place| compare(terms, &copies[place - 1], &copies[*place]).is_ne()).count() as i64
}

fn value(call: &Call, terms: &[Term], copies: &[Row], index: usize) -> Cell {
    let counts = |row: &usize| {
        let cell = call.column.map(|column| &copies[*row][column]);
        let left_out = call.filtered && copies[*row][2].is_null();
        let ignored = call.ignore_nulls && cell.is_some_and(Cell::is_null);
        !left_out && !ignored
    };
    let cells = |rows: Vec<usize>| -> Vec<Cell> {
        let column = call.column.unwrap();
        rows.into_iter().filter(counts).map(|row| copies[row][column].clone()).collect()
    };
    let peers: Range<usize> = {
        let same = |place: &usize| compare(terms, &copies[*place], &copies[index]).is_eq();
        let first = (0..copies.len()).find(same).unwrap();
        first..first + (0..copies.len()).filter(same).count()
    };
    let frame = || cells(frame_of(call, terms, copies, index));
    match &call.function {
        F::Aggregate(AggregateFunction::Count) if call.column.is_none() => {
            Cell::Int(frame_of(call, terms, copies, index).into_iter().filter(counts).count() as i64)
        }
        F::Aggregate(function) => aggregate(function, frame()),
        F::First => frame().first().cloned().unwrap_or(Cell::Null),
        F::Last => frame().last().cloned().unwrap_or(Cell::Null),
        F::Nth(n) if *n > 0 => frame().into_iter().nth(*n as usize - 1).unwrap_or(Cell::Null),
        F::Nth(n) => frame().into_iter().rev().nth(-n as usize - 1).unwrap_or(Cell::Null),
        F::Shift { offset: 0, .. } => copies[index][call.column.unwrap()].clone(),
        F::Shift { offset, default } => {
            let found = if *offset > 0 {
                cells((0..index).rev().collect()).into_iter().nth(*offset as usize - 1)
            } else {
                cells((index + 1..copies.len()).collect()).into_iter().nth(-offset as usize - 1)
            };
            let ScalarValue::Int64(default) = default else { return found.unwrap_or(Cell::Null) };
            found.unwrap_or(Cell::from(*default))
        }
        F::Ntile(buckets) => Cell::Int(ntile(copies.len(), *buckets as usize, index)),
        F::PercentRank if copies.len() == 1 => Cell::from(0.0),
        F::PercentRank => Cell::from(peers.start as f64 / (copies.len() - 1) as f64),
        F::CumeDist => Cell::from(peers.end as f64 / copies.len() as f64),
    }
}

/// Deals rows out one bucket after the other.
fn ntile(rows: usize, buckets: usize, index: usize) -> i64 {
    let sizes = (0..buckets).map(|bucket| rows / buckets + usize::from(bucket < rows % buckets));
    let numbers = sizes.enumerate().flat_map(|(bucket, size)| std::iter::repeat_n(bucket as i64 + 1, size));
    numbers.collect::<Vec<_>>()[index]
}

fn aggregate(function: &AggregateFunction, cells: Vec<Cell>) -> Cell {
    use AggregateFunction as A;
    let known: Vec<Cell> = cells.iter().filter(|cell| !cell.is_null()).cloned().collect();
    if matches!(function, A::Count) {
        return Cell::Int(known.len() as i64);
    }
    if matches!(function, A::ArrayAgg) {
        return if cells.is_empty() { Cell::Null } else { Cell::List(cells) };
    }
    if matches!(function, A::First | A::Last) {
        let end = if matches!(function, A::First) { cells.first() } else { cells.last() };
        return end.cloned().unwrap_or(Cell::Null);
    }
    if known.is_empty() {
        return Cell::Null;
    }
    let ints = || known.iter().map(|cell| cell.int().unwrap());
    match function {
        A::Sum if known[0].int().is_some() => Cell::Int(ints().sum()),
        A::Sum => {
            Cell::from(ExactSum::from_iter(known.iter().map(|cell| (cell.float().unwrap(), 1))).to_f64())
        }
        A::Avg => Cell::from(ints().sum::<i64>() as f64 / known.len() as f64),
        A::Min => known.into_iter().min().unwrap(),
        A::Max => known.into_iter().max().unwrap(),
        A::BitAnd => Cell::Int(ints().reduce(|a, b| a & b).unwrap()),
        A::BitOr => Cell::Int(ints().reduce(|a, b| a | b).unwrap()),
        A::BitXor => Cell::Int(ints().reduce(|a, b| a ^ b).unwrap()),
        A::StringAgg(separator) => {
            let words: Vec<&str> = known.iter().map(|cell| cell.text().unwrap()).collect();
            Cell::from(words.join(separator).as_str())
        }
        other => unreachable!("{other} has no reference"),
    }
}

/// The aggregates that slide in ways of their own, over one frame.
fn every_aggregate(frame: (Edge, Edge)) -> Vec<Call> {
    use AggregateFunction as A;
    vec![
        Call { column: None, ..agg(A::Count, 0, frame) },
        agg(A::Count, 2, frame).filtered(),
        agg(A::Sum, 1, frame),
        agg(A::Sum, 3, frame).filtered(),
        agg(A::Avg, 1, frame),
        agg(A::Min, 2, frame),
        agg(A::Max, 1, frame).filtered(),
        agg(A::BitAnd, 1, frame),
        agg(A::BitOr, 1, frame).filtered(),
        agg(A::BitXor, 0, frame),
        agg(A::StringAgg("+".into()), 2, frame),
        agg(A::ArrayAgg, 1, frame).filtered(),
        agg(A::First, 2, frame),
        agg(A::Last, 1, frame).filtered(),
    ]
}

fn oracle(terms: Vec<Term>, frame: (Edge, Edge)) {
    check(table(), 120, &Case { by: vec![0], terms, calls: every_aggregate(frame) });
}

#[test]
fn oracle_frame_up_to_the_row() {
    oracle(vec![ascending(1)], (Unbounded, ByRow(0)));
}

#[test]
fn oracle_frame_up_to_the_peers() {
    oracle(vec![descending(1).nulls_last()], (Unbounded, Groups(0)));
}

#[test]
fn oracle_frame_from_the_row_on() {
    oracle(vec![ascending(2)], (ByRow(1), Unbounded));
}

#[test]
fn oracle_frame_of_neighbours() {
    oracle(vec![ascending(1), descending(2)], (ByRow(-2), ByRow(1)));
}

#[test]
fn oracle_frames_that_may_be_empty() {
    oracle(vec![ascending(1)], (ByRow(-3), ByRow(-2)));
    oracle(vec![ascending(1)], (ByRow(2), ByRow(0)));
}

#[test]
fn oracle_frame_of_groups() {
    oracle(vec![ascending(1)], (Groups(-1), Groups(1)));
    oracle(vec![descending(1)], (Groups(1), Groups(2)));
}

#[test]
fn oracle_frame_of_values() {
    oracle(vec![ascending(1)], (ByValue(-1), ByValue(1)));
    oracle(vec![descending(1).nulls_last()], (ByValue(-2), Groups(0)));
    oracle(vec![ascending(1).nulls_last()], (ByValue(1), ByValue(2)));
    oracle(vec![descending(1)], (Unbounded, ByValue(-1)));
    oracle(vec![ascending(1)], (ByValue(0), Unbounded));
}

#[test]
fn oracle_frame_of_the_partition() {
    oracle(vec![], (Unbounded, Unbounded));
}

#[test]
fn oracle_frames_without_partitions() {
    let calls = every_aggregate((ByRow(-1), ByRow(1)));
    check(table(), 150, &Case { by: vec![], terms: vec![ascending(2)], calls });
}

#[test]
fn oracle_values_of_frames() {
    let (near, before) = ((ByRow(-2), ByRow(1)), (Unbounded, Groups(0)));
    let calls = vec![
        call(F::First, 2, near),
        call(F::Last, 1, before).ignoring_nulls(),
        call(F::Nth(2), 1, near),
        call(F::Nth(-2), 2, before).ignoring_nulls(),
        call(F::First, 3, near).ignoring_nulls(),
    ];
    check(table(), 250, &Case { by: vec![0], terms: vec![ascending(1)], calls });
}

#[test]
fn oracle_neighbours_that_are_not_null() {
    let shift = |column, offset, default: Option<i64>| {
        let default = default.map_or(ScalarValue::Null, |default| ScalarValue::Int64(Some(default)));
        call(F::Shift { offset, default }, column, (Unbounded, Unbounded)).ignoring_nulls()
    };
    let calls = vec![shift(2, 1, None), shift(1, -2, Some(9)), shift(0, 2, Some(7)), shift(1, 0, None)];
    check(table(), 250, &Case { by: vec![0], terms: vec![descending(1)], calls });
}

#[test]
fn oracle_places_in_partitions() {
    let calls = [F::Ntile(1), F::Ntile(3), F::Ntile(100), F::PercentRank, F::CumeDist].map(placed).to_vec();
    check(table(), 250, &Case { by: vec![0], terms: vec![ascending(1)], calls: calls.clone() });
    check(table().bag(), 150, &Case { by: vec![], terms: vec![descending(2)], calls });
}

#[test]
fn oracle_calls_over_different_frames() {
    use AggregateFunction as A;
    let calls = vec![
        agg(A::Sum, 1, (Unbounded, ByRow(0))),
        agg(A::Max, 1, (ByRow(0), Unbounded)),
        agg(A::Count, 3, (Groups(-1), Groups(0))),
        placed(F::CumeDist),
    ];
    check(table().bag(), 250, &Case { by: vec![0], terms: vec![ascending(1)], calls });
}

#[test]
fn a_row_of_huge_weight_is_refused_and_leaves_no_trace() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, false)]));
    let frame = Frame { start: FrameEdge::Partition, end: FrameEdge::Rows(0) };
    let function = F::Aggregate(AggregateFunction::Count);
    let calls = vec![FramedCall { function, args: vec![], filter: None, ignore_nulls: false, frame }];
    let fields = vec![schema.field(0).clone(), Field::new("n", DataType::Int64, false)];
    let output: SchemaRef = Arc::new(Schema::new(fields));
    let spec = FramedSpec { partition: vec![], order: vec![], calls, schema: output.clone() };
    let mut circuit = Circuit::new();
    let source = circuit.add_source(Box::new(Source::new(schema.clone())), schema.clone()).unwrap();
    let window = circuit.add_unary(Box::new(Framed::new(spec).unwrap()), source, output).unwrap();
    circuit.watch(window).unwrap();
    let error = circuit.step([(source, to_batch(&schema, &[(vec![Cell::Int(1)], 1 << 40)]))]).unwrap_err();
    assert!(error.to_string().contains("would repeat rows"), "{error}");
    let one = to_batch(&schema, &[(vec![Cell::Int(1)], 1)]);
    let result = circuit.step([(source, one)]).unwrap().take(window).unwrap();
    assert_eq!(to_rows(result.as_changes().unwrap()), Rows::from_rows([vec![Cell::Int(1), Cell::Int(1)]]));
}
