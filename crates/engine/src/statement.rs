//! SQL statements against a database. Each does all of its work or none; the statements of one text are done one after the other.

use std::collections::HashMap;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;
use tailrace_sql::{Plan, PlannedQuery, PlannedView, ScalarValue, Script, SqlError, SqlStatement, TableSpec};
use tailrace_trace::{ChangeBatch, external_schema};

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
    },
    /// Something was made or dropped: what and its name.
    Defined(String),
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
        let mut outcomes = Vec::with_capacity(script.len());
        for index in 0..script.len() {
            let statement = script.plan(index, &self.names(), params)?;
            outcomes.push(self.run(statement)?);
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

    fn names(&self) -> Names<'_> {
        Names { tables: &self.tables, views: &self.views }
    }

    fn run(&mut self, statement: SqlStatement) -> Result<StatementOutcome, EngineError> {
        match statement {
            SqlStatement::Select(query) => Ok(StatementOutcome::Rows(self.select(&query)?)),
            SqlStatement::CreateTable(spec) => self.make_table(spec),
            SqlStatement::CreateView { name, view, if_not_exists, or_replace } => {
                self.make_view(&name, view, if_not_exists, or_replace)
            }
            SqlStatement::DropTable { names, if_exists } => self.drop_all(&names, if_exists, "table"),
            SqlStatement::DropView { names, if_exists } => self.drop_all(&names, if_exists, "view"),
            SqlStatement::Insert { table, rows, replace } => self.insert_rows(&table, &rows, replace),
            SqlStatement::Update { table, old, new } => self.update_rows(&table, &old, &new),
            SqlStatement::Delete { table, rows } => self.delete_rows(&table, &rows),
            SqlStatement::Explain(query) => {
                text_rows("plan", query.plan.explain().lines().map(str::to_owned).collect())
            }
            SqlStatement::ShowTables => text_rows("name", self.tables()),
            SqlStatement::ShowViews => text_rows("name", self.views()),
            SqlStatement::Describe(name) => self.describe(&name),
        }
    }

    fn select(&mut self, query: &PlannedQuery) -> Result<RecordBatch, EngineError> {
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
        for name in names {
            if !known(self, name) {
                if if_exists {
                    continue;
                }
                return Err(self.unknown(name, kind));
            }
            if kind == "table" { self.drop_table(name)? } else { self.drop_view(name)? }
        }
        Ok(StatementOutcome::Defined(format!("{kind} {}", names.join(", "))))
    }

    fn unknown(&self, name: &str, kind: &str) -> EngineError {
        let name = name.to_owned();
        if kind == "table" {
            EngineError::UnknownTable { name, choices: self.tables() }
        } else {
            EngineError::UnknownView { name, choices: self.views() }
        }
    }

    fn insert_rows(
        &mut self,
        table: &str,
        query: &PlannedQuery,
        replace: bool,
    ) -> Result<StatementOutcome, EngineError> {
        let table = self.table_name(table)?;
        let rows = renamed(self.select(query)?, &self.known_table(&table)?.columns())?;
        let count = rows.num_rows() as u64;
        let kind = if replace { OperationKind::Upsert } else { OperationKind::Insert };
        let changes = self.apply(&[operation(&table, kind, rows)])?;
        Ok(StatementOutcome::Changed { count, changes })
    }

    /// Minus the old rows, plus the new ones, in one step.
    fn update_rows(&mut self, table: &str, old: &Plan, new: &Plan) -> Result<StatementOutcome, EngineError> {
        let table = self.table_name(table)?;
        let columns = self.known_table(&table)?.columns();
        let (old, new) = (self.evaluate(old)?.consolidate()?, self.evaluate(new)?);
        let count = old.weights().iter().sum::<i64>() as u64;
        let gone = weighted(&old.negate()?, &columns)?;
        let came = weighted(&new, &columns)?;
        let changes = self.apply(&[
            operation(&table, OperationKind::Weighted, gone),
            operation(&table, OperationKind::Weighted, came),
        ])?;
        Ok(StatementOutcome::Changed { count, changes })
    }

    fn delete_rows(&mut self, table: &str, rows: &Plan) -> Result<StatementOutcome, EngineError> {
        let table = self.table_name(table)?;
        let columns = self.known_table(&table)?.columns();
        let rows = self.evaluate(rows)?.consolidate()?;
        let count = rows.weights().iter().sum::<i64>() as u64;
        let changes =
            self.apply(&[operation(&table, OperationKind::Weighted, weighted(&rows.negate()?, &columns)?)])?;
        Ok(StatementOutcome::Changed { count, changes })
    }

    /// The table's own spelling of its name; a view is refused.
    fn table_name(&self, name: &str) -> Result<String, EngineError> {
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
        let schema = external_schema(&schema);
        let column = |text: fn(&Field) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(schema.fields().iter().map(|field| text(field))))
        };
        let keyed = schema.fields().iter().map(|field| if key.contains(field.name()) { "yes" } else { "no" });
        let columns: Vec<ArrayRef> = vec![
            column(|field| field.name().clone()),
            column(|field| field.data_type().to_string()),
            column(|field| if field.is_nullable() { "yes".into() } else { "no".into() }),
            Arc::new(StringArray::from_iter_values(keyed)),
        ];
        let fields: Vec<Field> = ["column", "type", "nullable", "key"]
            .into_iter()
            .map(|name| Field::new(name, DataType::Utf8, false))
            .collect();
        Ok(StatementOutcome::Rows(batch(fields, columns)?))
    }
}

fn operation(table: &str, kind: OperationKind, rows: RecordBatch) -> Operation {
    Operation::new(kind, table, rows)
}

/// Rows under the names of a table's columns, with their weights as a column.
fn weighted(changes: &ChangeBatch, columns: &[String]) -> Result<RecordBatch, EngineError> {
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
fn renamed(rows: RecordBatch, names: &[String]) -> Result<RecordBatch, EngineError> {
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
