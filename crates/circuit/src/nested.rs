//! Nested scopes: a scope inside an operator, run to a fixed point by its own clock.
//!
//! **Computes**, for every exported stream, the sum over all iterations of what it carried in this step.
//!
//! **Delta rule.** The scope is a stream of streams: time is (step, iteration). Imports are `delta0` of the outer change,
//! feedback variables are `z^-1` of the inner clock, and the operators inside are incremental in both directions, so all that
//! flows is a change of a change. When at iteration `i` nothing is fed back and no operator has pending work, all later
//! iterations are what they were in the step before: the fixed point is reached, and the sum of the changes is the change of the
//! fixed point.
//!
//! **Why the clock may jump.** Pending work exists where an earlier step did something: a change that arrives at iteration 2
//! may undo what happened at iteration 7. An operator that knows this says 7 ([`Operator::next_work`]); iterations at which
//! nobody has work and nothing is fed back would change nothing, so they are not run.
//!
//! **State kept**: that of the operators inside. **Cost per change**: the iterations at which something changes.

use std::ops::{Deref, DerefMut};

use arrow_schema::SchemaRef;
use tailrace_algebra::Iteration;
use tailrace_trace::{ChangeBatch, Snapshot};

use crate::context::{Context, Moment};
use crate::error::{GraphError, OperatorError};
use crate::import::Import;
use crate::node::{Node, StreamId};
use crate::operation::Operation;
use crate::operator::{NaryOperator, Operator, StateSize};
use crate::scope::Scope;
use crate::tick::Outcome;
use crate::value::{Input, Value};

/// An operator that owns a scope and runs it to a fixed point. Its inputs are its imports, in the order they were made; its
/// output is a [`Value::Many`] of its exports.
pub struct Subcircuit {
    scope: Scope,
    name: &'static str,
    label: String,
    imports: Vec<StreamId>,
    exports: Vec<StreamId>,
    limit: Option<u32>,
    /// Whether all nodes have run once, and whether that is committed: the first time they run even without input.
    filled: bool,
    filling: bool,
}

impl Subcircuit {
    /// A scope without nodes. Name and label are those of the operator; errors call the relation by its label.
    pub fn new(name: &'static str, label: impl Into<String>) -> Self {
        Subcircuit {
            scope: Scope::default(),
            name,
            label: label.into(),
            imports: Vec::new(),
            exports: Vec::new(),
            limit: None,
            filled: false,
            filling: false,
        }
    }

    /// Fails a step that would need more than `limit` iterations.
    pub fn with_limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The next input of the operator, as changes at iteration 0.
    pub fn import(&mut self, schema: SchemaRef) -> Result<StreamId, GraphError> {
        self.add_import(false, schema)
    }

    /// The next input of the operator, visible at every iteration but new only at iteration 0: for traces of the outer scope.
    pub fn import_held(&mut self, schema: SchemaRef) -> Result<StreamId, GraphError> {
        self.add_import(true, schema)
    }

    /// Makes the sum of this stream over all iterations the next output. Gives its number for [`Scope::select`].
    pub fn export(&mut self, stream: StreamId) -> Result<usize, GraphError> {
        self.scope.known_mut(stream)?.holds += 1;
        self.exports.push(stream);
        Ok(self.exports.len() - 1)
    }

    /// The streams that inputs come in on.
    pub fn imports(&self) -> &[StreamId] {
        &self.imports
    }

    /// The streams that outputs are summed from.
    pub fn exports(&self) -> &[StreamId] {
        &self.exports
    }

    fn add_import(&mut self, held: bool, schema: SchemaRef) -> Result<StreamId, GraphError> {
        let stream = self.scope.add(Operation::Import(Import::new(held)), Vec::new(), schema)?;
        self.imports.push(stream);
        Ok(stream)
    }

    /// Hands the outer values to the imports and queues those that changed.
    fn load(&mut self, inputs: Vec<Input<'_>>) -> Result<(), OperatorError> {
        for (stream, input) in self.imports.iter().zip(inputs) {
            let changed = !input.is_empty();
            let Some(Node { operation: Operation::Import(import), .. }) = self.scope.node_mut(stream.node())
            else {
                continue;
            };
            if !import.is_held() {
                input.as_changes()?;
            }
            import.load(input.into_value());
            self.scope.touch(stream.node());
            if changed {
                self.scope.frontier.push(stream.index());
            }
        }
        Ok(())
    }

    /// Lets go of the outer values, which others may want to change in place once the step commits.
    fn unload(&mut self) {
        for stream in &self.imports {
            if let Some(Node { operation: Operation::Import(import), .. }) =
                self.scope.node_mut(stream.node())
            {
                import.unload();
            }
        }
    }

