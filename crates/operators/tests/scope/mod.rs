//! Short forms for building recursive relations in tests: indexes, joins and projections inside a nested scope.
#![allow(dead_code, reason = "each test file uses the part that it needs")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_expr::Operator as Op;
use tailrace_circuit::{Circuit, StreamId, Subcircuit};
use tailrace_operators::nested::{Inside, Outer, Recursion};
use tailrace_operators::{
    AggregateCall, AggregateFunction, AggregateSpec, Filter, JoinColumn, JoinSpec, Map, Minus, Plus, Scalar,
    TimedArrange, TimedDistinct, TimedJoin, TimedReduce,
};
use tailrace_trace::Layout;

use super::oracle::{BuildError, Cell, Row, Rows, Table, int};
use super::wiring::{column, compare};

/// A stream inside a scope.
pub type Built = Result<StreamId, BuildError>;

/// An index and the place of each column of the rows in it.
#[derive(Clone)]
pub struct Index {
    pub stream: StreamId,
    places: Vec<usize>,
    schema: SchemaRef,
}

/// A column of the output of a join, counted in the rows of one side.
#[derive(Clone, Copy)]
pub enum Of {
    L(usize),
    R(usize),
}

/// Columns of integers.
pub fn ints<const N: usize>(names: [&str; N]) -> SchemaRef {
    Arc::new(Schema::new(names.map(|name| Field::new(name, DataType::Int64, false)).to_vec()))
}

/// Edges among `nodes` nodes, with multiplicities.
pub fn edges(nodes: i64) -> Table {
    Table::new([int("from", 0..nodes), int("to", 0..nodes)]).bag()
}

/// An index of all columns of a stream of the scope, the key first.
pub fn index(inner: &mut Subcircuit, stream: StreamId, key: &[usize]) -> Result<Index, BuildError> {
    let rows = inner.schema(stream)?.clone();
    let (columns, layout) = layout(&rows, key)?;
    let schema = layout.schema().clone();
    let arranged = inner.add_unary(Box::new(TimedArrange::new(columns.clone(), layout)), stream, schema)?;
    Ok(Index::new(arranged, &columns, rows))
}

/// The columns of `rows` with the key first, and their layout.
pub fn layout(rows: &SchemaRef, key: &[usize]) -> Result<(Vec<usize>, Arc<Layout>), BuildError> {
    let rest = (0..rows.fields().len()).filter(|column| !key.contains(column));
    let columns: Vec<usize> = key.iter().copied().chain(rest).collect();
    let fields: Vec<_> = columns.iter().map(|column| rows.fields()[*column].clone()).collect();
    Ok((columns, Layout::rows(Arc::new(Schema::new(fields)), key.len())?))
}

/// The join of two indexes on their keys, with these columns.
pub fn join(inner: &mut Subcircuit, left: &Index, right: &Index, output: &[Of]) -> Built {
    let spec = spec(left, right, output);
    let schema = spec.schema.clone();
    Ok(inner.add_binary(Box::new(TimedJoin::new(spec)), left.stream, right.stream, schema)?)
}

/// What [`join`] does.
pub fn spec(left: &Index, right: &Index, output: &[Of]) -> JoinSpec {
    let field = |of: &Of| match of {
        Of::L(column) => left.schema.fields()[*column].clone(),
        Of::R(column) => right.schema.fields()[*column].clone(),
    };
    let place = |of: &Of| match of {
        Of::L(column) => JoinColumn::Left(left.places[*column]),
        Of::R(column) => JoinColumn::Right(right.places[*column]),
    };
    let schema = Arc::new(Schema::new(output.iter().map(field).collect::<Vec<_>>()));
    JoinSpec::new(output.iter().map(place).collect(), schema)
}

/// The sum of two streams.
pub fn plus(inner: &mut Subcircuit, left: StreamId, right: StreamId) -> Built {
    let schema = inner.schema(left)?.clone();
    Ok(inner.add_binary(Box::new(Plus::new(schema.clone())), left, right, schema)?)
}

/// The difference of two streams.
pub fn minus(inner: &mut Subcircuit, left: StreamId, right: StreamId) -> Built {
    let schema = inner.schema(left)?.clone();
    Ok(inner.add_binary(Box::new(Minus::new(schema.clone())), left, right, schema)?)
}

