//! RETURNING: a query over the rows that a statement changes, which stand in it under the table's name.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_sql::sqlparser::ast::{FromTable, Ident, ObjectName, SelectItem, Statement, TableFactor};
use tailrace_trace::ChangeBatch;

use super::catalog::{Catalog, CatalogEntry};
use super::change::{Target, insert_target};
use super::planner::{PlannedQuery, Planner};
use super::skeleton::{select_from, table_alias, table_factor};
use super::statement::refused;
use crate::{NamedFunction, Plan};

/// Plans RETURNING over the rows that a statement has changed.
pub(crate) fn returning(
    statement: &Statement,
    rows: ChangeBatch,
    planner: &Planner<'_>,
) -> Result<PlannedQuery> {
    let (target, items) = match statement {
        Statement::Insert(insert) => (insert_target(insert, planner.catalog)?, &insert.returning),
        Statement::Update(update) => {
            (Target::of_factor(&update.table.relation, planner.catalog)?, &update.returning)
        }
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            let Some(table) = from.first() else { return Err(refused("DELETE takes rows from one table")) };
            (Target::of_factor(&table.relation, planner.catalog)?, &delete.returning)
        }
        _ => return Err(refused("RETURNING belongs to a change")),
    };
    shown(items.as_deref().unwrap_or_default(), &target, rows, planner)
}

fn shown(
    items: &[SelectItem],
    target: &Target,
    rows: ChangeBatch,
    planner: &Planner<'_>,
) -> Result<PlannedQuery> {
    let overlay = Overlay::new(planner.catalog, &target.table, rows);
    let mut table = table_factor(ObjectName::from(vec![Ident::with_quote('"', target.table.clone())]));
    if let TableFactor::Table { alias, .. } = &mut table.relation {
        *alias = Some(table_alias(target.alias.clone()));
    }
    let query = select_from(items.to_vec(), vec![table], None)?;
    Planner { catalog: &overlay, params: planner.params, purpose: planner.purpose }.query(&query)
}

/// Whether there is a RETURNING; one that cannot be planned is refused before anything happens.
pub(crate) fn checked_returning(
    items: Option<&[SelectItem]>,
    target: &Target,
    planner: &Planner<'_>,
) -> Result<bool> {
    let Some(items) = items else { return Ok(false) };
    let nothing = ChangeBatch::empty(Arc::clone(target.schema()));
    shown(items, target, nothing, planner)?;
    Ok(true)
}

/// A catalog with a relation of constant rows before all others.
pub(crate) struct Overlay<'a> {
    below: &'a dyn Catalog,
    name: String,
    entry: CatalogEntry,
}

impl<'a> Overlay<'a> {
    pub(crate) fn new(below: &'a dyn Catalog, name: &str, rows: ChangeBatch) -> Self {
        let entry = CatalogEntry {
            plan: Plan::constant(rows),
            key: Vec::new(),
            defaults: HashMap::new(),
            parameters: Vec::new(),
        };
        Self { below, name: name.to_owned(), entry }
    }
}

impl Catalog for Overlay<'_> {
    fn relation(&self, name: &str) -> Option<CatalogEntry> {
        if name == self.name { Some(self.entry.clone()) } else { self.below.relation(name) }
    }

    fn names(&self) -> Vec<String> {
        self.below.names()
    }

    fn function(&self, name: &str) -> Option<NamedFunction> {
        self.below.function(name)
    }
}
