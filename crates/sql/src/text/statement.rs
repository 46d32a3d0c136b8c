//! Statements: what a text asks for, planned against the catalog of the moment.
//!
//! A [`Script`] is a parsed text. Its statements are planned one by one, since a later one may read what an earlier one makes.

use arrow_schema::Field;
use datafusion_common::{DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_sql::sqlparser::ast::{Ident, ObjectName, ObjectType, Query, ShowStatementIn, Statement};
use tailrace_trace::ChangeBatch;

use super::catalog::Catalog;
use super::conflict::ConflictPlans;
use super::create::{create_table, create_view};
use super::error::SqlError;
use super::parameters::PlannedView;
use super::parse::{Parsed, parse};
use super::planner::{PlannedQuery, Planner, Purpose, external, on_large_stack};
use super::{aggregates, alter, change, conflict, macros, returning, windows};
use crate::{Plan, PlanError};

/// A parsed text.
pub struct Script {
    text: String,
    statements: Vec<Statement>,
    parameters: usize,
}

/// What happens to an inserted row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The statement fails.
    Fail,
    /// The row takes the place of the old one.
    Replace,
    /// The old row stays.
    Ignore,
    /// The old row is changed; see [`Script::plan_conflicts`].
    Update,
}

/// One change of a table's columns or name.
pub enum TableChange {
    /// Another name for the table.
    Rename(String),
    /// Another name for a column.
    RenameColumn(String, String),
    /// A column behind the others, filled with its default; the flag says that one of that name may be there already.
    AddColumn(ColumnSpec, bool),
    /// A column less; the flag says that it need not be there.
    DropColumn(String, bool),
}

/// A planned statement.
#[expect(missing_docs, reason = "the fields are those of the SQL statement")]
pub enum SqlStatement {
    CreateTable(TableSpec),
    CreateView {
        name: String,
        view: PlannedView,
        if_not_exists: bool,
        or_replace: bool,
    },
    /// With `cascade` the views that read the tables go too.
    DropTable {
        names: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
    DropView {
        names: Vec<String>,
        if_exists: bool,
    },
    /// A query that is answered once.
    Select(PlannedQuery),
    /// Rows with all columns of the table, in order. `returning` asks for the rows by [`Script::plan_returning`].
    Insert {
        table: String,
        rows: PlannedQuery,
        conflict: Conflict,
        returning: bool,
    },
    /// All columns of the touched rows as they are and then as they will be. With other tables in FROM, `old` tells how often each is there, and of
    /// several new rows for one the first counts.
    Update {
        table: String,
        pairs: Plan,
        old: Option<Plan>,
        returning: bool,
    },
    /// The rows that go, with their copies.
    Delete {
        table: String,
        rows: Plan,
        returning: bool,
    },
    AlterTable {
        table: String,
        if_exists: bool,
        changes: Vec<TableChange>,
    },
    /// What is accepted and changes nothing, such as an index: operators keep their own.
    Nothing(&'static str),
    Explain(PlannedQuery),
    ShowTables,
    ShowViews,
    /// The names of all functions.
    ShowFunctions(Vec<String>),
    Describe(String),
    DescribeQuery(PlannedQuery),
}

/// A table to be made.
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnSpec>,
    /// The names of the key columns.
    pub key: Vec<String>,
    /// Nothing happens if it exists.
    pub if_not_exists: bool,
    /// One that exists is dropped before.
    pub or_replace: bool,
    /// The rows that it starts with.
    pub rows: Option<PlannedQuery>,
}

/// A column of a table to be made.
pub struct ColumnSpec {
    /// Its name and type.
    pub field: Field,
    /// What stands for a value that is not given.
    pub default: Option<ScalarValue>,
}

impl Script {
    /// Parses a text.
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        let Parsed { statements, parameters } = on_large_stack(|| parse(text))?;
        Ok(Self { text: text.to_owned(), statements, parameters })
    }

    /// The number of statements.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there is no statement.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// Refuses values that are too few or too many for the parameters of all statements.
    pub fn check_parameters(&self, given: usize) -> Result<(), SqlError> {
        if given == self.parameters {
            return Ok(());
        }
        let plural =
            |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let verb = if given == 1 { "was" } else { "were" };
        Err(SqlError::new(format!(
            "the text has {}, {} {verb} given",
            plural(self.parameters, "parameter"),
            plural(given, "value")
        )))
    }

    /// Plans the statement at `index`.
    pub fn plan(
        &self,
        index: usize,
        catalog: &(dyn Catalog + Sync),
        params: &[ScalarValue],
    ) -> Result<SqlStatement, SqlError> {
        self.planned(index, |statement| plan_statement(statement, catalog, params))
    }

    /// Plans the RETURNING of the statement at `index` over the rows that it changes.
    pub fn plan_returning(
        &self,
        index: usize,
        catalog: &(dyn Catalog + Sync),
        params: &[ScalarValue],
        rows: ChangeBatch,
    ) -> Result<PlannedQuery, SqlError> {
        self.planned(index, |statement| {
            let planner = Planner { catalog, params, purpose: Purpose::Once };
            returning::returning(statement, rows, &planner)
        })
    }

    /// Plans what the INSERT at `index` does with its rows where their keys are there and where they are not.
    pub fn plan_conflicts(
        &self,
        index: usize,
        catalog: &(dyn Catalog + Sync),
        params: &[ScalarValue],
        rows: ChangeBatch,
    ) -> Result<ConflictPlans, SqlError> {
        self.planned(index, |statement| match statement {
            Statement::Insert(insert) => {
                let planner = Planner { catalog, params, purpose: Purpose::Once };
                conflict::conflicts(insert, rows, &planner)
            }
            _ => Err(refused("only an INSERT has conflicts")),
        })
    }

