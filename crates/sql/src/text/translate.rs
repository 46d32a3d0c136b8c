//! The translation of DataFusion's optimized plans into plans of our own, one method a node.
//!
//! Joins, aggregates, windows and recursion have files of their own. What cannot be maintained is refused with a reason; nothing is recomputed in silence.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DFSchemaRef, ScalarValue};
use datafusion_expr::logical_plan::{
    Distinct, DistinctOn, EmptyRelation, Extension, FetchType, Filter, Limit, Projection, SkipType, Sort,
    TableScan, Union, Values,
};
use datafusion_expr::type_coercion::binary::type_union_resolution;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{Expr, LogicalPlan, SortExpr, cast};
use tailrace_operators::{OrderBy, Scalar, TopKSpec};
use tailrace_trace::{ChangeBatch, normal_array};

use super::apply_node::as_apply;
use super::catalog::RelationSource;
use super::first_rows::FirstRows;
use super::planner::PlannedQuery;
use super::recursion::MutualRecursion;
use super::relation::{Relation, computed};
use super::set_operations::{SetKind, SetOperation};
use super::translate_apply::Domain;
use crate::bind::bind_columns;
use crate::connective::may_fail;
use crate::{Plan, PlanError, PlanKind};

/// Translates one query, or one subquery for all values of the outer columns that it depends on.
#[derive(Default)]
pub(crate) struct Translator {
    /// The outer columns and their values, inside a correlated subquery.
    pub(crate) domain: Option<Domain>,
}

impl Translator {
    /// A whole query: the order at its root is kept beside the rows.
    pub(crate) fn query(&self, plan: &LogicalPlan) -> Result<PlannedQuery, PlanError> {
        let visible = plan.schema().fields().len();
        if let LogicalPlan::Distinct(Distinct::On(on)) = plan {
            let sorts = on.sort_expr.as_deref().unwrap_or_default();
            return self.shown(self.first_of_each(on)?, sorts, vec![(&on.select_expr, &on.schema)]);
        }
        let Some((projections, sort)) = root_sort(plan) else {
            return Ok(PlannedQuery { plan: self.relation(plan)?.compact()?, visible, order: Vec::new() });
        };
        let rows = match sort.limit {
            Some((k, offset)) => self.sorted_rows(sort.sort, k, offset)?,
            None => self.settled(&sort.sort.input)?,
        };
        let above =
            projections.into_iter().rev().map(|projection| (&projection.expr, &projection.schema)).collect();
        self.shown(rows, &sort.sort.expr, above)
    }

    /// Rows with the projections above their sort. The terms are carried through these, behind the columns that are shown.
    fn shown(
        &self,
        mut rows: Relation,
        terms: &[SortExpr],
        above: Vec<(&Vec<Expr>, &DFSchemaRef)>,
    ) -> Result<PlannedQuery, PlanError> {
        let terms = rows.order(terms)?;
        let options: Vec<(bool, bool)> =
            terms.iter().map(|term| (term.descending, term.nulls_first)).collect();
        let mut keys: Vec<Scalar> = terms.into_iter().map(|term| term.scalar).collect();
        for (exprs, names) in above {
            let mut scalars = rows.bind_all(exprs)?;
            let width = scalars.len();
            scalars.extend(keys);
            let wide_names = with_keys(names, scalars.len() - width)?;
            let wide = Relation::new(computed(rows.plan(), scalars, &wide_names)?, &wide_names)?;
            keys = (width..wide.columns().len())
                .map(|place| Scalar::column(place, wide.plan().schema()))
                .collect();
            rows = Relation::chosen(wide.plan().clone(), (0..width).collect(), names)?;
        }
        ordered(&rows, keys, &options)
    }

