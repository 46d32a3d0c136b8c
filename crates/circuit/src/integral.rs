//! Whole contents: what a stream has sent up to now, added up; and filling new nodes with it.
//!
//! **Computes** `I(s)` for a stream `s` without keeping it: the nodes below `s` are copied with empty state and evaluated once,
//! from the contents of the sources. A node that has its content at hand (a trace), or a reader that keeps all of it (an index of whole rows), gives it and
//! spares what lies below. Behind a router the one output that is asked for is picked out of what the router reads.
//!
//! **Why it works.** For every operator `D(op(I(x)))` at the first step is `op(x)`, so one evaluation of a fresh copy on
//! the contents of its inputs gives the content of its output. Operators for which this fails say so
//! ([`OperatorError::NoIntegral`]). Filling is the same with the *new* nodes evaluated in place: their first step is the whole
//! past, and they are committed with it. That is also why a new node runs when it is filled even if its inputs are empty:
//! a count over nothing has a row to send.
//!
//! **Cost.** Each node below is evaluated once per call, however many read it; its content is dropped after the last read.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::circuit::Circuit;
use crate::context::Context;
use crate::error::{CircuitError, OperatorError};
use crate::node::{Node, NodeId, StreamId};
use crate::operation::Operation;
use crate::output::StepOutput;
use crate::scope::Scope;
use crate::value::{Input, Value};

impl Circuit {
    /// The whole current content of a stream.
    pub fn evaluate_integral(&self, stream: StreamId) -> Result<Value, CircuitError> {
        let missing = || self.scope.blame(stream.node(), OperatorError::Missing { what: "stream" });
        self.evaluate_integrals(&[stream])?.pop().ok_or_else(missing)
    }

    /// The whole current contents of several streams. What they share is evaluated once.
    pub fn evaluate_integrals(&self, streams: &[StreamId]) -> Result<Vec<Value>, CircuitError> {
        let ctx = Context::at_step(self.current_step(), self.interrupt());
        let nodes: Vec<NodeId> = streams.iter().map(|stream| stream.node()).collect();
        let attempt = AssertUnwindSafe(|| self.scope.integrals(&nodes, &ctx));
        catch_unwind(attempt).unwrap_or_else(|panic| Err(self.scope.blame_panic(&*panic)))
    }

    /// Evaluates each of these new nodes once on the whole contents of what it reads, and commits. Gives the contents of
    /// the watched ones among them. Names all nodes that were added on top of streams with content.
    pub fn fill(&mut self, nodes: &[NodeId]) -> Result<StepOutput, CircuitError> {
        let fresh: BTreeSet<NodeId> = nodes.iter().copied().collect();
        let output = self.transact(self.current_step(), |scope, ctx| {
            scope.place_contents(&fresh, ctx)?;
            let mut watch = Instant::now();
            for id in &fresh {
                scope.evaluate(*id, ctx, &mut watch)?;
            }
            scope.feed_back()
        })?;
        for id in fresh {
            self.scope.node_mut(id).into_iter().for_each(|node| node.complete = true);
        }
        Ok(output)
    }
}

/// What is known while contents are computed.
#[derive(Default)]
struct Memo {
    contents: BTreeMap<NodeId, Value>,
    /// Nodes to be evaluated; ascending, so what they read comes first.
    pending: BTreeSet<NodeId>,
    /// How often each content will still be read.
    reads: BTreeMap<NodeId, usize>,
}

impl Scope {
    /// The contents of the outputs of these nodes.
    fn integrals(&self, nodes: &[NodeId], ctx: &Context<'_>) -> Result<Vec<Value>, CircuitError> {
        let mut memo = self.plan(nodes)?;
        while let Some(id) = memo.pending.pop_first() {
            self.current.set(Some(id));
            let content = self.evaluate_copy(id, &mut memo, ctx).map_err(|error| self.blame(id, error))?;
            memo.contents.insert(id, content);
        }
        self.current.set(None);
        nodes.iter().map(|id| memo.read(*id).map_err(|error| self.blame(*id, error))).collect()
    }

    /// Finds out what is at hand and what has to be evaluated.
    fn plan(&self, nodes: &[NodeId]) -> Result<Memo, CircuitError> {
        let mut memo = Memo::default();
        let mut visits = nodes.to_vec();
        while let Some(id) = visits.pop() {
            let reads = memo.reads.entry(id).or_default();
            *reads += 1;
            if *reads > 1 {
                continue;
            }
            let node =
                self.node(id).ok_or_else(|| self.blame(id, OperatorError::Missing { what: "stream" }))?;
            self.current.set(Some(id));
            match self.at_hand(node).map_err(|error| self.blame(id, error))? {
                Some(content) => {
                    memo.contents.insert(id, content);
                }
                None => {
                    memo.pending.insert(id);
                    let read = self.router_of(node).map_or(&node.inputs, |(router, _)| &router.inputs);
                    visits.extend(read.iter().map(|input| input.node()));
                }
            }
        }
        Ok(memo)
    }

