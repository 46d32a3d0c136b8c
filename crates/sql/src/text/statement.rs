//! Statements: what a text asks for, planned against the catalog of the moment.
//!
//! A [`Script`] is a parsed text. Its statements are planned one by one, since a later one may read what an earlier one makes.

use arrow_schema::{Field, Schema};
use datafusion_common::{DFSchema, DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_expr::dml::InsertOp;
use datafusion_expr::logical_plan::DmlStatement;
use datafusion_expr::{LogicalPlan, WriteOp};
use datafusion_sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::{
    ColumnOption, CreateTable, CreateTableOptions, CreateView, Expr as SqlExpr, Ident, ObjectName,
    ObjectType, Query, Statement, TableConstraint,
};

use super::catalog::{Catalog, Provider};
use super::change::old_rows;
use super::error::SqlError;
use super::parameters::PlannedView;
use super::parse::parse;
use super::planner::{PlannedQuery, Planner, Purpose, external, on_large_stack};
use super::rules;
use super::translate::evaluate_constant;
use crate::{Plan, PlanError};

/// A parsed text.
pub struct Script {
    text: String,
    statements: Vec<Statement>,
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
    DropTable {
        names: Vec<String>,
        if_exists: bool,
    },
    DropView {
        names: Vec<String>,
        if_exists: bool,
    },
    /// A query that is answered once.
    Select(PlannedQuery),
    /// Rows with all columns of the table, in order. `replace` puts them in the place of rows with the same key.
    Insert {
        table: String,
        rows: PlannedQuery,
        replace: bool,
    },
    /// The rows as they are and as they will be.
    Update {
        table: String,
        old: Plan,
        new: Plan,
    },
    /// The rows that go, with their copies.
    Delete {
        table: String,
        rows: Plan,
    },
    Explain(PlannedQuery),
    ShowTables,
    ShowViews,
    Describe(String),
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
        let statements = on_large_stack(|| parse(text))?;
        Ok(Self { text: text.to_owned(), statements })
    }

    /// The number of statements.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there is no statement.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// Plans the statement at `index`.
    pub fn plan(
        &self,
        index: usize,
        catalog: &(dyn Catalog + Sync),
        params: &[ScalarValue],
    ) -> Result<SqlStatement, SqlError> {
        on_large_stack(|| {
            let statement = self.statements.get(index).ok_or_else(|| SqlError::new("no such statement"))?;
            plan_statement(statement, catalog, params)
                .map_err(|error| SqlError::from_datafusion(error, &self.text))
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
        Statement::Drop { object_type: ObjectType::Table, if_exists, names, .. } => {
            Ok(SqlStatement::DropTable { names: names_of(names)?, if_exists: *if_exists })
        }
        Statement::Drop {
            object_type: ObjectType::View | ObjectType::MaterializedView,
            if_exists,
            names,
            ..
        } => Ok(SqlStatement::DropView { names: names_of(names)?, if_exists: *if_exists }),
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => change(statement, &once),
        Statement::Explain { statement, .. } => explain(statement, catalog, params),
        Statement::ShowTables { .. } => Ok(SqlStatement::ShowTables),
        Statement::ShowViews { .. } => Ok(SqlStatement::ShowViews),
        Statement::ExplainTable { table_name, .. } => Ok(SqlStatement::Describe(name_of(table_name)?)),
        other => {
            Err(refused(&format!("this statement is not supported: {}", first_words(&other.to_string()))))
        }
    }
}

fn explain(
    statement: &Statement,
    catalog: &dyn Catalog,
    params: &[ScalarValue],
) -> DataFusionResult<SqlStatement> {
    let query: &Query = match statement {
        Statement::Query(query) => query,
        Statement::CreateView(view) => &view.query,
        other => {
            return Err(refused(&format!("EXPLAIN takes a query, got: {}", first_words(&other.to_string()))));
        }
    };
    Ok(SqlStatement::Explain(Planner { catalog, params, purpose: Purpose::Once }.query(query)?))
}

fn create_view(view: &CreateView, catalog: &dyn Catalog) -> DataFusionResult<SqlStatement> {
    let planner = Planner { catalog, params: &[], purpose: Purpose::View };
    if !matches!(view.options, CreateTableOptions::None) {
        return Err(refused("options of a view are not supported"));
    }
    let mut planned = planner.view(&view.query)?;
    let names: Vec<String> = view.columns.iter().map(|column| ident(&column.name)).collect();
    if !names.is_empty() {
        planned = planned.renamed(&names).map_err(external)?;
    }
    Ok(SqlStatement::CreateView {
        name: name_of(&view.name)?,
        view: planned,
        if_not_exists: view.if_not_exists,
        or_replace: view.or_replace,
    })
}

fn create_table(create: &CreateTable, planner: &Planner<'_>) -> DataFusionResult<SqlStatement> {
    let options = rules::options();
    let parser_options = ParserOptions::from(&options.sql_parser);
    let provider = Provider::new(planner.catalog, options);
    let to_rel = SqlToRel::new_with_options(&provider, parser_options);
    let schema = to_rel.build_schema(create.columns.clone())?;
    let mut key = table_key(&create.constraints)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    for (column, field) in create.columns.iter().zip(schema.fields()) {
        let mut spec = ColumnSpec { field: field.as_ref().clone(), default: None };
        for option in &column.options {
            match &option.option {
                ColumnOption::PrimaryKey(_) => key.push(field.name().clone()),
                ColumnOption::Default(expr) => spec.default = Some(default_value(&to_rel, expr, field)?),
                ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Comment(_) => {}
                other => {
                    return Err(refused(&format!(
                        "column '{}': {other} is not enforced, so it is refused",
                        field.name()
                    )));
                }
            }
        }
        columns.push(spec);
    }
    check_key(&key, &schema)?;
    let rows = create.query.as_ref().map(|query| planner.query(query)).transpose()?;
    if let (Some(rows), true) = (&rows, columns.is_empty()) {
        let fields = rows.plan.schema().fields()[..rows.visible].iter();
        columns = fields
            .map(|field| ColumnSpec { field: field.as_ref().clone().with_nullable(true), default: None })
            .collect();
    }
    for column in &mut columns {
        if key.contains(column.field.name()) {
            column.field = column.field.clone().with_nullable(false);
        }
    }
    Ok(SqlStatement::CreateTable(TableSpec {
        name: name_of(&create.name)?,
        columns,
        key,
        if_not_exists: create.if_not_exists,
        or_replace: create.or_replace,
        rows,
    }))
}

fn table_key(constraints: &[TableConstraint]) -> DataFusionResult<Vec<String>> {
    let mut key = Vec::new();
    for constraint in constraints {
        match constraint {
            TableConstraint::PrimaryKey(primary) => {
                for column in &primary.columns {
                    match &column.column.expr {
                        SqlExpr::Identifier(name) => key.push(ident(name)),
                        other => return Err(refused(&format!("a key is made of columns, got {other}"))),
                    }
                }
            }
            other => return Err(refused(&format!("{other} is not enforced, so it is refused"))),
        }
    }
    Ok(key)
}

fn check_key(key: &[String], schema: &Schema) -> DataFusionResult<()> {
    let unknown = key.iter().find(|name| schema.index_of(name).is_err() && !schema.fields().is_empty());
    match unknown {
        None => Ok(()),
        Some(name) => {
            let choices = schema.fields().iter().map(|field| field.name().clone()).collect();
            Err(external(PlanError::UnknownColumn { name: name.clone(), choices }))
        }
    }
}

fn default_value(
    to_rel: &SqlToRel<'_, Provider<'_>>,
    expr: &SqlExpr,
    field: &Field,
) -> DataFusionResult<ScalarValue> {
    let logical = to_rel.sql_to_expr(expr.clone(), &DFSchema::empty(), &mut PlannerContext::new())?;
    let volatile = logical.is_volatile()
        || expr.to_string().to_lowercase().contains("now(")
        || expr.to_string().to_lowercase().contains("current_");
    if volatile {
        return Err(refused(&format!("the default of column '{}' must be a constant", field.name())));
    }
    evaluate_constant(&logical).map_err(external)?.cast_to(field.data_type())
}

/// INSERT, UPDATE and DELETE.
fn change(statement: &Statement, planner: &Planner<'_>) -> DataFusionResult<SqlStatement> {
    let LogicalPlan::Dml(DmlStatement { table_name, op, input, .. }) =
        planner.statement(statement.clone())?
    else {
        return Err(refused("this change is not supported"));
    };
    let table = table_name.table().to_owned();
    let translate = |plan: &LogicalPlan| planner.translate(planner.optimize(plan.clone())?);
    match op {
        WriteOp::Insert(kind) => {
            let replace = matches!(kind, InsertOp::Replace | InsertOp::Overwrite);
            Ok(SqlStatement::Insert { table, rows: translate(&input)?, replace })
        }
        WriteOp::Delete => Ok(SqlStatement::Delete { table, rows: translate(&input)?.plan }),
        WriteOp::Update => {
            let LogicalPlan::Projection(projection) = input.as_ref() else {
                return Err(refused("this update is not supported"));
            };
            let old = old_rows(projection, planner.catalog, &table)?;
            Ok(SqlStatement::Update { table, old: translate(&old)?.plan, new: translate(&input)?.plan })
        }
        other => Err(refused(&format!("{other} is not supported"))),
    }
}

fn names_of(names: &[ObjectName]) -> DataFusionResult<Vec<String>> {
    names.iter().map(name_of).collect()
}

/// The last part of a name, in lower case unless it is quoted.
fn name_of(name: &ObjectName) -> DataFusionResult<String> {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map(ident).ok_or_else(|| refused(&format!("'{name}' is no name")))
}

fn ident(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

fn refused(reason: &str) -> DataFusionError {
    external(PlanError::Invalid(reason.to_owned()))
}

fn first_words(text: &str) -> String {
    text.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
}