    /// Any node.
    pub(crate) fn relation(&self, plan: &LogicalPlan) -> Result<Relation, PlanError> {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => self.filter(filter),
            LogicalPlan::SubqueryAlias(alias) => self.relation(&alias.input)?.renamed(&alias.schema),
            LogicalPlan::Values(values) => constant_rows(values),
            LogicalPlan::EmptyRelation(empty) => empty_relation(empty),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => self.distinct(input),
            LogicalPlan::Distinct(Distinct::On(on)) => self.distinct_on(on),
            LogicalPlan::Window(window) => self.window(window),
            LogicalPlan::Sort(sort) => self.sort(sort),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::RecursiveQuery(recursive) => self.recursive(recursive),
            LogicalPlan::Subquery(subquery) => self.relation(&subquery.subquery),
            LogicalPlan::Repartition(repartition) => self.relation(&repartition.input),
            LogicalPlan::Extension(extension) => self.own_node(extension, plan),
            other => Err(refused(other)),
        }
    }

    /// A node of ours.
    fn own_node(&self, extension: &Extension, plan: &LogicalPlan) -> Result<Relation, PlanError> {
        let node = extension.node.as_any();
        if let Some(operation) = node.downcast_ref::<SetOperation>() {
            return self.set_operation(operation, plan.schema());
        }
        if let Some(recursion) = node.downcast_ref::<MutualRecursion>() {
            return self.mutual_recursion(recursion, plan.schema());
        }
        if let Some(first) = node.downcast_ref::<FirstRows>() {
            return self.first_rows_of(first);
        }
        match as_apply(plan) {
            Some(apply) => self.apply(apply, plan.schema()),
            None => Err(refused(plan)),
        }
    }

    fn scan(&self, scan: &TableScan) -> Result<Relation, PlanError> {
        let Some(source) = scan.source.downcast_ref::<RelationSource>() else {
            return Err(PlanError::Invalid(format!("'{}' is no relation of this database", scan.table_name)));
        };
        let all = || (0..source.plan.schema().fields().len()).collect();
        let columns = scan.projection.clone().unwrap_or_else(all);
        let rows = Relation::chosen(source.plan.clone(), columns, &scan.projected_schema)?;
        match scan.filters.is_empty() && scan.fetch.is_none() {
            true => Ok(rows),
            false => Err(PlanError::Invalid(format!(
                "internal: a filter was pushed into the scan of '{}'",
                scan.table_name
            ))),
        }
    }

    /// A node's input, with a row for every group that is empty and with the outer columns that its expressions read.
    pub(crate) fn input<'a>(
        &self,
        plan: &LogicalPlan,
        exprs: impl IntoIterator<Item = &'a Expr>,
    ) -> Result<Relation, PlanError> {
        self.attached(self.settled(plan)?, &outer_of(exprs)?)
    }

    fn projection(&self, projection: &Projection) -> Result<Relation, PlanError> {
        let rows = self.relation(&projection.input)?;
        let asked = outer_of(&projection.expr)?;
        // The row of an empty group is carried through, unless it depends on outer values too.
        let input = if asked.is_empty() { rows } else { self.attached(self.filled(rows)?, &asked)? };
        input.project(input.bind_all(&projection.expr)?, &projection.schema)
    }

    fn filter(&self, filter: &Filter) -> Result<Relation, PlanError> {
        let input = self.settled(&filter.input)?;
        let conjuncts: Vec<&Expr> = split_conjunction(&filter.predicate);
        let (input, conjuncts) = self.correlated(input, conjuncts)?;
        if conjuncts.is_empty() {
            return Ok(input);
        }
        let mut predicates = input.bind_all(conjuncts)?;
        predicates.sort_by_key(|predicate| may_fail(predicate.expr(), input.plan().schema()));
        input.over(Plan::new(
            PlanKind::Filter { input: input.plan().clone(), predicates },
            Arc::clone(input.plan().schema()),
        ))
    }

    fn distinct(&self, input: &LogicalPlan) -> Result<Relation, PlanError> {
        let rows = self.settled(input)?.compacted()?;
        rows.over(rows.plan().distinct())
    }

    fn distinct_on(&self, on: &DistinctOn) -> Result<Relation, PlanError> {
        let first = self.first_of_each(on)?;
        first.project(first.bind_all(&on.select_expr)?, &on.schema)
    }

    /// The first row of each group of equal `on` values.
    fn first_of_each(&self, on: &DistinctOn) -> Result<Relation, PlanError> {
        let sorts = on.sort_expr.as_deref().unwrap_or_default();
        let input = self.input(
            &on.input,
            on.on_expr.iter().chain(&on.select_expr).chain(sorts.iter().map(|sort| &sort.expr)),
        )?;
        top_k(&input, input.bind_all(&on.on_expr)?, input.order(sorts)?, Some(1), 0)
    }

    /// An order below the root decides nothing, unless it has a limit.
    fn sort(&self, sort: &Sort) -> Result<Relation, PlanError> {
        match sort.fetch {
            None => self.relation(&sort.input),
            Some(k) => self.sorted_rows(sort, Some(k), 0),
        }
    }

    fn sorted_rows(&self, sort: &Sort, k: Option<usize>, offset: usize) -> Result<Relation, PlanError> {
        let input = self.input(&sort.input, sort.expr.iter().map(|term| &term.expr))?.compacted()?;
        top_k(&input, Vec::new(), input.order(&sort.expr)?, k, offset)
    }

    /// A limit is a top-k over the sort below it, which may stand under projections.
    fn limit(&self, limit: &Limit) -> Result<Relation, PlanError> {
        let SkipType::Literal(offset) = limit.get_skip_type()? else { return Err(not_constant("OFFSET")) };
        let FetchType::Literal(k) = limit.get_fetch_type()? else { return Err(not_constant("LIMIT")) };
        self.first_rows(&limit.input, k, offset)
    }

    fn first_rows(&self, plan: &LogicalPlan, k: Option<usize>, offset: usize) -> Result<Relation, PlanError> {
        match plan {
            LogicalPlan::Projection(projection)
                if is_sorted(&projection.input) && outer_of(&projection.expr)?.is_empty() =>
            {
                let input = self.first_rows(&projection.input, k, offset)?;
                input.project(input.bind_all(&projection.expr)?, &projection.schema)
            }
            LogicalPlan::SubqueryAlias(alias) if is_sorted(&alias.input) => {
                self.first_rows(&alias.input, k, offset)?.renamed(&alias.schema)
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.sorted_rows(sort, k, offset),
            other => top_k(&self.settled(other)?.compacted()?, Vec::new(), Vec::new(), k, offset),
        }
    }

    fn union(&self, union: &Union) -> Result<Relation, PlanError> {
        let inputs: Vec<&LogicalPlan> = union.inputs.iter().map(Arc::as_ref).collect();
        let inputs = self.aligned(&inputs)?;
        let Some((first, others)) = inputs.split_first() else {
            return Err(PlanError::Invalid("a union of nothing".into()));
        };
        let others: Vec<Plan> = others.iter().map(|rows| rows.plan().clone()).collect();
        first.over(first.plan().union_all(&others)?)?.renamed(&union.schema)
    }

    /// `l - max(l - r, 0)` is the lesser of two weights, `max(l - r, 0)` what is left of the first.
    fn set_operation(&self, operation: &SetOperation, names: &DFSchema) -> Result<Relation, PlanError> {
        let inputs = self.aligned(&[&operation.left, &operation.right])?;
        let (left, right) = same_types(inputs[0].plan(), inputs[1].plan())?;
        let once = matches!(operation.kind, SetKind::Except | SetKind::Intersect);
        let (left, right) = if once { (left.distinct(), right.distinct()) } else { (left, right) };
        let rest = left.minus(&right)?.positive();
        let rows = if matches!(operation.kind, SetKind::Except | SetKind::ExceptAll) {
            rest
        } else {
            left.minus(&rest)?
        };
        inputs[0].over(rows)?.renamed(names)
    }

    /// Inputs with the same columns: if one depends on outer columns, all carry them.
    fn aligned(&self, plans: &[&LogicalPlan]) -> Result<Vec<Relation>, PlanError> {
        let inputs = plans.iter().map(|plan| self.settled(plan)).collect::<Result<Vec<_>, _>>()?;
        let needed = if inputs.iter().any(|rows| !rows.outer().is_empty()) {
            self.domain_columns()
        } else {
            Vec::new()
        };
        let align = |rows: Relation| self.attached(rows, &needed)?.in_outer_order(&needed)?.compacted();
        inputs.into_iter().map(align).collect()
    }
}

