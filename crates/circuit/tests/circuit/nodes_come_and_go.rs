//! Nodes are added to and removed from a running circuit without disturbing the others.

use tailrace_circuit::GraphError;

use crate::mock::{FlatMap, Log, Plus, Whole, batch, change, rows, schema, with_table};

#[test]
fn an_added_node_takes_part_in_the_next_step() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let old = circuit.add_unary(Whole::distinct(&log), table, schema()).unwrap();
    circuit.watch(old).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    let new = circuit.add_unary(FlatMap::new("double", |x| vec![2 * x], &log), old, schema()).unwrap();
    circuit.watch(new).unwrap();
    let output = circuit.step([(table, batch(&[(1, 1), (2, 1)]))]).unwrap();
    assert_eq!(change(&output, old), rows(&[(2, 1)]));
    assert_eq!(change(&output, new), rows(&[(4, 1)]));
}

#[test]
fn a_node_that_is_read_cannot_be_removed() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let a = circuit.add_unary(FlatMap::identity("a", &log), table, schema()).unwrap();
    let b = circuit.add_unary(FlatMap::identity("b", &log), a, schema()).unwrap();
    assert_eq!(circuit.remove(a.node()), Err(GraphError::InUse { node: a.node(), readers: vec![b.node()] }));
    circuit.watch(b).unwrap();
    assert_eq!(circuit.remove(b.node()), Err(GraphError::InUse { node: b.node(), readers: vec![] }));
    circuit.unwatch(b).unwrap();
    circuit.remove(b.node()).unwrap();
    circuit.remove(a.node()).unwrap();
    assert_eq!(circuit.remove(a.node()), Err(GraphError::UnknownNode { node: a.node() }));
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn pruning_removes_what_nobody_reads_any_more() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let shared = circuit.add_unary(FlatMap::identity("shared", &log), table, schema()).unwrap();
    let mine = circuit.add_unary(FlatMap::identity("mine", &log), shared, schema()).unwrap();
    let view = circuit.add_binary(Plus::new(&log), mine, mine, schema()).unwrap();
    let other = circuit.add_unary(FlatMap::identity("other", &log), shared, schema()).unwrap();
    assert_eq!(circuit.prune(shared.node()), []);
    assert_eq!(circuit.prune(view.node()), [view.node(), mine.node()]);
    assert_eq!(circuit.prune(other.node()), [other.node(), shared.node()]);
    assert_eq!(circuit.nodes().map(|node| node.id()).collect::<Vec<_>>(), [table.node()]);
    assert_eq!(circuit.prune(table.node()), [table.node()]);
}

#[test]
fn names_are_never_used_twice() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let gone = circuit.add_unary(FlatMap::identity("a", &log), table, schema()).unwrap();
    circuit.remove(gone.node()).unwrap();
    let new = circuit.add_unary(FlatMap::identity("b", &log), table, schema()).unwrap();
    assert_ne!(gone, new);
    let refused = circuit.add_unary(FlatMap::identity("c", &log), gone, schema());
    assert_eq!(refused, Err(GraphError::UnknownStream { stream: gone }));
    assert_eq!(circuit.watch(gone), Err(GraphError::UnknownStream { stream: gone }));
    assert_eq!(circuit.schema(new).unwrap(), &schema());
}

#[test]
fn a_thousand_views_can_come_and_go() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    for step in 0..1_000 {
        let view = circuit.add_unary(FlatMap::identity("view", &log), table, schema()).unwrap();
        circuit.watch(view).unwrap();
        let output = circuit.step([(table, batch(&[(step, 1)]))]).unwrap();
        assert_eq!(change(&output, view), rows(&[(step, 1)]));
        circuit.unwatch(view).unwrap();
        circuit.prune(view.node());
    }
    assert_eq!(circuit.nodes().count(), 1);
}
