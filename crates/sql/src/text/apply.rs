//! Subqueries as nodes: every EXISTS, IN, scalar subquery and LATERAL becomes an [`Apply`] of a subquery to the rows of an input.
//!
//! Conjuncts without a subquery go below the apply, where they are pushed down and find join keys as usual.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, JoinType, Result, internal_err};
use datafusion_expr::expr::{AggregateFunction, Alias, Exists, InSubquery};
use datafusion_expr::logical_plan::builder::build_join_schema;
use datafusion_expr::logical_plan::{Aggregate, Filter, Join, Projection, Subquery};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::aggregates::{SINGLE_VALUE, aggregate_stub};
use super::apply_node::{Apply, ApplyKind, as_apply};
use super::planner::external;
use crate::PlanError;

/// Replaces all subqueries of a plan by applies.
pub(crate) fn resolve(plan: LogicalPlan) -> Result<LogicalPlan> {
    Resolver::default().plan(plan)
}

#[derive(Default)]
struct Resolver {
    made: usize,
}

impl Resolver {
    fn plan(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = plan.map_children(|child| Ok(Transformed::yes(self.plan(child)?)))?.data;
        match plan {
            LogicalPlan::Filter(filter) if holds_subquery(&filter.predicate)? => self.filter(filter),
            LogicalPlan::Join(join) if is_lateral(&join.right) => self.lateral(join),
            LogicalPlan::Join(join) if join.filter.as_ref().map_or(Ok(false), holds_subquery)? => {
                self.join_condition(join)
            }
            other if any_subquery(&other)? => self.expressions(other),
            other => Ok(other),
        }
    }

