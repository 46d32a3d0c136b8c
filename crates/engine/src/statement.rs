//! SQL statements against a database. Each does all of its work or none; the statements of one text are done one after the other.

use std::collections::HashMap;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;
use tailrace_sql::{
    ConflictPlans, PlannedQuery, PlannedView, ScalarValue, Script, SqlError, SqlStatement, TableSpec,
    type_name,
};
use tailrace_trace::ChangeBatch;

use crate::answer::answer;
use crate::catalog::Names;
use crate::conform::WEIGHT;
use crate::{Database, EngineError, Operation, OperationKind, StepChanges};

/// What a statement did.
pub enum StatementOutcome {
    /// Rows: of a SELECT, EXPLAIN, SHOW or DESCRIBE.
    Rows(RecordBatch),
    /// A change of tables: how many rows it touched and what it did to the views.
    Changed {
        /// Rows that were inserted, updated or deleted.
        count: u64,
        /// The changes of the views.
        changes: StepChanges,
        /// What RETURNING shows.
        returned: Option<RecordBatch>,
    },
    /// Something was made or dropped: what and its name.
    Defined(String),
}

/// A statement where it stands, for parts that are planned while it runs.
pub(crate) struct Text<'a> {
    script: &'a Script,
    index: usize,
    params: &'a [ScalarValue],
}

impl Text<'_> {
    /// What RETURNING shows of rows.
    pub(crate) fn returning(
        &self,
        database: &Database,
        rows: ChangeBatch,
    ) -> Result<PlannedQuery, EngineError> {
        Ok(self.script.plan_returning(self.index, &database.names(), self.params, rows)?)
    }

    /// What ON CONFLICT does with rows.
    pub(crate) fn conflicts(
        &self,
        database: &Database,
        rows: ChangeBatch,
    ) -> Result<ConflictPlans, EngineError> {
        Ok(self.script.plan_conflicts(self.index, &database.names(), self.params, rows)?)
    }
}

impl Database {
    /// Runs all statements of a text, with values for its parameters. A text that cannot be parsed does nothing; a statement that fails changes
    /// nothing and ends the run, the ones before it stay done.
    pub fn execute(
        &mut self,
        sql: &str,
        params: &[ScalarValue],
    ) -> Result<Vec<StatementOutcome>, EngineError> {
        let script = Script::parse(sql)?;
        script.check_parameters(params.len())?;
        let mut outcomes = Vec::with_capacity(script.len());
        for index in 0..script.len() {
            let statement = script.plan(index, &self.names(), params)?;
            outcomes.push(self.run(statement, &Text { script: &script, index, params })?);
        }
        Ok(outcomes)
    }

    /// Creates a view from a SELECT.
    pub fn create_view_sql(&mut self, name: &str, sql: &str) -> Result<(), EngineError> {
        let view = Script::parse(sql)?.plan_view(&self.names())?;
        self.create_planned(name, view)
    }

    /// The tree of operators of a SELECT, or of the view of that name, with the cost of a change.
    pub fn explain_sql(&self, sql: &str) -> Result<String, EngineError> {
        Ok(Script::parse(sql)?.plan_view(&self.names())?.plan.explain())
    }

