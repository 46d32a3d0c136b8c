//! The database: one circuit, its tables and its views.
//!
//! Every call either does all of its work or leaves the database as it was. A view that is made while there is data is filled from the current state. The rows of a
//! view are kept only after somebody has asked for them: its changes need no copy of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::{Schema, SchemaRef};
use tailrace_circuit::{Circuit, CircuitError, GraphError, GraphOptions, Interrupt, NodeId, StreamId, Value};
use tailrace_operators::TableSource;
use tailrace_sql::{Lowered, Lowering, Plan, PlanKind, ScalarValue};
use tailrace_trace::{ChangeBatch, IndexedBatch, Snapshot, normal_schema};

use crate::conform::WEIGHT;
use crate::fold::Fold;
use crate::table::{Table, kept_layout};
use crate::view::View;
use crate::{EngineError, Operation, StepChanges};

/// Tables and the views over them.
#[derive(Default)]
pub struct Database {
    circuit: Circuit,
    lowering: Lowering,
    pub(crate) tables: BTreeMap<String, Table>,
    pub(crate) views: BTreeMap<String, View>,
    version: u64,
}

/// What one operator has done and keeps.
#[derive(Clone, Debug)]
pub struct OperatorMetrics {
    /// The node.
    pub node: u32,
    /// The operator's name.
    pub operator: String,
    /// What tells it apart.
    pub label: String,
    /// Rows of change that came in.
    pub rows_in: u64,
    /// Rows of change that went out.
    pub rows_out: u64,
    /// Time spent.
    pub time: Duration,
    /// Rows kept.
    pub state_rows: u64,
    /// Bytes kept.
    pub state_bytes: u64,
    /// Batches that hold them.
    pub batches: u64,
}

impl Database {
    /// An empty database in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts the steps that were applied.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The flag that makes a running step end early.
    pub fn interrupt(&self) -> Interrupt {
        self.circuit.interrupt().clone()
    }

    /// Creates a table, or gives the one of that name if it has the same columns and key. Without a key it is a bag of rows.
    pub fn create_table(&mut self, name: &str, schema: &Schema, key: &[String]) -> Result<Plan, EngineError> {
        let schema = normal_schema(schema);
        check_names("table", name, &schema)?;
        let key =
            key.iter().map(|column| key_position(name, &schema, column)).collect::<Result<Vec<_>, _>>()?;
        self.check_free(name, &schema, &key)?;
        if !self.tables.contains_key(name) {
            let (layout, order) = kept_layout(&schema, &key)?;
            let source = TableSource::new(Arc::clone(&layout), order.clone());
            let stream = self.circuit.add_source(Box::new(source), Arc::clone(&schema))?;
            let name = name.to_owned();
            let defaults = HashMap::new();
            self.tables.insert(name.clone(), Table { name, schema, key, layout, order, stream, defaults });
        }
        self.table(name)
    }

    /// What stands for values that new rows do not give, by column.
    pub fn set_defaults(
        &mut self,
        name: &str,
        defaults: HashMap<String, ScalarValue>,
    ) -> Result<(), EngineError> {
        self.known_table(name)?;
        if let Some(table) = self.tables.get_mut(name) {
            table.defaults = defaults;
        }
        Ok(())
    }

    /// The plan that reads a table.
    pub fn table(&self, name: &str) -> Result<Plan, EngineError> {
        Ok(Plan::table(name, Arc::clone(&self.known_table(name)?.schema)))
    }

    /// The key columns of a table.
    pub fn table_key(&self, name: &str) -> Result<Vec<String>, EngineError> {
        Ok(self.known_table(name)?.key_names())
    }

    /// The names of all tables.
    pub fn tables(&self) -> Vec<String> {
        self.tables.keys().cloned().collect()
    }

    /// Removes a table that no view reads.
    pub fn drop_table(&mut self, name: &str) -> Result<(), EngineError> {
        let stream = self.known_table(name)?.stream;
        let views: Vec<String> = self
            .views
            .iter()
            .filter(|(_, view)| reads(&view.plan, name))
            .map(|(view, _)| view.clone())
            .collect();
        if !views.is_empty() {
            return Err(EngineError::InUse { name: name.to_owned(), views });
        }
        self.circuit.remove(stream.node())?;
        self.lowering.forget(&[stream.node()]);
        self.tables.remove(name);
        Ok(())
    }

