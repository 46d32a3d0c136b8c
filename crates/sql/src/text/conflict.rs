//! INSERT ... ON CONFLICT for rows that are known: which of them are new, and what the others do to the rows that are there.
//!
//! The rows stand in the query as the relation `excluded`.

use datafusion_common::Result;
use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Insert, ObjectName, OnConflict, OnConflictAction, OnInsert, TableFactor,
    TableObject, UnaryOperator, Value,
};
use tailrace_trace::ChangeBatch;

use super::change::{Target, Values, changed_columns, insert_target, pairs};
use super::planner::{Planner, external};
use super::returning::Overlay;
use super::skeleton::{column_of, exists, select_from, table_alias, table_factor};
use super::statement::refused;
use crate::Plan;

/// The relation of rows that an INSERT would bring.
const EXCLUDED: &str = "excluded";

/// What an INSERT with ON CONFLICT does with rows that are known now.
pub struct ConflictPlans {
    /// The rows whose key is not there.
    pub fresh: Plan,
    /// The rows that are there, as they are and as they will be.
    pub pairs: Option<Plan>,
}

/// Plans the parts of an INSERT with ON CONFLICT for rows with all columns of the table.
pub(crate) fn conflicts(insert: &Insert, rows: ChangeBatch, planner: &Planner<'_>) -> Result<ConflictPlans> {
    let target = insert_target(insert, planner.catalog)?;
    let overlay = Overlay::new(planner.catalog, EXCLUDED, rows);
    let mut values = Values::new(planner.params);
    let excluded = Target::new(&ObjectName::from(vec![Ident::new(EXCLUDED)]), None, &overlay)?;
    let (TableObject::TableName(name), same) = (&insert.table, same_key(&target, &excluded)) else {
        return Err(refused("INSERT goes into a table"));
    };
    let mut own = table_factor(name.clone());
    if let TableFactor::Table { alias, .. } = &mut own.relation {
        *alias = Some(table_alias(target.alias.clone()));
    }
    let incoming = table_factor(ObjectName::from(vec![Ident::new(EXCLUDED)]));
    let missing = Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(exists(vec![own.clone()], Some(same.clone()))?),
    };
    let fresh = select_from(excluded.columns(), vec![incoming.clone()], Some(missing))?;
    let update = match &insert.on {
        Some(OnInsert::OnConflict(OnConflict { action: OnConflictAction::DoUpdate(update), .. })) => {
            Some(update)
        }
        _ => None,
    };
    let projection =
        update.map(|update| changed_columns(&target, &update.assignments, &mut values)).transpose()?;
    let planner = Planner { catalog: &overlay, params: &values.all, purpose: planner.purpose };
    let pairs = match (update, projection) {
        (Some(update), Some(projection)) => {
            let both = update
                .selection
                .clone()
                .map_or(same.clone(), |wanted| and(same, Expr::Nested(Box::new(wanted))));
            Some(pairs(&target, select_from(projection, vec![own, incoming], Some(both))?, &planner)?)
        }
        _ => None,
    };
    Ok(ConflictPlans { fresh: planner.query(&fresh)?.shown().map_err(external)?, pairs })
}

/// The condition that two relations have the same key.
fn same_key(target: &Target, other: &Target) -> Expr {
    let equal = |name: &String| Expr::BinaryOp {
        left: Box::new(column_of(&target.alias, name)),
        op: BinaryOperator::Eq,
        right: Box::new(column_of(&other.alias, name)),
    };
    let all = target.entry.key.iter().map(equal).reduce(and);
    all.unwrap_or(Expr::Value(Value::Boolean(false).into()))
}

fn and(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) }
}