    fn planned<T: Send>(
        &self,
        index: usize,
        plan: impl FnOnce(&Statement) -> DataFusionResult<T> + Send,
    ) -> Result<T, SqlError> {
        on_large_stack(|| {
            let statement = self.statements.get(index).ok_or_else(|| SqlError::new("no such statement"))?;
            plan(statement).map_err(|error| SqlError::from_datafusion(error, &self.text))
        })
    }

    /// Plans the only statement, a query, to be kept up to date.
    pub fn plan_view(&self, catalog: &(dyn Catalog + Sync)) -> Result<PlannedView, SqlError> {
        on_large_stack(|| {
            let [Statement::Query(query)] = &self.statements[..] else {
                return Err(SqlError::new("a view is made of one SELECT"));
            };
            let planner = Planner { catalog, params: &[], purpose: Purpose::View };
            planner.view(query).map_err(|error| SqlError::from_datafusion(error, &self.text))
        })
    }
}

impl Drop for Script {
    /// A syntax tree is as deep as its text nests; dropping it recurses.
    fn drop(&mut self) {
        let statements = std::mem::take(&mut self.statements);
        let _ = on_large_stack(|| {
            drop(statements);
            Ok(())
        });
    }
}

fn plan_statement(
    statement: &Statement,
    catalog: &dyn Catalog,
    params: &[ScalarValue],
) -> DataFusionResult<SqlStatement> {
    let once = Planner { catalog, params, purpose: Purpose::Once };
    match statement {
        Statement::Query(query) => Ok(SqlStatement::Select(once.query(query)?)),
        Statement::CreateTable(create) => create_table(create, &once),
        Statement::CreateView(view) => create_view(view, catalog),
        Statement::CreateIndex(index) if !index.unique => Ok(SqlStatement::Nothing("index")),
        Statement::Drop { object_type: ObjectType::Table, if_exists, names, cascade, .. } => {
            let (if_exists, cascade) = (*if_exists, *cascade);
            Ok(SqlStatement::DropTable { names: names_of(names)?, if_exists, cascade })
        }
        Statement::Drop {
            object_type: ObjectType::View | ObjectType::MaterializedView,
            if_exists,
            names,
            ..
        } => Ok(SqlStatement::DropView { names: names_of(names)?, if_exists: *if_exists }),
        Statement::Drop { object_type: ObjectType::Index, .. } => Ok(SqlStatement::Nothing("index")),
        Statement::AlterTable(table) => alter::alter_table(table, &once),
        Statement::Insert(insert) => change::insert(insert, &once),
        Statement::Update(update) => change::update(update, &once),
        Statement::Delete(delete) => change::delete(delete, &once),
        Statement::Truncate(truncate) => match &truncate.table_names[..] {
            [table] => change::truncate(&table.name, &once),
            _ => Err(refused("TRUNCATE takes one table")),
        },
        Statement::Explain { statement, analyze: false, describe_alias, .. } => {
            explain(statement, catalog, params, describe_alias.to_string().starts_with("DESC"))
        }
        Statement::Explain { .. } => {
            Err(refused("EXPLAIN ANALYZE is not supported: db.metrics() tells what each operator did"))
        }
        Statement::ShowTables { .. } => Ok(SqlStatement::ShowTables),
        Statement::ShowViews { .. } => Ok(SqlStatement::ShowViews),
        Statement::ShowFunctions { .. } => Ok(SqlStatement::ShowFunctions(function_names())),
        Statement::ShowColumns { show_options, .. } => match &show_options.show_in {
            Some(ShowStatementIn { parent_name: Some(name), .. }) => {
                Ok(SqlStatement::Describe(name_of(name)?))
            }
            _ => Err(refused("SHOW COLUMNS FROM needs a table")),
        },
        Statement::ExplainTable { table_name, .. } => Ok(SqlStatement::Describe(name_of(table_name)?)),
        Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint { .. } => Err(refused(
            "transactions are not supported: a statement is atomic by itself, and db.apply(Batch) makes many changes in one step",
        )),
        other => {
            Err(refused(&format!("this statement is not supported: {}", first_words(&other.to_string()))))
        }
    }
}

/// Functions of values, of groups and of windows, in order.
fn function_names() -> Vec<String> {
    let known = aggregates::NAMES.iter().chain(windows::NAMES).copied().chain(macros::names());
    let mut names: Vec<String> =
        crate::functions::scalar_names().into_iter().chain(known.map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

fn explain(
    statement: &Statement,
    catalog: &dyn Catalog,
    params: &[ScalarValue],
    describe: bool,
) -> DataFusionResult<SqlStatement> {
    let query: &Query = match statement {
        Statement::Query(query) => query,
        Statement::CreateView(view) => &view.query,
        other => {
            return Err(refused(&format!("EXPLAIN takes a query, got: {}", first_words(&other.to_string()))));
        }
    };
    let planned = Planner { catalog, params, purpose: Purpose::Once }.query(query)?;
    Ok(if describe { SqlStatement::DescribeQuery(planned) } else { SqlStatement::Explain(planned) })
}

fn names_of(names: &[ObjectName]) -> DataFusionResult<Vec<String>> {
    names.iter().map(name_of).collect()
}

/// The last part of a name, in lower case unless it is quoted.
pub(crate) fn name_of(name: &ObjectName) -> DataFusionResult<String> {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map(ident).ok_or_else(|| refused(&format!("'{name}' is no name")))
}

pub(crate) fn ident(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

pub(crate) fn refused(reason: &str) -> DataFusionError {
    external(PlanError::Invalid(reason.to_owned()))
}

fn first_words(text: &str) -> String {
    text.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
}
