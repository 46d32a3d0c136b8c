//! INSERT, UPDATE, DELETE and TRUNCATE as queries for the rows that go and come.
//!
//! An update is one query that gives each touched row as it is and, beside it, as it will be. Rows that a statement brings itself are known only when it runs;
//! `conflict.rs` and `returning.rs` then plan with them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_common::{Column, Result, ScalarValue};
use datafusion_expr::logical_plan::{DmlStatement, Projection};
use datafusion_expr::{Expr as Logical, LogicalPlan};
use datafusion_sql::sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, DataType as SqlType, Delete, Expr, FromTable, Ident,
    Insert, ObjectName, OnConflict, OnConflictAction, OnInsert, Query, SelectItem, SetExpr, SqliteOnConflict,
    Statement, TableFactor, TableObject, TableWithJoins, Update, UpdateTableFromKind, Value,
};

use super::catalog::{Catalog, CatalogEntry};
use super::operators::cast;
use super::planner::{Planner, external};
use super::returning::checked_returning;
use super::skeleton::{aliased, column_of, exists, select_from, table_factor};
use super::statement::{Conflict, SqlStatement, ident, name_of, refused};
use super::types::UUID;
use crate::{Plan, PlanError};

/// A table that a statement changes: its name, the name that expressions use, its columns and key.
pub(crate) struct Target {
    pub(crate) table: String,
    pub(crate) alias: Ident,
    pub(crate) entry: CatalogEntry,
}

impl Target {
    pub(crate) fn new(name: &ObjectName, alias: Option<&Ident>, catalog: &dyn Catalog) -> Result<Self> {
        let table = name_of(name)?;
        let Some(entry) = catalog.relation(&table) else {
            let choices = catalog.names();
            return Err(external(PlanError::UnknownRelation { name: table, choices }));
        };
        let alias = alias.cloned().unwrap_or_else(|| Ident::with_quote('"', table.clone()));
        Ok(Self { table, alias, entry })
    }

    pub(crate) fn of_factor(factor: &TableFactor, catalog: &dyn Catalog) -> Result<Self> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                Self::new(name, alias.as_ref().map(|alias| &alias.name), catalog)
            }
            other => Err(refused(&format!("a change names one table, got {other}"))),
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.entry.plan.schema()
    }

    pub(crate) fn columns(&self) -> Vec<SelectItem> {
        let column =
            |field: &Arc<arrow_schema::Field>| SelectItem::UnnamedExpr(column_of(&self.alias, field.name()));
        self.schema().fields().iter().map(column).collect()
    }

    fn place(&self, column: &Ident) -> Result<usize> {
        let wanted = ident(column);
        let fields = self.schema().fields();
        let exact = fields.iter().position(|field| *field.name() == wanted);
        let alike = || fields.iter().position(|field| field.name().eq_ignore_ascii_case(&wanted));
        exact.or_else(alike).ok_or_else(|| {
            let choices = fields.iter().map(|field| field.name().clone()).collect();
            external(PlanError::UnknownColumn { name: wanted, choices })
        })
    }

    fn default(&self, place: usize) -> ScalarValue {
        let name = self.schema().field(place).name();
        self.entry.defaults.get(name).cloned().unwrap_or(ScalarValue::Null)
    }
}

/// Values for the parameters of a statement: those that were given, then the defaults that it asks for.
pub(crate) struct Values<'a> {
    given: &'a [ScalarValue],
    pub(crate) all: Vec<ScalarValue>,
}

impl<'a> Values<'a> {
    pub(crate) fn new(given: &'a [ScalarValue]) -> Self {
        Self { given, all: given.to_vec() }
    }

