//! GROUP BY: keys and sets of keys, and what the other clauses may read of the groups.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DataFusionError, Result};
use datafusion_expr::expr::{AggregateFunction, GroupingSet};
use datafusion_expr::logical_plan::{Aggregate, Projection};
use datafusion_expr::utils::find_aggregate_exprs;
use datafusion_expr::{Expr, LogicalPlan, lit};
use datafusion_sql::sqlparser::ast::{
    Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    GroupByWithModifier, Value,
};

use super::items::Items;
use super::order::ordinal;
use super::scope::Names;
use super::{Binder, refused};
use crate::PlanError;
use crate::text::aggregates::aggregate_stub;
use crate::text::planner::external;

/// The most columns of a CUBE: it has a set for each choice among them.
const WIDEST_CUBE: usize = 12;

/// What rows are grouped by.
pub(super) struct Grouping {
    keys: Vec<Expr>,
    /// The places of the keys of each set; one set is a plain GROUP BY.
    sets: Vec<Vec<usize>>,
}

impl Binder<'_> {
    /// The grouping that a clause asks for, if there is one.
    pub(super) fn grouping(
        &mut self,
        clause: &GroupByExpr,
        items: &Items,
        names: &Names<'_>,
    ) -> Result<Option<Grouping>> {
        let (sets, modifiers) = match clause {
            GroupByExpr::All(modifiers) => {
                let keys = items.exprs.iter().filter(|item| !computes_group(item)).cloned().collect();
                (vec![keys], modifiers)
            }
            GroupByExpr::Expressions(elements, _) if elements.is_empty() => return Ok(None),
            GroupByExpr::Expressions(elements, modifiers) => {
                let mut sets: Vec<Vec<Expr>> = vec![Vec::new()];
                for element in elements {
                    sets = products(&sets, &self.sets(element, items, names)?);
                }
                (sets, modifiers)
            }
        };
        let sets = match &modifiers[..] {
            [] => sets,
            [GroupByWithModifier::Rollup] => rolled_up(&one_by_one(sets)),
            [GroupByWithModifier::Cube] => cubed(&one_by_one(sets))?,
            _ => return Err(refused("with", "GROUP BY takes WITH ROLLUP or WITH CUBE")),
        };
        let mut grouping = Grouping { keys: Vec::new(), sets: Vec::new() };
        for set in sets {
            let set: Vec<usize> = set.into_iter().map(|key| grouping.place(key)).collect::<Result<_>>()?;
            grouping.sets.push(set);
        }
        Ok(Some(grouping))
    }

    /// The sets of one element.
    fn sets(&mut self, element: &SqlExpr, items: &Items, names: &Names<'_>) -> Result<Vec<Vec<Expr>>> {
        match element {
            SqlExpr::Nested(inner) => self.sets(inner, items, names),
            SqlExpr::Tuple(keys) => Ok(vec![self.keys(keys, items, names)?]),
            SqlExpr::GroupingSets(sets) => {
                let mut all = Vec::new();
                for set in sets {
                    match &set[..] {
                        [one] => all.extend(self.sets(one, items, names)?),
                        keys => all.push(self.keys(keys, items, names)?),
                    }
                }
                Ok(all)
            }
            SqlExpr::Rollup(parts) => Ok(rolled_up(&self.parts(parts, items, names)?)),
            SqlExpr::Cube(parts) => cubed(&self.parts(parts, items, names)?),
            SqlExpr::Function(call) => match (call.name.to_string().to_lowercase().as_str(), arguments(call))
            {
                ("rollup", Some(parts)) => Ok(rolled_up(&self.parts(&parts, items, names)?)),
                ("cube", Some(parts)) => cubed(&self.parts(&parts, items, names)?),
                _ => Ok(vec![vec![self.key(element, items, names)?]]),
            },
            key => Ok(vec![vec![self.key(key, items, names)?]]),
        }
    }

    fn parts(&mut self, parts: &[Vec<SqlExpr>], items: &Items, names: &Names<'_>) -> Result<Vec<Vec<Expr>>> {
        parts.iter().map(|part| self.keys(part, items, names)).collect()
    }

    fn keys(&mut self, keys: &[SqlExpr], items: &Items, names: &Names<'_>) -> Result<Vec<Expr>> {
        keys.iter().map(|key| self.key(key, items, names)).collect()
    }

    /// One key: an output by its place, or an expression.
    fn key(&mut self, sql: &SqlExpr, items: &Items, names: &Names<'_>) -> Result<Expr> {
        match sql {
            SqlExpr::Value(value) => match &value.value {
                Value::Number(number, _) if number.parse::<u64>().is_ok() => {
                    Ok(items.exprs[ordinal(number, items.exprs.len(), "GROUP BY")?].clone())
                }
                _ => self.expr(sql, names),
            },
            _ => self.expr(sql, names),
        }
    }
}

