//! Behind a router only those run whose output has rows; outputs come and go, and a new one is filled with its own rows alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, Context, Input, NodeId, Operator, OperatorError, RouterOperator, StreamId};
use tailrace_trace::ChangeBatch;

use crate::mock::{FlatMap, Log, batch, change, from_zset, rows, schema, with_table, zset};

/// Sends each row to the outputs that asked for it.
#[derive(Clone, Default)]
struct Rows {
    outputs: BTreeMap<u32, Vec<i64>>,
    next: u32,
}

impl Operator for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }
}

impl RouterOperator for Rows {
    fn open(&mut self, keys: &ArrayRef) -> Result<u32, OperatorError> {
        self.next += 1;
        self.outputs.insert(self.next, keys.as_primitive::<Int64Type>().values().to_vec());
        Ok(self.next)
    }

    fn close(&mut self, output: u32) {
        self.outputs.remove(&output);
    }

    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Vec<(u32, ChangeBatch)>, OperatorError> {
        let changes = input.as_changes()?.clone();
        let parts = self.outputs.keys().map(|output| Ok((*output, self.rows_of(*output, &changes)?)));
        let parts: Vec<_> = parts.collect::<Result<_, OperatorError>>()?;
        Ok(parts.into_iter().filter(|(_, rows)| !rows.is_empty()).collect())
    }

    fn rows_of(&self, output: u32, changes: &ChangeBatch) -> Result<ChangeBatch, OperatorError> {
        let own = &self.outputs[&output];
        Ok(from_zset(&zset(changes).filter(|row| own.contains(row))))
    }

    fn fresh(&self) -> Box<dyn RouterOperator> {
        Box::new(self.clone())
    }
}

fn keys(keys: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(keys.to_vec()))
}

/// A table, its router, and a log of the nodes behind the outputs that ran.
struct Routed {
    circuit: Circuit,
    table: StreamId,
    router: StreamId,
    log: Log,
}

impl Routed {
    fn new() -> Self {
        let (mut circuit, table) = with_table();
        let router = circuit.add_router(Box::new(Rows::default()), table, schema()).unwrap();
        Self { circuit, table, router, log: Log::default() }
    }

    /// An output with a named node behind it, filled.
    fn open(&mut self, name: &'static str, wanted: &[i64]) -> (StreamId, ZSet<i64>) {
        let output = self.circuit.route(self.router, &keys(wanted)).unwrap();
        let node = self.circuit.add_unary(FlatMap::identity(name, &self.log), output, schema()).unwrap();
        self.circuit.watch(node).unwrap();
        let filled = self.circuit.fill(&[output.node(), node.node()]).unwrap();
        self.log.take();
        (node, change(&filled, node))
    }

    fn close(&mut self, node: StreamId) -> Vec<NodeId> {
        self.circuit.unwatch(node).unwrap();
        self.circuit.prune(node.node())
    }
}

#[test]
fn only_the_outputs_with_rows_run() {
    let mut routed = Routed::new();
    let (a, _) = routed.open("a", &[1]);
    let (b, _) = routed.open("b", &[2, 3]);
    let (both, _) = routed.open("both", &[1, 2]);
    let output = routed.circuit.step([(routed.table, batch(&[(3, 1)]))]).unwrap();
    assert_eq!(routed.log.take(), ["b owned"]);
    assert_eq!(change(&output, b), rows(&[(3, 1)]));
    let output = routed.circuit.step([(routed.table, batch(&[(1, 2), (9, 1)]))]).unwrap();
    assert_eq!(routed.log.take(), ["a owned", "both owned"]);
    assert_eq!([a, b, both].map(|node| change(&output, node)), [rows(&[(1, 2)]), rows(&[]), rows(&[(1, 2)])]);
}

#[test]
fn a_new_output_is_filled_with_its_own_rows() {
    let mut routed = Routed::new();
    routed.open("a", &[1]);
    routed.circuit.step([(routed.table, batch(&[(1, 1), (2, 3)]))]).unwrap();
    routed.log.take();
    let (b, filled) = routed.open("b", &[2]);
    assert_eq!(filled, rows(&[(2, 3)]));
    let integral = routed.circuit.evaluate_integral(b).unwrap();
    assert_eq!(zset(integral.as_changes().unwrap()), rows(&[(2, 3)]));
}

#[test]
fn closing_the_last_output_removes_the_router() {
    let mut routed = Routed::new();
    let (a, _) = routed.open("a", &[1]);
    let (b, _) = routed.open("b", &[1]);
    assert_eq!(routed.close(a).len(), 2);
    routed.circuit.step([(routed.table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(routed.log.take(), ["b owned"]);
    assert_eq!(routed.close(b).len(), 3);
    assert_eq!(routed.circuit.nodes().count(), 1);
}

#[test]
fn a_fork_routes_for_itself() {
    let mut routed = Routed::new();
    let (a, _) = routed.open("a", &[1]);
    let mut fork = routed.circuit.fork().unwrap();
    let late = fork.route(routed.router, &keys(&[2])).unwrap();
    fork.watch(late).unwrap();
    let output = fork.step([(routed.table, batch(&[(1, 1), (2, 1)]))]).unwrap();
    assert_eq!([a, late].map(|node| change(&output, node)), [rows(&[(1, 1)]), rows(&[(2, 1)])]);
    assert!(routed.circuit.schema(late).is_err());
}
