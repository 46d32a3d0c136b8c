//! The circuit: the outermost scope, its sources and sinks, and the clock that counts steps.
//!
//! **Promise.** A step happens entirely or not at all. If any operator fails or panics, or the step is interrupted, every
//! operator is as it was before and the error names the node. A step costs what the nodes that run cost plus well under a
//! microsecond for each of them, however large the circuit is.
//!
//! **Ready for workers.** A circuit is `Send`, shares nothing, and is built by a function that can be called once per worker
//! ([`Circuit::build`]); names come out the same on all of them.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::{Schema, SchemaRef};
use tailrace_algebra::Step;
use tailrace_trace::ChangeBatch;

use crate::context::{Context, Interrupt, Moment};
use crate::error::{CircuitError, GraphError, OperatorError};
use crate::node::{NodeId, StreamId};
use crate::operation::Operation;
use crate::operator::{SinkOperator, SourceOperator};
use crate::output::StepOutput;
use crate::scope::Scope;
use crate::tick::Outcome;

/// A circuit of operators that advances in atomic steps.
pub struct Circuit {
    pub(crate) scope: Scope,
    step: Step,
    interrupt: Interrupt,
    poisoned: bool,
}

impl Circuit {
    /// A circuit without nodes, before its first step.
    pub fn new() -> Self {
        let scope = Scope { running: Some(Moment::default()), ..Scope::default() };
        Circuit { scope, step: Step(0), interrupt: Interrupt::default(), poisoned: false }
    }

    /// A circuit that `builder` fills with nodes, and what `builder` returns: the handles.
    pub fn build<T, E>(builder: impl FnOnce(&mut Circuit) -> Result<T, E>) -> Result<(Self, T), E> {
        let mut circuit = Circuit::new();
        let handles = builder(&mut circuit)?;
        Ok((circuit, handles))
    }

    /// Adds a source. The stream is also the handle by which [`Circuit::step`] gives it changes.
    pub fn add_source(
        &mut self,
        operator: Box<dyn SourceOperator>,
        schema: SchemaRef,
    ) -> Result<StreamId, GraphError> {
        self.scope.add(Operation::Source(operator), Vec::new(), schema)
    }

    /// Adds a sink.
    pub fn add_sink(
        &mut self,
        operator: Box<dyn SinkOperator>,
        input: StreamId,
    ) -> Result<NodeId, GraphError> {
        let schema = SchemaRef::new(Schema::empty());
        self.scope.add(Operation::Sink(operator), vec![input], schema).map(StreamId::node)
    }

    /// Collects the changes of this stream from now on: see [`StepOutput`]. Asking twice means [`Circuit::unwatch`]ing twice.
    pub fn watch(&mut self, stream: StreamId) -> Result<(), GraphError> {
        let node = self.scope.known_mut(stream)?;
        node.watched += 1;
        node.holds += 1;
        Ok(())
    }

    /// Stops collecting the changes of this stream.
    pub fn unwatch(&mut self, stream: StreamId) -> Result<(), GraphError> {
        let node = self.scope.known_mut(stream)?;
        if node.watched > 0 {
            node.watched -= 1;
            node.holds -= 1;
        }
        Ok(())
    }

    /// Runs a source at the next step even if it is given no changes, because it learned of work by other means.
    pub fn wake(&mut self, stream: StreamId) -> Result<(), GraphError> {
        let node = self.scope.known_mut(stream)?;
        if !node.waking {
            node.waking = true;
            self.scope.waking.push(stream.node());
        }
        Ok(())
    }

    /// Runs one step: gives the changes to their sources, evaluates what depends on them, and commits.
    pub fn step(
        &mut self,
        inputs: impl IntoIterator<Item = (StreamId, ChangeBatch)>,
    ) -> Result<StepOutput, CircuitError> {
        let next = Step(self.step.0 + 1);
        let output = self.transact(next, |scope, ctx| {
            scope.queue_waking();
            inputs.into_iter().try_for_each(|(stream, changes)| scope.accept(stream, changes))?;
            scope.tick(ctx)
        })?;
        self.advance_to(next);
        Ok(output)
    }

    /// The number of the last step; zero before the first.
    pub fn current_step(&self) -> Step {
        self.step
    }

    /// The flag that makes a running step end early.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Does `work` as one transaction: what it evaluates is committed if it succeeds and rolled back if it fails or panics.
    pub(crate) fn transact(
        &mut self,
        step: Step,
        work: impl FnOnce(&mut Scope, &Context<'_>) -> Result<(), CircuitError>,
    ) -> Result<StepOutput, CircuitError> {
        self.usable()?;
        let scope = &mut self.scope;
        let ctx = Context::at_step(step, &self.interrupt);
        let attempt = AssertUnwindSafe(|| work(scope, &ctx).map(|()| scope.collect(step)));
        let result = catch_unwind(attempt).unwrap_or_else(|panic| Err(self.scope.blame_panic(&*panic)));
        self.settle(if result.is_ok() { Outcome::Commit } else { Outcome::Rollback })?;
        result
    }

    /// Makes `step` the last step.
    pub(crate) fn advance_to(&mut self, step: Step) {
        self.step = step;
        self.scope.running = Some(Moment::at_step(step));
    }

    pub(crate) fn usable(&self) -> Result<(), CircuitError> {
        let broken = self.scope.current.get().unwrap_or(NodeId(0));
        if self.poisoned { Err(self.scope.blame(broken, OperatorError::Poisoned)) } else { Ok(()) }
    }

    /// Settles a step. An operator that panics here leaves a state that nobody knows, so the circuit refuses to go on.
    fn settle(&mut self, outcome: Outcome) -> Result<(), CircuitError> {
        let scope = &mut self.scope;
        self.poisoned = catch_unwind(AssertUnwindSafe(|| scope.settle(outcome))).is_err();
        self.usable()
    }
}

impl Scope {
    /// Gives changes to a source and queues it.
    fn accept(&mut self, stream: StreamId, changes: ChangeBatch) -> Result<(), CircuitError> {
        let id = stream.node();
        let missing = OperatorError::Missing { what: "source" };
        if self.node(id).is_none() {
            return Err(self.blame(id, missing));
        }
        self.current.set(Some(id));
        self.touch(id);
        self.frontier.push(id.index());
        let accepted = match self.node_mut(id).map(|node| &mut node.operation) {
            Some(Operation::Source(source)) => source.accept(changes),
            _ => Err(missing),
        };
        accepted.map_err(|error| self.blame(id, error))
    }
}

impl Default for Circuit {
    fn default() -> Self {
        Circuit::new()
    }
}

impl Deref for Circuit {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.scope
    }
}

impl DerefMut for Circuit {
    fn deref_mut(&mut self) -> &mut Scope {
        &mut self.scope
    }
}
