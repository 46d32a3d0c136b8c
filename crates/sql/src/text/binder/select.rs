//! One SELECT: its clauses in the order in which they work.
//!
//! FROM, WHERE, GROUP BY and the aggregates, HAVING, the window functions, QUALIFY, the lists that are unfolded, DISTINCT, ORDER BY, LIMIT. Each step makes
//! columns of what it computes, and the expressions of the later clauses then read these.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, Result};
use datafusion_expr::logical_plan::{Distinct, Filter, Projection, Window};
use datafusion_expr::utils::find_window_exprs;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_sql::sqlparser::ast::{
    Distinct as SqlDistinct, Expr as SqlExpr, OrderBy, Select, SelectFlavor, SelectItem,
    WildcardAdditionalOptions,
};

use super::grouping::{Grouping, computes_group, grouped};
use super::items::Items;
use super::order::{Key, Term, in_order, shown, sorted};
use super::query::Bounds;
use super::scope::{Names, Scope};
use super::unfold::in_expressions;
use super::{Binder, named_apart, refused};
use crate::text::first_rows::FirstRows;

/// The expressions of the clauses behind WHERE.
struct Clauses {
    items: Vec<Expr>,
    having: Option<Expr>,
    qualify: Option<Expr>,
    /// What DISTINCT ON compares.
    on: Vec<Expr>,
    terms: Vec<Term>,
}

impl Clauses {
    /// All expressions, in a fixed order.
    fn all(&self) -> Vec<Expr> {
        let computed = self.terms.iter().filter_map(|term| match &term.key {
            Key::Computed(value) => Some(value),
            Key::Output(_) => None,
        });
        let rest = self.having.iter().chain(&self.qualify).chain(&self.on).chain(computed);
        self.items.iter().chain(rest).cloned().collect()
    }

    /// Other expressions in their places.
    fn put(&mut self, exprs: Vec<Expr>) {
        let computed = self.terms.iter_mut().filter_map(|term| match &mut term.key {
            Key::Computed(value) => Some(value),
            Key::Output(_) => None,
        });
        let rest = self.having.iter_mut().chain(&mut self.qualify).chain(&mut self.on).chain(computed);
        self.items.iter_mut().chain(rest).zip(exprs).for_each(|(place, expr)| *place = expr);
    }
}

impl Binder<'_> {
    pub(super) fn select(
        &mut self,
        select: &Select,
        order: Option<&OrderBy>,
        bounds: Bounds,
    ) -> Result<LogicalPlan> {
        check_select(select)?;
        let source = self.from(&select.from)?;
        let (scope, windows) = (&source.scope, &select.named_window[..]);
        let everything = [SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        let list = match select.flavor {
            SelectFlavor::FromFirstNoSelect => &everything[..],
            _ => &select.projection[..],
        };
        let items = self.items(list, &source.plan, scope, windows)?;
        let outputs = named_apart(items.names.iter().cloned());
        let names = Names { scope, aliases: &items.aliases, aliases_first: false, windows, settled: true };
        let plan = self.filtered(source.plan, select.selection.as_ref(), &names)?;
        let grouping = self.grouping(&select.group_by, &items, &names)?;
        let having = select.having.as_ref().map(|having| self.condition(having, &names)).transpose()?;
        let by_alias = Names { aliases_first: true, ..names };
        let other_having = match &select.having {
            Some(having) if hides(&items, scope) => Some(self.condition(having, &by_alias)?),
            _ => None,
        };
        let qualify = select.qualify.as_ref().map(|qualify| self.condition(qualify, &names)).transpose()?;
        let terms = match order {
            Some(order) => self.order_terms(order, &names, &items)?,
            None => Vec::new(),
        };
        let mut on = Vec::new();
        if let Some(SqlDistinct::On(keys)) = &select.distinct {
            on = keys
                .iter()
                .map(|key| self.distinct_key(key, &by_alias, &items.exprs))
                .collect::<Result<_>>()?;
        }
        let mut clauses = Clauses { items: items.exprs, having, qualify, on, terms };
        let exprs = self.hoist(clauses.all())?;
        clauses.put(exprs);
        let hoisted = self.take_hoisted(scope);
        let plan = grouped_rows(plan, grouping.as_ref(), &mut clauses, other_having, &hoisted)?;
        let plan = stages(plan, &mut clauses)?;
        finished(plan, clauses, select.distinct.as_ref(), &outputs, bounds)
    }

    fn filtered(
        &mut self,
        plan: LogicalPlan,
        sql: Option<&SqlExpr>,
        names: &Names<'_>,
    ) -> Result<LogicalPlan> {
        let Some(sql) = sql else { return Ok(plan) };
        let condition = self.condition(sql, names)?;
        if computes_group(&condition) {
            let reason = "WHERE cannot hold an aggregate or a window function: use HAVING or QUALIFY";
            return Err(refused("where", reason));
        }
        if condition.exists(|part| Ok(matches!(part, Expr::Unnest(_))))? {
            return Err(refused("unnest", "WHERE cannot hold unnest: unfold the list in FROM"));
        }
        Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?))
    }

    fn distinct_key(&mut self, sql: &SqlExpr, names: &Names<'_>, items: &[Expr]) -> Result<Expr> {
        use datafusion_sql::sqlparser::ast::Value;
        if let SqlExpr::Value(value) = sql
            && let Value::Number(number, _) = &value.value
        {
            return Ok(items[super::order::ordinal(number, items.len(), "DISTINCT ON")?].clone());
        }
        self.expr(sql, names)
    }
}