impl Grouping {
    fn place(&mut self, key: Expr) -> Result<usize> {
        if computes_group(&key) {
            return Err(refused("group", "GROUP BY cannot hold an aggregate or a window function"));
        }
        if let Some(place) = self.keys.iter().position(|known| *known == key) {
            return Ok(place);
        }
        self.keys.push(key);
        Ok(self.keys.len() - 1)
    }
}

/// The groups, and the expressions over them instead of over the rows.
pub(super) fn grouped(
    plan: LogicalPlan,
    grouping: Option<&Grouping>,
    exprs: Vec<Expr>,
    hoisted: &[(Column, Expr)],
) -> Result<(LogicalPlan, Vec<Expr>)> {
    let whole = Grouping { keys: Vec::new(), sets: vec![Vec::new()] };
    let Grouping { keys, sets } = grouping.unwrap_or(&whole);
    let calls = find_aggregate_exprs(&exprs);
    let plain = sets.len() == 1;
    let columns: Vec<Expr> = keys
        .iter()
        .enumerate()
        .map(|(place, key)| match key {
            Expr::Column(_) => key.clone(),
            _ => Expr::Column(Column::new_unqualified(format!("#key{place}"))),
        })
        .collect();
    let named = |place: usize| match &keys[place] {
        Expr::Column(_) => keys[place].clone(),
        key => key.clone().alias(format!("#key{place}")),
    };
    let (input, group) = if plain {
        (plan.clone(), (0..keys.len()).map(named).collect())
    } else {
        let sets = sets.iter().map(|set| set.iter().map(|place| columns[*place].clone()).collect());
        let group = vec![Expr::GroupingSet(GroupingSet::GroupingSets(sets.collect()))];
        (with_keys(&plan, keys, named)?, group)
    };
    let mut aggregates: Vec<Expr> = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        aggregates.push(over_keys(call.clone(), keys, &columns)?.alias(format!("#agg{place}")));
    }
    aggregates.extend(hoisted.iter().map(|(column, call)| call.clone().alias(&column.name)));
    if aggregates.is_empty() && keys.is_empty() {
        aggregates.push(count_of_rows()?);
    }
    let groups = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), group, aggregates)?);
    let exprs = exprs.into_iter().map(|expr| over_groups(expr, &plan, keys, &columns, &calls));
    let exprs = exprs.collect::<Result<_>>()?;
    Ok((groups, exprs))
}

/// Whether a value is one of groups or windows, not of rows.
pub(super) fn computes_group(expr: &Expr) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::AggregateFunction(_) | Expr::WindowFunction(_))))
        .unwrap_or(true)
}

/// The rows with the keys that are computed, so that every key of a set is a column.
fn with_keys(plan: &LogicalPlan, keys: &[Expr], named: impl Fn(usize) -> Expr) -> Result<LogicalPlan> {
    if keys.iter().all(|key| matches!(key, Expr::Column(_))) {
        return Ok(plan.clone());
    }
    let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    columns.extend((0..keys.len()).filter(|place| !matches!(keys[*place], Expr::Column(_))).map(named));
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan.clone()))?))
}

