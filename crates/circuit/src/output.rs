//! What a step hands out: the changes of the watched streams.
//!
//! **Promise.** Only streams that changed are listed, each once, in the order of the schedule; all of them belong to one
//! committed step. Collecting costs what was evaluated, not what is watched.

use tailrace_algebra::Step;

use crate::node::StreamId;
use crate::scope::Scope;
use crate::value::Value;

/// The changes of all watched streams in one step.
#[derive(Debug, Default)]
pub struct StepOutput {
    /// The step that made the changes.
    pub step: Step,
    /// Watched streams that changed, ascending.
    pub changes: Vec<(StreamId, Value)>,
}

impl StepOutput {
    /// The change of a watched stream; `None` if it did not change.
    pub fn get(&self, stream: StreamId) -> Option<&Value> {
        self.find(stream).map(|place| &self.changes[place].1)
    }

    /// The change of a watched stream, moved out.
    pub fn take(&mut self, stream: StreamId) -> Option<Value> {
        self.find(stream).map(|place| self.changes.remove(place).1)
    }

    fn find(&self, stream: StreamId) -> Option<usize> {
        self.changes.binary_search_by_key(&stream, |(changed, _)| *changed).ok()
    }
}

impl Scope {
    /// The outputs of watched nodes that ran, before they are cleared. Nodes are filled in the order they run, so the result
    /// is ascending.
    pub(crate) fn collect(&self, step: Step) -> StepOutput {
        let nodes = self.filled.iter().filter_map(|id| self.node(*id));
        let changed = nodes.filter(|node| node.watched > 0 && node.touched && !node.output().is_empty());
        let changes = changed.map(|node| (StreamId(node.id), node.output().clone())).collect();
        StepOutput { step, changes }
    }
}