/// Whether an alias has the name of a column.
fn hides(items: &Items, scope: &Scope) -> bool {
    items.aliases.iter().any(|(alias, _)| scope.columns.iter().any(|column| column.name == *alias))
}

/// The groups, if there is anything to group. A name in HAVING is that of a key or, if it is none, of an output.
fn grouped_rows(
    plan: LogicalPlan,
    grouping: Option<&Grouping>,
    clauses: &mut Clauses,
    other_having: Option<Expr>,
    hoisted: &[(Column, Expr)],
) -> Result<LogicalPlan> {
    let exprs = clauses.all();
    let aggregates = |expr: &Expr| expr.exists(|part| Ok(matches!(part, Expr::AggregateFunction(_))));
    let needed = grouping.is_some() || clauses.having.is_some() || !hoisted.is_empty();
    if !needed && !exprs.iter().any(|expr| aggregates(expr).unwrap_or(true)) {
        return Ok(plan);
    }
    let mut done = grouped(plan.clone(), grouping, exprs, hoisted);
    if let (Err(_), Some(having)) = (&done, other_having) {
        clauses.having = Some(having);
        done = grouped(plan, grouping, clauses.all(), hoisted);
    }
    let (groups, exprs) = done?;
    clauses.put(exprs);
    Ok(groups)
}

/// From the groups to the rows that are projected.
fn stages(plan: LogicalPlan, clauses: &mut Clauses) -> Result<LogicalPlan> {
    let mut plan = plan;
    if let Some(having) = clauses.having.take() {
        plan = LogicalPlan::Filter(Filter::try_new(having, Arc::new(plan))?);
    }
    let (windowed, exprs) = with_windows(plan, clauses.all())?;
    plan = windowed;
    clauses.put(exprs);
    if let Some(qualify) = clauses.qualify.take() {
        plan = LogicalPlan::Filter(Filter::try_new(qualify, Arc::new(plan))?);
    }
    let (plan, exprs) = in_expressions(plan, clauses.all())?;
    clauses.put(exprs);
    Ok(plan)
}

/// The rows with a column for each window function, and the expressions over them.
fn with_windows(plan: LogicalPlan, exprs: Vec<Expr>) -> Result<(LogicalPlan, Vec<Expr>)> {
    let calls = find_window_exprs(&exprs);
    if calls.is_empty() {
        return Ok((plan, exprs));
    }
    let name = |place: usize| format!("#window{place}");
    let named = calls.iter().enumerate().map(|(place, call)| call.clone().alias(name(place))).collect();
    let plan = LogicalPlan::Window(Window::try_new(named, Arc::new(plan))?);
    let column = |part: Expr| match calls.iter().position(|call| *call == part) {
        Some(place) => {
            let column = Expr::Column(Column::new_unqualified(name(place)));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        }
        None => Ok(Transformed::no(part)),
    };
    let exprs = exprs.into_iter().map(|expr| Ok(expr.transform_down(column)?.data)).collect::<Result<_>>()?;
    Ok((plan, exprs))
}