    /// Conjuncts without a subquery first, then one apply a conjunct, in order.
    fn filter(&mut self, filter: Filter) -> Result<LogicalPlan> {
        let names: Vec<Expr> = filter.input.schema().columns().into_iter().map(Expr::Column).collect();
        let width = names.len();
        let (asking, plain): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(filter.predicate)
            .into_iter()
            .partition(|expr| holds_subquery(expr).unwrap_or(true));
        let mut input = Arc::unwrap_or_clone(filter.input);
        if let Some(predicate) = conjunction(plain) {
            input = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?);
        }
        for conjunct in asking {
            input = self.conjunct(input, conjunct)?;
        }
        if input.schema().fields().len() == width {
            return Ok(input);
        }
        Ok(LogicalPlan::Projection(Projection::try_new(names, Arc::new(input))?))
    }

    fn conjunct(&mut self, input: LogicalPlan, conjunct: Expr) -> Result<LogicalPlan> {
        match without_not(conjunct) {
            (Expr::Exists(Exists { subquery, negated }), not) => {
                let kind =
                    if negated ^ not { ApplyKind::Anti { key: None } } else { ApplyKind::Semi { key: None } };
                self.apply(input, subquery, kind)
            }
            (Expr::InSubquery(InSubquery { expr, subquery, negated }), not) => {
                let (input, expr) = self.extract(input, *expr)?;
                let (input, key) = self.key(input, expr)?;
                let kind = if negated ^ not {
                    ApplyKind::Anti { key: Some(key) }
                } else {
                    ApplyKind::Semi { key: Some(key) }
                };
                self.apply(input, subquery, kind)
            }
            (other, not) => {
                let (input, replaced) = self.extract(input, if not { !other } else { other })?;
                Ok(LogicalPlan::Filter(Filter::try_new(replaced, Arc::new(input))?))
            }
        }
    }

    /// A node whose expressions hold subqueries: they become columns of its input.
    fn expressions(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let [input] = &plan.inputs()[..] else {
            return Err(refused("a subquery cannot stand here"));
        };
        let mut input = (*input).clone();
        let width = plan.schema().fields().len();
        let names: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let named =
            matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_));
        let mut exprs = Vec::new();
        for expr in plan.expressions() {
            let name = expr.qualified_name();
            let asked = holds_subquery(&expr)?;
            let (next, replaced) = self.extract(input, expr)?;
            input = next;
            exprs.push(if named && asked {
                Expr::Alias(Alias::new(replaced, name.0, name.1))
            } else {
                replaced
            });
        }
        let node = plan.with_new_exprs(exprs, vec![input])?;
        if node.schema().fields().len() == width {
            return Ok(node);
        }
        Ok(LogicalPlan::Projection(Projection::try_new(names, Arc::new(node))?))
    }

    /// Replaces the subqueries of an expression by columns of the input.
    fn extract(&mut self, input: LogicalPlan, expr: Expr) -> Result<(LogicalPlan, Expr)> {
        let mut inputs = [input];
        let replaced = self.extract_among(&mut inputs, expr)?;
        let [input] = inputs;
        Ok((input, replaced))
    }

    /// The same over several inputs: a subquery is applied to the one whose columns it reads.
    fn extract_among(&mut self, inputs: &mut [LogicalPlan], expr: Expr) -> Result<Expr> {
        let replaced = expr.transform_down(|part| {
            let (kind, subquery, key, negated) = match part {
                Expr::Exists(Exists { subquery, negated }) => ("mark", subquery, None, negated),
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    ("mark", subquery, Some(*expr), negated)
                }
                Expr::ScalarSubquery(subquery) => ("scalar", subquery, None, false),
                other => return Ok(Transformed::no(other)),
            };
            let key = key.map(|key| self.extract_among(inputs, key)).transpose()?;
            let Some(side) = side_of(inputs, &subquery, key.as_ref())? else {
                return Err(refused("a subquery that reads both sides of this join is not supported"));
            };
            let mut input = std::mem::take(&mut inputs[side]);
            let key = match key {
                Some(expr) => {
                    let (keyed, column) = self.key(input, expr)?;
                    input = keyed;
                    Some(column)
                }
                None => None,
            };
            let kind = if kind == "mark" { ApplyKind::Mark { key } } else { ApplyKind::Scalar };
            inputs[side] = self.apply(input, subquery, kind)?;
            let column = inputs[side]
                .schema()
                .columns()
                .pop()
                .map(Expr::Column)
                .ok_or_else(|| refused("internal: an apply without a column"))?;
            Ok(Transformed::new(if negated { !column } else { column }, true, TreeNodeRecursion::Jump))
        })?;
        Ok(replaced.data)
    }

    /// The column of an expression, added to the input if it is not one.
    fn key(&mut self, input: LogicalPlan, expr: Expr) -> Result<(LogicalPlan, Column)> {
        if let Expr::Column(column) = &expr {
            return Ok((input, column.clone()));
        }
        self.made += 1;
        let name = format!("__key_{}", self.made);
        let mut exprs: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        exprs.push(expr.alias(&name));
        Ok((LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?), Column::from_name(name)))
    }

    fn apply(&mut self, input: LogicalPlan, subquery: Subquery, kind: ApplyKind) -> Result<LogicalPlan> {
        let subquery = self.plan(Arc::unwrap_or_clone(subquery.subquery))?;
        let subquery = if kind == ApplyKind::Scalar { single(subquery)? } else { subquery };
        let added = match &kind {
            ApplyKind::Semi { .. } | ApplyKind::Anti { .. } | ApplyKind::Lateral { .. } => None,
            ApplyKind::Mark { .. } => Some((DataType::Boolean, true)),
            ApplyKind::Scalar => Some((subquery.schema().field(0).data_type().clone(), true)),
        };
        let schema = match added {
            None => Arc::clone(input.schema()),
            Some((data_type, nullable)) => {
                self.made += 1;
                let field = Arc::new(Field::new(format!("__subquery_{}", self.made), data_type, nullable));
                let fields =
                    input.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
                let fields = fields.chain(std::iter::once((None, field))).collect();
                Arc::new(DFSchema::new_with_metadata(fields, Default::default())?)
            }
        };
        Ok(Apply { kind, input, subquery, schema }.into_plan())
    }

    /// `a JOIN LATERAL (..) ON c`: the condition belongs to the subquery, so that rows without a pair can stay.
    fn lateral(&mut self, join: Join) -> Result<LogicalPlan> {
        let keep = match join.join_type {
            JoinType::Inner => false,
            JoinType::Left => true,
            other => return Err(refused(&format!("{other} JOIN LATERAL is not supported"))),
        };
        let left = Arc::unwrap_or_clone(join.left);
        let mut right = self.plan(opened(Arc::unwrap_or_clone(join.right))?)?;
        let pairs = join.on.into_iter().map(|(l, r)| l.eq(r));
        if let Some(condition) = conjunction(pairs.chain(join.filter)) {
            let condition = as_outer(condition, left.schema(), right.schema())?;
            right = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(right))?);
        }
        let schema = join.schema;
        Ok(Apply { kind: ApplyKind::Lateral { keep }, input: left, subquery: right, schema }.into_plan())
    }

    /// The condition of an inner join may as well stand above it. Of another join, subqueries that read one side become columns of it.
    fn join_condition(&mut self, mut join: Join) -> Result<LogicalPlan> {
        let Some(predicate) = join.filter.take() else { return Ok(LogicalPlan::Join(join)) };
        if join.join_type == JoinType::Inner {
            return self.filter(Filter::try_new(predicate, Arc::new(LogicalPlan::Join(join)))?);
        }
        let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
        let mut sides = [Arc::unwrap_or_clone(join.left), Arc::unwrap_or_clone(join.right)];
        if reads_both(&sides, &predicate)? {
            let [left, right] = sides;
            let rows = match join.join_type {
                JoinType::Left => self.pairs_of_each(left, right, predicate)?,
                JoinType::Right => self.pairs_of_each(right, left, predicate)?,
                other => {
                    return Err(refused(&format!(
                        "a subquery that reads both sides of a {other} JOIN is not supported: compute it in a subquery of FROM"
                    )));
                }
            };
            return Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(rows))?));
        }
        let filter = Some(self.extract_among(&mut sides, predicate)?);
        let [left, right] = sides.map(Arc::new);
        let (kind, constraint) = (join.join_type, join.join_constraint);
        let joined =
            Join::try_new(left, right, join.on, filter, kind, constraint, join.null_equality, false)?;
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Join(joined)))?))
    }

    /// A left join as the rows of the right applied to each row of the left.
    fn pairs_of_each(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        condition: Expr,
    ) -> Result<LogicalPlan> {
        let schema = build_join_schema(left.schema(), right.schema(), &JoinType::Left)?;
        let condition = as_outer(condition, left.schema(), right.schema())?;
        let subquery = self.filter(Filter::try_new(condition, Arc::new(right))?)?;
        let kind = ApplyKind::Lateral { keep: true };
        Ok(Apply { kind, input: left, subquery, schema: Arc::new(schema) }.into_plan())
    }
}

