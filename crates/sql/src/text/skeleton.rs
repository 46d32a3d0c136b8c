//! Syntax trees of queries that statements stand for, made from a parsed skeleton whose parts are replaced.

use datafusion_common::Result;
use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableFactor,
    TableWithJoins,
};
use datafusion_sql::sqlparser::parser::Parser;

use super::dialect::Tailrace;
use super::statement::refused;

/// `SELECT projection FROM tables WHERE condition`.
pub(crate) fn select_from(
    projection: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
    selection: Option<Expr>,
) -> Result<Query> {
    let mut query = parsed("SELECT 1")?;
    match query.body.as_mut() {
        SetExpr::Select(select) => {
            **select = Select { projection, from, selection, ..select.as_ref().clone() }
        }
        _ => return Err(refused("internal: a skeleton is no SELECT")),
    }
    Ok(query)
}

/// `EXISTS (SELECT 1 FROM tables WHERE condition)`.
pub(crate) fn exists(from: Vec<TableWithJoins>, condition: Option<Expr>) -> Result<Expr> {
    let one = SelectItem::UnnamedExpr(Expr::value(datafusion_sql::sqlparser::ast::Value::Number(
        "1".into(),
        false,
    )));
    let subquery = Box::new(select_from(vec![one], from, condition)?);
    Ok(Expr::Exists { subquery, negated: false })
}

/// `VALUES (...), (...)`.
pub(crate) fn values(rows: Vec<Vec<Expr>>) -> Result<Box<Query>> {
    let mut query = parsed("VALUES (1)")?;
    if let SetExpr::Values(values) = query.body.as_mut()
        && let Some(pattern) = values.rows.first().cloned()
    {
        values.rows = rows
            .into_iter()
            .map(|content| {
                let mut row = pattern.clone();
                row.content = content;
                row
            })
            .collect();
    }
    Ok(Box::new(query))
}

/// A table in FROM.
pub(crate) fn table_factor(name: ObjectName) -> TableWithJoins {
    TableWithJoins {
        relation: TableFactor::Table {
            name,
            alias: None,
            args: None,
            with_hints: Vec::new(),
            version: None,
            with_ordinality: false,
            partitions: Vec::new(),
            json_path: None,
            sample: None,
            index_hints: Vec::new(),
        },
        joins: Vec::new(),
    }
}

/// The alias of a table.
pub(crate) fn table_alias(name: Ident) -> TableAlias {
    TableAlias { explicit: true, name, columns: Vec::new(), at: None }
}

/// `expr AS name`.
pub(crate) fn aliased(expr: Expr, name: String) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) }
}

/// `table.column`.
pub(crate) fn column_of(table: &Ident, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![table.clone(), Ident::with_quote('"', column)])
}

fn parsed(text: &str) -> Result<Query> {
    let parsed = Parser::parse_sql(&Tailrace, text).ok();
    match parsed.and_then(|statements| statements.into_iter().next()) {
        Some(Statement::Query(query)) => Ok(*query),
        _ => Err(refused("internal: a skeleton is no query")),
    }
}