/// The outputs: chosen, made distinct, ordered and limited.
fn finished(
    plan: LogicalPlan,
    clauses: Clauses,
    distinct: Option<&SqlDistinct>,
    outputs: &[String],
    bounds: Bounds,
) -> Result<LogicalPlan> {
    let Clauses { items, on, terms, .. } = clauses;
    match distinct {
        Some(SqlDistinct::Distinct) => {
            let terms =
                terms.into_iter().map(|term| over_outputs(term, &items, outputs)).collect::<Result<_>>()?;
            let columns = items.into_iter().zip(outputs).map(|(item, name)| item.alias(name)).collect();
            let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
            let plan = LogicalPlan::Distinct(Distinct::All(Arc::new(plan)));
            let outputs_of = outputs.iter().map(|name| Expr::Column(Column::new_unqualified(name))).collect();
            sorted(plan, outputs_of, outputs, terms, bounds)
        }
        Some(SqlDistinct::On(_)) => distinct_on(plan, items, on, terms, outputs, bounds),
        _ => sorted(plan, items, outputs, terms, bounds),
    }
}

/// Rows that were made distinct are ordered by what they show.
fn over_outputs(term: Term, items: &[Expr], outputs: &[String]) -> Result<Term> {
    let Key::Computed(value) = term.key else { return Ok(term) };
    let replaced = value.transform_down(|part| match items.iter().position(|item| *item == part) {
        Some(place) => {
            let column = Expr::Column(Column::new_unqualified(&outputs[place]));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        }
        None if matches!(part, Expr::Column(_)) => {
            Err(refused("order", "ORDER BY of a SELECT DISTINCT takes the columns of the SELECT list"))
        }
        None => Ok(Transformed::no(part)),
    })?;
    Ok(Term { key: Key::Computed(replaced.data), ..term })
}

/// The first row of each group, by the order of the query, in which the rows then stand.
fn distinct_on(
    plan: LogicalPlan,
    items: Vec<Expr>,
    on: Vec<Expr>,
    terms: Vec<Term>,
    outputs: &[String],
    bounds: Bounds,
) -> Result<LogicalPlan> {
    let mut columns: Vec<Expr> =
        items.into_iter().zip(outputs).map(|(item, name)| item.alias(name)).collect();
    let mut names: Vec<String> = outputs.to_vec();
    let mut hidden = |value: Expr| {
        let name = format!("#order{}", columns.len());
        columns.push(value.alias(&name));
        names.push(name);
        columns.len() - 1
    };
    let on = on.into_iter().map(&mut hidden).collect();
    let mut order = Vec::with_capacity(terms.len());
    for term in &terms {
        let place = match &term.key {
            Key::Output(place) => *place,
            Key::Computed(value) => hidden(value.clone()),
        };
        order.push(term.at(place));
    }
    let input = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
    let sorts = terms.iter().zip(&order);
    let sorts =
        sorts.map(|(term, (place, ..))| term.over(Expr::Column(Column::new_unqualified(&names[*place]))));
    let sorts = sorts.collect();
    let plan = FirstRows { on, order, input }.into_plan();
    shown(bounds.of(in_order(plan, sorts)), outputs)
}

/// Clauses that would be forgotten are refused.
fn check_select(select: &Select) -> Result<()> {
    let clauses = [
        ("top", select.top.is_some(), "TOP is not supported: use LIMIT"),
        ("into", select.into.is_some(), "SELECT INTO is not supported: use CREATE TABLE .. AS"),
        ("lateral", !select.lateral_views.is_empty(), "LATERAL VIEW is not supported: use unnest in FROM"),
        ("prewhere", select.prewhere.is_some(), "PREWHERE is not supported: use WHERE"),
        ("connect", !select.connect_by.is_empty(), "CONNECT BY is not supported: use WITH RECURSIVE"),
        ("cluster", !select.cluster_by.is_empty(), "CLUSTER BY is not supported"),
        ("distribute", !select.distribute_by.is_empty(), "DISTRIBUTE BY is not supported"),
        ("sort", !select.sort_by.is_empty(), "SORT BY is not supported: use ORDER BY"),
        ("exclude", select.exclude.is_some(), "EXCLUDE stands behind *"),
        ("as", select.value_table_mode.is_some(), "SELECT AS STRUCT and AS VALUE are not supported"),
    ];
    match clauses.into_iter().find(|(_, found, _)| *found) {
        Some((name, _, reason)) => Err(refused(name, reason)),
        None => Ok(()),
    }
}
