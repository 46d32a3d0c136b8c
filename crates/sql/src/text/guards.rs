//! Guards: a conjunct that may fail sees only the rows that the other conjuncts leave over, wherever they stand.
//!
//! The optimizer reorders conjuncts and pushes each down on its own. So a conjunct that may fail (a division, a cast of a text) is written as
//! `CASE WHEN <the conjuncts on the same tables that cannot fail, and those before it> THEN it END`, which means the same and carries its guard wherever it
//! goes. Of an equality of two relations, which a join looks up, only the side that may fail is guarded.

use std::collections::HashSet;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result, ScalarValue, TableReference};
use datafusion_expr::expr::{BinaryExpr, Case};
use datafusion_expr::logical_plan::{Filter, Join};
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, Operator};

use crate::connective::cast_may_fail;
use crate::functions::is_cast;

type Tables = HashSet<Option<TableReference>>;

/// Guards the filters and the conditions of joins of a plan.
pub(crate) fn protect(plan: LogicalPlan) -> Result<LogicalPlan> {
    let guarded = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Filter(filter) => match guarded(&filter.predicate, filter.input.schema())? {
            Some(predicate) => {
                Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
            }
            None => Ok(Transformed::no(LogicalPlan::Filter(filter))),
        },
        LogicalPlan::Join(join) => {
            let both = join.left.schema().join(join.right.schema())?;
            let condition = match &join.filter {
                Some(condition) => guarded(condition, &both)?,
                None => None,
            };
            Ok(match condition {
                Some(condition) => {
                    Transformed::yes(LogicalPlan::Join(Join { filter: Some(condition), ..join }))
                }
                None => Transformed::no(LogicalPlan::Join(join)),
            })
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(guarded.data)
}

/// The condition with its guards, if it needs any.
fn guarded(predicate: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let conjuncts = split_conjunction(predicate);
    let fails: Vec<bool> =
        conjuncts.iter().map(|conjunct| may_fail(conjunct, schema)).collect::<Result<_>>()?;
    if conjuncts.len() < 2 || !fails.contains(&true) {
        return Ok(None);
    }
    let mut done: Vec<Expr> = Vec::with_capacity(conjuncts.len());
    for (place, conjunct) in conjuncts.iter().enumerate() {
        if !fails[place] {
            done.push((*conjunct).clone());
            continue;
        }
        let guards: Vec<(Tables, Expr)> = conjuncts
            .iter()
            .enumerate()
            .filter(|(other, expr)| !holds_subquery(expr) && (!fails[*other] || *other < place))
            .map(|(other, expr)| (tables_of(expr), done.get(other).unwrap_or(expr).clone()))
            .collect();
        done.push(behind(conjunct, &guards, schema)?);
    }
    Ok(conjunction(done))
}

/// A conjunct behind those guards that read no other tables than it does.
fn behind(conjunct: &Expr, guards: &[(Tables, Expr)], schema: &DFSchema) -> Result<Expr> {
    if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = conjunct {
        let (mine, theirs) = (tables_of(left), tables_of(right));
        if mine.is_disjoint(&theirs) && !mine.is_empty() && !theirs.is_empty() {
            let side = |side: &Expr| -> Result<Expr> {
                if may_fail(side, schema)? { Ok(behind_of(side, guards)) } else { Ok(side.clone()) }
            };
            return Ok(side(left)?.eq(side(right)?));
        }
    }
    Ok(behind_of(conjunct, guards))
}

fn behind_of(expr: &Expr, guards: &[(Tables, Expr)]) -> Expr {
    let tables = tables_of(expr);
    let known = guards.iter().filter(|(read, _)| !read.is_empty() && read.is_subset(&tables));
    match conjunction(known.map(|(_, guard)| guard.clone())) {
        Some(guard) => Expr::Case(Case::new(None, vec![(Box::new(guard), Box::new(expr.clone()))], None)),
        None => expr.clone(),
    }
}

fn tables_of(expr: &Expr) -> Tables {
    expr.column_refs().into_iter().map(|column| column.relation.clone()).collect()
}

fn holds_subquery(expr: &Expr) -> bool {
    let is_subquery = |part: &Expr| {
        Ok(matches!(
            part,
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
        ))
    };
    expr.exists(is_subquery).unwrap_or(true)
}

/// A division by something that may be zero, or a cast that may lose something.
fn may_fail(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let mut found = false;
    expr.apply(|part| {
        found |= match part {
            Expr::BinaryExpr(binary) if matches!(binary.op, Operator::Divide | Operator::Modulo) => {
                !is_nonzero(&binary.right)
            }
            Expr::Cast(cast) => {
                let from = cast.expr.get_type(schema);
                !matches!(*cast.expr, Expr::Literal(..))
                    && from.map_or(true, |from| cast_may_fail(&from, cast.field.data_type()))
            }
            Expr::ScalarFunction(call) => {
                is_cast(&call.func)
                    || matches!(
                        call.func.name(),
                        "to_timestamp" | "to_date" | "arrow_cast" | "quotient" | "fail"
                    )
                    || call.func.name().starts_with("json_")
            }
            _ => false,
        };
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn is_nonzero(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => {
            !value.is_null() && ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero != *value)
        }
        Expr::Cast(cast) => is_nonzero(&cast.expr),
        _ => false,
    }
}
