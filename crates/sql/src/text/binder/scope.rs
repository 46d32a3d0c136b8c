//! The names that are visible at a place of a query, and what they mean.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Column, DataFusionError, Result};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_sql::sqlparser::ast::NamedWindowDefinition;

use super::refused;

/// A column of FROM.
#[derive(Clone)]
pub(super) struct Visible {
    /// The alias of its relation.
    pub(super) table: Option<String>,
    pub(super) name: String,
    /// Where the plan has it.
    pub(super) column: Column,
    pub(super) field: FieldRef,
    /// Whether it is found without its relation: not if USING has merged it into another.
    pub(super) plain: bool,
    /// Whether it is a part of `*`.
    pub(super) starred: bool,
}

/// The columns of FROM.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) columns: Vec<Visible>,
}

impl Scope {
    /// The columns of a relation, which the text calls `table`.
    pub(super) fn of(plan: &LogicalPlan, table: &str, names: &[String]) -> Self {
        let visible = |(index, (qualifier, field)): (
            usize,
            (Option<&datafusion_common::TableReference>, &FieldRef),
        )| Visible {
            table: Some(table.to_owned()),
            name: names.get(index).unwrap_or(field.name()).clone(),
            column: Column::new(qualifier.cloned(), field.name()),
            // An outer join may put NULL in its place.
            field: Arc::new(field.as_ref().clone().with_nullable(true)),
            plain: true,
            starred: true,
        };
        Self { columns: plan.schema().iter().enumerate().map(visible).collect() }
    }

    /// These columns and then those. A relation that is called like another one could not be told apart.
    pub(super) fn and(mut self, other: Self) -> Result<Self> {
        let table = |column: &Visible| column.table.clone().filter(|table| !table.is_empty());
        let mine: HashSet<String> = self.columns.iter().filter_map(table).collect();
        if let Some(twice) = other.columns.iter().filter_map(table).find(|table| mine.contains(table)) {
            let reason = format!("'{twice}' stands twice in FROM: give one of them another alias");
            return Err(refused(twice, reason));
        }
        self.columns.extend(other.columns);
        Ok(self)
    }

    /// The columns of `*`.
    pub(super) fn starred(&self) -> impl Iterator<Item = &Visible> {
        self.columns.iter().filter(|column| column.starred)
    }

    /// The names that an unknown one could have been.
    pub(super) fn choices(&self) -> Vec<String> {
        self.starred().map(|column| column.name.clone()).collect()
    }

    /// Whether a column of the plan is one of these.
    pub(super) fn has(&self, column: &Column) -> bool {
        self.columns.iter().any(|known| known.column == *column)
    }

    /// The column of a name without its relation.
    pub(super) fn plain(&self, name: &str) -> Result<Option<&Visible>> {
        self.only(name, |column| column.plain && column.name == name)
    }

    /// What a name of several parts means, and how many of them name the column; the others are fields of it.
    pub(super) fn find(&self, parts: &[String]) -> Result<Option<(&Visible, usize)>> {
        let qualified = |table: &str, name: &str| {
            self.only(name, |column| column.name == name && column.table.as_deref() == Some(table))
        };
        if let [schema, table, name, ..] = parts
            && matches!(schema.as_str(), "public" | "main")
            && let Some(found) = qualified(table, name)?
        {
            return Ok(Some((found, 3)));
        }
        if let [table, name, ..] = parts
            && let Some(found) = qualified(table, name)?
        {
            return Ok(Some((found, 2)));
        }
        let Some(name) = parts.first() else { return Ok(None) };
        let found =
            self.plain(name)?.filter(|column| parts.len() == 1 || has_fields(column.field.data_type()));
        Ok(found.map(|column| (column, 1)))
    }

    fn only(&self, name: &str, wanted: impl Fn(&Visible) -> bool) -> Result<Option<&Visible>> {
        let mut found = self.columns.iter().filter(|column| wanted(column));
        let first = found.next();
        match (first, found.find(|other| first.is_some_and(|first| first.column != other.column))) {
            (Some(first), Some(second)) => Err(ambiguous(name, first, second)),
            (first, _) => Ok(first),
        }
    }
}

/// What a clause may name.
#[derive(Clone, Copy)]
pub(super) struct Names<'s> {
    pub(super) scope: &'s Scope,
    /// The aliases of the SELECT list.
    pub(super) aliases: &'s [(String, (Expr, DataType))],
    /// Whether an alias hides a column of FROM.
    pub(super) aliases_first: bool,
    pub(super) windows: &'s [NamedWindowDefinition],
    /// Whether all relations of FROM are bound. Then equal subqueries are made equal, since nothing that comes later shares a scope with them.
    pub(super) settled: bool,
}

impl<'s> Names<'s> {
    /// The columns of FROM alone.
    pub(super) fn of(scope: &'s Scope) -> Self {
        Self { scope, aliases: &[], aliases_first: false, windows: &[], settled: false }
    }

    /// The value that an alias stands for.
    pub(super) fn alias(&self, name: &str) -> Option<&'s (Expr, DataType)> {
        self.aliases.iter().find(|(alias, _)| alias == name).map(|(_, value)| value)
    }
}

fn has_fields(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(_) | DataType::Map(..))
}

fn ambiguous(name: &str, first: &Visible, second: &Visible) -> DataFusionError {
    let full = |column: &Visible| match &column.table {
        Some(table) => format!("{table}.{}", column.name),
        None => column.name.clone(),
    };
    let reason = format!(
        "Column '{name}' is ambiguous: say which table it belongs to ({} or {})",
        full(first),
        full(second)
    );
    refused(name, reason)
}
