//! `array(SELECT ...)`: the rows of a subquery as a list, which is empty if there are none.
//!
//! The parser knows it and the planner does not. So it is written as what it means:
//! `array_or_empty((SELECT array_agg(value ORDER BY ...) FROM (SELECT ...) AS list))`, an aggregate that depends on the outer row, which is computed once for all
//! outer rows (see `translate_apply.rs`); a change looks at the outer rows that it touches. A subquery of one column gives a list of its values, one of several
//! columns a list of structs with their names. Its ORDER BY is the order of the list; the terms come along as columns of their own.
//!
//! `struct(a.id, a.name)` takes the names of the columns that it is given, too.

use std::ops::ControlFlow;

use datafusion_common::Result;
use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArguments, Ident, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Statement,
    TableFactor, Value, Visit, VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::parser::Parser;

use super::catalog::Catalog;
use super::column_names::{Item, Names, column_name, unique};
use super::planner::external;
use crate::PlanError;

/// Rewrites all `array(SELECT ...)` and structs of a statement or query.
pub(crate) fn rewrite<T: Visit + VisitMut>(statement: &mut T, catalog: &dyn Catalog) -> Result<()> {
    let names = Names::new(statement, catalog);
    match VisitMut::visit(statement, &mut Rewriter { names }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(external(error)),
    }
}

struct Rewriter<'a> {
    names: Names<'a>,
}

impl VisitorMut for Rewriter<'_> {
    type Break = PlanError;

    /// Inner subqueries come first, so that lists nest.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<PlanError> {
        match expr {
            Expr::Function(call) if is_named(&call.name.to_string(), "array") => {
                if let FunctionArguments::Subquery(query) = &call.args {
                    match self.list(query.as_ref().clone()) {
                        Ok(list) => *expr = list,
                        Err(error) => return ControlFlow::Break(error),
                    }
                }
            }
            Expr::Struct { values, fields } if fields.is_empty() => {
                *values = named(std::mem::take(values));
            }
            // Structs are compared field by field, whatever their names.
            Expr::BinaryOp { left, right, .. } => [left, right].into_iter().for_each(|side| unname(side)),
            Expr::InList { expr, list, .. } => {
                unname(expr);
                list.iter_mut().for_each(unname);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Rewriter<'_> {
    fn list(&self, mut query: Query) -> std::result::Result<Expr, PlanError> {
        let items = self.names.of_query(&mut query)?;
        let Order { terms, carried } = order_terms(&mut query, &items)?;
        let item = |place: usize| format!("\"__list\".\"__item_{place}\"");
        let value = match &items[..] {
            [_] => item(0),
            several => {
                let names = unique(several.iter().map(|item| item.name.clone()));
                let field = |(place, name): (usize, &String)| format!("{}, {}", quoted(name), item(place));
                let fields: Vec<String> = names.iter().enumerate().map(field).collect();
                format!("named_struct({})", fields.join(", "))
            }
        };
        let order = if terms.is_empty() { String::new() } else { format!(" ORDER BY {}", terms.join(", ")) };
        let places = (0..items.len()).map(|place| format!("\"__item_{place}\""));
        let places: Vec<String> =
            places.chain((0..carried).map(|place| format!("\"__order_{place}\""))).collect();
        let written = format!(
            "SELECT array_or_empty((SELECT array_agg({value}{order}) FROM (SELECT 1) AS \"__list\"({})))",
            places.join(", ")
        );
        filled_in(&written, query)
    }
}

/// The expression of a text, with a query in the place of the one that stands in its FROM.
fn filled_in(written: &str, query: Query) -> std::result::Result<Expr, PlanError> {
    let broken = || PlanError::Invalid(format!("internal: cannot write {written}"));
    let parsed = Parser::parse_sql(&GenericDialect {}, written).map_err(|_| broken())?;
    let Some(Statement::Query(outer)) = parsed.into_iter().next() else { return Err(broken()) };
    let SetExpr::Select(select) = *outer.body else { return Err(broken()) };
    let Some(SelectItem::UnnamedExpr(mut list)) = select.projection.into_iter().next() else {
        return Err(broken());
    };
    let mut place = Place(Some(query));
    let _ = VisitMut::visit(&mut list, &mut place);
    Ok(list)
}

/// Puts a query where the first derived table stands.
struct Place(Option<Query>);

impl VisitorMut for Place {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { subquery, .. } = factor
            && let Some(query) = self.0.take()
        {
            **subquery = query;
        }
        ControlFlow::Continue(())
    }
}

