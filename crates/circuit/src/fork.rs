//! Forks: a second circuit that goes on from the same state, on its own.
//!
//! **Promise.** A fork has the nodes, names, outputs and committed state of its original, and neither notices what the other does from then on. It copies no
//! rows: traces are lists of immutable batches, and both hold the same ones until they add their own. So it costs what its nodes cost, however many rows
//! they keep.
//!
//! **Why it works.** All state of an operator is snapshots ([`Operator::checkpoint`](crate::Operator::checkpoint)), so the same operator with empty state that is
//! given them is the operator. Between two steps nothing else exists: outputs are cleared and nothing is staged. Sinks belong to who made them and are left
//! behind; so are figures.

use crate::circuit::Circuit;
use crate::context::Moment;
use crate::error::{CircuitError, OperatorError};
use crate::node::{Node, NodeId};
use crate::operation::Operation;
use crate::scope::Scope;

impl Circuit {
    /// A circuit that goes on from here by itself, without the sinks and with an interrupt of its own.
    pub fn fork(&self) -> Result<Circuit, CircuitError> {
        self.usable()?;
        let mut fork = Circuit::new();
        fork.scope = self.scope.fork(Moment::at_step(self.current_step()))?;
        fork.advance_to(self.current_step());
        Ok(fork)
    }
}

impl Scope {
    fn fork(&self, now: Moment) -> Result<Scope, CircuitError> {
        let mut scope = Scope { running: self.running, ..Scope::default() };
        scope.nodes.reserve(self.nodes.len());
        for slot in &self.nodes {
            let copy = slot.as_ref().map(|node| self.fork_node(node, now)).transpose()?;
            scope.nodes.push(copy.flatten().map(Box::new));
        }
        scope.waking.clone_from(&self.waking);
        scope.feedbacks.clone_from(&self.feedbacks);
        scope.frontier.reserve(scope.nodes.len());
        Ok(scope)
    }

    fn fork_node(&self, node: &Node, now: Moment) -> Result<Option<Node>, CircuitError> {
        let operation = node.operation.fork(now).map_err(|error| self.blame(node.id, error))?;
        Ok(operation.map(|operation| {
            let mut copy = Node::new(node.id, operation, node.inputs.clone(), node.schema.clone());
            copy.readers = node.readers.iter().copied().filter(|id| !self.is_sink(*id)).collect();
            copy.routes.clone_from(&node.routes);
            (copy.holds, copy.watched) = (node.holds, node.watched);
            (copy.waking, copy.complete) = (node.waking, node.complete);
            copy
        }))
    }

    fn is_sink(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| matches!(node.operation, Operation::Sink(_)))
    }
}

impl Operation {
    /// The same operation with the same committed state; a sink has none.
    fn fork(&self, now: Moment) -> Result<Option<Self>, OperatorError> {
        let mut copy = match self {
            Operation::Sink(_) => return Ok(None),
            Operation::Source(source) => Operation::Source(source.fresh()),
            other => other.fresh().ok_or(OperatorError::Missing { what: "copy" })?,
        };
        copy.operator_mut().clock_start(now);
        copy.operator_mut().restore(self.operator().checkpoint())?;
        if let (Operation::Feedback(original), Operation::Feedback(variable)) = (self, &mut copy)
            && let Some(pending) = original.pending()
        {
            variable.restore_pending(pending.clone());
        }
        Ok(Some(copy))
    }
}
