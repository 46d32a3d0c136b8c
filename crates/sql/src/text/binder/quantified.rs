//! Comparisons of rows, and comparisons with ANY and ALL of a list or a subquery, by SQL's three truth values.
//!
//! A comparison of rows is spelled out in comparisons of their columns. One with a list that is written out is a chain of comparisons; one with any other list is
//! one with the subquery that unfolds it, and NULL if there is no list.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion_expr::logical_plan::Filter;
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, LogicalPlan, Operator, lit, when};
use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SetExpr,
    UnaryOperator,
};
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::parser::Parser;

use super::expression::{as_subquery, single_column};
use super::scope::Names;
use super::{Binder, refused};
use crate::PlanError;
use crate::text::planner::external;

/// The columns of a row that is written out.
pub(super) fn row(expr: &SqlExpr) -> Option<&[SqlExpr]> {
    match expr {
        SqlExpr::Tuple(values) if values.len() > 1 => Some(values),
        SqlExpr::Nested(inner) => row(inner),
        _ => None,
    }
}

/// A comparison of rows as comparisons of their columns.
pub(super) fn spelled_out(expr: &SqlExpr) -> Result<Option<SqlExpr>> {
    match expr {
        SqlExpr::BinaryOp { left, op, right } => match (row(left), row(right)) {
            (Some(left), Some(right)) => {
                same_width(left, right)?;
                compared(left, op, right).map(Some)
            }
            _ => Ok(None),
        },
        SqlExpr::InList { expr, list, negated } => {
            let Some(wanted) = row(expr) else { return Ok(None) };
            let mut found: Option<SqlExpr> = None;
            for value in list {
                let Some(value) = row(value) else {
                    return Err(refused(
                        "in",
                        "a row is compared with rows: write (a, b) IN ((1, 2), (3, 4))",
                    ));
                };
                same_width(wanted, value)?;
                let equal = compared(wanted, &BinaryOperator::Eq, value)?;
                found = Some(found.map_or(equal.clone(), |found| joined(found, BinaryOperator::Or, equal)));
            }
            Ok(found.map(|found| if *negated { not(found) } else { nested(found) }))
        }
        _ => Ok(None),
    }
}

fn same_width(left: &[SqlExpr], right: &[SqlExpr]) -> Result<()> {
    if left.len() == right.len() {
        return Ok(());
    }
    let reason = format!("rows of {} and of {} columns cannot be compared", left.len(), right.len());
    Err(external(PlanError::Invalid(reason)))
}

fn compared(left: &[SqlExpr], op: &BinaryOperator, right: &[SqlExpr]) -> Result<SqlExpr> {
    let pairs = || left.iter().cloned().zip(right.iter().cloned());
    let equal = |(left, right)| joined(left, BinaryOperator::Eq, right);
    let all = |found: SqlExpr, next: SqlExpr| joined(found, BinaryOperator::And, next);
    let strict = match op {
        BinaryOperator::Eq => return pairs().map(equal).reduce(all).map(nested).ok_or_else(no_columns),
        BinaryOperator::NotEq => return pairs().map(equal).reduce(all).map(not).ok_or_else(no_columns),
        BinaryOperator::Lt | BinaryOperator::LtEq => BinaryOperator::Lt,
        BinaryOperator::Gt | BinaryOperator::GtEq => BinaryOperator::Gt,
        other => return Err(external(PlanError::Invalid(format!("rows cannot be compared by {other}")))),
    };
    // From the last column on: the first columns that differ decide.
    let mut decided: Option<SqlExpr> = None;
    for (left, right) in pairs().rev() {
        decided = Some(match decided {
            None => joined(left, op.clone(), right),
            Some(rest) => {
                let tie = joined(
                    joined(left.clone(), BinaryOperator::Eq, right.clone()),
                    BinaryOperator::And,
                    rest,
                );
                joined(joined(left, strict.clone(), right), BinaryOperator::Or, tie)
            }
        });
    }
    decided.map(nested).ok_or_else(no_columns)
}

fn no_columns() -> datafusion_common::DataFusionError {
    external(PlanError::Invalid("a row has no columns".into()))
}

fn joined(left: SqlExpr, op: BinaryOperator, right: SqlExpr) -> SqlExpr {
    SqlExpr::BinaryOp { left: Box::new(nested(left)), op, right: Box::new(nested(right)) }
}

fn nested(expr: SqlExpr) -> SqlExpr {
    SqlExpr::Nested(Box::new(expr))
}

fn not(expr: SqlExpr) -> SqlExpr {
    SqlExpr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
}