/// The input whose columns a subquery and its key read; the first if they read none, none if they read several.
fn side_of(inputs: &[LogicalPlan], subquery: &Subquery, key: Option<&Expr>) -> Result<Option<usize>> {
    let mut read: Vec<Column> = key.into_iter().flat_map(Expr::column_refs).cloned().collect();
    subquery.subquery.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::OuterReferenceColumn(_, column) = part {
                    read.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    let asked = |input: &LogicalPlan| read.iter().any(|column| input.schema().has_column(column));
    let mut sides = inputs.iter().enumerate().filter(|(_, input)| asked(input)).map(|(side, _)| side);
    Ok(match (sides.next(), sides.next()) {
        (None, _) => Some(0),
        (Some(side), None) => Some(side),
        (Some(_), Some(_)) => None,
    })
}

/// Whether one of the subqueries of a condition reads several inputs.
fn reads_both(inputs: &[LogicalPlan], condition: &Expr) -> Result<bool> {
    condition.exists(|part| {
        Ok(match part {
            Expr::Exists(exists) => side_of(inputs, &exists.subquery, None)?.is_none(),
            Expr::InSubquery(found) => side_of(inputs, &found.subquery, Some(&found.expr))?.is_none(),
            Expr::ScalarSubquery(subquery) => side_of(inputs, subquery, None)?.is_none(),
            _ => false,
        })
    })
}

/// Columns of `left` that a condition over both reads become outer references.
fn as_outer(condition: Expr, left: &DFSchema, right: &DFSchema) -> Result<Expr> {
    let rewritten = condition.transform(|part| match part {
        Expr::Column(column) if !right.has_column(&column) && left.has_column(&column) => {
            let field = Arc::clone(left.qualified_field_from_column(&column)?.1);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(rewritten.data)
}

/// The value of a subquery whose column is never NULL is NULL all the same if it has no row. What may have none says so in its schema then, before anybody
/// simplifies by it.
pub(crate) fn maybe_null(subquery: LogicalPlan) -> Result<LogicalPlan> {
    let certain = subquery.schema().field(0).is_nullable() || has_a_row(&subquery);
    if certain { Ok(subquery) } else { single_value(subquery) }
}

fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_a_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_a_row(&alias.input),
        LogicalPlan::Sort(sort) => has_a_row(&sort.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Values(values) => !values.values.is_empty(),
        _ => false,
    }
}

/// A scalar subquery has at most one row: an aggregate of all rows has, and a limit of one; any other is checked.
fn single(subquery: LogicalPlan) -> Result<LogicalPlan> {
    if is_single(&subquery)? { Ok(subquery) } else { single_value(subquery) }
}

/// The first column of the only row; more rows are an error.
fn single_value(subquery: LogicalPlan) -> Result<LogicalPlan> {
    let Some(function) = aggregate_stub(SINGLE_VALUE) else { return internal_err!("no {SINGLE_VALUE}") };
    let value = Expr::Column(subquery.schema().columns().remove(0));
    let call = Expr::AggregateFunction(AggregateFunction::new_udf(
        function,
        vec![value],
        false,
        None,
        Vec::new(),
        None,
    ));
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(subquery), Vec::new(), vec![call])?))
}