/// Both plans with columns of the same types. An expression may get its type after the sides of a set operation were compared, as a CASE does.
fn same_types(left: &Plan, right: &Plan) -> Result<(Plan, Plan), PlanError> {
    let types = |plan: &Plan| -> Vec<DataType> {
        plan.schema().fields().iter().map(|field| field.data_type().clone()).collect()
    };
    let (mine, theirs) = (types(left), types(right));
    if mine == theirs {
        return Ok((left.clone(), right.clone()));
    }
    let common = |(mine, theirs): (&DataType, &DataType)| {
        let both = if mine == theirs {
            Some(mine.clone())
        } else {
            type_union_resolution(&[mine.clone(), theirs.clone()])
        };
        both.ok_or_else(|| PlanError::Invalid(format!("a set operation of columns of {mine} and {theirs}")))
    };
    let common = mine.iter().zip(&theirs).map(common).collect::<Result<Vec<_>, _>>()?;
    let cast_all = |plan: &Plan| {
        let columns = plan.schema().fields().iter().zip(&common).map(|(field, to)| {
            let column = Expr::Column(Column::from_name(field.name()));
            let same = field.data_type() == to;
            (field.name().clone(), if same { column } else { cast(column, to.clone()) })
        });
        plan.project(&columns.collect::<Vec<_>>())
    };
    Ok((cast_all(left)?, cast_all(right)?))
}