    /// Puts a default in the place of the word DEFAULT.
    fn fill(&mut self, expr: &mut Expr, default: ScalarValue) -> bool {
        let word = matches!(expr, Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"));
        if word {
            self.all.push(default);
            *expr = Expr::Value(Value::Placeholder(format!("${}", self.all.len())).into());
        }
        word
    }

    fn planner<'b>(&'b self, planner: &Planner<'b>) -> Planner<'b> {
        debug_assert!(self.all.len() >= self.given.len());
        Planner { catalog: planner.catalog, params: &self.all, purpose: planner.purpose }
    }
}

/// Plans an INSERT.
pub(crate) fn insert(insert: &Insert, planner: &Planner<'_>) -> Result<SqlStatement> {
    let target = insert_target(insert, planner.catalog)?;
    let (mut plain, mut values) = (insert.clone(), Values::new(planner.params));
    let conflict = conflict_of(insert, &target)?;
    (plain.on, plain.or, plain.ignore, plain.returning, plain.table_alias) = (None, None, false, None, None);
    if plain.replace_into {
        plain.replace_into = false;
    }
    fill_defaults(&mut plain, &target, &mut values)?;
    let planner = values.planner(planner);
    let LogicalPlan::Dml(DmlStatement { input, .. }) = planner.statement(Statement::Insert(plain))? else {
        return Err(refused("this INSERT is not supported"));
    };
    // A parameter has its type only now, and an expression over it may have another one than the planner thought.
    let rows = planner.translate(planner.optimize(typed(input.as_ref().clone(), &target, 0)?)?)?;
    let returning = checked_returning(insert.returning.as_deref(), &target, &planner)?;
    Ok(SqlStatement::Insert { table: target.table, rows, conflict, returning })
}

/// The table of an INSERT.
pub(crate) fn insert_target(insert: &Insert, catalog: &dyn Catalog) -> Result<Target> {
    match &insert.table {
        TableObject::TableName(name) => {
            Target::new(name, insert.table_alias.as_ref().map(|alias| &alias.alias), catalog)
        }
        other => Err(refused(&format!("INSERT goes into a table, got {other}"))),
    }
}

/// What happens to a row whose key is there already.
fn conflict_of(insert: &Insert, target: &Target) -> Result<Conflict> {
    let by_word = match &insert.or {
        Some(SqliteOnConflict::Replace) => Some(Conflict::Replace),
        Some(SqliteOnConflict::Ignore) => Some(Conflict::Ignore),
        Some(other) => {
            return Err(refused(&format!("INSERT {other} is not supported: use OR REPLACE or OR IGNORE")));
        }
        None if insert.replace_into || insert.overwrite => Some(Conflict::Replace),
        None if insert.ignore => Some(Conflict::Ignore),
        None => None,
    };
    let conflict = match (&insert.on, by_word) {
        (None, by_word) => by_word.unwrap_or(Conflict::Fail),
        (Some(_), Some(_)) => return Err(refused("INSERT OR ... and ON CONFLICT exclude each other")),
        (Some(OnInsert::OnConflict(on)), None) => {
            check_target(on, target)?;
            if matches!(on.action, OnConflictAction::DoNothing) { Conflict::Ignore } else { Conflict::Update }
        }
        (Some(_), None) => {
            return Err(refused("write ON CONFLICT DO UPDATE instead of ON DUPLICATE KEY UPDATE"));
        }
    };
    if conflict != Conflict::Fail && target.entry.key.is_empty() {
        return Err(refused(&format!(
            "table '{}' has no PRIMARY KEY, so that no row can conflict",
            target.table
        )));
    }
    Ok(conflict)
}

fn check_target(on: &OnConflict, target: &Target) -> Result<()> {
    let columns = match &on.conflict_target {
        None => return Ok(()),
        Some(ConflictTarget::Columns(columns)) => columns,
        Some(ConflictTarget::OnConstraint(name)) => {
            return Err(refused(&format!("ON CONSTRAINT {name}: name the columns of the key instead")));
        }
    };
    let mut named: Vec<String> = columns.iter().map(ident).collect();
    let mut key = target.entry.key.clone();
    named.sort();
    key.sort();
    if named == key {
        return Ok(());
    }
    Err(refused(&format!(
        "ON CONFLICT ({}) is not the key of table '{}', which is ({})",
        named.join(", "),
        target.table,
        target.entry.key.join(", ")
    )))
}

/// DEFAULT VALUES, and DEFAULT among the values.
fn fill_defaults(insert: &mut Insert, target: &Target, values: &mut Values<'_>) -> Result<()> {
    let all = target.schema().fields().len();
    if insert.source.is_none() {
        let word = Expr::Identifier(Ident::new("default"));
        insert.source = Some(super::skeleton::values(vec![vec![word; all]])?);
        insert.columns.clear();
    }
    let places = if insert.columns.is_empty() {
        (0..all).collect()
    } else {
        let place = |name: &ObjectName| match name.0.last().and_then(|part| part.as_ident()) {
            Some(column) => target.place(column),
            None => Err(refused(&format!("'{name}' is no column"))),
        };
        insert.columns.iter().map(place).collect::<Result<Vec<_>>>()?
    };
    let Some(source) = &mut insert.source else { return Ok(()) };
    if let SetExpr::Values(rows) = source.body.as_mut() {
        for row in &mut rows.rows {
            for (expr, place) in row.content.iter_mut().zip(&places) {
                let filled = values.fill(expr, target.default(*place));
                // The planner knows no cast from a text to a UUID; ours takes its place later.
                if !filled && *target.schema().field(*place).data_type() == UUID {
                    let given = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
                    *expr = super::literals::cast(given, SqlType::Uuid);
                }
            }
        }
    }
    Ok(())
}

/// Plans an UPDATE.
pub(crate) fn update(update: &Update, planner: &Planner<'_>) -> Result<SqlStatement> {
    if update.limit.is_some()
        || !update.order_by.is_empty()
        || !update.table.joins.is_empty()
        || update.or.is_some()
    {
        return Err(refused("UPDATE takes SET, FROM, WHERE and RETURNING only"));
    }
    let target = Target::of_factor(&update.table.relation, planner.catalog)?;
    let others: Vec<TableWithJoins> = match &update.from {
        None => Vec::new(),
        Some(UpdateTableFromKind::BeforeSet(tables) | UpdateTableFromKind::AfterSet(tables)) => {
            tables.clone()
        }
    };
    let mut values = Values::new(planner.params);
    let projection = changed_columns(&target, &update.assignments, &mut values)?;
    let planner = values.planner(planner);
    let old = if others.is_empty() {
        None
    } else {
        Some(matching(&target, &update.table, &others, update.selection.as_ref(), &planner)?)
    };
    let from = std::iter::once(update.table.clone()).chain(others).collect();
    let pairs = pairs(&target, select_from(projection, from, update.selection.clone())?, &planner)?;
    let returning = checked_returning(update.returning.as_deref(), &target, &planner)?;
    Ok(SqlStatement::Update { table: target.table, pairs, old, returning })
}

/// The columns as they are and then as they will be.
pub(crate) fn changed_columns(
    target: &Target,
    assignments: &[Assignment],
    values: &mut Values<'_>,
) -> Result<Vec<SelectItem>> {
    let mut changed: HashMap<usize, Expr> = HashMap::new();
    for assignment in assignments {
        for (column, mut value) in assigned(assignment)? {
            let place = target.place(&column)?;
            values.fill(&mut value, target.default(place));
            if changed.insert(place, value).is_some() {
                return Err(refused(&format!("column '{}' is set twice", ident(&column))));
            }
        }
    }
    let fields = target.schema().fields().iter().enumerate();
    let new = fields.map(|(place, field)| {
        let value = changed.remove(&place).unwrap_or_else(|| column_of(&target.alias, field.name()));
        aliased(value, format!("__new_{place}"))
    });
    Ok(target.columns().into_iter().chain(new.collect::<Vec<_>>()).collect())
}

fn assigned(assignment: &Assignment) -> Result<Vec<(Ident, Expr)>> {
    let column = |name: &ObjectName| {
        let last = name.0.last().and_then(|part| part.as_ident()).cloned();
        last.ok_or_else(|| refused(&format!("'{name}' is no column")))
    };
    match (&assignment.target, &assignment.value) {
        (AssignmentTarget::ColumnName(name), value) => Ok(vec![(column(name)?, value.clone())]),
        (AssignmentTarget::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
            names.iter().zip(values).map(|(name, value)| Ok((column(name)?, value.clone()))).collect()
        }
        (AssignmentTarget::Tuple(names), other) => Err(refused(&format!(
            "SET of {} columns takes as many values in parentheses, got {other}",
            names.len()
        ))),
    }
}

/// Old and new columns of the touched rows, the new ones in the types of the table.
pub(crate) fn pairs(target: &Target, query: Query, planner: &Planner<'_>) -> Result<Plan> {
    let logical = planner.filled(&query)?;
    let typed = typed(logical, target, target.schema().fields().len())?;
    planner.translate(planner.optimize(typed)?)?.shown().map_err(external)
}

/// The columns from a place on in the types of the table's columns.
fn typed(plan: LogicalPlan, target: &Target, from: usize) -> Result<LogicalPlan> {
    let fields = target.schema().fields();
    let columns: Vec<Column> = plan.schema().columns();
    let exprs = columns.into_iter().enumerate().map(|(place, column)| {
        let (name, found) = (column.name.clone(), plan.schema().field(place).data_type().clone());
        let column = Logical::Column(column);
        match place.checked_sub(from).and_then(|place| fields.get(place)) {
            Some(field) if *field.data_type() != found => cast(column, field.data_type().clone()).alias(name),
            _ => column,
        }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(exprs.collect(), Arc::new(plan))?))
}

/// The rows of the target for which a row of the other tables fulfils the condition, each as often as it is there.
fn matching(
    target: &Target,
    table: &TableWithJoins,
    others: &[TableWithJoins],
    condition: Option<&Expr>,
    planner: &Planner<'_>,
) -> Result<Plan> {
    let selection = if others.is_empty() {
        condition.cloned()
    } else {
        Some(exists(others.to_vec(), condition.cloned())?)
    };
    let query = select_from(target.columns(), vec![table.clone()], selection)?;
    planner.query(&query)?.shown().map_err(external)
}

/// Plans a DELETE.
pub(crate) fn delete(delete: &Delete, planner: &Planner<'_>) -> Result<SqlStatement> {
    if delete.limit.is_some() || !delete.order_by.is_empty() || !delete.tables.is_empty() {
        return Err(refused("DELETE takes FROM, USING, WHERE and RETURNING only"));
    }
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [table] = &from[..] else {
        return Err(refused("DELETE takes rows from one table: join others with USING"));
    };
    let target = Target::of_factor(&table.relation, planner.catalog)?;
    let others = delete.using.clone().unwrap_or_default();
    let rows = matching(&target, table, &others, delete.selection.as_ref(), planner)?;
    let returning = checked_returning(delete.returning.as_deref(), &target, planner)?;
    Ok(SqlStatement::Delete { table: target.table, rows, returning })
}

/// Plans the removal of all rows.
pub(crate) fn truncate(name: &ObjectName, planner: &Planner<'_>) -> Result<SqlStatement> {
    let target = Target::new(name, None, planner.catalog)?;
    let rows = matching(&target, &table_factor(name.clone()), &[], None, planner)?;
    Ok(SqlStatement::Delete { table: target.table, rows, returning: false })
}
