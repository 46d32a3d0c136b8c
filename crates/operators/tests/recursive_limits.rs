//! A recursion that does not end is stopped, undone and can go on; the clock jumps to where there is work; wiring errors name the relation.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;
mod scope;
mod wiring;

use Of::{L, R};
use arrow_schema::{DataType, Field, Schema};
use oracle::{BuildError, Rows, Run, Table, int};
use scope::{Built, Of, index, ints, join, plus, recursive, row, sums};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, CircuitError, OperatorError, StreamId};
use tailrace_operators::TableSource;
use tailrace_operators::nested::{Inside, Outer, Recursion, RecursionError};
use tailrace_trace::Layout;

/// A circuit over one table of edges.
struct Graph {
    circuit: Circuit,
    table: StreamId,
    output: StreamId,
    contents: Rows,
}

impl Graph {
    fn new(build: impl Fn(&mut Circuit, &[StreamId]) -> Built) -> Self {
        let mut circuit = Circuit::new();
        let schema = ints(["from", "to"]);
        let source = TableSource::new(Layout::rows(schema.clone(), 2).unwrap(), vec![0, 1]);
        let table = circuit.add_source(Box::new(source), schema).unwrap();
        let output = build(&mut circuit, &[table]).unwrap();
        circuit.watch(output).unwrap();
        Graph { circuit, table, output, contents: Rows::new() }
    }

    fn change(
        &mut self,
        edges: impl IntoIterator<Item = (i64, i64)>,
        weight: i64,
    ) -> Result<Rows, CircuitError> {
        let rows: Vec<_> = edges.into_iter().map(|(from, to)| (row(&[from, to]), weight)).collect();
        let batch = oracle::cell::to_batch(&ints(["from", "to"]), &rows);
        let mut step = self.circuit.step([(self.table, batch)])?;
        let change = step
            .take(self.output)
            .map_or_else(Rows::new, |value| oracle::cell::to_rows(value.as_changes().unwrap()));
        self.contents = self.contents.plus(&change);
        Ok(change)
    }

    /// How often the distinct of the relation has run: at every iteration that had something for it.
    fn iterations(&self) -> u64 {
        let scope = self.circuit.nodes().find_map(|node| node.subcircuit()).unwrap();
        scope.nodes().filter(|node| node.name() == "distinct").map(|node| node.metrics().evaluations).sum()
    }
}

/// `reach(x) :- edge(-1, x); reach(y), edge(y, x)`: node -1 is the root.
fn reach(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "reach", ints(["x"]), |inner, inside| {
        let roots = scope::at_most(inner, inside.outer[0], 0, -1)?;
        let roots = sums(inner, roots, &[&[1]])?;
        let (reached, by_start) =
            (index(inner, inside.relations[0], &[0])?, index(inner, inside.outer[0], &[0])?);
        let next = join(inner, &reached, &by_start, &[R(1)])?;
        plus(inner, roots, next)
    })
}

fn nodes(nodes: impl IntoIterator<Item = i64>) -> Rows {
    ZSet::from_rows(nodes.into_iter().map(|node| row(&[node])))
}

fn chain(nodes: i64) -> impl Iterator<Item = (i64, i64)> {
    (-1..nodes - 1).map(|node| (node, node + 1))
}

#[test]
fn the_clock_jumps_to_the_end_of_a_long_chain() {
    let mut graph = Graph::new(reach);
    assert_eq!(graph.change(chain(1_000), 1).unwrap(), nodes(0..1_000));
    let before = graph.iterations();
    assert_eq!(graph.change([(996, 997)], -1).unwrap(), nodes(997..1_000).neg());
    assert!(graph.iterations() - before < 8, "{} iterations", graph.iterations() - before);
    assert_eq!(graph.change([(996, 997)], 1).unwrap(), nodes(997..1_000));
    // A shortcut moves all that lies behind it to earlier iterations, and changes nothing in the end.
    assert_eq!(graph.change([(0, 500)], 1).unwrap(), Rows::new());
    assert_eq!(graph.change([(300, 301)], -1).unwrap(), nodes(301..500).neg());
    assert_eq!(graph.change([(0, 500)], -1).unwrap(), nodes(500..1_000).neg());
    assert_eq!(graph.contents, nodes(0..301));
}

#[test]
fn a_cycle_does_not_keep_itself_alive() {
    let mut graph = Graph::new(reach);
    graph.change((0..100).map(|node| (node, (node + 1) % 100)), 1).unwrap();
    assert_eq!(graph.contents, Rows::new());
    graph.change([(-1, 50)], 1).unwrap();
    assert_eq!(graph.contents, nodes(0..100));
    graph.change([(70, 71)], -1).unwrap();
    assert_eq!(graph.contents, nodes(50..71));
    graph.change([(70, 71)], 1).unwrap();
    graph.change([(-1, 10)], 1).unwrap();
    graph.change([(-1, 50)], -1).unwrap();
    assert_eq!(graph.contents, nodes(0..100));
    graph.change([(-1, 10)], -1).unwrap();
    assert_eq!(graph.contents, Rows::new());
}

/// Paths as a bag: over a cycle there are infinitely many.
fn bag_of_paths(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    let recursion = Recursion::new(20).bag("path", ints(["x", "y"]));
    let built = recursion.build(circuit, &[Outer::Changes(inputs[0])], |inner, inside| {
        let (by_end, by_start) =
            (index(inner, inside.relations[0], &[1])?, index(inner, inside.outer[0], &[0])?);
        let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
        Ok::<_, BuildError>(vec![plus(inner, inside.outer[0], longer)?])
    })?;
    Ok(built.relations[0])
}

