//! Window functions against numbering all copies of a sorted partition.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{Column, binary, lit};
use oracle::order::{Term, ascending, compare, descending, partitions};
use oracle::{Cell, Oracle, Row, Rows, Table, int, text};
use tailrace_operators::{Scalar, Window, WindowCall, WindowFunction, WindowSpec};

/// A function as the reference sees it.
#[derive(Clone, Copy)]
enum Function {
    RowNumber,
    Rank,
    DenseRank,
    /// Of a column, so many copies before (negative: after), with a default for integers.
    Shift(usize, i64, Option<i64>),
    /// Of the second column plus one.
    ShiftedSum(i64),
}

use Function::{DenseRank, Rank, RowNumber, Shift, ShiftedSum};

/// Partitions, order and functions of one window.
struct Case {
    by: Vec<usize>,
    terms: Vec<Term>,
    functions: Vec<Function>,
}

/// Columns: key, integer, text.
fn table() -> Table {
    Table::new([int("k", 0..3).nullable(), int("v", -2..3).nullable(), text("t", 4).nullable()])
}

fn check(table: Table, cases: u32, case: &Case) {
    Oracle::new([table]).cases(cases).check(
        |circuit, inputs| {
            let input = circuit.schema(inputs[0])?.clone();
            let partition = case.by.iter().map(|column| Scalar::column(*column, &input)).collect();
            let order = case.terms.iter().map(|term| term.order_by(&input)).collect();
            let functions = case.functions.iter().map(|function| call(*function, &input)).collect();
            let schema = output_schema(&input, &case.functions);
            let spec = WindowSpec { partition, order, functions, schema: schema.clone() };
            Ok(circuit.add_unary(Box::new(Window::new(spec)?), inputs[0], schema)?)
        },
        |contents| reference(case, &contents[0]),
    );
}

fn call(function: Function, input: &Schema) -> WindowCall {
    let shift = |arg: Scalar, offset: i64, default: ScalarValue| {
        let (distance, args) = (offset.unsigned_abs() as usize, vec![arg]);
        let lag = WindowFunction::Lag { offset: distance, default: default.clone() };
        let lead = WindowFunction::Lead { offset: distance, default };
        WindowCall { function: if offset >= 0 { lag } else { lead }, args }
    };
    let number = |function| WindowCall { function, args: vec![] };
    match function {
        RowNumber => number(WindowFunction::RowNumber),
        Rank => number(WindowFunction::Rank),
        DenseRank => number(WindowFunction::DenseRank),
        Shift(column, offset, default) => {
            let default =
                default.map_or(ScalarValue::Null, |default| ScalarValue::Int32(Some(default as i32)));
            shift(Scalar::column(column, input), offset, default)
        }
        ShiftedSum(offset) => {
            let sum = binary(Arc::new(Column::new("v", 1)), Operator::Plus, lit(1_i64), input).unwrap();
            shift(Scalar::new(sum, input).unwrap(), offset, ScalarValue::Int64(Some(0)))
        }
    }
}

fn output_schema(input: &Schema, functions: &[Function]) -> SchemaRef {
    let data_type = |function: &Function| match function {
        Shift(column, ..) => input.field(*column).data_type().clone(),
        _ => DataType::Int64,
    };
    let added = functions
        .iter()
        .enumerate()
        .map(|(index, function)| Field::new(format!("w{index}"), data_type(function), true));
    let fields: Vec<Field> = input.fields().iter().map(|field| field.as_ref().clone()).chain(added).collect();
    Arc::new(Schema::new(fields))
}

fn reference(case: &Case, rows: &Rows) -> Rows {
    let partitions = partitions(rows, &case.by, &case.terms);
    let outputs = |copies: Vec<Row>| {
        let output = |index: usize| {
            let added = case.functions.iter().map(|function| value(*function, &case.terms, &copies, index));
            copies[index].iter().cloned().chain(added).collect::<Row>()
        };
        (0..copies.len()).map(output).collect::<Vec<_>>()
    };
    Rows::from_rows(partitions.into_iter().flat_map(outputs))
}

fn value(function: Function, terms: &[Term], copies: &[Row], index: usize) -> Cell {
    let neighbour =
        |offset: i64| usize::try_from(index as i64 - offset).ok().and_then(|place| copies.get(place));
    let is_new = |place: usize| place == 0 || compare(terms, &copies[place - 1], &copies[place]).is_ne();
    match function {
        RowNumber => Cell::Int(index as i64 + 1),
        Rank => Cell::Int((0..=index).rev().find(|place| is_new(*place)).unwrap() as i64 + 1),
        DenseRank => Cell::Int((0..=index).filter(|place| is_new(*place)).count() as i64),
        Shift(column, offset, default) => {
            neighbour(offset).map_or(Cell::from(default), |row| row[column].clone())
        }
        ShiftedSum(offset) => {
            neighbour(offset).map_or(Cell::Int(0), |row| Cell::from(row[1].int().map(|value| value + 1)))
        }
    }
}

#[test]
fn oracle_row_number() {
    check(table(), 400, &Case { by: vec![0], terms: vec![descending(1)], functions: vec![RowNumber] });
}

#[test]
fn oracle_ranks() {
    check(
        table(),
        400,
        &Case { by: vec![0], terms: vec![ascending(1).nulls_last()], functions: vec![Rank, DenseRank] },
    );
}

#[test]
fn oracle_dense_rank_alone() {
    check(table(), 200, &Case { by: vec![2], terms: vec![descending(1)], functions: vec![DenseRank] });
}

#[test]
fn oracle_lag() {
    check(table(), 500, &Case { by: vec![0], terms: vec![ascending(1)], functions: vec![Shift(1, 1, None)] });
}

#[test]
fn oracle_lead() {
    check(
        table(),
        500,
        &Case { by: vec![0], terms: vec![descending(2)], functions: vec![Shift(2, -1, None)] },
    );
}

#[test]
fn oracle_lag_and_lead_of_several_offsets() {
    let functions = vec![Shift(1, 2, Some(-9)), Shift(1, -3, Some(9)), Shift(0, 0, None), ShiftedSum(1)];
    check(table(), 500, &Case { by: vec![0], terms: vec![descending(1), ascending(2)], functions });
}

#[test]
fn oracle_global_lag_and_lead() {
    let functions = vec![Shift(2, 1, None), Shift(0, -2, Some(5))];
    check(table(), 500, &Case { by: vec![], terms: vec![ascending(1)], functions });
}

#[test]
fn oracle_numbers_with_neighbours() {
    let functions = vec![Rank, Shift(1, 1, None), Shift(1, -2, None), DenseRank];
    check(table(), 400, &Case { by: vec![0], terms: vec![descending(1)], functions });
}

#[test]
fn oracle_all_functions_of_bags() {
    let functions =
        vec![RowNumber, Rank, DenseRank, Shift(2, 1, None), Shift(1, -1, Some(7)), ShiftedSum(-2)];
    check(table().bag(), 400, &Case { by: vec![0], terms: vec![ascending(1)], functions });
}

#[test]
fn oracle_window_without_order() {
    check(
        table(),
        200,
        &Case { by: vec![1], terms: vec![], functions: vec![RowNumber, Rank, Shift(2, 1, None)] },
    );
}
