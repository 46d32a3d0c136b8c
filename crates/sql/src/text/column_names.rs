//! The output columns of a subquery, before it is planned: their names and expressions, with `*` written out.
//!
//! A list of structs needs the names of its fields where the text alone says `c.*`. They are known if the rows come from tables and views of the catalog, or from
//! subqueries in FROM that name their columns.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, Visit, Visitor,
    WildcardAdditionalOptions,
};

use super::catalog::Catalog;
use crate::PlanError;

/// An output column.
pub(crate) struct Item {
    /// What it is called: its alias, the column or function that it is, or its position.
    pub(crate) name: String,
    /// The name by which ORDER BY may call it.
    pub(crate) alias: Option<Ident>,
    pub(crate) expr: Option<Expr>,
}

/// The names that a statement may use.
pub(crate) struct Names<'a> {
    catalog: &'a dyn Catalog,
    /// Names that WITH gives, in lower case.
    with: HashSet<String>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(statement: &impl Visit, catalog: &'a dyn Catalog) -> Self {
        let mut found = With(HashSet::new());
        let _ = Visit::visit(statement, &mut found);
        Self { catalog, with: found.0 }
    }

    /// The output columns of a query; where it says `*`, it is made to say its columns.
    pub(crate) fn of_query(&self, query: &mut Query) -> Result<Vec<Item>, PlanError> {
        self.of_body(&mut query.body)
    }

    fn of_body(&self, body: &mut SetExpr) -> Result<Vec<Item>, PlanError> {
        match body {
            SetExpr::Select(select) => {
                self.expand(select)?;
                Ok(select.projection.iter().enumerate().filter_map(item).collect())
            }
            SetExpr::Query(query) => self.of_query(query),
            SetExpr::SetOperation { left, .. } => {
                let items = self.of_body(left)?.into_iter();
                Ok(items.map(|item| Item { expr: None, ..item }).collect())
            }
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.content.len());
                let column =
                    |place: usize| Item { name: format!("column{}", place + 1), alias: None, expr: None };
                Ok((0..width).map(column).collect())
            }
            _ => Err(refused("array(...) takes a SELECT")),
        }
    }

    /// Writes `*` out.
    fn expand(&self, select: &mut Select) -> Result<(), PlanError> {
        if !select.projection.iter().any(is_wildcard) {
            return Ok(());
        }
        let mut projection = Vec::new();
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => {
                    check(&options)?;
                    for factor in factors(select)? {
                        projection.extend(self.columns(factor)?);
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    check(&options)?;
                    let all = all_factors(select);
                    let factor = all.into_iter().find(|factor| is_called(factor, &name));
                    let unknown =
                        || refused(&format!("{name}.* names no relation of FROM: name the columns"));
                    projection.extend(self.columns(factor.ok_or_else(unknown)?)?);
                }
                other => projection.push(other),
            }
        }
        select.projection = projection;
        Ok(())
    }

    /// The columns of one relation of FROM.
    fn columns(&self, factor: &TableFactor) -> Result<Vec<SelectItem>, PlanError> {
        let (qualifier, names) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let table = name.0.last().and_then(|part| part.as_ident());
                let table = table.ok_or_else(|| refused(&format!("{name} is no name")))?;
                (
                    alias.as_ref().map_or_else(|| table.clone(), |alias| alias.name.clone()),
                    self.of_table(table, alias.as_ref())?,
                )
            }
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                let names = self.of_query(&mut subquery.clone())?.into_iter().map(|item| item.name);
                (alias.name.clone(), renamed(names.collect(), Some(alias)))
            }
            other => return Err(refused(&format!("* of {other}: name the columns"))),
        };
        let column = |name: String| {
            let parts = vec![qualifier.clone(), Ident::with_quote('"', name)];
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
        };
        Ok(names.into_iter().map(column).collect())
    }

    fn of_table(&self, table: &Ident, alias: Option<&TableAlias>) -> Result<Vec<String>, PlanError> {
        let name = if table.quote_style.is_some() { table.value.clone() } else { table.value.to_lowercase() };
        if self.with.contains(&table.value.to_lowercase()) {
            return Err(refused(&format!("* of '{name}', which WITH defines: name the columns")));
        }
        let Some(entry) = self.catalog.relation(&name) else {
            return Err(PlanError::UnknownRelation { name, choices: self.catalog.names() });
        };
        Ok(renamed(entry.plan.schema().fields().iter().map(|field| field.name().clone()).collect(), alias))
    }
}

/// Names, with a number behind those that were there before.
pub(crate) fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let fresh = std::iter::once(name.clone()).chain(numbered).find(|name| !found.contains(name));
        found.push(fresh.unwrap_or_default());
    }
    found
}

/// The name of the column that an expression is.
pub(crate) fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(folded(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(folded),
        _ => None,
    }
}

fn item((place, item): (usize, &SelectItem)) -> Option<Item> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.clone())),
        _ => return None,
    };
    let name = alias.as_ref().map(folded).or_else(|| column_name(expr)).or_else(|| match expr {
        Expr::Function(call) => Some(call.name.to_string().to_lowercase()),
        _ => None,
    });
    let name = name.unwrap_or_else(|| format!("column{}", place + 1));
    let alias = alias.or_else(|| column_name(expr).map(|name| Ident::with_quote('"', name)));
    Some(Item { name, alias, expr: Some(expr.clone()) })
}

/// A name as the planner reads it.
fn folded(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

fn renamed(names: Vec<String>, alias: Option<&TableAlias>) -> Vec<String> {
    let given = alias.map(|alias| &alias.columns[..]).unwrap_or_default();
    let rename =
        |(place, name): (usize, String)| given.get(place).map_or(name, |column| folded(&column.name));
    names.into_iter().enumerate().map(rename).collect()
}

fn is_wildcard(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

fn check(options: &WildcardAdditionalOptions) -> Result<(), PlanError> {
    let plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none();
    if plain { Ok(()) } else { Err(refused("* with exceptions inside array(...): name the columns")) }
}

/// All relations of FROM, if `*` means the columns of all of them one after the other.
fn factors(select: &Select) -> Result<Vec<&TableFactor>, PlanError> {
    let plain = |operator: &JoinOperator| match operator {
        JoinOperator::CrossJoin(_) => true,
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => {
            matches!(constraint, JoinConstraint::On(_) | JoinConstraint::None)
        }
        _ => false,
    };
    if select.from.iter().flat_map(|from| &from.joins).all(|join| plain(&join.join_operator)) {
        Ok(all_factors(select))
    } else {
        Err(refused("* of a join with USING inside array(...): name the columns"))
    }
}

fn all_factors(select: &Select) -> Vec<&TableFactor> {
    let mut found = Vec::new();
    for from in &select.from {
        found.push(&from.relation);
        found.extend(from.joins.iter().map(|join| &join.relation));
    }
    found
}

fn is_called(factor: &TableFactor, name: &ObjectName) -> bool {
    let Some(wanted) = name.0.last().and_then(|part| part.as_ident()) else { return false };
    let called = match factor {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(&alias.name)
        }
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()),
        _ => None,
    };
    called.is_some_and(|called| folded(called) == folded(wanted))
}

fn refused(reason: &str) -> PlanError {
    PlanError::Refused { name: "array".into(), reason: reason.to_owned() }
}

/// Collects the names that WITH gives.
struct With(HashSet<String>);

impl Visitor for With {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.0.insert(table.alias.name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }
}
