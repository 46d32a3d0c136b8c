//! The database: one circuit, its tables and its views.
//!
//! Every call either does all of its work or leaves the database as it was. A view that is made while there is data is filled from the current state. What views hold
//! stands in `contents.rs`, how steps run in `steps.rs`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::{Schema, SchemaRef};
use tailrace_circuit::{Circuit, CircuitError, GraphError, GraphOptions, Interrupt, NodeId, StreamId};
use tailrace_operators::TableSource;
use tailrace_sql::{ListKey, Lowering, NamedFunction, Plan, PlanKind, ScalarValue};
use tailrace_trace::{Snapshot, normal_schema};

use crate::EngineError;
use crate::branch::Origin;
use crate::conform::WEIGHT;
use crate::parameters::Asked;
use crate::table::{Table, kept_layout};
use crate::view::{View, ViewShapes};

/// Tables and the views over them.
#[derive(Default)]
pub struct Database {
    pub(crate) circuit: Circuit,
    pub(crate) lowering: Lowering,
    pub(crate) tables: BTreeMap<String, Table>,
    pub(crate) views: BTreeMap<String, View>,
    /// Functions of the user that texts may call, by their names in lower case.
    pub(crate) functions: BTreeMap<String, NamedFunction>,
    /// The views that show a stream, so that a step need not look at the others.
    pub(crate) shown: HashMap<StreamId, Vec<String>>,
    /// What all views look like; shared with the changes of the steps since the last one was made or dropped.
    pub(crate) shapes: Arc<ViewShapes>,
    pub(crate) version: u64,
    pub(crate) definitions: u64,
    /// Where a branch began.
    pub(crate) origin: Option<Origin>,
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

    /// Counts the tables and views that were made or dropped.
    pub fn definitions(&self) -> u64 {
        self.definitions
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
            let (defaults, id) = (HashMap::new(), self.defined());
            self.tables
                .insert(name.clone(), Table { id, name, schema, key, layout, order, stream, defaults });
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
        let values: BTreeSet<&str> =
            self.views.values().filter_map(|view| view.asked.as_ref()?.table()).collect();
        self.tables.keys().filter(|name| !values.contains(name.as_str())).cloned().collect()
    }

    /// Removes a table that no view reads.
    pub fn drop_table(&mut self, name: &str) -> Result<(), EngineError> {
        let stream = self.known_table(name)?.stream;
        self.check_unread(name)?;
        self.circuit.remove(stream.node())?;
        self.lowering.forget(&[stream.node()]);
        self.tables.remove(name);
        self.defined();
        Ok(())
    }

    /// The views that read a table.
    pub(crate) fn readers(&self, table: &str) -> Vec<String> {
        let reading = self.views.iter().filter(|(_, view)| reads(&view.plan, table));
        reading.map(|(view, _)| view.clone()).collect()
    }

    /// Refuses what would take a table away from its views.
    pub(crate) fn check_unread(&self, table: &str) -> Result<(), EngineError> {
        let views = self.readers(table);
        if views.is_empty() { Ok(()) } else { Err(EngineError::InUse { name: table.to_owned(), views }) }
    }

    /// Creates a view and fills it from the current tables. A key that is not given is inferred.
    pub fn create_view(&mut self, name: &str, plan: Plan, key: Vec<String>) -> Result<(), EngineError> {
        self.add_view(name, plan, key, None)
    }

    pub(crate) fn add_view(
        &mut self,
        name: &str,
        plan: Plan,
        key: Vec<String>,
        asked: Option<Asked>,
    ) -> Result<(), EngineError> {
        if self.views.contains_key(name) || self.tables.contains_key(name) {
            let kind = if self.views.contains_key(name) { "view" } else { "table" };
            return Err(EngineError::Exists { name: name.to_owned(), kind, detail: String::new() });
        }
        check_names("view", name, plan.schema())?;
        let tables = self.table_streams();
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
        let fixed = asked.as_ref().map_or(0, Asked::len);
        let key = if key.is_empty() { self.key_of(&plan, fixed) } else { Some(key) };
        let lists = tailrace_sql::list_keys(&plan, &|table| self.key_columns(table));
        let id = self.defined();
        self.show(name, View { id, plan, key, lists, stream, content, hash: None, asked });
        Ok(())
    }

    /// Removes a view and all operators that nobody else uses.
    pub fn drop_view(&mut self, name: &str) -> Result<(), EngineError> {
        self.known_view(name)?;
        let Some(view) = self.hide(name) else { return Ok(()) };
        self.defined();
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
        match view.asked.as_ref().and_then(Asked::table) {
            Some(table) => self.drop_table(table),
            None => Ok(()),
        }
    }

    /// Lets texts call a function by a name, in any letters. One of that name is replaced; views keep the one that they were made with.
    pub fn register_function(&mut self, name: &str, function: NamedFunction) {
        self.functions.insert(name.to_lowercase(), function);
    }

