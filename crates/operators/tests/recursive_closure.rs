//! Transitive closure, written in several ways, equals reachability after every insert and delete.

mod oracle;
mod scope;
mod wiring;

use std::collections::{BTreeMap, BTreeSet};

use Of::{L, R};
use oracle::{BuildError, Oracle, Rows, Table, int};
use scope::{
    Built, Index, Of, at_most, distinct, edges, fixed_point, index, ints, join, layout, numbers, plus,
    recursive, row, sums,
};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, StreamId};
use tailrace_operators::Arrange;
use tailrace_operators::nested::{Outer, Recursion};

/// All pairs with a path from the first to the second.
fn closure(edges: &Rows) -> Rows {
    let mut next: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    numbers(edges).iter().for_each(|edge| next.entry(edge[0]).or_default().push(edge[1]));
    let reached = |start: i64| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(node) = open.pop() {
            open.extend(next.get(&node).into_iter().flatten().copied().filter(|node| seen.insert(*node)));
        }
        seen
    };
    let pairs = next.keys().flat_map(|start| reached(*start).into_iter().map(move |end| row(&[*start, end])));
    ZSet::from_rows(pairs)
}

/// `path(x, z) :- edge(x, z); path(x, y), edge(y, z)`.
fn left_linear(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "path", ints(["x", "y"]), |inner, inside| {
        let (edges, paths) = (inside.outer[0], inside.relations[0]);
        let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, edges, &[0])?);
        let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
        plus(inner, edges, longer)
    })
}

/// `path(x, z) :- edge(x, z); edge(x, y), path(y, z)`.
fn right_linear(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "path", ints(["x", "y"]), |inner, inside| {
        let (edges, paths) = (inside.outer[0], inside.relations[0]);
        let (by_end, by_start) = (index(inner, edges, &[1])?, index(inner, paths, &[0])?);
        let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
        plus(inner, edges, longer)
    })
}

/// `path(x, z) :- edge(x, z); path(x, y), path(y, z)`.
fn quadratic(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "path", ints(["x", "y"]), |inner, inside| {
        let (edges, paths) = (inside.outer[0], inside.relations[0]);
        let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, paths, &[0])?);
        let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
        plus(inner, edges, longer)
    })
}

/// The left-linear form over an index of the outer scope.
fn over_an_outer_index(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    let rows = circuit.schema(inputs[0])?.clone();
    let (columns, layout) = layout(&rows, &[0])?;
    let schema = layout.schema().clone();
    let arranged = circuit.add_unary(Box::new(Arrange::new(columns.clone(), layout)), inputs[0], schema)?;
    let outer = [Outer::Changes(inputs[0]), Outer::Index(arranged)];
    let built =
        Recursion::new(1_000).set("path", ints(["x", "y"])).build(circuit, &outer, |inner, inside| {
            let by_end = index(inner, inside.relations[0], &[1])?;
            let by_start = Index::new(inside.outer[1], &columns, rows.clone());
            let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
            Ok::<_, BuildError>(vec![plus(inner, inside.outer[0], longer)?])
        })?;
    Ok(built.relations[0])
}

/// Edges of any weights, negative ones too; those of positive weight count once.
fn over_distinct_edges(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "path", ints(["x", "y"]), |inner, inside| {
        let (edges, paths) = (distinct(inner, inside.outer[0])?, inside.relations[0]);
        let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, edges, &[0])?);
        let longer = join(inner, &by_end, &by_start, &[L(0), R(1)])?;
        plus(inner, edges, longer)
    })
}

#[test]
fn oracle_left_linear_closure() {
    Oracle::new([edges(6)]).cases(400).check(left_linear, |contents| closure(&contents[0]));
}

#[test]
fn oracle_right_linear_closure() {
    Oracle::new([edges(6)]).cases(400).check(right_linear, |contents| closure(&contents[0]));
}

#[test]
fn oracle_quadratic_closure() {
    Oracle::new([edges(6)]).cases(400).check(quadratic, |contents| closure(&contents[0]));
}

#[test]
fn oracle_closure_over_an_outer_index() {
    Oracle::new([edges(6)]).cases(400).check(over_an_outer_index, |contents| closure(&contents[0]));
}

#[test]
fn oracle_closure_of_a_sparse_graph() {
    Oracle::new([edges(15)]).cases(200).check(quadratic, |contents| closure(&contents[0]));
    Oracle::new([edges(15)]).cases(200).check(left_linear, |contents| closure(&contents[0]));
}

#[test]
fn oracle_closure_over_edges_of_any_weight() {
    let table = || Table::new([int("from", 0..6), int("to", 0..6)]);
    Oracle::new([table()]).cases(400).check(over_distinct_edges, |contents| closure(&contents[0]));
}

/// Weighted paths of at most five edges, with their lengths: no set, so that every pair counts with its weight.
/// `p(x, z, m + n) :- p(x, y, m), p(y, z, n)`.
fn weighted_paths(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    let recursion = Recursion::new(100).bag("p", ints(["x", "y", "n"]));
    let built = recursion.build(circuit, &[Outer::Changes(inputs[0])], |inner, inside| {
        let (edges, paths) = (inside.outer[0], inside.relations[0]);
        let (by_end, by_start) = (index(inner, paths, &[1])?, index(inner, paths, &[0])?);
        let joined = join(inner, &by_end, &by_start, &[L(0), R(1), L(2), R(2)])?;
        let longer = sums(inner, joined, &[&[0], &[1], &[2, 3]])?;
        let short = at_most(inner, longer, 2, 5)?;
        Ok::<_, BuildError>(vec![plus(inner, edges, short)?])
    })?;
    Ok(built.relations[0])
}

#[test]
fn oracle_pairs_are_counted_once_with_weights_of_any_sign() {
    let table = Table::new([int("from", 0..3), int("to", 0..3), int("n", 1..3)]);
    Oracle::new([table]).cases(150).check(weighted_paths, |contents| {
        fixed_point(|paths| {
            let end = |row: &oracle::Row| row[1].clone();
            let start = |row: &oracle::Row| row[0].clone();
            let longer = paths.join_by(paths, end, start, |a, b| {
                row(&[a[0].int().unwrap(), b[1].int().unwrap(), a[2].int().unwrap() + b[2].int().unwrap()])
            });
            contents[0].plus(&longer.filter(|row| row[2].int() <= Some(5)))
        })
    });
}
