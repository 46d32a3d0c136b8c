//! A scope: nodes with one clock. It is what is built; [`Circuit`](crate::Circuit) and [`Subcircuit`](crate::Subcircuit) run it.
//!
//! **Promise.** Nodes can be added and removed between any two steps. Adding touches nothing but the streams that the new
//! node reads; removing is refused while somebody reads. Nothing else about the running nodes changes, so their state and their
//! place in the schedule stay.
//!
//! **Why it works.** Names grow and are never used again, so the order of names stays a schedule (see
//! [`node`](crate::node)). A removed node leaves an empty slot of one pointer.

use std::cell::Cell;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;

use crate::context::Moment;
use crate::error::{GraphError, OperatorError};
use crate::feedback::Feedback;
use crate::node::{Node, NodeId, StreamId};
use crate::operation::Operation;
use crate::operator::{BinaryOperator, NaryOperator, RouterOperator, TernaryOperator, UnaryOperator};
use crate::schedule::Frontier;
use crate::select::Select;
use crate::value::Value;

/// Nodes that share a clock.
#[derive(Default)]
pub struct Scope {
    pub(crate) nodes: Vec<Option<Box<Node>>>,
    pub(crate) frontier: Frontier,
    /// Nodes evaluated since the last commit.
    pub(crate) touched: Vec<NodeId>,
    /// Nodes whose output may hold a value of this tick.
    pub(crate) filled: Vec<NodeId>,
    /// Nodes that may have work at the next step without input.
    pub(crate) waking: Vec<NodeId>,
    /// Feedback variables and the streams fed to them.
    pub(crate) feedbacks: Vec<(StreamId, StreamId)>,
    /// Inputs that the node under evaluation owns; kept to be reused.
    pub(crate) claimed: Vec<Option<Value>>,
    /// The node under evaluation, to be named if it panics.
    pub(crate) current: Cell<Option<NodeId>>,
    /// The moment at which added nodes start their clock; `None` in a nested scope, which starts all at once.
    pub(crate) running: Option<Moment>,
}

impl Scope {
    /// Adds an operator with one input. `schema` describes the stream it writes.
    pub fn add_unary(
        &mut self,
        operator: Box<dyn UnaryOperator>,
        input: StreamId,
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.add(Operation::Unary(operator), vec![input], schema)
    }

    /// Adds an operator with two inputs.
    pub fn add_binary(
        &mut self,
        operator: Box<dyn BinaryOperator>,
        left: StreamId,
        right: StreamId,
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.add(Operation::Binary(operator), vec![left, right], schema)
    }

    /// Adds an operator with three inputs.
    pub fn add_ternary(
        &mut self,
        operator: Box<dyn TernaryOperator>,
        inputs: [StreamId; 3],
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.add(Operation::Ternary(operator), inputs.to_vec(), schema)
    }

    /// Adds an operator with any number of inputs. For a nested scope, whose outputs have a schema each, the schema is not
    /// looked at: see [`Scope::select`].
    pub fn add_nary(
        &mut self,
        operator: Box<dyn NaryOperator>,
        inputs: &[StreamId],
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.add(Operation::Nary(operator), inputs.to_vec(), schema)
    }

    /// Output `index` of a nested scope as a stream.
    pub fn select(
        &mut self,
        nested: StreamId,
        index: usize,
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.add(Operation::Select(Select { index }), vec![nested], schema)
    }

    /// Adds an operator with one input and many outputs, which [`Scope::route`] opens.
    pub fn add_router(
        &mut self,
        operator: Box<dyn RouterOperator>,
        input: StreamId,
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.add(Operation::Router(operator), vec![input], schema)
    }

    /// The rows behind a router that have one of these keys, as a stream. Removing it closes the output.
    pub fn route(&mut self, router: StreamId, keys: &ArrayRef) -> Result<StreamId, OperatorError> {
        let missing = || OperatorError::Missing { what: "router" };
        let node = self.known_mut(router).map_err(|_| missing())?;
        let Operation::Router(operator) = &mut node.operation else { return Err(missing()) };
        let (output, schema) = (operator.open(keys)?, node.schema.clone());
        let select = Select { index: output as usize };
        let stream = self.add(Operation::Select(select), vec![router], schema).map_err(|_| missing())?;
        self.known_mut(router).map_err(|_| missing())?.routes.push((output, stream.node()));
        Ok(stream)
    }

    /// A variable that shows at each tick what is fed to it at the tick before: `z^-1`. It is empty until it is
    /// [connected](Scope::connect).
    pub fn feedback(&mut self, schema: SchemaRef) -> Result<StreamId, GraphError> {
        self.add(Operation::Feedback(Feedback::default()), Vec::new(), schema)
    }

