//! Queries: WITH, a body, ORDER BY and LIMIT; the body is a SELECT, VALUES, a table, or set operations of bodies.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{Column, DFSchema, Result, TableReference};
use datafusion_expr::expr::Cast;
use datafusion_expr::logical_plan::{Distinct, EmptyRelation, Limit, Projection, Union};
use datafusion_expr::type_coercion::binary::type_union_coercion;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion_sql::sqlparser::ast::{
    Expr as SqlExpr, LimitClause, OrderBy, Query, SetExpr, SetOperator, SetQuantifier, Table, Value, Values,
};

use super::items::Items;
use super::scope::{Names, Scope};
use super::{Binder, refused};
use crate::PlanError;
use crate::text::planner::external;
use crate::text::set_operations::{SetKind, set_operation};

/// How many rows a query keeps, and from which on.
#[derive(Default)]
pub(super) struct Bounds {
    skip: Option<Expr>,
    fetch: Option<Expr>,
}

impl Bounds {
    /// The rows within the bounds.
    pub(super) fn of(self, plan: LogicalPlan) -> LogicalPlan {
        if self.skip.is_none() && self.fetch.is_none() {
            return plan;
        }
        LogicalPlan::Limit(Limit {
            skip: self.skip.map(Box::new),
            fetch: self.fetch.map(Box::new),
            input: Arc::new(plan),
        })
    }
}

impl Binder<'_> {
    /// A query. Its columns have no qualifiers, and each a name of its own.
    pub(super) fn query(&mut self, query: &Query) -> Result<LogicalPlan> {
        check_query(query)?;
        let known = self.with.len();
        let plan = self.query_with(query);
        self.with.truncate(known);
        plan
    }

    fn query_with(&mut self, query: &Query) -> Result<LogicalPlan> {
        if let Some(with) = &query.with {
            self.with_clause(with)?;
        }
        let bounds = self.bounds(query)?;
        match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, query.order_by.as_ref(), bounds),
            body => {
                let plan = self.body(body)?;
                let plan = self.ordered_outputs(plan, query.order_by.as_ref(), bounds)?;
                Ok(plan)
            }
        }
    }

    /// What stands between WITH and ORDER BY.
    pub(super) fn body(&mut self, body: &SetExpr) -> Result<LogicalPlan> {
        match body {
            SetExpr::Select(select) => self.select(select, None, Bounds::default()),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let (left, right) = (self.body(left)?, self.body(right)?);
                combined(left, *op, *set_quantifier, right)
            }
            SetExpr::Values(values) => self.values(values),
            SetExpr::Table(table) => self.whole_table(table),
            other => Err(external(PlanError::Invalid(format!(
                "a query cannot be made of this statement: {other}"
            )))),
        }
    }

    fn whole_table(&mut self, table: &Table) -> Result<LogicalPlan> {
        let Some(name) = &table.table_name else {
            return Err(external(PlanError::Invalid("TABLE needs a name".into())));
        };
        let plan = self.named_relation(&TableReference::bare(name.to_lowercase()))?;
        let columns = plan.schema().columns().into_iter().map(|column| {
            let name = column.name.clone();
            Expr::Column(column).alias(name)
        });
        let columns = columns.collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
    }

    /// Rows that are written out. If one reads a column of a query around or a subquery, they are a union of one row each.
    fn values(&mut self, values: &Values) -> Result<LogicalPlan> {
        let nothing = Scope::default();
        let names = Names::of(&nothing);
        let mut rows = Vec::with_capacity(values.rows.len());
        let mut constant = true;
        for row in &values.rows {
            let row: Vec<Expr> =
                row.content.iter().map(|value| self.expr(value, &names)).collect::<Result<_>>()?;
            for value in &row {
                constant &= !value.exists(|part| Ok(asks(part)))?;
            }
            rows.push(row);
        }
        if constant {
            return LogicalPlanBuilder::values(rows)?.build();
        }
        let mut union: Option<LogicalPlan> = None;
        for row in rows {
            let named =
                row.into_iter().enumerate().map(|(place, value)| value.alias(format!("column{}", place + 1)));
            let one = LogicalPlan::Projection(Projection::try_new(named.collect(), Arc::new(one_row()))?);
            union = Some(match union {
                Some(rows) => combined(rows, SetOperator::Union, SetQuantifier::All, one)?,
                None => one,
            });
        }
        union.ok_or_else(|| external(PlanError::Invalid("VALUES needs a row".into())))
    }

    fn bounds(&mut self, query: &Query) -> Result<Bounds> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return Err(refused(
                        "limit",
                        "LIMIT .. BY is not supported: number the rows with row_number()",
                    ));
                }
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        };
        let mut bounds = Bounds { skip: self.bound(offset)?, fetch: self.bound(limit)? };
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent || bounds.fetch.is_some() {
                return Err(refused("fetch", "FETCH takes a number of ROWS ONLY, and no LIMIT beside it"));
            }
            bounds.fetch = Some(match &fetch.quantity {
                Some(quantity) => self.bound(Some(quantity))?.unwrap_or_else(|| lit(1_i64)),
                None => lit(1_i64),
            });
        }
        Ok(bounds)
    }

    fn bound(&mut self, sql: Option<&SqlExpr>) -> Result<Option<Expr>> {
        match sql {
            None => Ok(None),
            Some(SqlExpr::Value(value)) if value.value == Value::Null => Ok(None),
            Some(sql) => self.expr(sql, &Names::of(&Scope::default())).map(Some),
        }
    }

    /// A body in the order of expressions over its columns.
    fn ordered_outputs(
        &mut self,
        plan: LogicalPlan,
        order: Option<&OrderBy>,
        bounds: Bounds,
    ) -> Result<LogicalPlan> {
        let Some(order) = order else { return Ok(bounds.of(plan)) };
        let names: Vec<String> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut scope = Scope::of(&plan, "", &names);
        scope.columns.iter_mut().for_each(|column| column.table = None);
        let items: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let items = Items::plain(items, names);
        let terms = self.order_terms(order, &Names::of(&scope), &items)?;
        super::order::sorted(plan, items.exprs, &items.names, terms, bounds)
    }
}