#[test]
fn a_recursion_without_end_is_undone() {
    let mut graph = Graph::new(bag_of_paths);
    graph.change([(1, 2), (2, 3), (1, 3)], 1).unwrap();
    let paths: Rows = [(row(&[1, 2]), 1), (row(&[2, 3]), 1), (row(&[1, 3]), 2)].into_iter().collect();
    assert_eq!(graph.contents, paths);
    let error = graph.change([(3, 1)], 1).unwrap_err();
    assert!(matches!(error.root(), OperatorError::IterationLimit { limit: 20, .. }));
    let message = error.to_string();
    assert!(message.ends_with("path did not reach a fixed point within 20 iterations"), "{message}");
    // Nothing is left of the failed step: the edge that comes now leads nowhere new.
    let change = graph.change([(3, 4)], 1).unwrap();
    assert_eq!(change, [(row(&[3, 4]), 1), (row(&[2, 4]), 1), (row(&[1, 4]), 2)].into_iter().collect());
    assert_eq!(graph.change([(1, 2)], -1).unwrap().weight(&row(&[1, 4])), -1);
}

#[test]
fn relations_are_named_together_in_errors() {
    let mut circuit = Circuit::new();
    let schema = ints(["x"]);
    let source = TableSource::new(Layout::rows(schema.clone(), 1).unwrap(), vec![0]);
    let table = circuit.add_source(Box::new(source), schema.clone()).unwrap();
    let recursion = Recursion::new(5).bag("ping", schema.clone()).bag("pong", schema.clone());
    let swap = |inner: &mut _, inside: &Inside| {
        Ok::<_, BuildError>(vec![plus(inner, inside.outer[0], inside.relations[1])?, inside.relations[0]])
    };
    recursion.build(&mut circuit, &[Outer::Changes(table)], swap).unwrap();
    let batch = oracle::cell::to_batch(&schema, &[(row(&[1]), 1)]);
    let error = circuit.step([(table, batch)]).unwrap_err().to_string();
    assert!(error.ends_with("ping, pong did not reach a fixed point within 5 iterations"), "{error}");
}

fn build_error(relation: [&str; 1], bodies: impl Fn(&Inside) -> Vec<StreamId>) -> String {
    let mut circuit = Circuit::new();
    let text = std::sync::Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8View, false)]));
    let source = TableSource::new(Layout::rows(text.clone(), 1).unwrap(), vec![0]);
    let table = circuit.add_source(Box::new(source), text).unwrap();
    let recursion = Recursion::new(5).set("r", ints(relation));
    let built = recursion
        .build::<RecursionError>(&mut circuit, &[Outer::Changes(table)], |_, inside| Ok(bodies(inside)));
    built.unwrap_err().to_string()
}

#[test]
fn a_body_must_fit_its_relation() {
    assert_eq!(build_error(["x"], |_| vec![]), "1 relations (r) need as many bodies, found 0");
    let found = build_error(["x"], |inside| inside.outer.clone());
    assert_eq!(found, "column 'x' of r has type Int64, but its body gives Utf8View");
    let mut circuit = Circuit::new();
    let recursion = Recursion::new(5).set("r", ints(["x"])).set("s", ints(["x", "y"]));
    let swapped =
        |_: &mut _, inside: &Inside| Ok::<_, RecursionError>(vec![inside.relations[0], inside.relations[0]]);
    let error = recursion.build(&mut circuit, &[], swapped).unwrap_err();
    assert_eq!(error.to_string(), "the body of s has 1 columns, expected 2");
}

#[test]
fn operators_of_a_recursion_refuse_other_scopes() {
    let build = |circuit: &mut Circuit, inputs: &[StreamId]| {
        let schema = circuit.schema(inputs[0])?.clone();
        let distinct = tailrace_operators::TimedDistinct::new(&schema)?;
        Ok::<_, BuildError>(circuit.add_unary(Box::new(distinct), inputs[0], schema)?)
    };
    let error = Graph::new(build).change([(1, 2)], 1).unwrap_err().to_string();
    assert!(error.contains("nested once, not 0 times"), "{error}");
}

#[test]
fn state_is_what_the_rows_and_their_iterations_take() {
    let mut graph = Graph::new(reach);
    graph.change(chain(100), 1).unwrap();
    let state =
        |graph: &Graph| graph.circuit.nodes().find(|node| node.subcircuit().is_some()).unwrap().state().rows;
    let full = state(&graph);
    assert!(full >= 300, "{full} rows");
    graph.change(chain(100), -1).unwrap();
    assert!(state(&graph) < full);
}

/// A random run through the oracle's own checks, for the tables of this file.
#[test]
fn oracle_reach_from_the_root() {
    let table = Table::new([int("from", -1..6), int("to", 0..6)]).bag();
    oracle::Oracle::new([table]).cases(300).check(reach, |contents| {
        let edges = scope::numbers(&contents[0]);
        let mut reached = std::collections::BTreeSet::from([-1]);
        let mut open = vec![-1];
        while let Some(node) = open.pop() {
            let next = edges.iter().filter(|edge| edge[0] == node).map(|edge| edge[1]);
            open.extend(next.filter(|end| reached.insert(*end)));
        }
        reached.remove(&-1);
        nodes(reached)
    });
}

#[test]
fn a_recursion_runs_through_rollbacks_and_restores() {
    let tables = [Table::new([int("from", -1..4), int("to", 0..4)]).bag()];
    let mut run = Run::start(&tables, &reach, true).unwrap();
    for (from, to, weight) in [(-1, 0, 1), (0, 1, 1), (1, 0, 1), (1, 2, 1), (-1, 0, -1), (-1, 1, 1)] {
        run.step(&vec![vec![(row(&[from, to]), weight)]]).unwrap();
    }
    assert_eq!(*run.view(), nodes([0, 1, 2]));
}