    /// The names of all views.
    pub fn views(&self) -> Vec<String> {
        self.views.keys().cloned().collect()
    }

    /// The columns of a view, in normal form.
    pub fn view_schema(&self, name: &str) -> Result<SchemaRef, EngineError> {
        Ok(Arc::clone(self.known_view(name)?.plan.schema()))
    }

    /// What tells a view from another one that had its name before.
    pub fn view_id(&self, name: &str) -> Result<u64, EngineError> {
        Ok(self.known_view(name)?.id)
    }

    /// Refuses a handle to a view that is gone, also if another one has its name now.
    pub fn check_view(&self, name: &str, id: u64) -> Result<(), EngineError> {
        match self.views.get(name) {
            Some(view) if view.id == id => Ok(()),
            Some(_) => Err(EngineError::StaleView { name: name.to_owned() }),
            None => self.known_view(name).map(drop),
        }
    }

    /// The columns that tell the rows of a view apart: none of them if there is at most one row, None if they are not known.
    pub fn view_key(&self, name: &str) -> Result<Option<Vec<String>>, EngineError> {
        Ok(self.known_view(name)?.key.clone())
    }

    /// The keys of the lists in the rows of a view.
    pub fn view_lists(&self, name: &str) -> Result<Vec<ListKey>, EngineError> {
        Ok(self.known_view(name)?.lists.clone())
    }

    fn key_columns(&self, table: &str) -> Vec<usize> {
        self.tables.get(table).map(|table| table.key.clone()).unwrap_or_default()
    }

    /// The key of a plan, as far as it follows from the keys of the tables: its first columns, and what tells rows apart where these have one value.
    fn key_of(&self, plan: &Plan, fixed: usize) -> Option<Vec<String>> {
        let fixed: Vec<usize> = (0..fixed).collect();
        let key = tailrace_sql::key_of(plan, &|table| self.key_columns(table), &fixed)?;
        let name = |column: usize| plan.schema().field(column).name().clone();
        Some(fixed.into_iter().chain(key).map(name).collect())
    }

    /// The tree of a view's operators with the cost of a change.
    pub fn explain(&self, name: &str) -> Result<String, EngineError> {
        Ok(self.known_view(name)?.plan.explain())
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
    pub(crate) fn on_the_way(&self, source: CircuitError) -> EngineError {
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

    /// Counts a definition and gives its number, which is also its identity.
    fn defined(&mut self) -> u64 {
        self.definitions += 1;
        self.definitions
    }

    /// Adds a view under a name.
    pub(crate) fn show(&mut self, name: &str, view: View) {
        self.shown.entry(view.stream).or_default().push(name.to_owned());
        Arc::make_mut(&mut self.shapes).insert(name.to_owned(), view.shape());
        self.views.insert(name.to_owned(), view);
    }

    /// Takes a view off its name.
    pub(crate) fn hide(&mut self, name: &str) -> Option<View> {
        let view = self.views.remove(name)?;
        Arc::make_mut(&mut self.shapes).remove(name);
        if let Some(names) = self.shown.get_mut(&view.stream) {
            names.retain(|shown| shown != name);
            if names.is_empty() {
                self.shown.remove(&view.stream);
            }
        }
        Some(view)
    }

    /// The stream of each table.
    pub(crate) fn table_streams(&self) -> HashMap<String, StreamId> {
        self.tables.iter().map(|(name, table)| (name.clone(), table.stream)).collect()
    }

    /// Fills new nodes and holds the index of a view's rows.
    pub(crate) fn fill(&mut self, added: &[NodeId], content: Option<StreamId>) -> Result<(), EngineError> {
        if !added.is_empty() {
            self.circuit.fill(added)?;
        }
        if let Some(content) = content {
            self.circuit.watch(content)?;
        }
        Ok(())
    }

    /// Removes nodes that nobody reads, with all that only they read.
    pub(crate) fn discard(&mut self, nodes: &[NodeId]) {
        for node in nodes.iter().rev() {
            let removed = self.circuit.prune(*node);
            self.lowering.forget(&removed);
        }
    }

    /// The trace that the node behind a stream keeps.
    pub(crate) fn trace_of(&self, stream: StreamId) -> Result<Snapshot, EngineError> {
        let kept = self.circuit.view(stream.node()).and_then(|node| node.snapshots().into_iter().next());
        kept.ok_or(EngineError::Graph(GraphError::UnknownStream { stream }))
    }

    pub(crate) fn known_table(&self, name: &str) -> Result<&Table, EngineError> {
        self.tables
            .get(name)
            .ok_or_else(|| EngineError::UnknownTable { name: name.to_owned(), choices: self.tables() })
    }

    pub(crate) fn known_view(&self, name: &str) -> Result<&View, EngineError> {
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
