//! Binding: a logical expression over named columns becomes a physical one over positions.
//!
//! Types are coerced as in SQL. Integer arithmetic is checked, shifts too: an overflow fails the step, it never wraps. A negation of integers is `0 - x` for the
//! same reason.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, ScalarValue, TableReference};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::{Expr, Operator};
use datafusion_optimizer::analyzer::type_coercion::TypeCoercionRewriter;
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_physical_expr::expressions::{BinaryExpr, Literal, NegativeExpr};
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use tailrace_operators::Scalar;

use crate::PlanError;
use crate::connective::{lazy, may_fail};
use crate::constants::check_constants;
use crate::expression::{measured, with_stack};
use crate::positions::columns_moved;
use crate::shift::checked_shift;

/// Binds an expression over the columns of one input.
pub fn bind(expr: &Expr, schema: &SchemaRef) -> Result<Scalar, PlanError> {
    let scope = DFSchema::try_from(Arc::clone(schema))?;
    bind_in(expr, &scope)
}

/// Binds an expression over the columns of two inputs, which it calls `left` and `right`; positions count through both.
pub fn bind_in_join(expr: &Expr, left: &Schema, right: &Schema) -> Result<Scalar, PlanError> {
    bind_in(expr, &join_scope(left, right)?)
}

/// Binds an expression over named columns that stand at the positions `columns` of `schema`.
pub(crate) fn bind_columns(
    expr: &Expr,
    scope: &DFSchema,
    columns: &[usize],
    schema: &Schema,
) -> Result<Scalar, PlanError> {
    let physical = physical(expr, scope)?;
    let moved = columns_moved(physical, |column| columns.get(column).copied(), schema)?;
    Ok(Scalar::new(moved, schema)?)
}

/// The type of an expression and whether it may be NULL.
pub fn type_of(expr: &Expr, schema: &SchemaRef) -> Result<(DataType, bool), PlanError> {
    let scalar = bind(expr, schema)?;
    Ok((scalar.data_type().clone(), scalar.nullable()))
}

fn join_scope(left: &Schema, right: &Schema) -> Result<DFSchema, PlanError> {
    let side =
        |name: &'static str, schema: &Schema| vec![Some(TableReference::bare(name)); schema.fields().len()];
    let qualifiers = [side("left", left), side("right", right)].concat();
    let fields: Vec<_> = left.fields().iter().chain(right.fields()).cloned().collect();
    Ok(DFSchema::from_field_specific_qualified_schema(qualifiers, &Arc::new(Schema::new(fields)))?)
}

fn bind_in(expr: &Expr, scope: &DFSchema) -> Result<Scalar, PlanError> {
    let depth = measured(expr)?;
    check_columns(expr, scope)?;
    with_stack(depth, || Ok(Scalar::new(physical(expr, scope)?, scope.as_arrow())?))
}

fn physical(expr: &Expr, scope: &DFSchema) -> Result<Arc<dyn PhysicalExpr>, PlanError> {
    let coerced = expr.clone().rewrite(&mut TypeCoercionRewriter::new(scope))?.data;
    check_constants(&coerced)?;
    let simple = simplified(coerced, scope)?;
    let physical =
        create_physical_expr(&simple, scope, &ExecutionProps::new(), &PhysicalPlanningContext::default())?;
    let checked = physical.transform_up(|expr| check_arithmetic(expr, scope.as_arrow()))?.data;
    check_depth(&checked)?;
    if !may_fail(&checked, scope.as_arrow()) {
        return Ok(checked);
    }
    Ok(checked.transform_up(|expr| lazily(expr, scope.as_arrow()))?.data)
}

fn lazily(
    expr: Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> datafusion_common::Result<Transformed<Arc<dyn PhysicalExpr>>> {
    let binary = expr.downcast_ref::<BinaryExpr>();
    let connective = binary.and_then(|binary| lazy(*binary.op(), [binary.left(), binary.right()], schema));
    Ok(connective.map_or_else(|| Transformed::no(expr), Transformed::yes))
}

/// Some functions (`coalesce`, `nvl`) exist only until they are simplified to others.
fn simplified(expr: Expr, scope: &DFSchema) -> Result<Expr, PlanError> {
    let calls = expr.exists(|part| Ok(matches!(part, Expr::ScalarFunction(_))))?;
    if !calls {
        return Ok(expr);
    }
    let context = SimplifyContext::builder().with_schema(Arc::new(scope.clone())).build();
    Ok(ExprSimplifier::new(context).simplify(expr)?)
}

/// The deepest expression that is evaluated: evaluation recurses on the stack of whoever runs the step.
const DEEPEST: usize = 500;

fn check_depth(expr: &Arc<dyn PhysicalExpr>) -> Result<(), PlanError> {
    let mut level: Vec<&Arc<dyn PhysicalExpr>> = vec![expr];
    for _ in 0..DEEPEST {
        if level.is_empty() {
            return Ok(());
        }
        level = level.into_iter().flat_map(|part| part.children()).collect();
    }
    Err(PlanError::Invalid(format!("an expression nests more than {DEEPEST} levels deep")))
}

/// Finds a misspelt column before DataFusion does, to list the choices in one way everywhere.
fn check_columns(expr: &Expr, scope: &DFSchema) -> Result<(), PlanError> {
    for column in expr.column_refs() {
        if !scope.has_column(column) {
            let own_side = scope.columns().into_iter().filter(|known| known.relation == column.relation);
            let choices = own_side.map(|known| known.name).collect();
            return Err(PlanError::UnknownColumn { name: column.name.clone(), choices });
        }
    }
    Ok(())
}

pub(crate) fn check_arithmetic(
    expr: Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> datafusion_common::Result<Transformed<Arc<dyn PhysicalExpr>>> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>()
        && matches!(binary.op(), Operator::Plus | Operator::Minus | Operator::Multiply)
    {
        let checked = BinaryExpr::new(Arc::clone(binary.left()), *binary.op(), Arc::clone(binary.right()))
            .with_fail_on_overflow(true);
        return Ok(Transformed::yes(Arc::new(checked)));
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>()
        && let Some(shift) = checked_shift(*binary.op(), [binary.left(), binary.right()], schema)?
    {
        return Ok(Transformed::yes(shift));
    }
    if let Some(negative) = expr.downcast_ref::<NegativeExpr>()
        && negative.arg().data_type(schema)?.is_integer()
    {
        let zero = Arc::new(Literal::new(ScalarValue::new_zero(&negative.arg().data_type(schema)?)?));
        let difference =
            BinaryExpr::new(zero, Operator::Minus, Arc::clone(negative.arg())).with_fail_on_overflow(true);
        return Ok(Transformed::yes(Arc::new(difference)));
    }
    Ok(Transformed::no(expr))
}
