//! A circuit built in the same way and given a checkpoint goes on where the first one was.

use std::sync::Arc;

use tailrace_algebra::{Step, ZSet};
use tailrace_circuit::{
    Circuit, Context, Input, Operator, OperatorError, StepOutput, StreamId, Subcircuit, UnaryOperator, Value,
};
use tailrace_trace::{IndexedBatch, Layout, Snapshot};

use crate::mock::{Log, Plus, batch, change, from_zset, rows, schema, with_table, zset};

/// A distinct that keeps its rows as a snapshot.
#[derive(Default)]
struct KeptDistinct {
    committed: ZSet<i64>,
    staged: ZSet<i64>,
}

impl Operator for KeptDistinct {
    fn name(&self) -> &'static str {
        "kept_distinct"
    }

    fn commit(&mut self) {
        self.committed = self.committed.plus(&std::mem::take(&mut self.staged));
    }

    fn rollback(&mut self) {
        self.staged = ZSet::new();
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        let layout = Layout::rows(schema(), 1).unwrap();
        let kept = IndexedBatch::from_changes(&layout, &from_zset(&self.committed), &[0]).unwrap();
        vec![Snapshot::new(layout, vec![Arc::new(kept)])]
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        let [snapshot] = snapshots.as_slice() else {
            return Err(OperatorError::WrongState { expected: 1, found: snapshots.len() });
        };
        self.committed = zset(&snapshot.to_changes()?);
        Ok(())
    }
}

impl UnaryOperator for KeptDistinct {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        let before = self.committed.plus(&self.staged);
        let changes = zset(input.as_changes()?);
        self.staged = self.staged.plus(&changes);
        Ok(from_zset(&before.plus(&changes).distinct().minus(&before.distinct())).into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(KeptDistinct::default())
    }
}

/// table -> (distinct, then distinct again, in a nested scope) + what that sum was at the step before.
fn circuit() -> (Circuit, StreamId, StreamId) {
    let mut inner = Subcircuit::new("scope", "");
    let input = inner.import(schema()).unwrap();
    let once = inner.add_unary(Box::new(KeptDistinct::default()), input, schema()).unwrap();
    let twice = inner.add_unary(Box::new(KeptDistinct::default()), once, schema()).unwrap();
    inner.export(twice).unwrap();
    let (mut circuit, table) = with_table();
    let before = circuit.feedback(schema()).unwrap();
    let nested = circuit.add_nary(Box::new(inner), &[table], schema()).unwrap();
    let distinct = circuit.select(nested, 0, schema()).unwrap();
    let sum = circuit.add_binary(Plus::new(&Log::default()), distinct, before, schema()).unwrap();
    circuit.connect(before, sum).unwrap();
    circuit.watch(sum).unwrap();
    (circuit, table, sum)
}

#[test]
fn a_restored_circuit_goes_on_where_the_first_was() {
    let (mut first, table, sum) = circuit();
    first.step([(table, batch(&[(1, 1), (2, 1)]))]).unwrap();
    first.step([(table, batch(&[(2, 1), (3, 1)]))]).unwrap();
    let (mut second, _, _) = circuit();
    second.restore(first.checkpoint()).unwrap();
    assert_eq!(second.current_step(), Step(2));
    let run = |circuit: &mut Circuit| -> Vec<ZSet<i64>> {
        let steps: [&[(i64, i64)]; 3] = [&[], &[(2, -1), (3, 1)], &[(2, -1), (4, 1)]];
        let outputs = steps.map(|changes| circuit.step([(table, batch(changes))]));
        outputs.map(|output: Result<StepOutput, _>| change(&output.unwrap(), sum)).to_vec()
    };
    let expected =
        [rows(&[(1, 1), (2, 1), (3, 1)]), rows(&[(1, 1), (2, 1), (3, 1)]), rows(&[(1, 1), (3, 1), (4, 1)])];
    assert_eq!(run(&mut first), expected);
    assert_eq!(run(&mut second), expected);
}

#[test]
fn state_of_another_circuit_is_refused() {
    let (first, ..) = circuit();
    let mut checkpoint = first.checkpoint();
    checkpoint.nodes[0].1.pop();
    let (mut second, ..) = circuit();
    let error = second.restore(checkpoint).unwrap_err();
    assert_eq!(error.to_string(), "scope (node 2): expected 2 snapshots of state, found 1");
    let (mut other, _) = with_table();
    let error = other.restore(first.checkpoint()).unwrap_err();
    assert!(matches!(error.root(), OperatorError::Missing { .. }));
}