    pub(crate) fn names(&self) -> Names<'_> {
        Names { tables: &self.tables, views: &self.views, functions: &self.functions }
    }

    fn run(&mut self, statement: SqlStatement, text: &Text<'_>) -> Result<StatementOutcome, EngineError> {
        match statement {
            SqlStatement::Select(query) => Ok(StatementOutcome::Rows(self.select(&query)?)),
            SqlStatement::CreateTable(spec) => self.make_table(spec),
            SqlStatement::CreateView { name, view, if_not_exists, or_replace } => {
                self.make_view(&name, view, if_not_exists, or_replace)
            }
            SqlStatement::DropTable { names, if_exists, cascade } => {
                if cascade {
                    self.drop_readers(&names)?;
                }
                self.drop_all(&names, if_exists, "table")
            }
            SqlStatement::DropView { names, if_exists } => self.drop_all(&names, if_exists, "view"),
            SqlStatement::Insert { table, rows, conflict, returning } => {
                self.insert_rows(&table, &rows, conflict, returning.then_some(text), text)
            }
            SqlStatement::Update { table, pairs, old, returning } => {
                self.update_rows(&table, &pairs, old.as_ref(), returning.then_some(text))
            }
            SqlStatement::Delete { table, rows, returning } => {
                self.delete_rows(&table, &rows, returning.then_some(text))
            }
            SqlStatement::AlterTable { table, if_exists, changes } => {
                self.alter_table(&table, if_exists, changes)
            }
            SqlStatement::Nothing(what) => Ok(StatementOutcome::Defined(what.to_owned())),
            SqlStatement::Explain(query) => {
                text_rows("plan", query.plan.explain().lines().map(str::to_owned).collect())
            }
            SqlStatement::ShowTables => text_rows("name", self.tables()),
            SqlStatement::ShowViews => text_rows("name", self.views()),
            SqlStatement::ShowFunctions(names) => text_rows("name", names),
            SqlStatement::Describe(name) => self.describe(&name),
            SqlStatement::DescribeQuery(query) => described(query.shown()?.schema(), &[]),
        }
    }

    pub(crate) fn select(&mut self, query: &PlannedQuery) -> Result<RecordBatch, EngineError> {
        let rows = self.evaluate(&query.plan)?;
        answer(&rows, query)
    }

    fn make_table(&mut self, spec: TableSpec) -> Result<StatementOutcome, EngineError> {
        let exists = self.tables.contains_key(&spec.name);
        let name = spec.name;
        if exists && spec.if_not_exists {
            return Ok(StatementOutcome::Defined(format!("table {name}")));
        }
        let schema = Schema::new(spec.columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>());
        let rows = spec.rows.as_ref().map(|query| self.select(query)).transpose()?;
        if exists && spec.or_replace {
            self.drop_table(&name)?;
        } else if exists || self.views.contains_key(&name) {
            let kind = if exists { "table" } else { "view" };
            return Err(EngineError::Exists { name, kind, detail: String::new() });
        }
        self.create_table(&name, &schema, &spec.key)?;
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let rows = rows.map(|rows| renamed(rows, &columns)).transpose()?;
        let defaults: HashMap<String, ScalarValue> = spec
            .columns
            .into_iter()
            .filter_map(|column| Some((column.field.name().clone(), column.default?)))
            .collect();
        self.set_defaults(&name, defaults)?;
        if let Some(rows) = rows
            && let Err(error) = self.apply(&[operation(&name, OperationKind::Insert, rows)])
        {
            self.drop_table(&name)?;
            return Err(error);
        }
        Ok(StatementOutcome::Defined(format!("table {name}")))
    }

    fn make_view(
        &mut self,
        name: &str,
        view: PlannedView,
        if_not_exists: bool,
        or_replace: bool,
    ) -> Result<StatementOutcome, EngineError> {
        let exists = self.views.contains_key(name);
        if exists && if_not_exists {
            return Ok(StatementOutcome::Defined(format!("view {name}")));
        }
        if exists && or_replace {
            self.replace_view(name, view)?
        } else {
            self.create_planned(name, view)?
        }
        Ok(StatementOutcome::Defined(format!("view {name}")))
    }

    /// The new view is made before the old one goes: what both use is kept, and if the new one fails the old one stays.
    fn replace_view(&mut self, name: &str, view: PlannedView) -> Result<(), EngineError> {
        let pending = format!("{name} (new)");
        self.create_planned(&pending, view)?;
        self.drop_view(name)?;
        if let Some(view) = self.hide(&pending) {
            self.show(name, view);
        }
        Ok(())
    }

    fn drop_all(
        &mut self,
        names: &[String],
        if_exists: bool,
        kind: &'static str,
    ) -> Result<StatementOutcome, EngineError> {
        let known = |database: &Self, name: &String| {
            if kind == "table" {
                database.tables.contains_key(name)
            } else {
                database.views.contains_key(name)
            }
        };
        // All are looked at before one is dropped: a statement that fails changes nothing.
        if !if_exists && let Some(missing) = names.iter().find(|name| !known(self, name)) {
            return Err(self.unknown(missing, kind));
        }
        let present: Vec<&String> = names.iter().filter(|name| known(self, name)).collect();
        if kind == "table" {
            present.iter().try_for_each(|name| self.check_unread(name))?;
        }
        for name in present {
            // The same name may stand twice.
            if known(self, name) {
                if kind == "table" { self.drop_table(name)? } else { self.drop_view(name)? }
            }
        }
        Ok(StatementOutcome::Defined(format!("{kind} {}", names.join(", "))))
    }

    /// Drops the views that read some tables.
    fn drop_readers(&mut self, tables: &[String]) -> Result<(), EngineError> {
        for table in tables.iter().filter(|table| self.tables.contains_key(*table)).collect::<Vec<_>>() {
            for view in self.readers(table) {
                self.drop_view(&view)?;
            }
        }
        Ok(())
    }

    pub(crate) fn unknown(&self, name: &str, kind: &str) -> EngineError {
        let name = name.to_owned();
        if kind == "table" {
            EngineError::UnknownTable { name, choices: self.tables() }
        } else {
            EngineError::UnknownView { name, choices: self.views() }
        }
    }

    /// The table's own spelling of its name; a view is refused.
    pub(crate) fn table_name(&self, name: &str) -> Result<String, EngineError> {
        if self.tables.contains_key(name) {
            return Ok(name.to_owned());
        }
        if self.views.contains_key(name) {
            return Err(SqlError::new(format!(
                "'{name}' is a view: its rows follow from its tables and cannot be changed"
            ))
            .into());
        }
        let alike = self.tables.keys().find(|known| known.eq_ignore_ascii_case(name));
        alike.cloned().ok_or_else(|| self.unknown(name, "table"))
    }

    fn describe(&self, name: &str) -> Result<StatementOutcome, EngineError> {
        let (schema, key) = match (self.tables.get(name), self.views.get(name)) {
            (Some(table), _) => (Arc::clone(&table.schema), table.key_names()),
            (None, Some(view)) => (Arc::clone(view.plan.schema()), view.key.clone().unwrap_or_default()),
            (None, None) => {
                return Err(SqlError::new(format!(
                    "'{name}' is not found. Existing: {}",
                    [self.tables(), self.views()].concat().join(", ")
                ))
                .into());
            }
        };
        described(&schema, &key)
    }
}