/// One row without columns.
pub(super) fn one_row() -> LogicalPlan {
    LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema: Arc::new(DFSchema::empty()) })
}

/// A set operation of two bodies, whose columns are brought to common types under the names of the left.
pub(super) fn combined(
    left: LogicalPlan,
    op: SetOperator,
    quantifier: SetQuantifier,
    right: LogicalPlan,
) -> Result<LogicalPlan> {
    let by_name = matches!(
        quantifier,
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
    );
    let (left, right) = if by_name { matched_by_name(left, right)? } else { (left, right) };
    let (mine, theirs) = (left.schema().fields(), right.schema().fields());
    if mine.len() != theirs.len() {
        let reason = format!(
            "{op} needs as many columns on both sides: the left has {}, the right {}",
            mine.len(),
            theirs.len()
        );
        return Err(refused(op.to_string(), reason));
    }
    let mut types = Vec::with_capacity(mine.len());
    for (mine, theirs) in mine.iter().zip(theirs) {
        let common = type_union_coercion(mine.data_type(), theirs.data_type()).ok_or_else(|| {
            let reason = format!(
                "{op}: column '{}' is {} on the left and {} on the right",
                mine.name(),
                mine.data_type(),
                theirs.data_type()
            );
            refused(op.to_string(), reason)
        })?;
        types.push(common);
    }
    let names: Vec<String> = mine.iter().map(|field| field.name().clone()).collect();
    let (left, right) = (conformed(left, &types, &names)?, conformed(right, &types, &names)?);
    let all = matches!(quantifier, SetQuantifier::All | SetQuantifier::AllByName);
    let kind = match op {
        SetOperator::Union => {
            let union = Union::try_new(vec![Arc::new(left), Arc::new(right)])?;
            let union = LogicalPlan::Union(union);
            return Ok(if all { union } else { LogicalPlan::Distinct(Distinct::All(Arc::new(union))) });
        }
        SetOperator::Except | SetOperator::Minus if all => SetKind::ExceptAll,
        SetOperator::Except | SetOperator::Minus => SetKind::Except,
        SetOperator::Intersect if all => SetKind::IntersectAll,
        SetOperator::Intersect => SetKind::Intersect,
    };
    set_operation(kind, left, right)
}

/// The columns under these names and types.
pub(super) fn conformed(plan: LogicalPlan, types: &[DataType], names: &[String]) -> Result<LogicalPlan> {
    let fits =
        plan.schema().iter().zip(types.iter().zip(names)).all(|((qualifier, field), (wanted, name))| {
            qualifier.is_none() && field.data_type() == wanted && field.name() == name
        });
    if fits {
        return Ok(plan);
    }
    let columns =
        plan.schema().iter().zip(types.iter().zip(names)).map(|((qualifier, field), (wanted, name))| {
            let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
            let value = if field.data_type() == wanted {
                column
            } else {
                Expr::Cast(Cast::new(Box::new(column), wanted.clone()))
            };
            value.alias(name)
        });
    let columns: Vec<Expr> = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// Both sides with the columns of either; those that a side does not have are NULL there.
fn matched_by_name(left: LogicalPlan, right: LogicalPlan) -> Result<(LogicalPlan, LogicalPlan)> {
    let names = |plan: &LogicalPlan| -> Vec<String> {
        plan.schema().fields().iter().map(|field| field.name().clone()).collect()
    };
    let mut all = names(&left);
    all.extend(
        names(&right).into_iter().filter(|name| left.schema().field_with_unqualified_name(name).is_err()),
    );
    let widened = |plan: LogicalPlan| -> Result<LogicalPlan> {
        let column = |name: &String| match plan.schema().qualified_field_with_unqualified_name(name) {
            Ok((qualifier, field)) => Expr::Column(Column::new(qualifier.cloned(), field.name())).alias(name),
            Err(_) => lit(datafusion_common::ScalarValue::Null).alias(name),
        };
        let columns: Vec<Expr> = all.iter().map(column).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
    };
    Ok((widened(left)?, widened(right)?))
}

fn asks(part: &Expr) -> bool {
    matches!(
        part,
        Expr::OuterReferenceColumn(..)
            | Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::ScalarSubquery(_)
            | Expr::SetComparison(_)
    )
}

/// Clauses that would be forgotten are refused.
fn check_query(query: &Query) -> Result<()> {
    let clause = [
        ("for", !query.locks.is_empty(), "rows cannot be locked: FOR UPDATE and FOR SHARE are not supported"),
        ("for", query.for_clause.is_some(), "FOR XML, FOR JSON and FOR BROWSE are not supported"),
        ("settings", query.settings.is_some(), "SETTINGS are not supported"),
        ("format", query.format_clause.is_some(), "FORMAT is not supported"),
    ];
    if let Some((name, _, reason)) = clause.into_iter().find(|(_, found, _)| *found) {
        return Err(refused(name, reason));
    }
    match query.pipe_operators.first() {
        None => Ok(()),
        Some(operator) => Err(external(PlanError::Invalid(format!(
            "pipe operators are not supported: write a subquery instead of |> {operator}"
        )))),
    }
}