/// One of each row.
pub fn distinct(inner: &mut Subcircuit, stream: StreamId) -> Built {
    let schema = inner.schema(stream)?.clone();
    Ok(inner.add_unary(Box::new(TimedDistinct::new(&schema)?), stream, schema)?)
}

/// Sums of columns: each output column adds up the columns it names.
pub fn sums(inner: &mut Subcircuit, stream: StreamId, columns: &[&[usize]]) -> Built {
    let rows = inner.schema(stream)?.clone();
    let sum = |parts: &&[usize]| {
        let first = column(parts[0], &rows);
        let sum =
            parts[1..].iter().fold(first, |sum, part| compare(sum, Op::Plus, column(*part, &rows), &rows));
        Scalar::new(sum, &rows).map_err(BuildError::from)
    };
    let scalars = columns.iter().map(sum).collect::<Result<Vec<_>, _>>()?;
    let name = |parts: &&[usize]| rows.field(parts[0]).clone();
    let schema = Arc::new(Schema::new(columns.iter().map(name).collect::<Vec<_>>()));
    Ok(inner.add_unary(Box::new(Map::new(scalars, schema.clone())), stream, schema)?)
}

/// The rows where a column is at most `value`.
pub fn at_most(inner: &mut Subcircuit, stream: StreamId, place: usize, value: i64) -> Built {
    let schema = inner.schema(stream)?.clone();
    let predicate = super::wiring::predicate(place, Op::LtEq, value, &schema);
    Ok(inner.add_unary(Box::new(Filter::new(predicate)), stream, schema)?)
}

/// An aggregate of one column by others, in a nested scope.
pub fn aggregate(
    inner: &mut Subcircuit,
    stream: StreamId,
    keys: &[usize],
    function: AggregateFunction,
    of: usize,
) -> Built {
    let rows = inner.schema(stream)?.clone();
    let fields: Vec<Field> = keys
        .iter()
        .chain([&of])
        .map(|column| rows.field(*column).clone().with_nullable(keys.is_empty()))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let keys: Vec<Scalar> = keys.iter().map(|key| Scalar::column(*key, &rows)).collect();
    let args = vec![Scalar::column(of, &rows)];
    let call = AggregateCall { function, args, filter: None, distinct: false, order: Vec::new() };
    let spec = AggregateSpec { keys: keys.clone(), calls: vec![call], schema: schema.clone() };
    let operator = tailrace_operators::Aggregate::new(spec)?;
    let reduce = TimedReduce::new(Box::new(operator), keys, rows, schema.clone())?;
    Ok(inner.add_unary(Box::new(reduce), stream, schema)?)
}

/// One recursive set over changes of the outer scope.
pub fn recursive(
    circuit: &mut Circuit,
    inputs: &[StreamId],
    name: &str,
    schema: SchemaRef,
    body: impl FnOnce(&mut Subcircuit, &Inside) -> Built,
) -> Built {
    let outer: Vec<Outer> = inputs.iter().copied().map(Outer::Changes).collect();
    let recursion = Recursion::new(10_000).set(name, schema);
    let built =
        recursion.build(circuit, &outer, |inner, inside| Ok::<_, BuildError>(vec![body(inner, inside)?]))?;
    Ok(built.relations[0])
}

/// The rows that are there, as numbers.
pub fn numbers(rows: &Rows) -> Vec<Vec<i64>> {
    let present = rows.iter().filter(|(_, weight)| *weight > 0);
    present.map(|(row, _)| row.iter().map(|cell| cell.int().unwrap()).collect()).collect()
}

/// A row of numbers.
pub fn row(values: &[i64]) -> Row {
    values.iter().copied().map(Cell::Int).collect()
}

/// Iterates `next` from nothing until it stands still.
pub fn fixed_point(next: impl Fn(&Rows) -> Rows) -> Rows {
    let mut rows = Rows::new();
    for _ in 0..10_000 {
        let after = next(&rows);
        if after == rows {
            return rows;
        }
        rows = after;
    }
    panic!("no fixed point")
}

impl Index {
    /// An index whose i-th column is the rows' `columns[i]`-th.
    pub fn new(stream: StreamId, columns: &[usize], schema: SchemaRef) -> Self {
        let mut places = vec![0; columns.len()];
        columns.iter().enumerate().for_each(|(place, column)| places[*column] = place);
        Self { stream, places, schema }
    }
}
