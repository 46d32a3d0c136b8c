//! Aggregates, top-k and window functions inside a recursion equal their definitions after every change.

mod oracle;
mod scope;
mod wiring;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use Of::{L, R};
use datafusion_common::ScalarValue;
use oracle::{BuildError, Oracle, Rows, Table, int};
use scope::{
    Built, Of, aggregate, at_most, distinct, edges, fixed_point, index, ints, join, numbers, plus, recursive,
    row, sums,
};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, StreamId, Subcircuit};
use tailrace_operators::{
    AggregateFunction, Map, OrderBy, Scalar, TimedReduce, TopK, TopKSpec, Window, WindowCall, WindowFunction,
    WindowSpec,
};

/// `label(x, min l) :- node(x, x); label(y, l), edge(y, x)`.
fn components(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "label", ints(["x", "l"]), |inner, inside| {
        let own = sums(inner, inside.outer[0], &[&[0], &[0]])?;
        let (labels, by_start) =
            (index(inner, inside.relations[0], &[0])?, index(inner, inside.outer[1], &[0])?);
        let handed = join(inner, &labels, &by_start, &[R(1), L(1)])?;
        let all = plus(inner, own, handed)?;
        aggregate(inner, all, &[0], AggregateFunction::Min, 1)
    })
}

/// For each start the nodes that can be reached, itself included.
fn reached(start: i64, edges: &[Vec<i64>]) -> BTreeSet<i64> {
    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(node) = open.pop() {
        let next = edges.iter().filter(|edge| edge[0] == node).map(|edge| edge[1]);
        open.extend(next.filter(|end| seen.insert(*end)));
    }
    seen
}

/// The labels that reach each node.
fn labels(contents: &[Rows]) -> BTreeMap<i64, BTreeSet<i64>> {
    let (nodes, edges) = (numbers(&contents[0]), numbers(&contents[1]));
    let mut labels: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for node in nodes {
        for end in reached(node[0], &edges) {
            labels.entry(end).or_default().insert(node[0]);
        }
    }
    labels
}

fn nodes(count: i64) -> Table {
    Table::new([int("x", 0..count)]).bag()
}

#[test]
fn oracle_least_label_that_reaches_a_node() {
    Oracle::new([nodes(7), edges(7)]).cases(250).check(components, |contents| {
        let least = |(node, labels): (i64, BTreeSet<i64>)| row(&[node, *labels.first().unwrap()]);
        ZSet::from_rows(labels(contents).into_iter().map(least))
    });
}

/// `dist(x, min d) :- seed(x, 0); dist(y, d), edge(y, x, w)` with `d + w`.
fn shortest_paths(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "dist", ints(["x", "d"]), |inner, inside| {
        let (found, by_start) =
            (index(inner, inside.relations[0], &[0])?, index(inner, inside.outer[1], &[0])?);
        let steps = join(inner, &found, &by_start, &[R(1), L(1), R(2)])?;
        let further = sums(inner, steps, &[&[0], &[1, 2]])?;
        let all = plus(inner, inside.outer[0], further)?;
        aggregate(inner, all, &[0], AggregateFunction::Min, 1)
    })
}

#[test]
fn oracle_shortest_paths() {
    let seeds = Table::new([int("x", 0..6), int("d", 0..3)]).bag();
    let roads = Table::new([int("from", 0..6), int("to", 0..6), int("w", 1..5)]).bag();
    Oracle::new([seeds, roads]).cases(250).check(shortest_paths, |contents| {
        let (mut best, roads) = (BTreeMap::new(), numbers(&contents[1]));
        let mut open: BTreeSet<(i64, i64)> =
            numbers(&contents[0]).iter().map(|seed| (seed[1], seed[0])).collect();
        while let Some((distance, node)) = open.pop_first() {
            if let Entry::Vacant(place) = best.entry(node) {
                place.insert(distance);
                open.extend(
                    roads.iter().filter(|road| road[0] == node).map(|road| (distance + road[2], road[1])),
                );
            }
        }
        ZSet::from_rows(best.into_iter().map(|(node, distance)| row(&[node, distance])))
    });
}