fn is_single(plan: &LogicalPlan) -> Result<bool> {
    match plan {
        LogicalPlan::Projection(projection) => is_single(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_single(&alias.input),
        LogicalPlan::Sort(sort) => is_single(&sort.input),
        LogicalPlan::Filter(filter) => is_single(&filter.input),
        LogicalPlan::Aggregate(aggregate) => Ok(aggregate.group_expr.is_empty()),
        LogicalPlan::EmptyRelation(_) => Ok(true),
        LogicalPlan::Values(values) => Ok(values.values.len() <= 1),
        LogicalPlan::Limit(limit) => {
            Ok(matches!(limit.get_fetch_type()?, datafusion_expr::FetchType::Literal(Some(0 | 1))))
        }
        _ => match as_apply(plan) {
            Some(apply) if !matches!(apply.kind, ApplyKind::Lateral { .. }) => is_single(&apply.input),
            _ => Ok(false),
        },
    }
}

fn without_not(expr: Expr) -> (Expr, bool) {
    match expr {
        Expr::Not(inner) => {
            let (inner, not) = without_not(*inner);
            (inner, !not)
        }
        other => (other, false),
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))
}

fn holds_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(is_subquery(part)))
}

fn any_subquery(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= holds_subquery(expr)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn is_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Subquery(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_lateral(&alias.input),
        _ => false,
    }
}

/// The subquery of a lateral join without its wrapper.
fn opened(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Subquery(subquery) => Ok(Arc::unwrap_or_clone(subquery.subquery)),
        LogicalPlan::SubqueryAlias(alias) => {
            LogicalPlanBuilder::from(opened(Arc::unwrap_or_clone(alias.input))?).alias(alias.alias)?.build()
        }
        other => Ok(other),
    }
}

fn refused(reason: &str) -> datafusion_common::DataFusionError {
    external(PlanError::Invalid(reason.to_owned()))
}
