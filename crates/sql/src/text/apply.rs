//! Subqueries as nodes: every EXISTS, IN, scalar subquery and LATERAL becomes an [`Apply`] of a subquery to the rows of an input.
//!
//! The optimizer works inside both inputs of an apply and leaves the apply alone; `translate_apply.rs` computes it. Conjuncts without a subquery go below the
//! apply, where they are pushed down and find join keys as usual.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DFSchemaRef, JoinType, Result, TableReference, internal_err};
use datafusion_expr::expr::{AggregateFunction, Alias, Exists, InSubquery};
use datafusion_expr::logical_plan::{Aggregate, Extension, Filter, Join, Projection, Subquery};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore};

use super::aggregates::{SINGLE_VALUE, aggregate_stub};
use super::planner::external;
use crate::PlanError;

/// What becomes of the rows of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ApplyKind {
    /// Rows for which the subquery has a row; with a key, one whose first column equals it.
    Semi { key: Option<Column> },
    /// Rows for which it has none; with a key, by the rules of NOT IN.
    Anti { key: Option<Column> },
    /// All rows with one more column: whether there is such a row. With a key it may be NULL.
    Mark { key: Option<Column> },
    /// All rows with the value of the subquery, NULL if it has no row.
    Scalar,
    /// All pairs of a row and a row of the subquery for it; with `keep` rows without a pair stay.
    Lateral { keep: bool },
}

/// A subquery applied to every row of an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Apply {
    pub(crate) kind: ApplyKind,
    pub(crate) input: LogicalPlan,
    pub(crate) subquery: LogicalPlan,
    schema: DFSchemaRef,
}

/// Replaces all subqueries of a plan by applies.
pub(crate) fn resolve(plan: LogicalPlan) -> Result<LogicalPlan> {
    Resolver::default().plan(plan)
}

/// The outer columns that a subquery reads and does not find inside itself.
pub(crate) fn outer_columns(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = Vec::new();
    collect_outer(plan, &mut found)?;
    let mut seen = HashSet::new();
    found.retain(|column| seen.insert(column.clone()));
    Ok(found)
}