    /// Creates a view and fills it from the current tables.
    pub fn create_view(&mut self, name: &str, plan: Plan, key: Vec<String>) -> Result<(), EngineError> {
        if self.views.contains_key(name) || self.tables.contains_key(name) {
            let kind = if self.views.contains_key(name) { "view" } else { "table" };
            return Err(EngineError::Exists { name: name.to_owned(), kind, detail: String::new() });
        }
        check_names("view", name, plan.schema())?;
        let tables: HashMap<String, StreamId> =
            self.tables.iter().map(|(name, table)| (name.clone(), table.stream)).collect();
        let lowered = self.lowering.lower(&mut self.circuit, &tables, &plan)?;
        let content = if plan.depends_on_history() {
            Some(self.lowering.materialise(&mut self.circuit, lowered.stream)?)
        } else {
            None
        };
        let stream = lowered.stream;
        self.circuit.watch(stream)?;
        let added: Vec<NodeId> =
            lowered.added.iter().chain(content.iter().flat_map(|content| &content.added)).copied().collect();
        let content = content.map(|content| content.stream);
        if let Err(error) = self.fill(&added, content) {
            self.circuit.unwatch(stream)?;
            self.discard(&added);
            return Err(match error {
                EngineError::Step(source) => EngineError::StepOf { views: vec![name.to_owned()], source },
                other => other,
            });
        }
        self.views.insert(name.to_owned(), View { plan, key, stream, content });
        Ok(())
    }

    /// Removes a view and all operators that nobody else uses.
    pub fn drop_view(&mut self, name: &str) -> Result<(), EngineError> {
        self.known_view(name)?;
        let Some(view) = self.views.remove(name) else { return Ok(()) };
        self.circuit.unwatch(view.stream)?;
        if let Some(content) = view.content {
            let shared = self.views.values().any(|other| other.content == Some(content));
            self.circuit.unwatch(content)?;
            if !shared {
                self.discard(&[content.node()]);
            }
        }
        if self.tables.values().all(|table| table.stream != view.stream) {
            self.discard(&[view.stream.node()]);
        }
        Ok(())
    }

    /// The names of all views.
    pub fn views(&self) -> Vec<String> {
        self.views.keys().cloned().collect()
    }

    /// The columns of a view, in normal form.
    pub fn view_schema(&self, name: &str) -> Result<SchemaRef, EngineError> {
        Ok(Arc::clone(self.known_view(name)?.plan.schema()))
    }

    /// The key columns of a view.
    pub fn view_key(&self, name: &str) -> Result<Vec<String>, EngineError> {
        Ok(self.known_view(name)?.key.clone())
    }

    /// The tree of a view's operators with the cost of a change.
    pub fn explain(&self, name: &str) -> Result<String, EngineError> {
        Ok(self.known_view(name)?.plan.explain())
    }

    /// Applies all operations as one atomic step.
    pub fn apply(&mut self, operations: &[Operation]) -> Result<StepChanges, EngineError> {
        let inputs = self.fold(operations)?;
        let mut output = self.circuit.step(inputs).map_err(|error| self.on_the_way(error))?;
        self.version += 1;
        let mut changes = Vec::new();
        for (name, view) in &self.views {
            if let Some(Value::Changes(batch)) = output.get(view.stream) {
                changes.push((name.clone(), batch.clone().with_schema(Arc::clone(view.plan.schema()))?));
            }
        }
        output.changes.clear();
        Ok(StepChanges::new(self.version, changes.into_iter()))
    }

    /// The rows of a view or table with their weights, consolidated.
    pub fn snapshot(&mut self, name: &str) -> Result<ChangeBatch, EngineError> {
        if let Some(table) = self.tables.get(name) {
            let whole = self.trace_of(table.stream)?.consolidate()?;
            return Ok(table.changes_of(&whole));
        }
        let content = self.content(name)?;
        let view = self.known_view(name)?;
        let whole = self.trace_of(content)?.consolidate()?;
        Ok(in_order_of(&whole, view.plan.schema()))
    }