/// The two least labels of each node: `label(x, l)` for the two least `l` of `node(x, x); label(y, l), edge(y, x)`.
fn two_labels(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    let schema = ints(["x", "l"]);
    recursive(circuit, inputs, "label", schema.clone(), |inner, inside| {
        let own = sums(inner, inside.outer[0], &[&[0], &[0]])?;
        let (labels, by_start) =
            (index(inner, inside.relations[0], &[0])?, index(inner, inside.outer[1], &[0])?);
        let handed = join(inner, &labels, &by_start, &[R(1), L(1)])?;
        let all = plus(inner, own, handed)?;
        let all = distinct(inner, all)?;
        let order =
            vec![OrderBy { scalar: Scalar::column(1, &schema), descending: false, nulls_first: true }];
        let partition = vec![Scalar::column(0, &schema)];
        let spec =
            TopKSpec { partition: partition.clone(), order, k: Some(2), offset: 0, schema: schema.clone() };
        let least = TimedReduce::new(Box::new(TopK::new(spec)?), partition, schema.clone(), schema.clone())?;
        Ok(inner.add_unary(Box::new(least), all, schema)?)
    })
}

/// What [`two_labels`] and [`two_numbered_labels`] should find.
fn two_least(contents: &[Rows]) -> Rows {
    let least = |(node, labels): (i64, BTreeSet<i64>)| {
        labels.into_iter().take(2).map(move |label| row(&[node, label])).collect::<Vec<_>>()
    };
    ZSet::from_rows(labels(contents).into_iter().flat_map(least))
}

#[test]
fn oracle_two_least_labels_that_reach_a_node() {
    Oracle::new([nodes(6), edges(6)]).cases(200).check(two_labels, two_least);
}

/// The same by numbering the labels of each node.
fn two_numbered_labels(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    let schema = ints(["x", "l"]);
    recursive(circuit, inputs, "label", schema.clone(), |inner, inside| {
        let own = sums(inner, inside.outer[0], &[&[0], &[0]])?;
        let (labels, by_start) =
            (index(inner, inside.relations[0], &[0])?, index(inner, inside.outer[1], &[0])?);
        let handed = join(inner, &labels, &by_start, &[R(1), L(1)])?;
        let all = plus(inner, own, handed)?;
        let all = distinct(inner, all)?;
        let numbered = windowed(inner, all, WindowFunction::RowNumber, vec![])?;
        let least = at_most(inner, numbered, 2, 2)?;
        sums(inner, least, &[&[0], &[1]])
    })
}

#[test]
fn oracle_window_numbers_inside_a_recursion() {
    Oracle::new([nodes(6), edges(6)]).cases(200).check(two_numbered_labels, two_least);
}

/// One window function over the rows of each first column, ordered by the second.
fn windowed(inner: &mut Subcircuit, input: StreamId, function: WindowFunction, args: Vec<Scalar>) -> Built {
    let rows = inner.schema(input)?.clone();
    let partition = vec![Scalar::column(0, &rows)];
    let order = vec![OrderBy { scalar: Scalar::column(1, &rows), descending: false, nulls_first: true }];
    let schema = ints(["x", "l", "w"]);
    let functions = vec![WindowCall { function, args }];
    let spec = WindowSpec { partition: partition.clone(), order, functions, schema: schema.clone() };
    let reduce = TimedReduce::new(Box::new(Window::new(spec)?), partition, rows, schema.clone())?;
    Ok(inner.add_unary(Box::new(reduce), input, schema)?)
}

/// `r(x, y) :- seed(x, y); r(p, x) for each row of r(x, _) after one with p`: a node that follows another in some list is listed by it.
fn linked(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "r", ints(["x", "y"]), |inner, inside| {
        let relation = inside.relations[0];
        let rows = inner.schema(relation)?.clone();
        let lag = WindowFunction::Lag { offset: 1, default: ScalarValue::Int64(Some(0)) };
        let seen = windowed(inner, relation, lag, vec![Scalar::column(1, &rows)])?;
        let links = sums(inner, seen, &[&[2], &[1]])?;
        let kept = plus(inner, relation, links)?;
        plus(inner, inside.outer[0], kept)
    })
}