fn collect_outer(plan: &LogicalPlan, found: &mut Vec<Column>) -> Result<()> {
    plan.apply_expressions(|expr| {
        expr.apply(|part| {
            if let Expr::OuterReferenceColumn(_, column) = part {
                found.push(column.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if let Some(apply) = as_apply(plan) {
        collect_outer(&apply.input, found)?;
        let inner = outer_columns(&apply.subquery)?;
        found.extend(inner.into_iter().filter(|column| !apply.input.schema().has_column(column)));
        return Ok(());
    }
    plan.inputs().into_iter().try_for_each(|input| collect_outer(input, found))
}

/// The apply that a node is.
pub(crate) fn as_apply(plan: &LogicalPlan) -> Option<&Apply> {
    match plan {
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref(),
        _ => None,
    }
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
                let (input, key) = self.key(input, *expr)?;
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
        let mut input = input;
        let replaced = expr.transform_down(|part| {
            let (kind, subquery, key, negated) = match part {
                Expr::Exists(Exists { subquery, negated }) => ("mark", subquery, None, negated),
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    ("mark", subquery, Some(*expr), negated)
                }
                Expr::ScalarSubquery(subquery) => ("scalar", subquery, None, false),
                other => return Ok(Transformed::no(other)),
            };
            let mut inner = std::mem::take(&mut input);
            let key = match key {
                Some(expr) => {
                    let (extracted, expr) = self.extract(inner, expr)?;
                    let (keyed, column) = self.key(extracted, expr)?;
                    inner = keyed;
                    Some(column)
                }
                None => None,
            };
            let kind = if kind == "mark" { ApplyKind::Mark { key } } else { ApplyKind::Scalar };
            input = self.apply(inner, subquery, kind)?;
            let column = input
                .schema()
                .columns()
                .pop()
                .map(Expr::Column)
                .ok_or_else(|| refused("internal: an apply without a column"))?;
            Ok(Transformed::new(if negated { !column } else { column }, true, TreeNodeRecursion::Jump))
        })?;
        Ok((input, replaced.data))
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
        Ok(node(Apply { kind, input, subquery, schema }))
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
        Ok(node(Apply { kind: ApplyKind::Lateral { keep }, input: left, subquery: right, schema }))
    }

    /// The condition of an inner join may as well stand above it.
    fn join_condition(&mut self, mut join: Join) -> Result<LogicalPlan> {
        if join.join_type != JoinType::Inner {
            return Err(refused(&format!(
                "a subquery in the condition of a {} JOIN is not supported: compute it in a subquery of FROM",
                join.join_type
            )));
        }
        let Some(predicate) = join.filter.take() else { return Ok(LogicalPlan::Join(join)) };
        self.filter(Filter::try_new(predicate, Arc::new(LogicalPlan::Join(join)))?)
    }
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

/// A scalar subquery has at most one row: an aggregate of all rows has, and a limit of one; any other is checked.
fn single(subquery: LogicalPlan) -> Result<LogicalPlan> {
    if is_single(&subquery)? {
        return Ok(subquery);
    }
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

fn node(apply: Apply) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(apply) })
}

fn refused(reason: &str) -> datafusion_common::DataFusionError {
    external(PlanError::Invalid(reason.to_owned()))
}

impl UserDefinedLogicalNodeCore for Apply {
    fn name(&self) -> &str {
        "Apply"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input, &self.subquery]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Apply: {:?}", self.kind)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let [input, subquery] =
            <[LogicalPlan; 2]>::try_from(inputs).or_else(|_| internal_err!("an apply has two inputs"))?;
        let schema = self.schema_over(&input, &subquery)?;
        Ok(Self { kind: self.kind.clone(), input, subquery, schema })
    }

    /// Columns of the input that nobody reads need not come along; the subquery's are few.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let width = self.input.schema().fields().len();
        let mut needed: Vec<usize> =
            output_columns.iter().copied().filter(|column| *column < width).collect();
        let key = match &self.kind {
            ApplyKind::Semi { key } | ApplyKind::Anti { key } | ApplyKind::Mark { key } => key.clone(),
            _ => None,
        };
        let outer = outer_columns(&self.subquery).ok()?;
        needed.extend(
            key.iter().chain(&outer).filter_map(|column| self.input.schema().maybe_index_of_column(column)),
        );
        needed.sort_unstable();
        needed.dedup();
        let subquery = match self.kind {
            ApplyKind::Lateral { .. } => output_columns
                .iter()
                .filter(|column| **column >= width)
                .map(|column| column - width)
                .collect(),
            _ => (0..self.subquery.schema().fields().len()).collect(),
        };
        Some(vec![needed, subquery])
    }
}

impl Apply {
    /// The output over inputs that may have lost columns.
    fn schema_over(&self, input: &LogicalPlan, subquery: &LogicalPlan) -> Result<DFSchemaRef> {
        let own = |plan: &LogicalPlan| -> Vec<(Option<TableReference>, Arc<Field>)> {
            plan.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field))).collect()
        };
        let mut fields = own(input);
        match self.kind {
            ApplyKind::Semi { .. } | ApplyKind::Anti { .. } => {}
            ApplyKind::Mark { .. } | ApplyKind::Scalar => {
                let last = self.schema.fields().len() - 1;
                let (qualifier, field) = self.schema.qualified_field(last);
                fields.push((qualifier.cloned(), Arc::clone(field)));
            }
            ApplyKind::Lateral { keep } => {
                let loosened = |(qualifier, field): (Option<TableReference>, Arc<Field>)| {
                    let nullable = keep || field.is_nullable();
                    (qualifier, Arc::new(field.as_ref().clone().with_nullable(nullable)))
                };
                fields.extend(own(subquery).into_iter().map(loosened));
            }
        }
        Ok(Arc::new(DFSchema::new_with_metadata(fields, Default::default())?))
    }
}

impl PartialOrd for Apply {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}