    /// The rows of a plan over the current tables. Operators that views keep are read; what is missing is made for this answer, filled and dropped.
    pub fn evaluate(&mut self, plan: &Plan) -> Result<ChangeBatch, EngineError> {
        let tables: HashMap<String, StreamId> =
            self.tables.iter().map(|(name, table)| (name.clone(), table.stream)).collect();
        let Lowered { stream, added } = self.lowering.lower(&mut self.circuit, &tables, plan)?;
        let content = self.content_of(stream, &added);
        self.discard(&added);
        match content? {
            Value::Changes(rows) => Ok(rows.with_schema(Arc::clone(plan.schema()))?),
            _ => Err(EngineError::Unsupported("the plan does not give rows".into())),
        }
    }

    /// The whole content of a stream, of which some nodes are new.
    fn content_of(&mut self, stream: StreamId, added: &[NodeId]) -> Result<Value, EngineError> {
        if !added.contains(&stream.node()) {
            return Ok(self.circuit.evaluate_integral(stream)?);
        }
        self.circuit.watch(stream)?;
        let filled = self.circuit.fill(added);
        self.circuit.unwatch(stream)?;
        let empty = || ChangeBatch::empty(Arc::new(Schema::empty()));
        match filled?.get(stream) {
            Some(content) => Ok(content.clone()),
            None => Ok(self
                .circuit
                .schema(stream)
                .map(|schema| ChangeBatch::empty(Arc::clone(schema)))
                .unwrap_or_else(|_| empty())
                .into()),
        }
    }

    /// What every operator has done and keeps.
    pub fn metrics(&self) -> Vec<OperatorMetrics> {
        self.circuit.nodes().map(|node| metrics_of(&node)).collect()
    }

    /// The circuit as a picture: Mermaid, Graphviz or SVG.
    pub fn graph(&self, format: &str) -> Result<String, EngineError> {
        let options = GraphOptions::default();
        match format {
            "mermaid" => Ok(self.circuit.to_mermaid(options)),
            "dot" => Ok(self.circuit.to_dot(options)),
            "svg" => Ok(self.circuit.to_svg(options)),
            other => Err(EngineError::Unsupported(format!(
                "graph format '{other}' does not exist. Formats: mermaid, dot, svg"
            ))),
        }
    }

    /// The error with the views that read the node which failed.
    fn on_the_way(&self, source: CircuitError) -> EngineError {
        let (mut reached, mut pending) = (BTreeSet::new(), vec![source.node]);
        while let Some(node) = pending.pop() {
            if reached.insert(node) {
                pending.extend(self.circuit.view(node).iter().flat_map(|node| node.readers()));
            }
        }
        let reads = |view: &View| reached.contains(&view.stream.node());
        let views: Vec<String> =
            self.views.iter().filter(|(_, view)| reads(view)).map(|(name, _)| name.clone()).collect();
        if views.is_empty() { source.into() } else { EngineError::StepOf { views, source } }
    }