    /// Queues all nodes where silence does not mean that there is nothing to do: the first time ever, and in a scope two
    /// levels down, whose operators may have work that an outer iteration left behind.
    fn queue_unasked(&mut self, ctx: &Context<'_>) {
        if !self.filling || ctx.moment.depth > 0 {
            self.scope.queue_all();
        }
    }

    /// Runs iterations until nothing is left to do.
    fn iterate(&mut self, ctx: &Context<'_>, sums: &mut [Vec<ChangeBatch>]) -> Result<(), OperatorError> {
        let mut now = Iteration(0);
        loop {
            let inner = ctx.nested(now);
            inner.check()?;
            self.scope.tick(&inner).map_err(|error| OperatorError::Nested(Box::new(error)))?;
            self.gather(sums)?;
            self.scope.end_iteration();
            match self.scope.queue_next(inner.moment) {
                Some(next) => now = self.within_limit(next)?,
                None => return Ok(()),
            }
        }
    }

    fn within_limit(&self, next: Iteration) -> Result<Iteration, OperatorError> {
        match self.limit {
            Some(limit) if next.0 >= limit => {
                Err(OperatorError::IterationLimit { limit, relation: self.relation() })
            }
            _ => Ok(next),
        }
    }

    fn relation(&self) -> String {
        if self.label.is_empty() { self.name.to_owned() } else { self.label.clone() }
    }

    /// Adds the exported changes of this iteration to their sums.
    fn gather(&self, sums: &mut [Vec<ChangeBatch>]) -> Result<(), OperatorError> {
        for (stream, sum) in self.exports.iter().zip(sums) {
            let Some(value) = self.scope.node(stream.node()).and_then(|node| node.value.as_ref()) else {
                continue;
            };
            if !value.is_empty() {
                sum.push(value.as_changes()?.clone());
            }
        }
        Ok(())
    }

    fn add_up(&self, sums: Vec<Vec<ChangeBatch>>) -> Result<Value, OperatorError> {
        let add = |(stream, mut batches): (&StreamId, Vec<ChangeBatch>)| match (batches.len(), batches.pop())
        {
            (1, Some(batch)) => Ok(batch),
            (_, last) => {
                batches.extend(last);
                let schema = self.scope.known(*stream).map(|node| node.schema.clone());
                let schema = schema.map_err(|_| OperatorError::Missing { what: "exported stream" })?;
                Ok(ChangeBatch::concat(schema, &batches)?)
            }
        };
        self.exports.iter().zip(sums).map(add).collect::<Result<_, OperatorError>>().map(Value::Many)
    }
}

impl Operator for Subcircuit {
    fn name(&self) -> &'static str {
        self.name
    }

    fn label(&self) -> String {
        self.label.clone()
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        self.scope.live().filter_map(|node| node.operation.operator().next_work(now)).min()
    }

    fn idle(&self) -> Option<Value> {
        let empty =
            |stream: &StreamId| Some(ChangeBatch::empty(self.scope.known(*stream).ok()?.schema.clone()));
        self.exports.iter().map(empty).collect::<Option<_>>().map(Value::Many)
    }

    fn commit(&mut self) {
        self.scope.settle(Outcome::Commit);
        self.filled = self.filling;
    }

    fn rollback(&mut self) {
        self.scope.settle(Outcome::Rollback);
        self.filling = self.filled;
    }

    fn state(&self) -> StateSize {
        self.scope.state()
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        self.scope.live().flat_map(|node| node.operation.operator().checkpoint()).collect()
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        // A scope that has run and keeps nothing runs once more on nothing, which changes nothing.
        let filled = snapshots.iter().any(|snapshot| !snapshot.is_empty());
        self.scope.restore_in_order(snapshots)?;
        (self.filled, self.filling) = (filled, filled);
        Ok(())
    }

    fn subcircuit(&self) -> Option<&Subcircuit> {
        Some(self)
    }
}

impl NaryOperator for Subcircuit {
    fn eval(&mut self, inputs: Vec<Input<'_>>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        self.scope.start_clock(ctx.moment.nested());
        self.load(inputs)?;
        self.queue_unasked(ctx);
        let mut sums = vec![Vec::new(); self.exports.len()];
        self.iterate(ctx, &mut sums)?;
        self.scope.end_clock();
        self.unload();
        self.filling = true;
        self.add_up(sums)
    }

    fn fresh(&self) -> Box<dyn NaryOperator> {
        Box::new(Subcircuit {
            scope: self.scope.fresh(),
            name: self.name,
            label: self.label.clone(),
            imports: self.imports.clone(),
            exports: self.exports.clone(),
            limit: self.limit,
            filled: false,
            filling: false,
        })
    }
}

impl Deref for Subcircuit {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.scope
    }
}

impl DerefMut for Subcircuit {
    fn deref_mut(&mut self) -> &mut Scope {
        &mut self.scope
    }
}
