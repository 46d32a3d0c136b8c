//! Arithmetic on constants is checked before anybody folds it.
//!
//! DataFusion's simplifier computes `9223372036854775807 + 1` with wrapping arithmetic. So every part of an expression that is arithmetic on constants
//! alone is computed here first, with checks; what does not overflow folds to the same value.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, DataFusionError, Result};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{Expr, LogicalPlan, Operator};
use datafusion_physical_expr::create_physical_expr;
use std::sync::Arc;

use crate::PlanError;
use crate::bind::check_arithmetic;
use crate::functions::is_cast;

/// Refuses an expression in which arithmetic on constants overflows.
pub(crate) fn check_constants(expr: &Expr) -> Result<()> {
    expr.apply(|part| {
        if !is_arithmetic(part) || !is_constant(part)? {
            return Ok(TreeNodeRecursion::Continue);
        }
        compute(part)?;
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(())
}

/// The same for all expressions of a plan and its subqueries.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            check_constants(expr)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

fn is_arithmetic(expr: &Expr) -> bool {
    let checked = [Operator::Plus, Operator::Minus, Operator::Multiply, Operator::Divide];
    match expr {
        Expr::BinaryExpr(binary) => checked.contains(&binary.op),
        Expr::Negative(_) => true,
        _ => false,
    }
}

fn is_constant(expr: &Expr) -> Result<bool> {
    let other = expr.exists(|part| {
        Ok(match part {
            Expr::ScalarFunction(call) => !is_cast(&call.func),
            part => {
                !matches!(part, Expr::Literal(..) | Expr::Cast(_) | Expr::Negative(_) | Expr::BinaryExpr(_))
            }
        })
    })?;
    Ok(!other)
}

/// Only an overflow is an error here: a division by zero may stand in a branch that no row takes.
fn compute(expr: &Expr) -> Result<()> {
    let (scope, schema) = (DFSchema::empty(), Arc::new(Schema::empty()));
    let planned =
        create_physical_expr(expr, &scope, &ExecutionProps::new(), &PhysicalPlanningContext::default());
    let Ok(physical) = planned else { return Ok(()) };
    let checked = physical.transform_up(|part| check_arithmetic(part, &schema))?.data;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(schema, Vec::new(), &options)?;
    match checked.evaluate(&row) {
        Err(error) if error.to_string().to_lowercase().contains("overflow") => {
            let reason = format!("{expr} overflows: {}", error.strip_backtrace());
            Err(DataFusionError::External(Box::new(PlanError::Invalid(reason))))
        }
        _ => Ok(()),
    }
}
