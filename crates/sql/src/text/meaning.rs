//! Expressions and nodes whose meaning in SQL is not DataFusion's, replaced after types are coerced: every cast is visible then, written or not.
//!
//! * Casts become those of `functions/cast.rs` where these differ.
//! * Intervals compare by their length, a month as 30 days and a day as 24 hours: in comparisons, orders, groups, joins, DISTINCT, min and max. Where
//!   several that are equally long stand for one, it is the least by months, then days.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::{AggregateFunction, Alias, Between, InList, Sort, WindowFunction};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::{Aggregate, Distinct, Projection};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, Operator};

use super::aggregates::aggregate_stub;
use super::operators::{INTERVAL, binary, call, cast};
use crate::functions::cast_call;

/// Replaces them in a plan and its subqueries.
pub(crate) fn settle(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(|node| Ok(Transformed::yes(node_settled(node)?)))?.data)
}

fn node_settled(node: LogicalPlan) -> Result<LogicalPlan> {
    let schema = merge_schema(&node.inputs());
    let names = NamePreserver::new(&node);
    let keyed = matches!(node, LogicalPlan::Join(_));
    let settled = node.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|part| part_settled(part, &schema))?;
        let key = keyed && changed.data.get_type(&schema).is_ok_and(|found| found == INTERVAL);
        if !changed.transformed && !key {
            return Ok(Transformed::no(changed.data));
        }
        let data = if key { length(changed.data) } else { changed.data };
        Ok(Transformed::yes(name.restore(data)))
    })?;
    if settled.transformed { by_length(settled.data.recompute_schema()?) } else { by_length(settled.data) }
}

fn part_settled(part: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let settled = match &part {
        Expr::Cast(written) => {
            let from = written.expr.get_type(schema)?;
            cast_call(written.expr.as_ref().clone(), &from, written.field.data_type(), false)
        }
        Expr::TryCast(written) => {
            let from = written.expr.get_type(schema)?;
            cast_call(written.expr.as_ref().clone(), &from, written.field.data_type(), true)
        }
        Expr::BinaryExpr(written) if compares(written.op) && is_span(&written.left, schema) => {
            Some(binary(written.op, span(&written.left, schema), span(&written.right, schema)))
        }
        Expr::Between(written) if is_span(&written.expr, schema) => {
            let (low, high) = (span(&written.low, schema), span(&written.high, schema));
            let expr = Box::new(span(&written.expr, schema));
            Some(Expr::Between(Between { expr, low: Box::new(low), high: Box::new(high), ..written.clone() }))
        }
        Expr::InList(written) if is_span(&written.expr, schema) => {
            let list = written.list.iter().map(|item| span(item, schema)).collect();
            Some(Expr::InList(InList {
                expr: Box::new(span(&written.expr, schema)),
                list,
                negated: written.negated,
            }))
        }
        Expr::AggregateFunction(call) => aggregate(call, schema),
        Expr::WindowFunction(window) => ordered_window(window, schema),
        _ => None,
    };
    Ok(settled.map_or_else(|| Transformed::no(part), Transformed::yes))
}

fn compares(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether an expression is an interval or a duration that is compared with one.
fn is_span(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|found| found == INTERVAL)
}

fn span(expr: &Expr, schema: &DFSchema) -> Expr {
    let plain = expr.clone();
    match expr.get_type(schema) {
        Ok(found) if found == INTERVAL => length(plain),
        Ok(DataType::Duration(_)) => length(cast(plain, INTERVAL)),
        _ => plain,
    }
}

fn length(expr: Expr) -> Expr {
    call("interval_length", [expr.clone()]).unwrap_or(expr)
}

/// min and max of intervals look at lengths; so does a count of distinct ones, and an order among arguments.
fn aggregate(found: &AggregateFunction, schema: &DFSchema) -> Option<Expr> {
    let mut call = found.clone();
    let first = call.params.args.first().filter(|arg| is_span(arg, schema)).cloned();
    let mut changed = ordered(&mut call.params.order_by, schema);
    if let Some(arg) = first {
        let other = match call.func.name() {
            "min" => Some("arg_min"),
            "max" => Some("arg_max"),
            _ => None,
        };
        if let Some(function) = other.and_then(aggregate_stub) {
            call.func = function;
            call.params.args = vec![arg.clone(), length(arg)];
            changed = true;
        } else if call.func.name() == "count" && call.params.distinct {
            call.params.args = vec![length(arg)];
            changed = true;
        }
    }
    changed.then_some(Expr::AggregateFunction(call))
}

fn ordered_window(found: &WindowFunction, schema: &DFSchema) -> Option<Expr> {
    let mut window = found.clone();
    let mut changed = ordered(&mut window.params.order_by, schema);
    for part in &mut window.params.partition_by {
        if is_span(part, schema) {
            *part = length(part.clone());
            changed = true;
        }
    }
    changed.then(|| Expr::WindowFunction(Box::new(window)))
}

fn ordered(terms: &mut [Sort], schema: &DFSchema) -> bool {
    let mut changed = false;
    for term in terms {
        if is_span(&term.expr, schema) {
            term.expr = length(term.expr.clone());
            changed = true;
        }
    }
    changed
}

/// Nodes that compare whole values.
fn by_length(node: LogicalPlan) -> Result<LogicalPlan> {
    match node {
        LogicalPlan::Sort(mut sort) => {
            let schema = Arc::clone(sort.input.schema());
            ordered(&mut sort.expr, &schema);
            Ok(LogicalPlan::Sort(sort))
        }
        LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input))
            if input.schema().fields().iter().any(|field| *field.data_type() == INTERVAL) =>
        {
            let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
            grouped(Aggregate::try_new(input, columns, Vec::new())?)
        }
        other => Ok(other),
    }
}

/// Groups by length, with the least of the group's intervals in the place of the key.
fn grouped(aggregate: Aggregate) -> Result<LogicalPlan> {
    let input = Arc::clone(aggregate.input.schema());
    let spans: Vec<bool> = aggregate.group_expr.iter().map(|key| is_span(key, &input)).collect();
    if !spans.contains(&true) {
        return Ok(LogicalPlan::Aggregate(aggregate));
    }
    let mut keys = Vec::with_capacity(spans.len());
    let mut values = Vec::new();
    for (key, is_span) in aggregate.group_expr.iter().zip(&spans) {
        let plain = key.clone().unalias();
        keys.push(if *is_span { length(plain.clone()) } else { key.clone() });
        if *is_span && let Some(least) = aggregate_stub("min") {
            values.push(least.call(vec![plain]).alias(format!("__span_{}", values.len())));
        }
    }
    let shown = values.len();
    values.extend(aggregate.aggr_expr.iter().cloned());
    let lengths = Aggregate::try_new(Arc::clone(&aggregate.input), keys, values)?;
    let count = spans.len();
    let mut behind = count;
    let outer = aggregate.schema.iter().enumerate().map(|(place, (qualifier, field))| {
        let from = match spans.get(place) {
            Some(true) => {
                behind += 1;
                behind - 1
            }
            Some(false) => place,
            None => place + shown,
        };
        let column = Expr::Column(lengths.schema.columns()[from].clone());
        Expr::Alias(Alias::new(column, qualifier.cloned(), field.name()))
    });
    let outer = outer.collect();
    let lengths = Arc::new(LogicalPlan::Aggregate(lengths));
    Ok(LogicalPlan::Projection(Projection::try_new(outer, lengths)?))
}
