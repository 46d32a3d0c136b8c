//! ALTER TABLE: the table is made anew with the other columns or the other name, and filled with its rows.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use tailrace_sql::{ColumnSpec, ScalarValue, TableChange};
use tailrace_trace::{ChangeBatch, normal_array, normal_type};

use crate::statement::{operation, weighted};
use crate::{Database, EngineError, OperationKind, StatementOutcome};

/// A table in the making.
struct Draft {
    name: String,
    fields: Vec<Field>,
    key: Vec<String>,
    defaults: Vec<(String, ScalarValue)>,
    rows: ChangeBatch,
}

impl Database {
    pub(crate) fn alter_table(
        &mut self,
        name: &str,
        if_exists: bool,
        changes: Vec<TableChange>,
    ) -> Result<StatementOutcome, EngineError> {
        if if_exists && !self.tables.contains_key(name) {
            return Ok(StatementOutcome::Defined(format!("table {name}")));
        }
        let name = self.table_name(name)?;
        self.check_unread(&name)?;
        let table = self.known_table(&name)?;
        let mut draft = Draft {
            name: name.clone(),
            fields: table.schema.fields().iter().map(|field| field.as_ref().clone()).collect(),
            key: table.key_names(),
            defaults: table.defaults.iter().map(|(column, value)| (column.clone(), value.clone())).collect(),
            rows: self.snapshot(&name)?,
        };
        for change in changes {
            draft.change(change)?;
        }
        let taken = self.tables.contains_key(&draft.name) || self.views.contains_key(&draft.name);
        if draft.name != name && taken {
            let kind = if self.views.contains_key(&draft.name) { "view" } else { "table" };
            return Err(EngineError::Exists { name: draft.name, kind, detail: String::new() });
        }
        self.remake(&name, draft)?;
        Ok(StatementOutcome::Defined(format!("table {name}")))
    }

    /// Everything that could fail was looked at before.
    fn remake(&mut self, old: &str, draft: Draft) -> Result<(), EngineError> {
        let columns: Vec<String> = draft.fields.iter().map(|field| field.name().clone()).collect();
        let rows = weighted(&draft.rows, &columns)?;
        self.drop_table(old)?;
        self.create_table(&draft.name, &Schema::new(draft.fields), &draft.key)?;
        if let Some(table) = self.tables.get_mut(&draft.name) {
            table.defaults = draft.defaults.into_iter().collect();
        }
        self.apply(&[operation(&draft.name, OperationKind::Weighted, rows)])?;
        Ok(())
    }
}

impl Draft {
    fn change(&mut self, change: TableChange) -> Result<(), EngineError> {
        match change {
            TableChange::Rename(name) => self.name = name,
            TableChange::RenameColumn(old, new) => self.rename(&old, new)?,
            TableChange::AddColumn(spec, if_not_exists) => self.add(spec, if_not_exists)?,
            TableChange::DropColumn(name, if_exists) => self.remove(&name, if_exists)?,
        }
        let schema = Arc::new(Schema::new(self.fields.clone()));
        let (columns, weights) = (self.rows.columns().to_vec(), self.rows.weights().clone());
        self.rows = ChangeBatch::try_new(schema, columns, weights)?;
        Ok(())
    }

    fn place(&self, column: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name() == column)
    }

    fn unknown(&self, column: &str) -> EngineError {
        EngineError::UnknownColumn {
            table: self.name.clone(),
            column: column.to_owned(),
            choices: self.fields.iter().map(|field| field.name().clone()).collect(),
        }
    }

    fn taken(&self, column: String) -> EngineError {
        EngineError::Unsupported(format!("table '{}' has a column '{column}' already", self.name))
    }

    fn rename(&mut self, old: &str, new: String) -> Result<(), EngineError> {
        let place = self.place(old).ok_or_else(|| self.unknown(old))?;
        if self.place(&new).is_some() {
            return Err(self.taken(new));
        }
        self.fields[place] = self.fields[place].clone().with_name(&new);
        let renamed = self.defaults.iter_mut().map(|(column, _)| column).chain(&mut self.key);
        renamed.filter(|column| *column == old).for_each(|column| column.clone_from(&new));
        Ok(())
    }

    fn add(&mut self, spec: ColumnSpec, if_not_exists: bool) -> Result<(), EngineError> {
        let name = spec.field.name().clone();
        if self.place(&name).is_some() {
            return if if_not_exists { Ok(()) } else { Err(self.taken(name)) };
        }
        let field = spec.field.clone().with_data_type(normal_type(spec.field.data_type()));
        let value = match &spec.default {
            Some(value) => value.clone(),
            None => ScalarValue::try_from(field.data_type()).map_err(tailrace_sql::PlanError::from)?,
        };
        if value.is_null() && !field.is_nullable() && !self.rows.is_empty() {
            return Err(EngineError::Unsupported(format!(
                "column '{name}' is NOT NULL: give it a DEFAULT for the {} rows of table '{}'",
                self.rows.len(),
                self.name
            )));
        }
        let filled = value.to_array_of_size(self.rows.len()).map_err(tailrace_sql::PlanError::from)?;
        let mut columns = self.rows.columns().to_vec();
        columns.push(normal_array(&filled)?);
        self.fields.push(field);
        let schema = Arc::new(Schema::new(self.fields.clone()));
        self.rows = ChangeBatch::try_new(schema, columns, self.rows.weights().clone())?;
        self.defaults.extend(spec.default.map(|value| (name, value)));
        Ok(())
    }

    fn remove(&mut self, name: &str, if_exists: bool) -> Result<(), EngineError> {
        let Some(place) = self.place(name) else {
            return if if_exists { Ok(()) } else { Err(self.unknown(name)) };
        };
        if self.key.iter().any(|column| column == name) {
            return Err(EngineError::Unsupported(format!(
                "column '{name}' belongs to the key of table '{}' and cannot be dropped",
                self.name
            )));
        }
        if self.fields.len() == 1 {
            return Err(EngineError::Unsupported(format!(
                "column '{name}' is the only one of table '{}'",
                self.name
            )));
        }
        self.fields.remove(place);
        self.defaults.retain(|(column, _)| column != name);
        let mut columns = self.rows.columns().to_vec();
        columns.remove(place);
        let schema = Arc::new(Schema::new(self.fields.clone()));
        self.rows = ChangeBatch::try_new(schema, columns, self.rows.weights().clone())?.consolidate()?;
        Ok(())
    }
}