/// The columns of a schema as rows.
fn described(schema: &Schema, key: &[String]) -> Result<StatementOutcome, EngineError> {
    let column = |text: fn(&Field) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(schema.fields().iter().map(|field| text(field))))
    };
    let keyed = schema.fields().iter().map(|field| if key.contains(field.name()) { "yes" } else { "no" });
    let columns: Vec<ArrayRef> = vec![
        column(|field| field.name().clone()),
        column(|field| type_name(field.data_type())),
        column(|field| if field.is_nullable() { "yes".into() } else { "no".into() }),
        Arc::new(StringArray::from_iter_values(keyed)),
    ];
    let fields: Vec<Field> = ["column", "type", "nullable", "key"]
        .into_iter()
        .map(|name| Field::new(name, DataType::Utf8, false))
        .collect();
    Ok(StatementOutcome::Rows(batch(fields, columns)?))
}

pub(crate) fn operation(table: &str, kind: OperationKind, rows: RecordBatch) -> Operation {
    Operation::new(kind, table, rows)
}

/// Rows under the names of a table's columns, with their weights as a column.
pub(crate) fn weighted(changes: &ChangeBatch, columns: &[String]) -> Result<RecordBatch, EngineError> {
    let mut arrays = changes.columns().to_vec();
    arrays.push(Arc::new(Int64Array::new(changes.weights().clone(), None)));
    let mut fields: Vec<Field> = columns
        .iter()
        .zip(changes.schema().fields())
        .map(|(name, field)| Field::new(name, field.data_type().clone(), true))
        .collect();
    fields.push(Field::new(WEIGHT, DataType::Int64, false));
    batch(fields, arrays)
}

/// The columns under other names.
pub(crate) fn renamed(rows: RecordBatch, names: &[String]) -> Result<RecordBatch, EngineError> {
    let fields = names
        .iter()
        .zip(rows.schema_ref().fields())
        .map(|(name, field)| field.as_ref().clone().with_name(name))
        .collect();
    batch(fields, rows.columns().to_vec())
}

fn text_rows(name: &str, lines: Vec<String>) -> Result<StatementOutcome, EngineError> {
    let column: ArrayRef = Arc::new(StringArray::from(lines));
    Ok(StatementOutcome::Rows(batch(vec![Field::new(name, DataType::Utf8, false)], vec![column])?))
}

fn batch(fields: Vec<Field>, columns: Vec<ArrayRef>) -> Result<RecordBatch, EngineError> {
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(tailrace_trace::TraceError::from)?)
}