/// The outer columns that expressions read.
pub(crate) fn outer_of<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Result<Vec<Column>, PlanError> {
    let mut found: Vec<Column> = Vec::new();
    for expr in exprs {
        expr.apply(|part| {
            if let Expr::OuterReferenceColumn(_, column) = part
                && !found.contains(column)
            {
                found.push(column.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(found)
}

/// The first rows of each partition, for all outer values apart.
pub(crate) fn top_k(
    input: &Relation,
    mut partition: Vec<Scalar>,
    order: Vec<OrderBy>,
    k: Option<usize>,
    offset: usize,
) -> Result<Relation, PlanError> {
    partition.extend(input.outer_scalars());
    let schema = Arc::clone(input.plan().schema());
    let spec = TopKSpec { partition, order, k, offset, schema: Arc::clone(&schema) };
    input.over(Plan::new(PlanKind::TopK { input: input.plan().clone(), spec }, schema))
}

/// A reason that names the node.
pub(crate) fn refused(plan: &LogicalPlan) -> PlanError {
    PlanError::Invalid(format!("this cannot be kept up to date: {}", plan.display()))
}

fn not_constant(clause: &str) -> PlanError {
    PlanError::Refused { name: clause.to_owned(), reason: format!("{clause} must be a constant") }
}

struct RootSort<'a> {
    sort: &'a Sort,
    /// How many rows, and from which on.
    limit: Option<(Option<usize>, usize)>,
}

/// The sort that decides the order of a query's rows, and the projections above it.
fn root_sort(plan: &LogicalPlan) -> Option<(Vec<&Projection>, RootSort<'_>)> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let (mut projections, sort) = root_sort(&projection.input)?;
            projections.insert(0, projection);
            Some((projections, sort))
        }
        LogicalPlan::Limit(limit) => {
            let (projections, sort) = root_sort(&limit.input)?;
            match (limit.get_fetch_type(), limit.get_skip_type(), sort.limit) {
                (Ok(FetchType::Literal(k)), Ok(SkipType::Literal(offset)), None) => {
                    Some((projections, RootSort { limit: Some((k, offset)), ..sort }))
                }
                _ => None,
            }
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => Some((Vec::new(), RootSort { sort, limit: None })),
        _ => None,
    }
}

/// Whether the rows come from a sort, through nodes that keep its order.
fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_sorted(&alias.input),
        LogicalPlan::Sort(sort) => sort.fetch.is_none(),
        _ => false,
    }
}

/// Names for hidden columns behind the shown ones.
fn with_keys(names: &DFSchema, keys: usize) -> Result<DFSchema, PlanError> {
    let shown = names.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
    let hidden =
        (0..keys).map(|key| (None, Arc::new(Field::new(format!("__order_{key}"), DataType::Null, true))));
    Ok(DFSchema::new_with_metadata(shown.chain(hidden).collect(), Default::default())?)
}

/// The rows with what they are ordered by: shown columns where they serve, hidden ones behind them otherwise.
fn ordered(rows: &Relation, keys: Vec<Scalar>, options: &[(bool, bool)]) -> Result<PlannedQuery, PlanError> {
    let visible = rows.columns().len();
    let mut scalars = rows.scalars();
    let mut order = Vec::new();
    for (key, (descending, nulls_first)) in keys.into_iter().zip(options) {
        let shown =
            key.as_column().and_then(|column| rows.columns().iter().position(|place| *place == column));
        let place = shown.unwrap_or_else(|| {
            scalars.push(key);
            scalars.len() - 1
        });
        order.push((place, *descending, *nulls_first));
    }
    if scalars.len() == visible {
        return Ok(PlannedQuery { plan: rows.compact()?, visible, order });
    }
    let names = with_keys(rows.scope(), scalars.len() - visible)?;
    Ok(PlannedQuery { plan: computed(rows.plan(), scalars, &names)?, visible, order })
}

fn empty_relation(empty: &EmptyRelation) -> Result<Relation, PlanError> {
    let schema = tailrace_trace::normal_schema(empty.schema.as_arrow());
    if !empty.produce_one_row {
        return Relation::new(Plan::constant(ChangeBatch::empty(schema)), &empty.schema);
    }
    let nothing = Arc::new(Schema::empty());
    Relation::new(Plan::constant(ChangeBatch::try_new(nothing, Vec::new(), vec![1].into())?), &empty.schema)
}

/// The rows of VALUES, evaluated now. DataFusion gives them the NOT NULL of the table that they go into; whether they keep it is for the table to say.
fn constant_rows(values: &Values) -> Result<Relation, PlanError> {
    let nullable = |field: &FieldRef| field.as_ref().clone().with_nullable(true);
    let fields: Vec<Field> = values.schema.fields().iter().map(nullable).collect();
    let schema = tailrace_trace::normal_schema(&Schema::new(fields));
    let columns = (0..schema.fields().len())
        .map(|column| constant_column(values, column, &schema))
        .collect::<Result<Vec<_>, _>>()?;
    let rows = ChangeBatch::try_new(schema, columns, vec![1; values.values.len()].into())?;
    Relation::new(Plan::constant(rows), &values.schema)
}

fn constant_column(values: &Values, column: usize, schema: &SchemaRef) -> Result<ArrayRef, PlanError> {
    let data_type = schema.field(column).data_type();
    let cell = |row: &Vec<Expr>| Ok(evaluate_constant(&row[column])?.cast_to(data_type)?);
    let cells = values.values.iter().map(cell).collect::<Result<Vec<ScalarValue>, PlanError>>()?;
    Ok(normal_array(&ScalarValue::iter_to_array(cells)?)?)
}

/// The value of an expression that reads no column.
pub(crate) fn evaluate_constant(expr: &Expr) -> Result<ScalarValue, PlanError> {
    if let Expr::Literal(value, _) = expr {
        return Ok(value.clone());
    }
    let nothing = DFSchema::empty();
    let scalar = bind_columns(expr, &nothing, &[], nothing.as_arrow())?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(|error| PlanError::Expression(error.to_string()))?;
    let array = scalar.expr().evaluate(&row)?.into_array(1)?;
    Ok(ScalarValue::try_from_array(&array, 0)?)
}