    /// Feeds `stream` to the feedback variable.
    pub fn connect(&mut self, variable: StreamId, stream: StreamId) -> Result<(), GraphError> {
        let waits = matches!(self.known(variable)?.operation, Operation::Feedback(_))
            && !self.feedbacks.iter().any(|(connected, _)| *connected == variable);
        if !waits {
            return Err(GraphError::NotFeedback { stream: variable });
        }
        self.known_mut(stream)?.holds += 1;
        self.feedbacks.push((variable, stream));
        Ok(())
    }

    /// Stops feeding the variable, so that the loop can be removed.
    pub fn disconnect(&mut self, variable: StreamId) -> Result<(), GraphError> {
        let place = self.feedbacks.iter().position(|(connected, _)| *connected == variable);
        let (_, stream) = self.feedbacks.remove(place.ok_or(GraphError::NotFeedback { stream: variable })?);
        self.known_mut(stream)?.holds -= 1;
        Ok(())
    }

    /// Removes a node that nobody reads.
    pub fn remove(&mut self, node: NodeId) -> Result<(), GraphError> {
        let removed = self.node(node).ok_or(GraphError::UnknownNode { node })?;
        if removed.is_read() {
            return Err(GraphError::InUse { node, readers: self.readers(removed) });
        }
        let inputs = removed.inputs.clone();
        self.feedbacks.iter().position(|(variable, _)| variable.node() == node).map_or(Ok(()), |place| {
            let (variable, _) = self.feedbacks[place];
            self.disconnect(variable)
        })?;
        self.nodes[node.index()] = None;
        for input in inputs {
            self.known_mut(input)?.forget_reader(node);
        }
        Ok(())
    }

    /// Removes `node`, then those it read that nobody else reads, and so on; sources and imports stay. Gives the nodes
    /// that are gone. Does nothing if `node` itself is still read.
    pub fn prune(&mut self, node: NodeId) -> Vec<NodeId> {
        let mut removed = Vec::new();
        let mut pending = vec![node];
        while let Some(next) = pending.pop() {
            let Some(candidate) = self.node(next) else { continue };
            if candidate.is_read() || (next != node && candidate.operation.is_source()) {
                continue;
            }
            pending.extend(candidate.inputs.iter().map(|input| input.node()));
            if self.remove(next).is_ok() {
                removed.push(next);
            }
        }
        removed
    }

    /// The schema of a stream.
    pub fn schema(&self, stream: StreamId) -> Result<&SchemaRef, GraphError> {
        self.known(stream).map(|node| &node.schema)
    }

    pub(crate) fn add(
        &mut self,
        operation: Operation,
        inputs: Vec<StreamId>,
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        let id = NodeId(self.nodes.len() as u32);
        inputs.iter().try_for_each(|input| self.known(*input).map(drop))?;
        for input in &inputs {
            self.known_mut(*input)?.readers.push(id);
        }
        self.nodes.push(Some(Box::new(Node::new(id, operation, inputs, schema))));
        self.frontier.reserve(self.nodes.len());
        self.start(id);
        Ok(StreamId(id))
    }

    /// The same scope with empty state.
    pub(crate) fn fresh(&self) -> Scope {
        let copy = |slot: &Option<Box<Node>>| slot.as_ref().and_then(|node| node.fresh()).map(Box::new);
        let mut scope = Scope { nodes: self.nodes.iter().map(copy).collect(), ..Scope::default() };
        scope.feedbacks.clone_from(&self.feedbacks);
        scope.frontier.reserve(scope.nodes.len());
        scope
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_deref()
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.index())?.as_deref_mut()
    }

    pub(crate) fn known(&self, stream: StreamId) -> Result<&Node, GraphError> {
        self.node(stream.node()).ok_or(GraphError::UnknownStream { stream })
    }

    pub(crate) fn known_mut(&mut self, stream: StreamId) -> Result<&mut Node, GraphError> {
        self.node_mut(stream.node()).ok_or(GraphError::UnknownStream { stream })
    }

    /// Nodes that read `node`, feedback variables included.
    fn readers(&self, node: &Node) -> Vec<NodeId> {
        let fed = self.feedbacks.iter().filter(|(_, stream)| stream.node() == node.id);
        node.readers.iter().copied().chain(fed.map(|(variable, _)| variable.node())).collect()
    }

    /// Starts the clock of a node that joins a running scope.
    fn start(&mut self, id: NodeId) {
        let Some(now) = self.running else { return };
        if let Some(node) = self.node_mut(id) {
            node.operation.operator_mut().clock_start(now);
            self.plan_wake(id);
        }
    }
}
