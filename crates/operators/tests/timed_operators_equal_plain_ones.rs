//! The operators of nested scopes against their plain forms, which are other code: what a timed operator makes of a relation over all
//! iterations adds up to what the plain operator makes of the relation's fixed point, after every step.
//!
//! The relation is the transitive closure of random edges, so that rows come, go and come back at several iterations.

mod oracle;
mod scope;
mod wiring;

use std::sync::Arc;

use Of::{L, R};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use oracle::{BuildError, Oracle, Rows};
use scope::{Built, Of, edges, index, ints, join, plus};
use tailrace_circuit::{Circuit, Scope, StreamId, Subcircuit, UnaryOperator};
use tailrace_operators::nested::{Outer, Recursion};
use tailrace_operators::{
    Aggregate, AggregateCall, AggregateFunction, AggregateSpec, Minus, OrderBy, Scalar, TimedDistinct,
    TimedPositive, TimedReduce, TopK, TopKSpec, Window, WindowCall, WindowFunction, WindowSpec,
};

/// `timed` of the closure inside the scope minus `plain` of the closure outside is nothing.
fn differential(
    schema: &SchemaRef,
    timed: impl Fn(&mut Subcircuit, StreamId, StreamId) -> Built,
    plain: impl Fn(&mut Circuit, StreamId, StreamId) -> Built,
) {
    let build = |circuit: &mut Circuit, inputs: &[StreamId]| {
        let recursion = Recursion::new(1_000).set("path", ints(["x", "y"])).bag("made", schema.clone());
        let built = recursion.build(circuit, &[Outer::Changes(inputs[0])], |inner, inside| {
            let (edges, paths) = (inside.outer[0], inside.relations[0]);
            let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, edges, &[0])?);
            let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
            Ok::<_, BuildError>(vec![plus(inner, edges, longer)?, timed(inner, paths, edges)?])
        })?;
        let expected = plain(circuit, built.relations[0], inputs[0])?;
        let minus = Minus::new(schema.clone());
        Ok(circuit.add_binary(Box::new(minus), built.relations[1], expected, schema.clone())?)
    };
    Oracle::new([edges(5)]).cases(120).check(build, |_| Rows::new());
}

fn unary(
    scope: &mut Scope,
    operator: Box<dyn UnaryOperator>,
    input: StreamId,
    schema: &SchemaRef,
) -> Result<StreamId, BuildError> {
    Ok(scope.add_unary(operator, input, schema.clone())?)
}

/// An operator of groups by the first column, timed by `TimedReduce` and as it is.
fn differential_groups(schema: &SchemaRef, operator: impl Fn() -> Box<dyn UnaryOperator>) {
    let paths = ints(["x", "y"]);
    let timed = |inner: &mut Subcircuit, input: StreamId, _: StreamId| {
        let keys = vec![Scalar::column(0, &paths)];
        let reduce = TimedReduce::new(operator(), keys, paths.clone(), schema.clone())?;
        unary(inner, Box::new(reduce), input, schema)
    };
    differential(schema, timed, |circuit, input, _| unary(circuit, operator(), input, schema));
}

fn descending() -> Vec<OrderBy> {
    let paths = ints(["x", "y"]);
    vec![OrderBy { scalar: Scalar::column(1, &paths), descending: true, nulls_first: false }]
}

/// The paths' columns and integers behind them.
fn extended<const N: usize>(names: [&str; N]) -> SchemaRef {
    let paths = ints(["x", "y"]);
    let added = names.map(|name| Arc::new(Field::new(name, DataType::Int64, true)));
    Arc::new(Schema::new(paths.fields().iter().cloned().chain(added).collect::<Vec<_>>()))
}