#[test]
fn oracle_window_neighbours_inside_a_recursion() {
    Oracle::new([edges(5)]).cases(200).check(linked, |contents| {
        fixed_point(|relation| {
            let rows = numbers(relation);
            let link = |at: usize| {
                let before = at.checked_sub(1).map(|before| &rows[before]);
                let previous = before.filter(|before| before[0] == rows[at][0]).map_or(0, |before| before[1]);
                row(&[previous, rows[at][1]])
            };
            let links = ZSet::from_rows((0..rows.len()).map(link));
            contents[0].plus(relation).plus(&links).distinct()
        })
    });
}

/// `r(x) :- seed(x); r(x); count of r, if that is at most 6`: a single group, which has a row also over nothing.
fn counted(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "r", ints(["x"]), |inner, inside| {
        let relation = inside.relations[0];
        let count = aggregate(inner, relation, &[], AggregateFunction::Count, 0)?;
        let rows = inner.schema(count)?.clone();
        let column = vec![Scalar::column(0, &rows)];
        let count = inner.add_unary(Box::new(Map::new(column, ints(["x"]))), count, ints(["x"]))?;
        let small = at_most(inner, count, 0, 6)?;
        let grown = plus(inner, relation, small)?;
        plus(inner, inside.outer[0], grown)
    })
}

#[test]
fn oracle_count_of_the_relation_itself() {
    Oracle::new([nodes(9)]).cases(250).check(counted, |contents| {
        fixed_point(|relation| {
            let count =
                ZSet::from_rows([row(&[relation.len() as i64])]).filter(|row| row[0].int() <= Some(6));
            contents[0].plus(relation).plus(&count).distinct()
        })
    });
}

/// The number of rows of an input, inside a scope whose relation does not depend on itself.
fn only_counted(circuit: &mut Circuit, inputs: &[StreamId]) -> Built {
    recursive(circuit, inputs, "n", ints(["n"]), |inner, inside| {
        let count = aggregate(inner, inside.outer[0], &[], AggregateFunction::Count, 0)?;
        let rows = inner.schema(count)?.clone();
        let column = vec![Scalar::column(0, &rows)];
        Ok::<_, BuildError>(inner.add_unary(Box::new(Map::new(column, ints(["n"]))), count, ints(["n"]))?)
    })
}

#[test]
fn oracle_count_of_an_input_has_a_row_over_nothing() {
    let table = Table::new([int("x", 0..3)]);
    Oracle::new([table])
        .cases(150)
        .check(only_counted, |contents| ZSet::from_rows([row(&[contents[0].total_weight() as i64])]));
}

/// The sum of all weights along keyed groups that are no columns: `x + x`.
#[test]
fn oracle_keys_that_are_expressions() {
    let table = Table::new([int("x", 0..4), int("v", 0..4)]);
    let build = |circuit: &mut Circuit, inputs: &[StreamId]| {
        recursive(circuit, inputs, "total", ints(["k", "n"]), |inner, inside| {
            let rows = inner.schema(inside.outer[0])?.clone();
            let double = wiring::compare(
                wiring::column(0, &rows),
                datafusion_expr::Operator::Plus,
                wiring::column(0, &rows),
                &rows,
            );
            let keys = vec![Scalar::new(double, &rows)?];
            let call = tailrace_operators::AggregateCall {
                function: AggregateFunction::Count,
                args: vec![Scalar::column(1, &rows)],
                filter: None,
                distinct: false,
                order: Vec::new(),
            };
            let schema = ints(["k", "n"]);
            let spec = tailrace_operators::AggregateSpec {
                keys: keys.clone(),
                calls: vec![call],
                schema: schema.clone(),
            };
            let operator = Box::new(tailrace_operators::Aggregate::new(spec)?);
            let reduce = TimedReduce::new(operator, keys, rows, Arc::clone(&schema))?;
            Ok(inner.add_unary(Box::new(reduce), inside.outer[0], schema)?)
        })
    };
    Oracle::new([table]).cases(150).check(build, |contents| {
        contents[0].aggregate_by(
            |row| row[0].int(),
            |key, rows| {
                let count = rows.total_weight() as i64;
                (count != 0).then(|| row(&[2 * key.unwrap(), count]))
            },
        )
    });
}
