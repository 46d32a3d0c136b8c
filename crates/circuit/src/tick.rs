//! One tick of a scope: evaluate what has to be evaluated, in order, and settle it.
//!
//! **Promise.** Work and memory traffic are proportional to the nodes that run. A node runs if it is on the frontier when the
//! tick begins or if a node it reads wrote rows. Outputs live until their last reader takes them, at the longest until
//! the tick is over, and are gone before anything is committed: a trace that nobody looks at any more may be merged in place.
//!
//! **Why two phases.** Evaluation may fail anywhere, even by a panic, so operators only stage. [`Scope::settle`] then
//! commits all nodes that ran or rolls all of them back. Nothing in between is visible outside.

use std::any::Any;
use std::time::Instant;

use crate::context::Context;
use crate::error::{CircuitError, OperatorError};
use crate::node::{Node, NodeId};
use crate::operation::Operation;
use crate::scope::Scope;
use crate::value::{Input, Value};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Commit,
    Rollback,
}

impl Scope {
    /// Evaluates the nodes on the frontier and all that follows from them.
    pub(crate) fn tick(&mut self, ctx: &Context<'_>) -> Result<(), CircuitError> {
        let mut watch = Instant::now();
        while let Some(index) = self.frontier.pop() {
            let id = NodeId(index as u32);
            if self.evaluate(id, ctx, &mut watch)? > 0 {
                self.queue_readers(id);
            }
        }
        self.feed_back()
    }

    /// Evaluates one node and gives the rows it wrote.
    pub(crate) fn evaluate(
        &mut self,
        id: NodeId,
        ctx: &Context<'_>,
        watch: &mut Instant,
    ) -> Result<usize, CircuitError> {
        self.current.set(Some(id));
        self.touch(id);
        let rows = self.run(id, ctx, watch).map_err(|error| self.blame(id, error))?;
        self.current.set(None);
        Ok(rows)
    }

    /// Marks a node as one that has something to commit or to roll back.
    pub(crate) fn touch(&mut self, id: NodeId) {
        if let Some(node) = self.nodes[id.index()].as_mut()
            && !node.touched
        {
            node.touched = true;
            self.touched.push(id);
        }
    }

    /// Drops all outputs of the tick.
    pub(crate) fn clear_values(&mut self) {
        self.claimed.clear();
        while let Some(id) = self.filled.pop() {
            if let Some(node) = self.node_mut(id) {
                node.value = None;
            }
        }
    }

    /// Ends a step for all nodes that took part in it.
    pub(crate) fn settle(&mut self, outcome: Outcome) {
        self.frontier.clear();
        self.clear_values();
        while let Some(id) = self.touched.pop() {
            self.current.set(Some(id));
            self.settle_node(id, outcome);
        }
        self.current.set(None);
    }

    /// Names the node in an error of its operator.
    pub(crate) fn blame(&self, id: NodeId, error: OperatorError) -> CircuitError {
        let operator = self.node(id).map(|node| node.operation.operator());
        CircuitError {
            node: id,
            operator: operator.map_or("missing", |operator| operator.name()),
            label: operator.map(|operator| operator.label()).unwrap_or_default(),
            source: Box::new(error),
        }
    }

    /// Turns a panic into an error of the node that was under evaluation, innermost scope first.
    pub(crate) fn blame_panic(&self, panic: &(dyn Any + Send)) -> CircuitError {
        let id = self.current.get().unwrap_or(NodeId(0));
        let inner = self.node(id).and_then(|node| node.operation.operator().subcircuit());
        let error = match inner {
            Some(inner) if inner.current.get().is_some() => {
                OperatorError::Nested(Box::new(inner.blame_panic(panic)))
            }
            _ => OperatorError::Panicked { message: panic_message(panic) },
        };
        self.blame(id, error)
    }

    /// Notes whether the node must run at the next step without input.
    pub(crate) fn plan_wake(&mut self, id: NodeId) {
        let Some(node) = self.nodes[id.index()].as_mut() else { return };
        let works = node.operation.operator().has_work();
        if works && !node.waking {
            self.waking.push(id);
        }
        node.waking = works;
    }