#[test]
fn differential_join() {
    let schema = ints(["x", "y", "z"]);
    let timed = |inner: &mut Subcircuit, paths: StreamId, edges: StreamId| {
        let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, edges, &[0])?);
        join(inner, &by_end, &by_start, &[L(0), L(1), R(1)])
    };
    let plain = |circuit: &mut Circuit, paths: StreamId, edges: StreamId| {
        let joined = wiring::join(circuit, (paths, &[1]), (edges, &[0]))?;
        let rows = circuit.schema(joined)?.clone();
        // Each side has its key first: (y, x, y, z).
        let columns = [1, 0, 3].map(|column| Scalar::column(column, &rows)).to_vec();
        unary(circuit, Box::new(tailrace_operators::Map::new(columns, schema.clone())), joined, &schema)
    };
    differential(&schema, timed, plain);
}

#[test]
fn differential_distinct() {
    let schema = ints(["x"]);
    let starts = |scope: &mut Scope, paths: StreamId| {
        let column = vec![Scalar::column(0, &ints(["x", "y"]))];
        unary(scope, Box::new(tailrace_operators::Map::new(column, schema.clone())), paths, &schema)
    };
    let timed = |inner: &mut Subcircuit, paths: StreamId, _: StreamId| {
        let starts = starts(inner, paths)?;
        unary(inner, Box::new(TimedDistinct::new(&schema)?), starts, &schema)
    };
    let plain = |circuit: &mut Circuit, paths: StreamId, _: StreamId| {
        let starts = starts(circuit, paths)?;
        wiring::distinct(circuit, starts)
    };
    differential(&schema, timed, plain);
}

#[test]
fn differential_positive() {
    let schema = ints(["x", "y"]);
    let fewer = |scope: &mut Scope, paths: StreamId, edges: StreamId| {
        let minus = Box::new(Minus::new(schema.clone()));
        Ok::<_, BuildError>(scope.add_binary(minus, paths, edges, schema.clone())?)
    };
    let timed = |inner: &mut Subcircuit, paths: StreamId, edges: StreamId| {
        let fewer = fewer(inner, paths, edges)?;
        unary(inner, Box::new(TimedPositive::new(&schema)?), fewer, &schema)
    };
    let plain = |circuit: &mut Circuit, paths: StreamId, edges: StreamId| {
        let fewer = fewer(circuit, paths, edges)?;
        wiring::positive(circuit, fewer)
    };
    differential(&schema, timed, plain);
}

#[test]
fn differential_aggregate() {
    let paths = ints(["x", "y"]);
    let call = |function| AggregateCall {
        function,
        args: vec![Scalar::column(1, &paths)],
        filter: None,
        distinct: false,
        order: Vec::new(),
    };
    let calls = vec![call(AggregateFunction::Count), call(AggregateFunction::Max)];
    let schema = ints(["x", "count", "max"]);
    let spec = AggregateSpec { keys: vec![Scalar::column(0, &paths)], calls, schema: schema.clone() };
    differential_groups(&schema, || Box::new(Aggregate::new(spec.clone()).unwrap()));
}

#[test]
fn differential_top_k() {
    let paths = ints(["x", "y"]);
    let partition = vec![Scalar::column(0, &paths)];
    let spec = TopKSpec { partition, order: descending(), k: Some(2), offset: 1, schema: paths.clone() };
    differential_groups(&paths, || Box::new(TopK::new(spec.clone()).unwrap()));
}

#[test]
fn differential_window() {
    let paths = ints(["x", "y"]);
    let neighbour = vec![Scalar::column(1, &paths)];
    let lag = WindowFunction::Lag { offset: 1, default: ScalarValue::Int64(Some(-1)) };
    let lead = WindowFunction::Lead { offset: 2, default: ScalarValue::Int64(None) };
    let functions = vec![
        WindowCall { function: WindowFunction::RowNumber, args: vec![] },
        WindowCall { function: WindowFunction::DenseRank, args: vec![] },
        WindowCall { function: lag, args: neighbour.clone() },
        WindowCall { function: lead, args: neighbour },
    ];
    let schema = extended(["number", "dense", "lag", "lead"]);
    let partition = vec![Scalar::column(0, &paths)];
    let spec = WindowSpec { partition, order: descending(), functions, schema: schema.clone() };
    differential_groups(&schema, || Box::new(Window::new(spec.clone()).unwrap()));
}
