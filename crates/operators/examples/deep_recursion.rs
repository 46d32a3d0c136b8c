//! What a change costs in a deep recursion: one edge of a long chain, against computing the relation again.
//!
//! `cargo run --release -p tailrace-operators --example deep_recursion [part of a name]`, on Linux
#![expect(clippy::unwrap_used, reason = "a measurement may stop at the first surprise")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tailrace_circuit::{Circuit, StreamId, Subcircuit};
use tailrace_operators::nested::{Outer, Recursion, RecursionError};
use tailrace_operators::{Arrange, JoinColumn, JoinSpec, Plus, TableSource, TimedArrange, TimedJoin};
use tailrace_trace::{ChangeBatch, Layout};

/// A relation and the streams that its tables are fed by.
struct Program {
    circuit: Circuit,
    edges: StreamId,
    seeds: StreamId,
    output: StreamId,
    scope: StreamId,
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let measure = |name: &str, program: Program, edges: &[(i64, i64)], depth: i64| {
        if name.contains(&wanted) {
            measure(name, program, edges, depth);
        }
    };
    println!("relation                   rows  recompute ms   change ms   ratio  iterations  us/iteration");
    for depth in [500, 1_000, 2_000] {
        measure(&format!("closure, chain of {depth}"), Program::closure(), &chains(1, depth), depth);
    }
    measure("closure, 20 chains of 500", Program::closure(), &chains(20, 500), 500);
    measure("closure, 100 chains of 200", Program::closure(), &chains(100, 200), 200);
    for depth in [1_000, 5_000, 20_000] {
        measure(&format!("reach, chain of {depth}"), Program::reach(), &chains(1, depth), depth);
    }
}

/// Time that this process has run: what others do on the machine does not count.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// `count` chains of `depth` edges each.
fn chains(count: i64, depth: i64) -> Vec<(i64, i64)> {
    let chain =
        |chain: i64| (0..depth).map(move |node| (chain * (depth + 1) + node, chain * (depth + 1) + node + 1));
    (0..count).flat_map(chain).collect()
}

/// Takes an edge near the end of the first chain away and puts it back, several times.
fn measure(name: &str, mut program: Program, edges: &[(i64, i64)], depth: i64) {
    let start = busy();
    let rows = program.step(&[(0, 0)], edges, 1);
    let recompute = busy() - start;
    let edge = [(depth - 2, depth - 1)];
    let rounds = std::env::var("ROUNDS").map_or(20, |rounds| rounds.parse().unwrap());
    let (before, nodes) = (program.iterations(), program.nodes());
    let mut best = Duration::MAX;
    for round in 0..rounds {
        let start = Instant::now();
        program.step(&[], &edge, if round % 2 == 0 { -1 } else { 1 });
        best = best.min(start.elapsed());
    }
    let iterations = (program.iterations() - before) / rounds;
    let (whole, change) = (recompute.as_secs_f64() * 1e3, best.as_secs_f64() * 1e3);
    let each = change * 1e3 / iterations as f64;
    println!(
        "{name:26} {rows:>7} {whole:>10.1} {change:>11.3} {:>9.0} {iterations:>9} {each:>9.1}",
        whole / change
    );
    if std::env::var_os("NODES").is_some() {
        program.report(&nodes);
    }
}

impl Program {
    /// `path(x, z) :- edge(x, z); path(x, y), edge(y, z)`.
    fn closure() -> Self {
        Self::build(pairs(), |inner, _, edges, paths, by_start| {
            let by_end = arrange(inner, paths, &[1, 0])?;
            let longer =
                join(inner, by_end, by_start, vec![JoinColumn::Left(1), JoinColumn::Right(1)], pairs())?;
            inner
                .add_binary(Box::new(Plus::new(pairs())), edges, longer, pairs())
                .map_err(RecursionError::from)
        })
    }

    /// `reach(x) :- seed(x); reach(y), edge(y, x)`.
    fn reach() -> Self {
        let node = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
        Self::build(node.clone(), move |inner, seeds, _, reached, by_start| {
            let reached = arrange(inner, reached, &[0])?;
            let next = join(inner, reached, by_start, vec![JoinColumn::Right(1)], node.clone())?;
            let seeds = inner.add_unary(first_column(&node), seeds, node.clone())?;
            inner
                .add_binary(Box::new(Plus::new(node.clone())), seeds, next, node.clone())
                .map_err(RecursionError::from)
        })
    }

