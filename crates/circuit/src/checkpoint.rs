//! Checkpoints: the committed state of a circuit as immutable snapshots, node by node.
//!
//! **Promise.** Taking one copies no rows: snapshots share the batches of the traces. Giving them back to a circuit that was
//! built in the same way leaves it as it was. Where the batches are kept is not known here.

use tailrace_algebra::Step;
use tailrace_trace::Snapshot;

use crate::circuit::Circuit;
use crate::error::{CircuitError, OperatorError};
use crate::node::NodeId;
use crate::operator::StateSize;
use crate::scope::Scope;

/// The committed state of a circuit.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The last step the state contains.
    pub step: Step,
    /// The state of every node that has any, in the order of the schedule.
    pub nodes: Vec<(NodeId, Vec<Snapshot>)>,
}

impl Circuit {
    /// The committed state.
    pub fn checkpoint(&self) -> Checkpoint {
        let nodes = self.scope.live().map(|node| (node.id, node.operation.operator().checkpoint()));
        Checkpoint {
            step: self.current_step(),
            nodes: nodes.filter(|(_, state)| !state.is_empty()).collect(),
        }
    }

    /// Replaces the state of a circuit that was built in the same way. If it fails the circuit should be thrown away.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CircuitError> {
        for (id, snapshots) in checkpoint.nodes {
            let restored = match self.scope.node_mut(id) {
                Some(node) => node.operation.operator_mut().restore(snapshots),
                None => Err(OperatorError::Missing { what: "node" }),
            };
            restored.map_err(|error| self.scope.blame(id, error))?;
            self.scope.plan_wake(id);
        }
        self.advance_to(checkpoint.step);
        Ok(())
    }
}

impl Scope {
    /// Gives each node as many snapshots as it keeps, in order.
    pub(crate) fn restore_in_order(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        let found = snapshots.len();
        let expected = self.live().map(|node| node.operation.operator().checkpoint().len()).sum();
        if found != expected {
            return Err(OperatorError::WrongState { expected, found });
        }
        let mut rest = snapshots.into_iter();
        self.live_mut().try_for_each(|node| {
            let operator = node.operation.operator_mut();
            let count = operator.checkpoint().len();
            operator.restore(rest.by_ref().take(count).collect())
        })
    }

    /// What all nodes of the scope keep together.
    pub fn state(&self) -> StateSize {
        let mut total = StateSize::default();
        self.live().for_each(|node| total += node.operation.operator().state());
        total
    }
}
