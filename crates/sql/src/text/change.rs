//! Updates: the rows as they are, out of the plan of the rows as they will be.

use std::sync::Arc;

use datafusion_common::{Result, TableReference};
use datafusion_expr::expr::Alias;
use datafusion_expr::logical_plan::Projection;
use datafusion_expr::{Expr, LogicalPlan};

use super::catalog::Catalog;
use super::planner::external;
use crate::PlanError;

/// The old rows of an update: the same source, with the columns of the table instead of their new values.
pub(crate) fn old_rows(new: &Projection, catalog: &dyn Catalog, table: &str) -> Result<LogicalPlan> {
    let Some(entry) = catalog.relation(table) else {
        return Err(external(PlanError::UnknownRelation {
            name: table.to_owned(),
            choices: catalog.names(),
        }));
    };
    let source = new.input.schema();
    let qualifier = target(&new.input).unwrap_or_else(|| TableReference::bare(table));
    let column = |field: &Arc<arrow_schema::Field>| {
        let (found, _) = source.qualified_field_with_name(Some(&qualifier), field.name())?;
        let column = Expr::Column(datafusion_common::Column::new(found.cloned(), field.name()));
        Ok(Expr::Alias(Alias::new(column, None::<TableReference>, field.name())))
    };
    let exprs = entry.plan.schema().fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&new.input))?))
}

/// The name under which the source of an update knows its table: the first relation of it.
fn target(plan: &LogicalPlan) -> Option<TableReference> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => Some(alias.alias.clone()),
        LogicalPlan::TableScan(scan) => Some(scan.table_name.clone()),
        other => other.inputs().first().and_then(|input| target(input)),
    }
}
