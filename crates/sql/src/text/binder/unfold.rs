//! Lists unfolded into rows. Several lists side by side are unfolded by place: row *i* has the *i*-th element of each, and NULL where one has ended.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, NullHandling, Result, UnnestOptions};
use datafusion_expr::expr::Unnest as UnnestExpr;
use datafusion_expr::logical_plan::{Projection, Unnest};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, cast, lit};

use super::refused;
use crate::scalar_function;
use crate::text::planner::external;

/// The rows, as often as the lists have elements, with a column for each list behind them, and one that counts from 1.
pub(super) fn unfolded(
    plan: LogicalPlan,
    lists: Vec<(Expr, String)>,
    ordinality: Option<String>,
) -> Result<LogicalPlan> {
    for (list, _) in &lists {
        let data_type = list.get_type(plan.schema())?;
        if !matches!(
            data_type,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Null
        ) {
            return Err(refused("unnest", format!("unnest takes a list, got {data_type}")));
        }
    }
    if let ([(list, name)], None) = (&lists[..], &ordinality) {
        return one(plan, list.clone(), name);
    }
    side_by_side(plan, lists, ordinality)
}

/// The unnest calls of expressions are columns of the plan then.
pub(super) fn in_expressions(
    mut plan: LogicalPlan,
    mut exprs: Vec<Expr>,
) -> Result<(LogicalPlan, Vec<Expr>)> {
    let mut made = 0;
    loop {
        let mut calls: Vec<Expr> = Vec::new();
        for expr in &exprs {
            expr.apply(|part| {
                if matches!(part, Expr::Unnest(inner) if !holds_unnest(&inner.expr)?) && !calls.contains(part)
                {
                    calls.push(part.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        if calls.is_empty() {
            return Ok((plan, exprs));
        }
        let names: Vec<String> = (made..made + calls.len()).map(|place| format!("#unnest{place}")).collect();
        made += calls.len();
        let lists = calls.iter().zip(&names).filter_map(|(call, name)| match call {
            Expr::Unnest(UnnestExpr { expr, .. }) => Some((expr.as_ref().clone(), name.clone())),
            _ => None,
        });
        plan = unfolded(plan, lists.collect(), None)?;
        let column = |part: Expr| match calls.iter().position(|call| *call == part) {
            Some(place) => Ok(Transformed::yes(Expr::Column(Column::new_unqualified(&names[place])))),
            None => Ok(Transformed::no(part)),
        };
        exprs = exprs.into_iter().map(|expr| Ok(expr.transform_up(column)?.data)).collect::<Result<_>>()?;
    }
}

fn holds_unnest(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::Unnest(_))))
}

fn one(plan: LogicalPlan, list: Expr, name: &str) -> Result<LogicalPlan> {
    let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    columns.push(list.alias(name));
    let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
    let options = UnnestOptions { null_handling: NullHandling::Drop, recursions: Vec::new() };
    let column = Column::new_unqualified(name);
    Ok(LogicalPlan::Unnest(Unnest::try_new(Arc::new(plan), vec![column], options)?))
}

fn side_by_side(
    plan: LogicalPlan,
    lists: Vec<(Expr, String)>,
    ordinality: Option<String>,
) -> Result<LogicalPlan> {
    let function = |name: &str| scalar_function(name).map_err(external);
    let (length, greatest) = (function("array_length")?, function("greatest")?);
    let (coalesce, range, element) = (function("coalesce")?, function("range")?, function("array_element")?);
    let own: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let held = |place: usize| format!("#list{place}");
    let mut columns = own.clone();
    columns.extend(lists.iter().enumerate().map(|(place, (list, _))| list.clone().alias(held(place))));
    let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
    let list = |place: usize| Expr::Column(Column::new_unqualified(held(place)));
    let lengths: Vec<Expr> = (0..lists.len())
        .map(|place| coalesce.call(vec![cast(length.call(vec![list(place)]), DataType::Int64), lit(0_i64)]))
        .collect();
    let longest = if lengths.len() == 1 { lengths[0].clone() } else { greatest.call(lengths) };
    let plan = one(plan, range.call(vec![lit(1_i64), longest + lit(1_i64)]), "#place")?;
    let place = Expr::Column(Column::new_unqualified("#place"));
    let mut columns = own;
    for (index, (_, name)) in lists.iter().enumerate() {
        columns.push(element.call(vec![list(index), place.clone()]).alias(name));
    }
    columns.extend(ordinality.map(|name| place.alias(name)));
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}
