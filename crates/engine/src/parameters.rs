//! Views with parameters: the values that are asked for, and the rows of one of them.
//!
//! Such a view holds the rows of all its values side by side, with the parameters as its first columns. Its rows are kept in an index by these, so that those of one
//! value are found by a search. What a step changed is divided by value once, when somebody asks; who follows one value pays for its rows alone. A view whose
//! rows do not know their values keeps a table of those that are asked for; asking for a new one is a step.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use tailrace_sql::{Parameters, Plan, PlannedView, ScalarValue, parameter_values};
use tailrace_trace::{ChangeBatch, OrderKey, OrderTerm, TraceError, run_of};

use crate::{Database, EngineError, Operation, OperationKind, StepChanges};

/// What a view knows of its parameters.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) parameters: Parameters,
    /// Whether its plan reads the table of values.
    is_read: bool,
    /// Every value in the table, with the number of those who asked. What nobody asks for any more goes with the next step that brings a new one.
    counts: HashMap<Vec<ScalarValue>, usize>,
}

impl Asked {
    fn new(parameters: Parameters, plan: &Plan) -> Self {
        let is_read = parameters.are_asked_for(plan);
        Self { parameters, is_read, counts: HashMap::new() }
    }

    /// The number of parameters.
    pub(crate) fn len(&self) -> usize {
        self.parameters.schema.fields().len()
    }

    /// The table of values, if there is one.
    pub(crate) fn table(&self) -> Option<&str> {
        self.is_read.then_some(self.parameters.table.as_str())
    }
}

impl Database {
    /// Creates a view, with or without parameters.
    pub(crate) fn create_planned(&mut self, name: &str, view: PlannedView) -> Result<(), EngineError> {
        let PlannedView { plan, parameters } = view;
        let Some(parameters) = parameters else { return self.create_view(name, plan, Vec::new()) };
        let asked = Asked::new(parameters, &plan);
        let table = asked.table().map(str::to_owned);
        if let Some(table) = &table {
            let schema = Arc::clone(&asked.parameters.schema);
            let key: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
            self.create_table(table, &schema, &key)?;
        }
        let made = self.add_view(name, plan, Vec::new(), Some(asked));
        if let (Err(_), Some(table)) = (&made, &table) {
            self.drop_table(table)?;
        }
        made
    }

    /// The parameters of a view, in order; none if it takes none.
    pub fn view_parameters(&self, view: &str) -> Result<SchemaRef, EngineError> {
        let asked = &self.known_view(view)?.asked;
        Ok(asked
            .as_ref()
            .map_or_else(|| Arc::new(Schema::empty()), |asked| Arc::clone(&asked.parameters.schema)))
    }

    /// The columns of a view behind those of its parameters.
    pub fn view_columns(&self, view: &str) -> Result<SchemaRef, EngineError> {
        let view = self.known_view(view)?;
        let parameters = view.asked.as_ref().map_or(0, Asked::len);
        Ok(Arc::new(Schema::new(view.plan.schema().fields()[parameters..].to_vec())))
    }

    /// Makes sure that the rows of a value are kept: a step, if they are not. Values in `released` have been asked for once less.
    pub fn ask(
        &mut self,
        view: &str,
        values: &[ScalarValue],
        released: &[Vec<ScalarValue>],
    ) -> Result<Option<StepChanges>, EngineError> {
        let values = self.parameter_values(view, values)?;
        let released = released
            .iter()
            .map(|values| self.parameter_values(view, values))
            .collect::<Result<Vec<_>, _>>()?;
        let asked = self.asked(view)?;
        let Some(table) = asked.table().map(str::to_owned) else { return Ok(None) };
        for gone in &released {
            asked.counts.entry(gone.clone()).and_modify(|count| *count = count.saturating_sub(1));
        }
        if let Some(count) = asked.counts.get_mut(&values) {
            *count += 1;
            return Ok(None);
        }
        let idle: Vec<Vec<ScalarValue>> =
            asked.counts.iter().filter(|(_, count)| **count == 0).map(|(values, _)| values.clone()).collect();
        let schema = Arc::clone(&asked.parameters.schema);
        let mut operations = vec![Operation::new(
            OperationKind::Insert,
            &table,
            rows_of(&schema, std::slice::from_ref(&values))?,
        )];
        if !idle.is_empty() {
            operations.push(Operation::new(OperationKind::Delete, &table, rows_of(&schema, &idle)?));
        }
        let changes = self.apply(&operations)?;
        let asked = self.asked(view)?;
        asked.counts.retain(|values, _| !idle.contains(values));
        asked.counts.insert(values, 1);
        Ok(Some(changes))
    }