    /// The change of every touched table.
    fn fold(&self, operations: &[Operation]) -> Result<Vec<(StreamId, ChangeBatch)>, EngineError> {
        let mut folds: Vec<(&Table, Fold<'_>)> = Vec::new();
        for operation in operations {
            let table = self.known_table(&operation.table)?;
            let place = match folds.iter().position(|(known, _)| std::ptr::eq(*known, table)) {
                Some(place) => place,
                None => {
                    folds.push((table, Fold::new(table, self.trace_of(table.stream)?)));
                    folds.len() - 1
                }
            };
            folds[place].1.apply(operation)?;
        }
        let mut inputs = Vec::with_capacity(folds.len());
        for (table, fold) in folds {
            if let Some(change) = fold.finish()? {
                inputs.push((table.stream, table.changes_of(&change)));
            }
        }
        Ok(inputs)
    }

    /// The index of a view's rows, made and filled if it is asked for the first time.
    fn content(&mut self, name: &str) -> Result<StreamId, EngineError> {
        let view = self.known_view(name)?;
        if let Some(content) = view.content {
            return Ok(content);
        }
        let rows = view.stream;
        let Lowered { stream, added } = self.lowering.materialise(&mut self.circuit, rows)?;
        if let Err(error) = self.fill(&added, Some(stream)) {
            self.discard(&added);
            return Err(error);
        }
        if let Some(view) = self.views.get_mut(name) {
            view.content = Some(stream);
        }
        Ok(stream)
    }

    /// Fills new nodes and holds the index of a view's rows.
    fn fill(&mut self, added: &[NodeId], content: Option<StreamId>) -> Result<(), EngineError> {
        if !added.is_empty() {
            self.circuit.fill(added)?;
        }
        if let Some(content) = content {
            self.circuit.watch(content)?;
        }
        Ok(())
    }

    /// Removes nodes that nobody reads, with all that only they read.
    fn discard(&mut self, nodes: &[NodeId]) {
        for node in nodes.iter().rev() {
            let removed = self.circuit.prune(*node);
            self.lowering.forget(&removed);
        }
    }

    /// The trace that the node behind a stream keeps.
    fn trace_of(&self, stream: StreamId) -> Result<Snapshot, EngineError> {
        let kept = self.circuit.view(stream.node()).and_then(|node| node.snapshots().into_iter().next());
        kept.ok_or(EngineError::Graph(GraphError::UnknownStream { stream }))
    }

    pub(crate) fn known_table(&self, name: &str) -> Result<&Table, EngineError> {
        self.tables
            .get(name)
            .ok_or_else(|| EngineError::UnknownTable { name: name.to_owned(), choices: self.tables() })
    }

    fn known_view(&self, name: &str) -> Result<&View, EngineError> {
        self.views
            .get(name)
            .ok_or_else(|| EngineError::UnknownView { name: name.to_owned(), choices: self.views() })
    }

    fn check_free(&self, name: &str, schema: &SchemaRef, key: &[usize]) -> Result<(), EngineError> {
        let taken = |kind, detail: &str| {
            Err(EngineError::Exists { name: name.to_owned(), kind, detail: detail.to_owned() })
        };
        if self.views.contains_key(name) {
            return taken("view", "");
        }
        match self.tables.get(name) {
            Some(table) if table.schema != *schema => taken("table", "with other columns"),
            Some(table) if table.key != key => taken("table", "with another key"),
            _ => Ok(()),
        }
    }
}

/// Changes have a column for the weight, so that a table or view cannot.
fn check_names(kind: &'static str, name: &str, schema: &SchemaRef) -> Result<(), EngineError> {
    match schema.index_of(WEIGHT) {
        Ok(_) => Err(EngineError::ReservedColumn { kind, name: name.to_owned(), column: WEIGHT.to_owned() }),
        Err(_) => Ok(()),
    }
}

fn key_position(table: &str, schema: &SchemaRef, column: &str) -> Result<usize, EngineError> {
    let choices = || schema.fields().iter().map(|field| field.name().clone()).collect();
    let unknown = |_| EngineError::UnknownColumn {
        table: table.to_owned(),
        column: column.to_owned(),
        choices: choices(),
    };
    schema.index_of(column).map_err(unknown)
}

fn reads(plan: &Plan, table: &str) -> bool {
    matches!(plan.kind(), PlanKind::Table(name) if name == table)
        || plan.inputs().iter().any(|input| reads(input, table))
}

/// The rows of an index with their columns in the order of `schema`. The index holds all columns, cheap ones first.
fn in_order_of(batch: &IndexedBatch, schema: &SchemaRef) -> ChangeBatch {
    let order = tailrace_sql::row_index_order(schema);
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, column)| places[*column] = place);
    batch.to_changes().project(&places, Arc::clone(schema))
}

fn metrics_of(node: &tailrace_circuit::NodeView<'_>) -> OperatorMetrics {
    let (done, kept) = (node.metrics(), node.state());
    OperatorMetrics {
        node: node.id().index() as u32,
        operator: node.name().to_owned(),
        label: node.label(),
        rows_in: done.rows_in,
        rows_out: done.rows_out,
        time: done.time,
        state_rows: kept.rows as u64,
        state_bytes: kept.bytes as u64,
        batches: kept.batches as u64,
    }
}