impl Binder<'_> {
    /// Whether a subquery has a row. Where only true counts, `exact` is not needed.
    pub(super) fn row_in(
        &mut self,
        row: &[SqlExpr],
        query: &Query,
        names: &Names<'_>,
        exact: bool,
    ) -> Result<Expr> {
        let plan = self.subquery(query, names)?;
        if plan.schema().fields().len() != row.len() {
            let reason = format!(
                "a row of {} columns is looked for among rows of {}",
                row.len(),
                plan.schema().fields().len()
            );
            return Err(external(PlanError::Invalid(reason)));
        }
        let mut equal = Vec::with_capacity(row.len());
        for (value, column) in row.iter().zip(plan.schema().columns()) {
            let value = self.expr(value, names)?;
            equal.push(as_outer(value, names)?.eq(Expr::Column(column)));
        }
        let Some(equal) = conjunction(equal) else { return Err(no_columns()) };
        let found = exists(&plan, equal.clone())?;
        if !exact {
            return Ok(found);
        }
        let unknown = exists(&plan, equal.is_null())?;
        when(found, lit(true)).when(unknown, lit(ScalarValue::Boolean(None))).otherwise(lit(false))
    }

    /// `left op ANY (right)`.
    pub(super) fn any(
        &mut self,
        left: &SqlExpr,
        op: &BinaryOperator,
        right: &SqlExpr,
        names: &Names<'_>,
    ) -> Result<Expr> {
        if let Some(values) = written_out(right) {
            return self.chain(left, op, values, names, BinaryOperator::Or);
        }
        self.quantified(left, op, right, names, SetQuantifier::Any)
    }

    /// `left op ALL (right)`.
    pub(super) fn all(
        &mut self,
        left: &SqlExpr,
        op: &BinaryOperator,
        right: &SqlExpr,
        names: &Names<'_>,
    ) -> Result<Expr> {
        if let Some(values) = written_out(right) {
            return self.chain(left, op, values, names, BinaryOperator::And);
        }
        self.quantified(left, op, right, names, SetQuantifier::All)
    }

    fn chain(
        &mut self,
        left: &SqlExpr,
        op: &BinaryOperator,
        values: &[SqlExpr],
        names: &Names<'_>,
        connective: BinaryOperator,
    ) -> Result<Expr> {
        let compare = |value: &SqlExpr| joined(left.clone(), op.clone(), value.clone());
        let all = |found: SqlExpr, next: SqlExpr| joined(found, connective.clone(), next);
        match values.iter().map(compare).reduce(all) {
            Some(chain) => self.expr(&chain, names),
            None => Ok(lit(connective == BinaryOperator::And)),
        }
    }

    fn quantified(
        &mut self,
        left: &SqlExpr,
        op: &BinaryOperator,
        right: &SqlExpr,
        names: &Names<'_>,
        quantifier: SetQuantifier,
    ) -> Result<Expr> {
        let value = self.expr(left, names)?;
        if let Some(query) = subquery_of(right) {
            let plan = self.subquery(query, names)?;
            return compared_with(value, op, plan, quantifier);
        }
        let list = self.expr(right, names)?;
        let plan = self.subquery(&unfolded(right)?, names)?;
        let found = compared_with(value, op, plan, quantifier)?;
        when(list.is_null(), lit(ScalarValue::Boolean(None))).otherwise(found)
    }
}

fn compared_with(
    value: Expr,
    op: &BinaryOperator,
    plan: LogicalPlan,
    quantifier: SetQuantifier,
) -> Result<Expr> {
    single_column(&plan)?;
    let subquery = as_subquery(plan)?;
    let value = Box::new(value);
    let op = match (op, &quantifier) {
        (BinaryOperator::Eq, SetQuantifier::Any) => {
            return Ok(Expr::InSubquery(InSubquery::new(value, subquery, false)));
        }
        (BinaryOperator::NotEq, SetQuantifier::All) => {
            return Ok(Expr::InSubquery(InSubquery::new(value, subquery, true)));
        }
        (BinaryOperator::Eq, _) => Operator::Eq,
        (BinaryOperator::NotEq, _) => Operator::NotEq,
        (BinaryOperator::Lt, _) => Operator::Lt,
        (BinaryOperator::LtEq, _) => Operator::LtEq,
        (BinaryOperator::Gt, _) => Operator::Gt,
        (BinaryOperator::GtEq, _) => Operator::GtEq,
        (other, _) => {
            let reason = format!("{other} cannot stand before ANY or ALL: write =, <>, <, <=, > or >=");
            return Err(external(PlanError::Invalid(reason)));
        }
    };
    Ok(Expr::SetComparison(SetComparison::new(value, subquery, op, quantifier)))
}

fn subquery_of(expr: &SqlExpr) -> Option<&Query> {
    match expr {
        SqlExpr::Subquery(query) => Some(query),
        SqlExpr::Nested(inner) => subquery_of(inner),
        _ => None,
    }
}

/// The elements of a list that is written out.
fn written_out(expr: &SqlExpr) -> Option<&[SqlExpr]> {
    match expr {
        SqlExpr::Array(array) => Some(&array.elem),
        SqlExpr::Nested(inner) => written_out(inner),
        SqlExpr::Tuple(values) => Some(values),
        _ => None,
    }
}

/// `SELECT unnest(list)`. The frame is parsed, so that it is what the parser makes of it.
fn unfolded(list: &SqlExpr) -> Result<Query> {
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql("SELECT unnest(0)")
        .and_then(|mut parser| parser.parse_query());
    let mut query = parsed.map_err(|error| external(PlanError::Invalid(error.to_string())))?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        for item in &mut select.projection {
            if let datafusion_sql::sqlparser::ast::SelectItem::UnnamedExpr(SqlExpr::Function(call)) = item
                && let FunctionArguments::List(arguments) = &mut call.args
            {
                arguments.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(list.clone()))];
            }
        }
    }
    Ok(*query)
}

/// An expression of the scope as a subquery of it sees it.
fn as_outer(expr: Expr, names: &Names<'_>) -> Result<Expr> {
    let outer = expr.transform_up(|part| match part {
        Expr::Column(column) => {
            let known = names.scope.columns.iter().find(|known| known.column == column);
            let Some(known) = known else {
                return Err(external(PlanError::Invalid(format!("internal: column {column} has no scope"))));
            };
            Ok(Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(&known.field), column)))
        }
        Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
            let reason =
                "an aggregate in a row that is looked for by IN is not supported: compute it in a subquery";
            Err(refused("in", reason))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(outer.data)
}

fn exists(plan: &LogicalPlan, condition: Expr) -> Result<Expr> {
    let plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan.clone()))?);
    Ok(Expr::Exists(Exists { subquery: as_subquery(plan)?, negated: false }))
}