    /// What stands for values in [`StepChanges::touched`].
    pub fn parameter_key(&self, view: &str, values: &[ScalarValue]) -> Result<Vec<u8>, EngineError> {
        let columns = self.probe(view, values)?;
        Ok(encoded(&columns, 1)?.as_binary_view().value(0).to_vec())
    }

    /// The rows of a view for some values of its parameters, with their weights, consolidated.
    pub fn snapshot_of(&mut self, view: &str, values: &[ScalarValue]) -> Result<ChangeBatch, EngineError> {
        let probe = self.probe(view, values)?;
        let wanted = self.parameter_values(view, values)?;
        let asked = self.asked(view)?;
        if asked.is_read && !asked.counts.contains_key(&wanted) {
            return Err(EngineError::Unsupported(format!(
                "view '{view}' was made anew and does not keep these values: get them again with with_params"
            )));
        }
        let content = self.content(view)?;
        let (kept, view) = (self.trace_of(content)?, self.known_view(view)?);
        let mut parts = Vec::with_capacity(kept.batches().len());
        for batch in kept.batches() {
            let run = run_of(&probe, 0, batch)?;
            let (start, len) = (run.start as usize, run.len());
            let columns = batch.columns().iter().map(|column| column.slice(start, len)).collect();
            let weights = batch.weights().slice(start, len);
            parts.push(ChangeBatch::try_new(Arc::clone(batch.layout().schema()), columns, weights)?);
        }
        let rows = ChangeBatch::concat(Arc::clone(kept.layout().schema()), &parts)?.consolidate()?;
        Ok(without(&view.in_order(&rows), probe.len()))
    }

    fn asked(&mut self, view: &str) -> Result<&mut Asked, EngineError> {
        self.known_view(view)?;
        let asked = self.views.get_mut(view).and_then(|view| view.asked.as_mut());
        asked.ok_or_else(|| EngineError::Unsupported(format!("view '{view}' has no parameters")))
    }

    /// Values in the types of the parameters.
    fn parameter_values(&self, view: &str, values: &[ScalarValue]) -> Result<Vec<ScalarValue>, EngineError> {
        let schema = self.view_parameters(view)?;
        if schema.fields().len() != values.len() {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(EngineError::Unsupported(format!(
                "view '{view}' takes {} parameter(s), got {}: {}",
                names.len(),
                values.len(),
                names.join(", ")
            )));
        }
        Ok(parameter_values(&schema, values)?)
    }

    /// One row of values, as columns.
    fn probe(&self, view: &str, values: &[ScalarValue]) -> Result<Vec<ArrayRef>, EngineError> {
        let values = self.parameter_values(view, values)?;
        Ok(rows_of(&self.view_parameters(view)?, &[values])?.columns().to_vec())
    }
}

/// The changed rows of every value, by its key.
pub(crate) type ByValue = HashMap<Vec<u8>, UInt32Array>;

/// Divides changes by the values in their first columns.
pub(crate) fn by_value(changes: &ChangeBatch, parameters: usize) -> Result<ByValue, TraceError> {
    let keys = encoded(&changes.columns()[..parameters], changes.len())?;
    let mut rows: HashMap<&[u8], Vec<u32>> = HashMap::new();
    for (row, key) in keys.as_binary_view().iter().enumerate() {
        rows.entry(key.unwrap_or_default()).or_default().push(row as u32);
    }
    Ok(rows.into_iter().map(|(key, rows)| (key.to_vec(), rows.into())).collect())
}

/// Rows without their first columns.
pub(crate) fn without(rows: &ChangeBatch, parameters: usize) -> ChangeBatch {
    let columns: Vec<usize> = (parameters..rows.columns().len()).collect();
    let schema = Schema::new(rows.schema().fields()[parameters..].to_vec());
    rows.project(&columns, Arc::new(schema))
}

fn encoded(columns: &[ArrayRef], len: usize) -> Result<ArrayRef, TraceError> {
    let term = |column: &ArrayRef| OrderTerm {
        data_type: column.data_type().clone(),
        descending: false,
        nulls_first: true,
    };
    OrderKey::new(&columns.iter().map(term).collect::<Vec<_>>())?.encode(columns, len)
}

fn rows_of(schema: &SchemaRef, rows: &[Vec<ScalarValue>]) -> Result<RecordBatch, EngineError> {
    let column = |place: usize| ScalarValue::iter_to_array(rows.iter().map(|row| row[place].clone()));
    let columns = (0..schema.fields().len())
        .map(column)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| EngineError::Plan(error.into()))?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns).map_err(TraceError::from)?)
}
