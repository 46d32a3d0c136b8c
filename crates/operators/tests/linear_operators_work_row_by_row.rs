//! Filter, map, unnest, negation and sums against their definitions.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;
mod wiring;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::lit;
use oracle::{BuildError, Cell, Oracle, Row, Table, flag, float, int, list, text};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, StreamId};
use tailrace_operators::{Dispatch, Filter, FilterMap, Map, Minus, Negate, Plus, Scalar, Sum, Unnest};
use wiring::{column, compare, predicate};

fn people() -> Table {
    Table::new([int("k", -2..3).nullable(), text("name", 4), float("x").nullable(), flag("ok")])
}

fn schema_of(circuit: &Circuit, stream: StreamId) -> Result<SchemaRef, BuildError> {
    Ok(circuit.schema(stream)?.clone())
}

fn above(row: &Row, limit: i64) -> bool {
    row[0].int().is_some_and(|k| k > limit)
}

#[test]
fn oracle_filter_drops_false_and_null() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            let filter = Filter::new(predicate(0, Operator::Gt, 0i64, &schema));
            Ok(circuit.add_unary(Box::new(filter), inputs[0], schema)?)
        },
        |contents| contents[0].filter(|row| above(row, 0)),
    );
}

#[test]
fn oracle_later_conjuncts_see_only_what_earlier_ones_left() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            let quotient = compare(lit(10i64), Operator::Divide, column(0, &schema), &schema);
            let guarded = Scalar::new(compare(quotient, Operator::Gt, lit(4i64), &schema), &schema)?;
            let filter = Filter::conjunction(vec![predicate(0, Operator::NotEq, 0i64, &schema), guarded]);
            Ok(circuit.add_unary(Box::new(filter), inputs[0], schema)?)
        },
        |contents| contents[0].filter(|row| row[0].int().is_some_and(|k| k != 0 && 10 / k > 4)),
    );
}

/// `(name, k + 1)`.
fn successor(schema: &Schema) -> (Vec<Scalar>, SchemaRef) {
    let next = Scalar::new(compare(column(0, schema), Operator::Plus, lit(1i64), schema), schema).unwrap();
    let fields = vec![schema.field(1).clone(), Field::new("next", DataType::Int64, true)];
    (vec![Scalar::column(1, schema), next], Arc::new(Schema::new(fields)))
}

fn successor_row(row: &Row) -> Row {
    vec![row[1].clone(), Cell::from(row[0].int().map(|k| k + 1))]
}

#[test]
fn oracle_map() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let (columns, schema) = successor(circuit.schema(inputs[0])?);
            Ok(circuit.add_unary(Box::new(Map::new(columns, schema.clone())), inputs[0], schema)?)
        },
        |contents| contents[0].map(successor_row),
    );
}

#[test]
fn oracle_filter_map() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let input = schema_of(circuit, inputs[0])?;
            let (columns, schema) = successor(&input);
            let ok = Scalar::column(3, &input);
            let predicates = vec![predicate(0, Operator::Gt, -1i64, &input), ok];
            let operator = FilterMap::new(predicates, columns, schema.clone());
            Ok(circuit.add_unary(Box::new(operator), inputs[0], schema)?)
        },
        |contents| contents[0].filter(|row| above(row, -1) && row[3] == Cell::Bool(true)).map(successor_row),
    );
}

#[test]
fn oracle_unnest() {
    let table = Table::new([int("k", 0..3), list("values", 0..3).nullable(), text("v", 3)]);
    Oracle::new([table]).check(
        |circuit, inputs| {
            let input = schema_of(circuit, inputs[0])?;
            let element = Field::new("value", DataType::Int64, true);
            let schema = Schema::new(vec![input.field(0).clone(), element, input.field(2).clone()]);
            let schema = Arc::new(schema);
            Ok(circuit.add_unary(Box::new(Unnest::new(1, schema.clone())), inputs[0], schema)?)
        },
        |contents| {
            contents[0].flat_map(|row| {
                let elements = if let Cell::List(elements) = &row[1] { elements.clone() } else { Vec::new() };
                let (first, last) = (row[0].clone(), row[2].clone());
                elements.into_iter().map(move |element| vec![first.clone(), element, last.clone()])
            })
        },
    );
}

#[test]
fn oracle_negate() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            Ok(circuit.add_unary(Box::new(Negate), inputs[0], schema)?)
        },
        |contents| contents[0].neg(),
    );
}

#[test]
fn oracle_plus() {
    Oracle::new([people(), people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            Ok(circuit.add_binary(Box::new(Plus::new(schema.clone())), inputs[0], inputs[1], schema)?)
        },
        |contents| contents[0].plus(&contents[1]),
    );
}

#[test]
fn oracle_minus() {
    Oracle::new([people(), people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            Ok(circuit.add_binary(Box::new(Minus::new(schema.clone())), inputs[0], inputs[1], schema)?)
        },
        |contents| contents[0].minus(&contents[1]),
    );
}

#[test]
fn prop_a_stream_minus_itself_is_empty() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            Ok(circuit.add_binary(Box::new(Minus::new(schema.clone())), inputs[0], inputs[0], schema)?)
        },
        |_| ZSet::new(),
    );
}

#[test]
fn oracle_sum_takes_one_stream_several_times() {
    Oracle::new([people(), people()]).check(
        |circuit, inputs| {
            let schema = schema_of(circuit, inputs[0])?;
            let streams = [inputs[0], inputs[1], inputs[0]];
            Ok(circuit.add_nary(Box::new(Sum::new(schema.clone())), &streams, schema)?)
        },
        |contents| contents[0].scale(2).plus(&contents[1]),
    );
}

/// `columns[index]` as one of `values`, behind a dispatch that serves another output too.
fn routed(
    circuit: &mut Circuit,
    input: StreamId,
    index: usize,
    values: [ArrayRef; 2],
) -> Result<StreamId, BuildError> {
    let schema = schema_of(circuit, input)?;
    let dispatch = Dispatch::new(Scalar::column(index, &schema))?;
    let router = circuit.add_router(Box::new(dispatch), input, schema.clone())?;
    let [a, b] = [circuit.route(router, &values[0])?, circuit.route(router, &values[1])?];
    Ok(circuit.add_binary(Box::new(Minus::new(schema.clone())), a, b, schema)?)
}

#[test]
fn oracle_dispatch_equals_filters_for_equality() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let values: [ArrayRef; 2] = [
                Arc::new(Int64Array::from(vec![1])),
                Arc::new(Int64Array::from(vec![Some(-1), None, Some(2), Some(1)])),
            ];
            routed(circuit, inputs[0], 0, values)
        },
        |contents| {
            let with = |wanted: &'static [i64]| {
                contents[0].filter(move |row| row[0].int().is_some_and(|k| wanted.contains(&k)))
            };
            with(&[1]).minus(&with(&[-1, 2, 1]))
        },
    );
}

/// One of the texts of `people`.
const LONG: &str = "a long one that does not fit into a view";

#[test]
fn oracle_dispatch_of_texts() {
    Oracle::new([people()]).check(
        |circuit, inputs| {
            let name = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
            routed(circuit, inputs[0], 1, [name("a"), name(LONG)])
        },
        |contents| {
            let with = |wanted: &'static str| contents[0].filter(move |row| row[1] == Cell::from(wanted));
            with("a").minus(&with(LONG))
        },
    );
}