    /// Queues the nodes that have work without input. They stay on the list until they commit.
    pub(crate) fn queue_waking(&mut self) {
        let Scope { nodes, waking, frontier, .. } = self;
        waking.retain(|id| nodes[id.index()].as_ref().is_some_and(|node| node.waking));
        waking.iter().for_each(|id| frontier.push(id.index()));
    }

    /// Hands what was fed in this tick to the feedback variables.
    pub(crate) fn feed_back(&mut self) -> Result<(), CircuitError> {
        for place in 0..self.feedbacks.len() {
            let (variable, stream) = self.feedbacks[place];
            let fed = self
                .node(stream.node())
                .and_then(|node| node.value.as_ref())
                .filter(|value| !value.is_empty());
            let Some(value) = fed else { continue };
            let changes = value.as_changes().map_err(|error| self.blame(variable.node(), error))?.clone();
            self.touch(variable.node());
            if let Some(Node { operation: Operation::Feedback(feedback), .. }) =
                self.node_mut(variable.node())
            {
                feedback.feed(changes);
            }
        }
        Ok(())
    }

    fn run(&mut self, id: NodeId, ctx: &Context<'_>, watch: &mut Instant) -> Result<usize, OperatorError> {
        ctx.check()?;
        let (below, rest) = self.nodes.split_at_mut(id.index());
        let Some(Some(node)) = rest.first_mut() else { return Ok(0) };
        claim(below, node, &mut self.claimed, &mut self.filled);
        let (claimed, inputs, mut rows_in) = (&mut self.claimed, &node.inputs, 0);
        let fetch = |place: usize| {
            let input = match claimed.get_mut(place).and_then(Option::take) {
                Some(value) => Input::Owned(value),
                None => Input::Borrowed(output(below, inputs[place].index())?),
            };
            rows_in += input.rows();
            Ok(input)
        };
        let value = node.operation.eval(inputs.len(), fetch, ctx)?;
        let rows_out = value.as_ref().map_or(0, Value::rows);
        if node.is_read() {
            node.value = value;
            self.filled.push(id);
        }
        let now = Instant::now();
        node.metrics.record(rows_in, rows_out, now - *watch);
        *watch = now;
        Ok(rows_out)
    }

    /// Queues who reads a node; behind a router, those whose output has rows.
    fn queue_readers(&mut self, id: NodeId) {
        let Some(node) = &self.nodes[id.index()] else { return };
        let Some(Value::Routed(parts)) = &node.value else {
            return node.readers.iter().for_each(|reader| self.frontier.push(reader.index()));
        };
        for (output, _) in parts {
            if let Ok(place) = node.routes.binary_search_by_key(output, |(output, _)| *output) {
                self.frontier.push(node.routes[place].1.index());
            }
        }
    }

    fn settle_node(&mut self, id: NodeId, outcome: Outcome) {
        let Some(node) = self.nodes[id.index()].as_mut() else { return };
        node.touched = false;
        match outcome {
            Outcome::Rollback => node.operation.operator_mut().rollback(),
            Outcome::Commit => {
                node.operation.operator_mut().commit();
                if self.running.is_some() {
                    self.plan_wake(id);
                }
            }
        }
    }
}

/// Gets the inputs of `node` ready: nodes that did not run show their idle value, and streams that nobody reads after `node`
/// give up theirs to `claimed`.
fn claim(
    below: &mut [Option<Box<Node>>],
    node: &Node,
    claimed: &mut Vec<Option<Value>>,
    filled: &mut Vec<NodeId>,
) {
    claimed.clear();
    for input in &node.inputs {
        let Some(source) = below[input.index()].as_mut() else {
            claimed.push(None);
            continue;
        };
        if source.value.is_none()
            && let Some(idle) = source.operation.operator().idle()
        {
            source.value = Some(idle);
            filled.push(source.id);
        }
        claimed.push(if source.is_last_read_by(node.id) { source.value.take() } else { None });
    }
}

fn output(below: &[Option<Box<Node>>], index: usize) -> Result<&Value, OperatorError> {
    below[index].as_ref().map(|node| node.output()).ok_or(OperatorError::Missing { what: "input" })
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
