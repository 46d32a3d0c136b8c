//! ORDER BY: by the place of an output, by its name, or by any expression; and what DISTINCT makes of it.

use std::sync::Arc;

use datafusion_common::{Column, Result};
use datafusion_expr::logical_plan::{Projection, Sort};
use datafusion_expr::{Expr, LogicalPlan, SortExpr};
use datafusion_sql::sqlparser::ast::{
    Expr as SqlExpr, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Value,
};

use super::items::Items;
use super::query::Bounds;
use super::scope::Names;
use super::{Binder, normal, refused};
use crate::PlanError;
use crate::text::planner::external;

/// What a query is ordered by.
pub(super) struct Term {
    pub(super) key: Key,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// An output by its place, or a value that is computed for the order alone.
pub(super) enum Key {
    Output(usize),
    Computed(Expr),
}

impl Term {
    fn new(key: Key, options: &OrderByOptions) -> Self {
        let descending = options.asc == Some(false);
        // NULL is the greatest value.
        Self { key, descending, nulls_first: options.nulls_first.unwrap_or(descending) }
    }

    /// The column at a place, in the order of the term.
    pub(super) fn at(&self, place: usize) -> (usize, bool, bool) {
        (place, self.descending, self.nulls_first)
    }

    /// The term over an expression that has its value.
    pub(super) fn over(&self, value: Expr) -> SortExpr {
        SortExpr::new(value, !self.descending, self.nulls_first)
    }
}

impl Binder<'_> {
    /// The terms of a query with these outputs. A name alone is that of an output, if there is one; inside of an expression columns of FROM come first.
    pub(super) fn order_terms(
        &mut self,
        order: &OrderBy,
        names: &Names<'_>,
        items: &Items,
    ) -> Result<Vec<Term>> {
        if order.interpolate.is_some() {
            return Err(refused("interpolate", "INTERPOLATE is not supported"));
        }
        match &order.kind {
            OrderByKind::All(options) => {
                Ok((0..items.exprs.len()).map(|place| Term::new(Key::Output(place), options)).collect())
            }
            OrderByKind::Expressions(terms) if let Some(options) = all(terms, items) => {
                Ok((0..items.exprs.len()).map(|place| Term::new(Key::Output(place), options)).collect())
            }
            OrderByKind::Expressions(terms) => {
                terms.iter().map(|term| self.order_term(term, names, items)).collect()
            }
        }
    }

    fn order_term(&mut self, term: &OrderByExpr, names: &Names<'_>, items: &Items) -> Result<Term> {
        if term.with_fill.is_some() {
            return Err(refused("fill", "WITH FILL is not supported"));
        }
        let sql = bare(&term.expr);
        let place = match sql {
            SqlExpr::Value(value) => match &value.value {
                Value::Number(number, _) => Some(ordinal(number, items.exprs.len(), "ORDER BY")?),
                _ => None,
            },
            SqlExpr::Identifier(ident) => items.place_of(&normal(ident)),
            _ => None,
        };
        if let Some(place) = place {
            return Ok(Term::new(Key::Output(place), &term.options));
        }
        let value = self.expr(sql, names)?;
        let key = match items.exprs.iter().position(|item| *item == value) {
            Some(place) => Key::Output(place),
            None => Key::Computed(value),
        };
        Ok(Term::new(key, &term.options))
    }
}

/// `ORDER BY ALL`, which the parser takes for a name.
fn all<'t>(terms: &'t [OrderByExpr], items: &Items) -> Option<&'t OrderByOptions> {
    match terms {
        [OrderByExpr { expr: SqlExpr::Identifier(name), options, .. }]
            if name.quote_style.is_none()
                && name.value.eq_ignore_ascii_case("all")
                && items.place_of("all").is_none() =>
        {
            Some(options)
        }
        _ => None,
    }
}

/// The place of an output that is written as a number.
pub(super) fn ordinal(number: &str, width: usize, clause: &str) -> Result<usize> {
    match number.parse::<usize>() {
        Ok(place) if (1..=width).contains(&place) => Ok(place - 1),
        _ => Err(external(PlanError::Invalid(format!(
            "{clause} {number}: the SELECT list has the columns 1 to {width}"
        )))),
    }
}

/// The items under their names, in the order of the terms and within the bounds. Values that the order alone needs are columns until it is done.
pub(super) fn sorted(
    plan: LogicalPlan,
    items: Vec<Expr>,
    names: &[String],
    terms: Vec<Term>,
    bounds: Bounds,
) -> Result<LogicalPlan> {
    let mut columns: Vec<Expr> = items.into_iter().zip(names).map(|(item, name)| item.alias(name)).collect();
    let mut sorts = Vec::with_capacity(terms.len());
    for term in terms {
        let name = match &term.key {
            Key::Output(place) => names[*place].clone(),
            Key::Computed(value) => {
                let name = format!("#order{}", columns.len());
                columns.push(value.clone().alias(&name));
                name
            }
        };
        sorts.push(term.over(Expr::Column(Column::new_unqualified(name))));
    }
    let hidden = columns.len() > names.len();
    let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
    let plan = bounds.of(in_order(plan, sorts));
    if hidden { shown(plan, names) } else { Ok(plan) }
}

/// Rows in an order.
pub(super) fn in_order(plan: LogicalPlan, expr: Vec<SortExpr>) -> LogicalPlan {
    if expr.is_empty() {
        return plan;
    }
    LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch: None })
}

/// The columns of these names alone.
pub(super) fn shown(plan: LogicalPlan, names: &[String]) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = names.iter().map(|name| Expr::Column(Column::new_unqualified(name))).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

fn bare(expr: &SqlExpr) -> &SqlExpr {
    match expr {
        SqlExpr::Nested(inner) => bare(inner),
        other => other,
    }
}