/// `grouping(key)` names keys, not values.
fn over_keys(call: Expr, keys: &[Expr], columns: &[Expr]) -> Result<Expr> {
    let Expr::AggregateFunction(AggregateFunction { func, mut params }) = call else { return Ok(call) };
    if func.name() == "grouping" {
        for arg in &mut params.args {
            let Some(place) = keys.iter().position(|key| key == arg) else {
                return Err(refused(
                    "grouping",
                    format!("grouping({}) is not about a key of GROUP BY", readable(arg)),
                ));
            };
            *arg = columns[place].clone();
        }
    }
    Ok(Expr::AggregateFunction(AggregateFunction { func, params }))
}

fn count_of_rows() -> Result<Expr> {
    let Some(count) = aggregate_stub("count") else {
        return Err(external(PlanError::Invalid("internal: no count".into())));
    };
    let call = AggregateFunction::new_udf(count, vec![lit(1_i64)], false, None, Vec::new(), None);
    Ok(Expr::AggregateFunction(call).alias("#rows"))
}

/// Keys and aggregates become columns of the groups; any other column has no one value there.
fn over_groups(
    expr: Expr,
    rows: &LogicalPlan,
    keys: &[Expr],
    columns: &[Expr],
    calls: &[Expr],
) -> Result<Expr> {
    let replaced = expr.transform_down(|part| {
        if let Some(place) = keys.iter().position(|key| *key == part) {
            return Ok(Transformed::new(columns[place].clone(), true, TreeNodeRecursion::Jump));
        }
        if let Some(place) = calls.iter().position(|call| *call == part) {
            let column = Expr::Column(Column::new_unqualified(format!("#agg{place}")));
            return Ok(Transformed::new(column, true, TreeNodeRecursion::Jump));
        }
        if let Expr::Column(column) = &part {
            return Err(ungrouped(column));
        }
        let subquery = match &part {
            Expr::ScalarSubquery(subquery) => Some(subquery),
            Expr::Exists(exists) => Some(&exists.subquery),
            Expr::InSubquery(found) => Some(&found.subquery),
            Expr::SetComparison(compared) => Some(&compared.subquery),
            _ => None,
        };
        for outer in subquery.into_iter().flat_map(|subquery| &subquery.outer_ref_columns) {
            if let Expr::OuterReferenceColumn(_, column) = outer
                && rows.schema().has_column(column)
                && !keys.contains(&Expr::Column(column.clone()))
            {
                return Err(ungrouped(column));
            }
        }
        Ok(Transformed::no(part))
    })?;
    Ok(replaced.data)
}

fn ungrouped(column: &Column) -> DataFusionError {
    let name = readable(&Expr::Column(column.clone()));
    let reason = format!("Column '{name}' must appear in GROUP BY or be used in an aggregate");
    refused(&column.name, reason)
}

/// An expression without the numbers of aliases.
fn readable(expr: &Expr) -> String {
    crate::text::error::readable(&expr.to_string())
}

fn arguments(call: &Function) -> Option<Vec<Vec<SqlExpr>>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let part = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(SqlExpr::Tuple(keys))) => Some(keys.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(key)) => Some(vec![key.clone()]),
        _ => None,
    };
    list.args.iter().map(part).collect()
}

fn products(left: &[Vec<Expr>], right: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    let pairs = left.iter().flat_map(|mine| right.iter().map(move |theirs| (mine, theirs)));
    pairs.map(|(mine, theirs)| mine.iter().chain(theirs).cloned().collect()).collect()
}

fn one_by_one(sets: Vec<Vec<Expr>>) -> Vec<Vec<Expr>> {
    sets.into_iter().flatten().map(|key| vec![key]).collect()
}

fn rolled_up(parts: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=parts.len()).rev().map(|count| parts[..count].concat()).collect()
}

fn cubed(parts: &[Vec<Expr>]) -> Result<Vec<Vec<Expr>>> {
    if parts.len() > WIDEST_CUBE {
        return Err(refused(
            "cube",
            format!("CUBE takes at most {WIDEST_CUBE} columns, got {}", parts.len()),
        ));
    }
    let chosen = |bits: usize| {
        let inside = |(place, part): (usize, &Vec<Expr>)| (bits & (1 << place) == 0).then(|| part.clone());
        parts.iter().enumerate().filter_map(inside).flatten().collect()
    };
    Ok((0..1_usize << parts.len()).map(chosen).collect())
}
