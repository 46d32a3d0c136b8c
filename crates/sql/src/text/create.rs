//! CREATE TABLE and CREATE VIEW. What a table would not keep to is refused: constraints other than a key, options, defaults that are not constant.

use std::collections::HashSet;

use arrow_schema::{Field, Schema};
use datafusion_common::{DFSchema, Result as DataFusionResult, ScalarValue};
use datafusion_sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateTableOptions, CreateView, Expr as SqlExpr, TableConstraint,
};

use super::catalog::{Catalog, Provider};
use super::planner::{PlannedQuery, Planner, Purpose, external};
use super::rules;
use super::statement::{ColumnSpec, SqlStatement, TableSpec, ident, name_of, refused};
use super::translate::evaluate_constant;
use crate::PlanError;

/// Plans a CREATE VIEW.
pub(crate) fn create_view(view: &CreateView, catalog: &dyn Catalog) -> DataFusionResult<SqlStatement> {
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

/// Plans a CREATE TABLE.
pub(crate) fn create_table(create: &CreateTable, planner: &Planner<'_>) -> DataFusionResult<SqlStatement> {
    check_options(create)?;
    let name = name_of(&create.name)?;
    let rows = create.query.as_ref().map(|query| planner.query(query)).transpose()?;
    let mut marks = Vec::new();
    let mut columns = match &rows {
        Some(rows) => query_columns(rows, &create.columns)?,
        None => column_specs(&create.columns, planner, &mut marks)?,
    };
    let key = table_key(&create.constraints, marks)?;
    check_columns(&name, &columns, &key)?;
    for column in &mut columns {
        if key.contains(column.field.name()) {
            column.field = column.field.clone().with_nullable(false);
        }
    }
    let (if_not_exists, or_replace) = (create.if_not_exists, create.or_replace);
    Ok(SqlStatement::CreateTable(TableSpec { name, columns, key, if_not_exists, or_replace, rows }))
}

/// The columns that definitions name; those marked as a key are noted.
pub(crate) fn column_specs(
    definitions: &[ColumnDef],
    planner: &Planner<'_>,
    key: &mut Vec<String>,
) -> DataFusionResult<Vec<ColumnSpec>> {
    let options = rules::options();
    let parser_options = ParserOptions::from(&options.sql_parser);
    let provider = Provider::new(planner.catalog, options);
    let to_rel = SqlToRel::new_with_options(&provider, parser_options);
    let schema = to_rel.build_schema(definitions.to_vec())?;
    let mut columns = Vec::with_capacity(definitions.len());
    for (column, field) in definitions.iter().zip(schema.fields()) {
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
    Ok(columns)
}

/// The columns of CREATE TABLE AS.
fn query_columns(rows: &PlannedQuery, definitions: &[ColumnDef]) -> DataFusionResult<Vec<ColumnSpec>> {
    if !definitions.is_empty() {
        return Err(refused(
            "CREATE TABLE AS takes the names and types of its query: name and cast them there",
        ));
    }
    let fields = rows.plan.schema().fields()[..rows.visible].iter();
    let nullable = |field: &std::sync::Arc<Field>| Field::new(field.name(), field.data_type().clone(), true);
    Ok(fields.map(|field| ColumnSpec { field: nullable(field), default: None }).collect())
}

fn check_options(create: &CreateTable) -> DataFusionResult<()> {
    if !matches!(create.table_options, CreateTableOptions::None) {
        return Err(refused(&format!("a table has no options, got: {}", create.table_options)));
    }
    if create.external || create.like.is_some() || create.clone.is_some() || create.inherits.is_some() {
        return Err(refused("CREATE TABLE takes columns, or AS and a query"));
    }
    Ok(())
}

/// Columns there must be, each name once, and the key among them.
fn check_columns(table: &str, columns: &[ColumnSpec], key: &[String]) -> DataFusionResult<()> {
    if columns.is_empty() {
        return Err(refused(&format!("table '{table}' has no columns: give it at least one")));
    }
    let mut seen = HashSet::new();
    for column in columns {
        if !seen.insert(column.field.name().to_lowercase()) {
            return Err(refused(&format!(
                "column '{}' of table '{table}' is defined twice",
                column.field.name()
            )));
        }
    }
    let schema = Schema::new(columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>());
    check_key(key, &schema)
}

/// The key, which may be declared once.
fn table_key(constraints: &[TableConstraint], marks: Vec<String>) -> DataFusionResult<Vec<String>> {
    if marks.len() > 1 {
        let marked = marks.join(", ");
        return Err(refused(&format!(
            "{marked} are all marked PRIMARY KEY: for a key of several columns write PRIMARY KEY ({marked})"
        )));
    }
    let mut key = marks;
    for constraint in constraints {
        match constraint {
            TableConstraint::PrimaryKey(primary) => {
                if !key.is_empty() {
                    return Err(refused("a table has one PRIMARY KEY"));
                }
                for column in &primary.columns {
                    match &column.column.expr {
                        SqlExpr::Identifier(name) if key.contains(&ident(name)) => {
                            return Err(refused(&format!("'{name}' stands twice in the PRIMARY KEY")));
                        }
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
    let unknown = key.iter().find(|name| schema.index_of(name).is_err());
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
