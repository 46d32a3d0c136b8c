//! A view: a plan whose changes are watched.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::StreamId;
use tailrace_sql::Plan;
use tailrace_trace::{ChangeBatch, content_hash};

/// A view of the database.
#[derive(Clone)]
pub(crate) struct View {
    /// Tells it from another view that had its name before.
    pub(crate) id: u64,
    pub(crate) plan: Plan,
    /// Names of the columns that tell its rows apart, for events.
    pub(crate) key: Vec<String>,
    pub(crate) stream: StreamId,
    /// The index of its rows, once somebody has asked for them.
    pub(crate) content: Option<StreamId>,
    /// The hash of its rows, once somebody has asked for it.
    pub(crate) hash: Option<u128>,
}

/// What a view looks like.
#[derive(Clone, Debug)]
pub struct ViewShape {
    /// Tells it from another view that had its name before.
    pub id: u64,
    /// Its columns, in normal form.
    pub schema: SchemaRef,
    /// Names of the columns that tell its rows apart.
    pub key: Vec<String>,
}

/// What all views look like, by name.
pub type ViewShapes = BTreeMap<String, ViewShape>;

impl View {
    pub(crate) fn shape(&self) -> ViewShape {
        ViewShape { id: self.id, schema: Arc::clone(self.plan.schema()), key: self.key.clone() }
    }

    /// Adds a change to the hash. A hash that was once computed can be: its types have bytes.
    pub(crate) fn add_to_hash(&mut self, change: &ChangeBatch) {
        if let Some(hash) = self.hash {
            self.hash = content_hash(change).ok().map(|added| hash.wrapping_add(added));
        }
    }
}
