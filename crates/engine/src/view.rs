//! A view: a plan whose changes are watched.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::StreamId;
use tailrace_sql::{ListKey, Plan, row_index_order};
use tailrace_trace::{ChangeBatch, content_hash};

use crate::parameters::Asked;

/// A view of the database.
#[derive(Clone)]
pub(crate) struct View {
    /// Tells it from another view that had its name before.
    pub(crate) id: u64,
    pub(crate) plan: Plan,
    /// Names of the columns that tell its rows apart, for events; none of them if there is at most one row. None if they are not known.
    pub(crate) key: Option<Vec<String>>,
    /// The keys of the lists in its rows.
    pub(crate) lists: Vec<ListKey>,
    pub(crate) stream: StreamId,
    /// The index of its rows, once somebody has asked for them.
    pub(crate) content: Option<StreamId>,
    /// The hash of its rows, once somebody has asked for it.
    pub(crate) hash: Option<u128>,
    /// The values of its parameters, if it takes any.
    pub(crate) asked: Option<Asked>,
}

/// What a view looks like.
#[derive(Clone, Debug)]
pub struct ViewShape {
    /// Tells it from another view that had its name before.
    pub id: u64,
    /// Its columns, in normal form.
    pub schema: SchemaRef,
    /// Names of the columns that tell its rows apart, if they are known.
    pub key: Option<Vec<String>>,
    /// The keys of the lists in its rows.
    pub lists: Vec<ListKey>,
    /// How many of its first columns are parameters.
    pub parameters: usize,
}

/// What all views look like, by name.
pub type ViewShapes = BTreeMap<String, ViewShape>;

impl View {
    pub(crate) fn shape(&self) -> ViewShape {
        ViewShape {
            id: self.id,
            schema: Arc::clone(self.plan.schema()),
            key: self.key.clone(),
            lists: self.lists.clone(),
            parameters: self.asked.as_ref().map_or(0, Asked::len),
        }
    }

    /// Adds a change to the hash. A hash that was once computed can be: its types have bytes.
    pub(crate) fn add_to_hash(&mut self, change: &ChangeBatch) {
        if let Some(hash) = self.hash {
            self.hash = content_hash(change).ok().map(|added| hash.wrapping_add(added));
        }
    }

    /// The columns of the index of its rows, and how many of them are its key: parameters first, then cheap ones.
    pub(crate) fn index(&self) -> (Vec<usize>, usize) {
        let order = row_index_order(self.plan.schema());
        let Some(asked) = &self.asked else { return (order.clone(), order.len()) };
        let rest = order.into_iter().filter(|column| *column >= asked.len());
        ((0..asked.len()).chain(rest).collect(), asked.len())
    }

    /// The rows of the index with their columns in the order of the view.
    pub(crate) fn in_order(&self, rows: &ChangeBatch) -> ChangeBatch {
        let (order, _) = self.index();
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, column)| places[*column] = place);
        rows.project(&places, Arc::clone(self.plan.schema()))
    }
}
