//! What views hold: their rows, kept once somebody has asked for them, and the hash of their rows, kept likewise.
//!
//! A view's changes need no copy of it. A snapshot or a query that reads the view does: then its rows are indexed, and from then on the index is what
//! answers, for snapshots, for queries and for new views over this one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tailrace_circuit::{NodeId, StreamId, Value};
use tailrace_sql::{Lowered, Plan};
use tailrace_trace::{ChangeBatch, content_hash};

use crate::{Database, EngineError};

impl Database {
    /// The rows of a view or table with their weights, consolidated.
    pub fn snapshot(&mut self, name: &str) -> Result<ChangeBatch, EngineError> {
        if let Some(table) = self.tables.get(name) {
            let whole = self.trace_of(table.stream)?.consolidate()?;
            return Ok(table.changes_of(&whole));
        }
        let content = self.content(name)?;
        let view = self.known_view(name)?;
        let whole = self.trace_of(content)?.consolidate()?;
        Ok(view.in_order(&whole.to_changes()))
    }

    /// The hash of a view's rows. It is a sum over them, so that from the first call on a step adds the hash of its change.
    pub fn view_hash(&mut self, name: &str) -> Result<u128, EngineError> {
        let view = self.known_view(name)?;
        if let Some(hash) = view.hash {
            return Ok(hash);
        }
        let hash = content_hash(&self.current_rows(name)?)?;
        if let Some(view) = self.views.get_mut(name) {
            view.hash = Some(hash);
        }
        Ok(hash)
    }

    /// The rows of a plan over the current tables. What views keep is read; what is missing is made for this answer, filled and dropped.
    pub fn evaluate(&mut self, plan: &Plan) -> Result<ChangeBatch, EngineError> {
        let mut kept = HashMap::new();
        self.keep_views(plan, &mut kept, &mut HashSet::new())?;
        let tables = self.table_streams();
        let Lowered { stream, added } = self.lowering.lower_over(&mut self.circuit, &tables, kept, plan)?;
        let content = self.content_of(stream, &added);
        self.discard(&added);
        match content? {
            Value::Changes(rows) => Ok(rows.with_schema(Arc::clone(plan.schema()))?),
            _ => Err(EngineError::Unsupported("the plan does not give rows".into())),
        }
    }

    /// The rows of a view as the running circuit has them, without keeping them.
    pub(crate) fn current_rows(&self, name: &str) -> Result<ChangeBatch, EngineError> {
        let view = self.known_view(name)?;
        if let Some(content) = view.content {
            return Ok(view.in_order(&self.trace_of(content)?.consolidate()?.to_changes()));
        }
        let rows = self.circuit.evaluate_integral(view.stream)?.into_changes()?;
        Ok(rows.with_schema(Arc::clone(view.plan.schema()))?)
    }

    /// Keeps the rows of the views that a plan reads. Those that depend on history are not found by what they compute, so that their streams are given.
    fn keep_views(
        &mut self,
        plan: &Plan,
        kept: &mut HashMap<String, StreamId>,
        seen: &mut HashSet<String>,
    ) -> Result<(), EngineError> {
        if !seen.insert(plan.fingerprint().to_owned()) {
            return Ok(());
        }
        let Some((name, stream)) = self.view_of(plan) else {
            return plan.inputs().into_iter().try_for_each(|input| self.keep_views(input, kept, seen));
        };
        if plan.depends_on_history() {
            kept.insert(plan.fingerprint().to_owned(), stream);
        }
        self.content(&name).map(drop)
    }

    /// The view that shows what a plan computes, unless it is a table as it stands.
    fn view_of(&self, plan: &Plan) -> Option<(String, StreamId)> {
        if plan.depends_on_history() {
            let same = self.views.iter().find(|(_, view)| view.plan.fingerprint() == plan.fingerprint());
            return same.map(|(name, view)| (name.clone(), view.stream));
        }
        let stream = self.lowering.stream_of(plan)?;
        let name = self.shown.get(&stream)?.first()?;
        self.tables.values().all(|table| table.stream != stream).then(|| (name.clone(), stream))
    }

    /// The whole content of a stream, of which some nodes are new.
    fn content_of(&mut self, stream: StreamId, added: &[NodeId]) -> Result<Value, EngineError> {
        if !added.contains(&stream.node()) {
            return Ok(self.circuit.evaluate_integral(stream)?);
        }
        self.circuit.watch(stream)?;
        let filled = self.circuit.fill(added);
        self.circuit.unwatch(stream)?;
        match filled?.take(stream) {
            Some(content) => Ok(content),
            None => Ok(ChangeBatch::empty(Arc::clone(self.circuit.schema(stream)?)).into()),
        }
    }

    /// The index of a view's rows, made and filled if it is asked for the first time.
    pub(crate) fn content(&mut self, name: &str) -> Result<StreamId, EngineError> {
        let view = self.known_view(name)?;
        if let Some(content) = view.content {
            return Ok(content);
        }
        let rows = view.stream;
        let (columns, key_len) = view.index();
        let Lowered { stream, added } = self.lowering.index(&mut self.circuit, rows, columns, key_len)?;
        if let Err(error) = self.fill(&added, Some(stream)) {
            self.discard(&added);
            return Err(error);
        }
        if let Some(view) = self.views.get_mut(name) {
            view.content = Some(stream);
        }
        Ok(stream)
    }
}
