//! Relations that need each other, and bodies of several joins, equal their definitions after every change.

mod oracle;
mod scope;
mod wiring;

use std::collections::BTreeSet;

use Of::{L, R};
use oracle::{BuildError, Oracle, Rows, Table, int};
use scope::{Built, Of, distinct, edges, index, ints, join, minus, numbers, plus, recursive, row};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, StreamId};
use tailrace_operators::nested::{Outer, Recursion};

/// `odd(x, z) :- edge(x, z); even(x, y), edge(y, z)` and `even(x, z) :- odd(x, y), edge(y, z)`: pairs with a walk of odd, of even length.
fn parity(circuit: &mut Circuit, inputs: &[StreamId], which: usize) -> Built {
    let schema = ints(["x", "y"]);
    let recursion = Recursion::new(1_000).set("odd", schema.clone()).set("even", schema);
    let built = recursion.build(circuit, &[Outer::Changes(inputs[0])], |inner, inside| {
        let edges = inside.outer[0];
        let by_start = index(inner, edges, &[0])?;
        let (odd, even) =
            (index(inner, inside.relations[0], &[1])?, index(inner, inside.relations[1], &[1])?);
        let even_then_one = join(inner, &even, &by_start, &[L(0), R(1)])?;
        let odd_then_one = join(inner, &odd, &by_start, &[L(0), R(1)])?;
        Ok::<_, BuildError>(vec![plus(inner, edges, even_then_one)?, odd_then_one])
    })?;
    Ok(built.relations[which])
}

/// Pairs with a walk whose length is odd, or even and not zero, by doubling the graph.
fn walks(edges: &Rows, odd: bool) -> Rows {
    let edges = numbers(edges);
    let mut found = BTreeSet::new();
    for start in 0..10 {
        let mut open = vec![(start, false)];
        while let Some((node, parity)) = open.pop() {
            let next = edges.iter().filter(|edge| edge[0] == node).map(|edge| (edge[1], !parity));
            open.extend(next.filter(|(end, parity)| found.insert((start, *end, *parity))));
        }
    }
    ZSet::from_rows(found.into_iter().filter(|walk| walk.2 == odd).map(|(start, end, _)| row(&[start, end])))
}

#[test]
fn oracle_mutual_recursion_odd_walks() {
    Oracle::new([edges(5)])
        .cases(300)
        .check(|circuit, inputs| parity(circuit, inputs, 0), |contents| walks(&contents[0], true));
}

#[test]
fn oracle_mutual_recursion_even_walks() {
    Oracle::new([edges(5)])
        .cases(300)
        .check(|circuit, inputs| parity(circuit, inputs, 1), |contents| walks(&contents[0], false));
}

/// `same(x, y) :- parent(x, p), parent(y, p); parent(x, p), same(p, q), parent(y, q)`.
fn same_generation(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "same", ints(["x", "y"]), |inner, inside| {
        let (parents, same) = (inside.outer[0], inside.relations[0]);
        let by_parent = index(inner, parents, &[1])?;
        let siblings = join(inner, &by_parent, &by_parent, &[L(0), R(0)])?;
        let by_first = index(inner, same, &[0])?;
        let half = join(inner, &by_parent, &by_first, &[L(0), R(1)])?;
        let by_second = index(inner, half, &[1])?;
        let cousins = join(inner, &by_second, &by_parent, &[L(0), R(0)])?;
        plus(inner, siblings, cousins)
    })
}

fn same_generation_by_hand(parents: &Rows) -> Rows {
    let parents = numbers(parents);
    let mut same: BTreeSet<(i64, i64)> = BTreeSet::new();
    loop {
        let before = same.len();
        for x in &parents {
            for y in &parents {
                if x[1] == y[1] || same.contains(&(x[1], y[1])) {
                    same.insert((x[0], y[0]));
                }
            }
        }
        if same.len() == before {
            return ZSet::from_rows(same.into_iter().map(|(x, y)| row(&[x, y])));
        }
    }
}

#[test]
fn oracle_same_generation() {
    Oracle::new([edges(6)])
        .cases(250)
        .check(same_generation, |contents| same_generation_by_hand(&contents[0]));
}

/// `reach(x) :- seed(x); reach(x), edge(x, y), not blocked(y)`, with the anti-join as a difference.
fn blocked_reach(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "reach", ints(["x"]), |inner, inside| {
        let [seeds, edges, blocked] = inside.outer[..] else { return Err("three inputs".into()) };
        let (reached, by_start) = (index(inner, inside.relations[0], &[0])?, index(inner, edges, &[0])?);
        let next = join(inner, &reached, &by_start, &[R(1)])?;
        let blocked = distinct(inner, blocked)?;
        let (next_index, blocked) = (index(inner, next, &[0])?, index(inner, blocked, &[0])?);
        let lost = join(inner, &next_index, &blocked, &[L(0)])?;
        let kept = minus(inner, next, lost)?;
        plus(inner, seeds, kept)
    })
}

#[test]
fn oracle_reach_around_blocked_nodes() {
    let nodes = || Table::new([int("x", 0..6)]);
    Oracle::new([nodes().bag(), edges(6), nodes()]).cases(300).check(blocked_reach, |contents| {
        let [seeds, edges, blocked] = [&contents[0], &contents[1], &contents[2]].map(numbers);
        let mut open: Vec<i64> = seeds.iter().map(|seed| seed[0]).collect();
        let mut reached: BTreeSet<i64> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            let next = edges.iter().filter(|edge| edge[0] == node).map(|edge| edge[1]);
            open.extend(next.filter(|end| !blocked.contains(&vec![*end]) && reached.insert(*end)));
        }
        ZSet::from_rows(reached.into_iter().map(|node| row(&[node])))
    });
}
