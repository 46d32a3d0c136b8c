//! Expressions whose columns have moved to other positions.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::DataFusionError;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use tailrace_operators::Scalar;

use crate::PlanError;

/// The expression with its column `i` read at position `places[i]` of `schema`.
pub(crate) fn moved_to(scalar: &Scalar, places: &[usize], schema: &Schema) -> Result<Scalar, PlanError> {
    Ok(Scalar::new(
        columns_moved(Arc::clone(scalar.expr()), |column| places.get(column).copied(), schema)?,
        schema,
    )?)
}

/// The expression with every column at its new place; a column without one is an error of this crate.
pub(crate) fn columns_moved(
    expr: Arc<dyn PhysicalExpr>,
    place: impl Fn(usize) -> Option<usize>,
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>, PlanError> {
    let moved =
        expr.transform_up(|part| {
            let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
            let lost = || DataFusionError::Internal(format!("column {column} has no place"));
            let index = place(column.index()).ok_or_else(lost)?;
            Ok(Transformed::yes(
                Arc::new(Column::new(schema.field(index).name(), index)) as Arc<dyn PhysicalExpr>
            ))
        })?;
    Ok(moved.data)
}