    fn build(
        schema: SchemaRef,
        body: impl FnOnce(
            &mut Subcircuit,
            StreamId,
            StreamId,
            StreamId,
            StreamId,
        ) -> Result<StreamId, RecursionError>,
    ) -> Self {
        let mut circuit = Circuit::new();
        let table = || Box::new(TableSource::new(Layout::rows(pairs(), 2).unwrap(), vec![0, 1]));
        let edges = circuit.add_source(table(), pairs()).unwrap();
        let seeds = circuit.add_source(table(), pairs()).unwrap();
        let index = Arrange::new(vec![0, 1], Layout::rows(pairs(), 1).unwrap());
        let index = circuit.add_unary(Box::new(index), edges, pairs()).unwrap();
        let outer = [Outer::Changes(seeds), Outer::Changes(edges), Outer::Index(index)];
        let built =
            Recursion::new(1 << 30).set("relation", schema).build(&mut circuit, &outer, |inner, inside| {
                let [seeds, edges, by_start] = inside.outer[..] else { unreachable!("three were given") };
                Ok::<_, RecursionError>(vec![body(inner, seeds, edges, inside.relations[0], by_start)?])
            });
        let built = built.unwrap();
        let output = built.relations[0];
        circuit.watch(output).unwrap();
        Self { circuit, edges, seeds, output, scope: built.scope }
    }

    /// Runs a step and gives the number of rows that the relation changed by.
    fn step(&mut self, seeds: &[(i64, i64)], edges: &[(i64, i64)], weight: i64) -> usize {
        let inputs = [(self.seeds, batch(seeds, weight)), (self.edges, batch(edges, weight))];
        let inputs: Vec<_> = inputs.into_iter().filter(|(_, batch)| !batch.is_empty()).collect();
        self.circuit.step(inputs).unwrap().take(self.output).map_or(0, |value| value.rows())
    }

    fn nodes(&self) -> Vec<(String, u64, Duration)> {
        let scope = self.circuit.view(self.scope.node()).unwrap().subcircuit().unwrap();
        let node = |node: tailrace_circuit::NodeView<'_>| {
            (node.name().to_owned(), node.metrics().evaluations, node.metrics().time)
        };
        scope.nodes().map(node).collect()
    }

    /// Evaluations of the operator that runs at every iteration.
    fn iterations(&self) -> u64 {
        self.nodes().iter().filter(|node| node.0 == "distinct").map(|node| node.1).sum()
    }

    /// What the nodes took since `before`.
    fn report(&self, before: &[(String, u64, Duration)]) {
        for ((name, evaluations, time), (_, earlier, spent)) in self.nodes().into_iter().zip(before) {
            let (evaluations, time) = (evaluations - earlier, time - *spent);
            let each = time.as_secs_f64() * 1e6 / evaluations.max(1) as f64;
            println!("    {name:12} {evaluations:>8} evaluations {each:>8.2} us each");
        }
    }
}

fn pairs() -> SchemaRef {
    Arc::new(Schema::new(["x", "y"].map(|name| Field::new(name, DataType::Int64, false)).to_vec()))
}

fn batch(rows: &[(i64, i64)], weight: i64) -> ChangeBatch {
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let columns =
        vec![column(rows.iter().map(|row| row.0).collect()), column(rows.iter().map(|row| row.1).collect())];
    ChangeBatch::try_new(pairs(), columns, vec![weight; rows.len()].into()).unwrap()
}

/// An index of these columns by the first of them.
fn arrange(inner: &mut Subcircuit, stream: StreamId, columns: &[usize]) -> Result<StreamId, RecursionError> {
    let rows = inner.schema(stream)?.clone();
    let fields: Vec<_> = columns.iter().map(|column| rows.fields()[*column].clone()).collect();
    let layout = Layout::rows(Arc::new(Schema::new(fields)), 1).unwrap();
    let schema = layout.schema().clone();
    Ok(inner.add_unary(Box::new(TimedArrange::new(columns.to_vec(), layout)), stream, schema)?)
}

fn join(
    inner: &mut Subcircuit,
    left: StreamId,
    right: StreamId,
    columns: Vec<JoinColumn>,
    schema: SchemaRef,
) -> Result<StreamId, RecursionError> {
    let spec = JoinSpec::new(columns, schema.clone());
    Ok(inner.add_binary(Box::new(TimedJoin::new(spec)), left, right, schema)?)
}

fn first_column(schema: &SchemaRef) -> Box<tailrace_operators::Map> {
    let columns = vec![tailrace_operators::Scalar::column(0, &pairs())];
    Box::new(tailrace_operators::Map::new(columns, schema.clone()))
}
