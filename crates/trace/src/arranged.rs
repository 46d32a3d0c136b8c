//! What an index node sends to its consumers: the change of this step, sorted, and the trace as it was before.
//!
//! Both are immutable values. A consumer that needs the trace after the step takes [`Arranged::after`]; nobody holds a handle to anything that changes.

use std::sync::Arc;

use crate::{IndexedBatch, Recent, Snapshot};

/// A sorted delta and the trace before it.
#[derive(Clone, Debug)]
pub struct Arranged {
    /// The change of this step.
    pub delta: Arc<IndexedBatch>,
    /// The trace before this step.
    pub before: Snapshot,
}

impl Arranged {
    /// Rows of the delta.
    pub fn len(&self) -> usize {
        self.delta.len()
    }

    /// Whether the delta has no rows.
    pub fn is_empty(&self) -> bool {
        self.delta.is_empty()
    }

    /// The trace after this step.
    pub fn after(&self) -> Snapshot {
        if self.delta.is_empty() { self.before.clone() } else { self.before.with(&self.delta) }
    }
}

/// The same inside a nested scope, where each kept row carries the iteration of its change as its last column.
#[derive(Clone, Debug)]
pub struct TimedArranged {
    /// The change of this iteration, without the column of iterations.
    pub delta: Arc<IndexedBatch>,
    /// All changes of earlier steps, with their iterations.
    pub past: Snapshot,
    /// The changes of this step.
    pub current: Recent,
}

impl TimedArranged {
    /// Rows of the delta.
    pub fn len(&self) -> usize {
        self.delta.len()
    }

    /// Whether the delta has no rows.
    pub fn is_empty(&self) -> bool {
        self.delta.is_empty()
    }
}