/// The order of a list: its terms over the columns of the subquery, and how many of them it selects for that alone.
struct Order {
    terms: Vec<String>,
    carried: usize,
}

/// Takes the order out of a subquery, unless a limit needs it there. Terms that are no output column become one.
fn order_terms(query: &mut Query, items: &[Item]) -> std::result::Result<Order, PlanError> {
    let wanted: Vec<OrderByExpr> = match query.order_by.as_ref().map(|order| &order.kind) {
        None => Vec::new(),
        Some(OrderByKind::Expressions(terms)) => terms.clone(),
        Some(OrderByKind::All(_)) => return Err(refused("ORDER BY ALL inside array(...): name the columns")),
    };
    let mut order = Order { terms: Vec::with_capacity(wanted.len()), carried: 0 };
    for term in wanted {
        let column = match (output_place(&term.expr, items)?, open_select(query)) {
            (Some(place), _) => format!("__item_{place}"),
            (None, Some(select)) => {
                let name = format!("__order_{}", order.carried);
                order.carried += 1;
                let alias = Ident::with_quote('"', &name);
                select.projection.push(SelectItem::ExprWithAlias { expr: term.expr, alias });
                name
            }
            (None, None) => {
                let reason = "inside array(...) a DISTINCT or a set operation is ordered by selected columns";
                return Err(refused(&format!("ORDER BY {}: {reason}", term.expr)));
            }
        };
        order.terms.push(format!("\"__list\".\"{column}\"{}", term.options));
    }
    if query.limit_clause.is_none() && query.fetch.is_none() {
        query.order_by = None;
    }
    Ok(order)
}

/// The SELECT of a query to which columns may be added without another meaning.
fn open_select(query: &mut Query) -> Option<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) if select.distinct.is_none() => Some(select),
        _ => None,
    }
}

/// The output column that a term of ORDER BY is: by its number, its name or as the same expression.
fn output_place(term: &Expr, items: &[Item]) -> std::result::Result<Option<usize>, PlanError> {
    if let Expr::Value(value) = term
        && let Value::Number(number, _) = &value.value
    {
        let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let unknown = || refused(&format!("ORDER BY {number}: array(...) selects {} column(s)", items.len()));
        return place.filter(|place| *place < items.len()).map(Some).ok_or_else(unknown);
    }
    let by_name = match term {
        Expr::Identifier(name) => {
            items.iter().position(|item| item.alias.as_ref().is_some_and(|alias| same(alias, name)))
        }
        _ => None,
    };
    Ok(by_name.or_else(|| items.iter().position(|item| item.expr.as_ref() == Some(term))))
}

fn same(left: &Ident, right: &Ident) -> bool {
    if left.quote_style.is_some() || right.quote_style.is_some() {
        left.value == right.value
    } else {
        left.value.eq_ignore_ascii_case(&right.value)
    }
}

/// The values of a struct under the names of the columns that they are.
fn named(values: Vec<Expr>) -> Vec<Expr> {
    let names = values.iter().enumerate().map(|(place, value)| match value {
        Expr::Named { name, .. } => name.value.clone(),
        value => column_name(value).unwrap_or_else(|| format!("c{place}")),
    });
    let names = unique(names.collect::<Vec<_>>().into_iter());
    let with_name = |(value, name): (Expr, String)| match value {
        Expr::Named { expr, .. } => Expr::Named { expr, name: Ident::with_quote('"', name) },
        other => Expr::Named { expr: Box::new(other), name: Ident::with_quote('"', name) },
    };
    values.into_iter().zip(names).map(with_name).collect()
}

/// A struct without the names of its fields.
fn unname(expr: &mut Expr) {
    if let Expr::Struct { values, .. } = expr {
        for value in values {
            if let Expr::Named { expr, .. } = value {
                *value = std::mem::replace(expr.as_mut(), Expr::Identifier(Ident::new("")));
            }
        }
    }
}

/// A text literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn is_named(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

fn refused(reason: &str) -> PlanError {
    PlanError::Refused { name: "array".into(), reason: reason.to_owned() }
}
