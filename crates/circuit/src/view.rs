//! Looking at a circuit from outside: its nodes, how they are connected, what they did and what they keep.

use arrow_schema::SchemaRef;

use tailrace_trace::Snapshot;

use crate::metrics::Metrics;
use crate::nested::Subcircuit;
use crate::node::{Node, NodeId, StreamId};
use crate::operation::Operation;
use crate::operator::StateSize;
use crate::scope::Scope;

/// A node as others may see it.
#[derive(Clone, Copy)]
pub struct NodeView<'a> {
    node: &'a Node,
}

impl Scope {
    /// All nodes, in the order of the schedule.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.live().map(|node| NodeView { node })
    }

    /// One node.
    pub fn view(&self, id: NodeId) -> Option<NodeView<'_>> {
        self.node(id).map(|node| NodeView { node })
    }

    /// Feedback variables with the streams that are fed to them.
    pub fn feedbacks(&self) -> &[(StreamId, StreamId)] {
        &self.feedbacks
    }
}

impl<'a> NodeView<'a> {
    /// The node's name in its scope.
    pub fn id(&self) -> NodeId {
        self.node.id
    }

    /// The operator's name.
    pub fn name(&self) -> &'static str {
        self.node.operation.operator().name()
    }

    /// The operator's label.
    pub fn label(&self) -> String {
        self.node.operation.operator().label()
    }

    /// The streams it reads.
    pub fn inputs(&self) -> &'a [StreamId] {
        &self.node.inputs
    }

    /// The nodes that read it; one that reads it twice is listed twice.
    pub fn readers(&self) -> &'a [NodeId] {
        &self.node.readers
    }

    /// Whether its changes are collected after each step.
    pub fn is_watched(&self) -> bool {
        self.node.watched > 0
    }

    /// The schema of the stream it writes.
    pub fn schema(&self) -> &'a SchemaRef {
        &self.node.schema
    }

    /// What it has done.
    pub fn metrics(&self) -> Metrics {
        self.node.metrics
    }

    /// What it keeps.
    pub fn state(&self) -> StateSize {
        self.node.operation.operator().state()
    }

    /// The traces it keeps, as of the last commit.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.node.operation.operator().checkpoint()
    }

    /// The scope inside it.
    pub fn subcircuit(&self) -> Option<&'a Subcircuit> {
        self.node.operation.operator().subcircuit()
    }

    /// Which output of a nested scope it selects.
    pub fn selected(&self) -> Option<usize> {
        match &self.node.operation {
            Operation::Select(select) => Some(select.index),
            _ => None,
        }
    }
}
