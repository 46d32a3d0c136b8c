//! Checkpoints: the committed state of a circuit as immutable snapshots, node by node.
//!
//! **Promise.** Taking one copies no rows: snapshots share the batches of the traces. Giving them back to a circuit that was
//! built in the same way leaves it as it was. Where the batches are kept is not known here.

use tailrace_algebra::Step;
use tailrace_trace::{ChangeBatch, Snapshot};

use crate::circuit::Circuit;
use crate::error::{CircuitError, OperatorError};
use crate::node::{Node, NodeId};
use crate::operation::Operation;
use crate::operator::StateSize;
use crate::scope::Scope;

/// The committed state of a circuit.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The last step the state contains.
    pub step: Step,
    /// The state of every node that has any, in the order of the schedule.
    pub nodes: Vec<(NodeId, Vec<Snapshot>)>,
    /// What feedback variables will show at the next step.
    pub pending: Vec<(NodeId, ChangeBatch)>,
}

impl Circuit {
    /// The committed state.
    pub fn checkpoint(&self) -> Checkpoint {
        let states = self.scope.live().map(|node| (node.id, node.operation.operator().checkpoint()));
        let nodes = states.filter(|(_, state)| !state.is_empty()).collect();
        let pending =
            self.scope.live().filter_map(|node| Some((node.id, pending_of(node)?.clone()))).collect();
        Checkpoint { step: self.current_step(), nodes, pending }
    }

    /// Replaces the state of a new circuit that was built in the same way. If it fails the circuit should be thrown away.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CircuitError> {
        for (id, snapshots) in checkpoint.nodes {
            self.restore_node(id, |operation| operation.operator_mut().restore(snapshots))?;
        }
        for (id, changes) in checkpoint.pending {
            self.restore_node(id, |operation| restore_pending(operation, changes))?;
        }
        let nodes: Vec<NodeId> = self.scope.live().map(|node| node.id).collect();
        nodes.into_iter().for_each(|id| self.scope.plan_wake(id));
        self.advance_to(checkpoint.step);
        Ok(())
    }

    fn restore_node(
        &mut self,
        id: NodeId,
        restore: impl FnOnce(&mut Operation) -> Result<(), OperatorError>,
    ) -> Result<(), CircuitError> {
        let missing = Err(OperatorError::Missing { what: "node" });
        let restored = self.scope.node_mut(id).map_or(missing, |node| restore(&mut node.operation));
        restored.map_err(|error| self.scope.blame(id, error))
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

fn pending_of(node: &Node) -> Option<&ChangeBatch> {
    match &node.operation {
        Operation::Feedback(feedback) => feedback.pending(),
        _ => None,
    }
}

fn restore_pending(operation: &mut Operation, changes: ChangeBatch) -> Result<(), OperatorError> {
    match operation {
        Operation::Feedback(feedback) => feedback.restore_pending(changes),
        _ => return Err(OperatorError::Missing { what: "feedback variable" }),
    }
    Ok(())
}