    fn evaluate_copy(&self, id: NodeId, memo: &mut Memo, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        ctx.check()?;
        let node = self.node(id).ok_or(OperatorError::Missing { what: "node" })?;
        if let Some((Node { operation: Operation::Router(router), inputs, .. }, output)) =
            self.router_of(node)
        {
            let rows = memo.read(inputs[0].node())?;
            return Ok(router.rows_of(output, rows.as_changes()?)?.into());
        }
        let mut copy = node.operation.fresh().ok_or(OperatorError::NoIntegral)?;
        copy.operator_mut().clock_start(ctx.moment);
        let fetch = |place: usize| memo.read(node.inputs[place].node()).map(Input::Owned);
        let content = copy.eval(node.inputs.len(), fetch, ctx)?;
        Ok(content.unwrap_or_else(|| node.empty.clone()))
    }

    /// Puts the contents of what the `fresh` nodes read from others where they will look for it.
    fn place_contents(&mut self, fresh: &BTreeSet<NodeId>, ctx: &Context<'_>) -> Result<(), CircuitError> {
        let mut asked: BTreeSet<NodeId> = BTreeSet::new();
        for node in fresh.iter().filter_map(|id| self.node(*id)) {
            let known = node.inputs.iter().map(|input| input.node()).filter(|id| !fresh.contains(id));
            let routed = self.router_of(node).is_some();
            asked.extend(known.map(|read| if routed { node.id } else { read }));
        }
        let asked: Vec<NodeId> = asked.into_iter().collect();
        let contents = self.integrals(&asked, ctx)?;
        for (id, content) in asked.into_iter().zip(contents) {
            self.place(id, content, fresh.contains(&id));
        }
        Ok(())
    }

    /// Puts a content down as the value of a node; that of one output, with the other outputs of its router.
    fn place(&mut self, id: NodeId, content: Value, is_output: bool) {
        let routed = self
            .node(id)
            .filter(|_| is_output)
            .and_then(|node| self.router_of(node).map(|(router, output)| (router.id, output)));
        let Some((router, output)) = routed else {
            if let Some(node) = self.node_mut(id) {
                node.value = Some(content);
                self.filled.push(id);
            }
            return;
        };
        let (Ok(rows), Some(node)) = (content.into_changes(), self.node_mut(router)) else { return };
        match &mut node.value {
            Some(Value::Routed(parts)) => parts.push((output, rows)),
            value => {
                *value = Some(Value::Routed(vec![(output, rows)]));
                self.filled.push(router);
            }
        }
    }

    /// The router that a node selects an output of, and the output's number.
    fn router_of(&self, node: &Node) -> Option<(&Node, u32)> {
        let Operation::Select(select) = &node.operation else { return None };
        let router = self.node(node.inputs.first()?.node())?;
        matches!(router.operation, Operation::Router(_)).then_some((router, select.index as u32))
    }

    /// The content of a node if it need not be computed from its inputs: the node has it, or a reader that keeps all of it.
    fn at_hand(&self, node: &Node) -> Result<Option<Value>, OperatorError> {
        let own = match &node.operation {
            Operation::Source(source) => return source.contents().map(Some),
            operation => operation.operator().integral(),
        };
        if matches!(own, Ok(Some(_))) {
            return own;
        }
        let complete = node.readers.iter().filter_map(|id| self.node(*id)).filter(|reader| reader.complete);
        for reader in complete.filter(|reader| reader.inputs.len() == 1) {
            if let Some(content) = reader.operation.operator().input_integral(&node.schema)? {
                return Ok(Some(content));
            }
        }
        own
    }
}

impl Memo {
    /// The content of a node; moved out at its last read.
    fn read(&mut self, id: NodeId) -> Result<Value, OperatorError> {
        let missing = OperatorError::Missing { what: "content" };
        let reads = self.reads.entry(id).or_default();
        *reads = reads.saturating_sub(1);
        if *reads == 0 {
            self.contents.remove(&id).ok_or(missing)
        } else {
            self.contents.get(&id).cloned().ok_or(missing)
        }
    }
}
