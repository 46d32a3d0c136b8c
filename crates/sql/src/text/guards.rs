//! Guards: a conjunct that may fail sees only the rows that the conjuncts before it left over.
//!
//! The optimizer reorders conjuncts and pushes each down on its own. So a conjunct that may fail (a division, a cast of a text) and reads one table is
//! written as `CASE WHEN <the conjuncts before it on that table> THEN it END`, which means the same and carries its guard wherever it goes.

use std::collections::HashSet;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Result, ScalarValue, TableReference};
use datafusion_expr::expr::Case;
use datafusion_expr::logical_plan::Filter;
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{Expr, LogicalPlan, Operator};

/// Guards the filters of a plan.
pub(crate) fn protect(plan: LogicalPlan) -> Result<LogicalPlan> {
    let guarded = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Filter(filter) if needs_guard(&filter.predicate)? => {
            let predicate = guarded(&filter.predicate)?;
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(guarded.data)
}

fn needs_guard(predicate: &Expr) -> Result<bool> {
    let conjuncts = split_conjunction(predicate);
    if conjuncts.len() < 2 {
        return Ok(false);
    }
    for conjunct in conjuncts {
        if may_fail(conjunct)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn guarded(predicate: &Expr) -> Result<Expr> {
    let conjuncts = split_conjunction(predicate);
    let mut done: Vec<Expr> = Vec::with_capacity(conjuncts.len());
    for (place, conjunct) in conjuncts.iter().enumerate() {
        let tables = tables_of(conjunct);
        let before = conjuncts[..place]
            .iter()
            .filter(|earlier| tables_of(earlier).is_subset(&tables) && !holds_subquery(earlier));
        let guard = if tables.len() == 1 && may_fail(conjunct)? {
            conjunction(before.map(|expr| (*expr).clone()))
        } else {
            None
        };
        done.push(match guard {
            Some(guard) => {
                Expr::Case(Case::new(None, vec![(Box::new(guard), Box::new((*conjunct).clone()))], None))
            }
            None => (*conjunct).clone(),
        });
    }
    Ok(conjunction(done).unwrap_or_else(|| predicate.clone()))
}

fn tables_of(expr: &Expr) -> HashSet<Option<TableReference>> {
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

/// A division by something that may be zero, or a cast from a text.
fn may_fail(expr: &Expr) -> Result<bool> {
    let mut found = false;
    expr.apply(|part| {
        found |= match part {
            Expr::BinaryExpr(binary) if matches!(binary.op, Operator::Divide | Operator::Modulo) => {
                !is_nonzero(&binary.right)
            }
            Expr::Cast(cast) => {
                !matches!(*cast.expr, Expr::Literal(..)) && !cast.field.data_type().is_string()
            }
            Expr::ScalarFunction(call) => {
                matches!(call.func.name(), "to_timestamp" | "to_date" | "arrow_cast" | "sqrt" | "log" | "ln")
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
