//! The clock of a nested scope: starting it, moving it on, ending it.
//!
//! **Promise.** [`Scope::queue_next`] moves the clock to the earliest later iteration at which some node has work, and queues
//! exactly the nodes that have work then. `None` is the fixed point.

use tailrace_algebra::{Antichain, Iteration, Lattice};

use crate::context::Moment;
use crate::node::Node;
use crate::operation::Operation;
use crate::scope::Scope;

impl Scope {
    /// All nodes, in the order of the schedule.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter_map(|slot| slot.as_deref())
    }

    pub(crate) fn live_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.nodes.iter_mut().filter_map(|slot| slot.as_deref_mut())
    }

    /// Starts the clock of all nodes.
    pub(crate) fn start_clock(&mut self, now: Moment) {
        self.live_mut().for_each(|node| node.operation.operator_mut().clock_start(now));
    }

    /// Tells all nodes that the fixed point is reached.
    pub(crate) fn end_clock(&mut self) {
        self.live_mut().for_each(|node| node.operation.operator_mut().clock_end());
    }

    /// Queues every node.
    pub(crate) fn queue_all(&mut self) {
        let Scope { nodes, frontier, .. } = self;
        nodes.iter().flatten().for_each(|node| frontier.push(node.id.index()));
    }

    /// Ends an iteration: outputs go, and what was fed becomes visible.
    pub(crate) fn end_iteration(&mut self) {
        self.clear_values();
        for place in 0..self.feedbacks.len() {
            let variable = self.feedbacks[place].0.node();
            if let Some(Node { operation: Operation::Feedback(feedback), .. }) = self.node_mut(variable) {
                feedback.advance();
            }
        }
    }

    /// Finds the next iteration with work and queues the nodes that have it. An operator that names an iteration in the past
    /// is asked at once, which cannot be wrong.
    pub(crate) fn queue_next(&mut self, now: Moment) -> Option<Iteration> {
        let soonest = Moment { iteration: now.iteration.next()?, ..now }.time();
        let work = |node: &Node| {
            let iteration = node.operation.operator().next_work(now)?;
            Some(Moment { iteration, ..now }.time().join(&soonest))
        };
        // Within a step times are totally ordered, so that the frontier of the work has one element or none.
        let pending: Antichain<_> = self.live().filter_map(work).collect();
        let next = *pending.elements().first()?;
        let Scope { nodes, frontier, .. } = self;
        let due = nodes.iter().flatten().filter(|node| work(node) == Some(next));
        due.for_each(|node| frontier.push(node.id.index()));
        Some(next.inner)
    }
}
