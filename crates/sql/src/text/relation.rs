//! A translated relation: one of our plans, under the names that DataFusion's plan uses for its columns.
//!
//! Columns may be chosen, repeated and reordered without a node: the relation remembers at which position of the plan each of its columns stands. Only
//! computed columns make a projection.
//!
//! Inside a correlated subquery a relation also carries the outer columns that it depends on: it then holds, side by side, the rows of the subquery for all
//! values of these columns (see `translate_apply.rs`).

use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, ScalarValue, TableReference};
use datafusion_expr::Expr;
use datafusion_expr::expr::Sort;
use tailrace_operators::{OrderBy, Scalar};
use tailrace_trace::ChangeBatch;

use crate::bind::bind_columns;
use crate::plan_builder::{join_schema, nullable};
use crate::positions::moved_to;
use crate::{Plan, PlanError, PlanKind};

/// A plan whose columns have names.
#[derive(Clone)]
pub(crate) struct Relation {
    plan: Plan,
    /// Names as DataFusion knows them, types as the plan has them.
    scope: DFSchema,
    /// The position in the plan of each column of the scope.
    columns: Vec<usize>,
    /// The outer columns that the rows depend on, and where they stand in the plan.
    outer: Vec<(Column, usize)>,
    /// For the aggregate of a correlated group: the row of a group that is empty, over the plan's columns.
    missing: Option<ChangeBatch>,
}

impl Relation {
    /// All columns of a plan under these names.
    pub(crate) fn new(plan: Plan, names: &DFSchema) -> Result<Self, PlanError> {
        let columns = (0..plan.schema().fields().len()).collect();
        Self::chosen(plan, columns, names)
    }

    /// Some columns of a plan under these names.
    pub(crate) fn chosen(plan: Plan, columns: Vec<usize>, names: &DFSchema) -> Result<Self, PlanError> {
        let scope = scope_of(&plan, &columns, names)?;
        Ok(Self { plan, scope, columns, outer: Vec::new(), missing: None })
    }

    /// The same rows, which depend on outer columns at these places.
    pub(crate) fn depending(mut self, outer: Vec<(Column, usize)>) -> Self {
        self.outer = outer;
        self
    }

    /// The same rows, where groups that are empty have this row.
    pub(crate) fn with_missing(mut self, missing: Option<ChangeBatch>) -> Self {
        self.missing = missing;
        self
    }

    /// The same columns under other names.
    pub(crate) fn renamed(self, names: &DFSchema) -> Result<Self, PlanError> {
        let scope = scope_of(&self.plan, &self.columns, names)?;
        Ok(Self { scope, ..self })
    }

    /// The same columns over another plan that has the old one's columns where they were.
    pub(crate) fn over(&self, plan: Plan) -> Result<Self, PlanError> {
        let rows = Self::chosen(plan, self.columns.clone(), &self.scope)?;
        Ok(rows.depending(self.outer.clone()))
    }

    /// The plan below.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The names and types of its columns.
    pub(crate) fn scope(&self) -> &DFSchema {
        &self.scope
    }

    /// Where its columns stand in the plan.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The outer columns that it carries, and where they stand.
    pub(crate) fn outer(&self) -> &[(Column, usize)] {
        &self.outer
    }

    /// The row of groups that are empty.
    pub(crate) fn missing(&self) -> Option<&ChangeBatch> {
        self.missing.as_ref()
    }

    /// Where a column stands in the plan, if it is one of its own or an outer one that it carries.
    pub(crate) fn place_of(&self, column: &Column) -> Option<usize> {
        let own = self.scope.maybe_index_of_column(column).map(|index| self.columns[index]);
        own.or_else(|| self.place_of_outer(column))
    }

    /// Where an outer column stands in the plan, if it is carried.
    pub(crate) fn place_of_outer(&self, column: &Column) -> Option<usize> {
        self.outer.iter().find(|(outer, _)| outer == column).map(|(_, place)| *place)
    }

    /// An expression over its columns, as one over the plan's.
    pub(crate) fn bind(&self, expr: &Expr) -> Result<Scalar, PlanError> {
        if self.outer.is_empty() {
            return bind_columns(expr, &self.scope, &self.columns, self.plan.schema());
        }
        let expr = expr.clone().transform(named_outer)?.data;
        let mut places = self.columns.clone();
        places.extend(self.outer.iter().map(|(_, place)| *place));
        bind_columns(&expr, &self.wide_scope()?, &places, self.plan.schema())
    }

    /// Several expressions.
    pub(crate) fn bind_all<'a>(
        &self,
        exprs: impl IntoIterator<Item = &'a Expr>,
    ) -> Result<Vec<Scalar>, PlanError> {
        exprs.into_iter().map(|expr| self.bind(expr)).collect()
    }

    /// The terms of an order.
    pub(crate) fn order(&self, terms: &[Sort]) -> Result<Vec<OrderBy>, PlanError> {
        let term = |sort: &Sort| {
            Ok(OrderBy {
                scalar: self.bind(&sort.expr)?,
                descending: !sort.asc,
                nulls_first: sort.nulls_first,
            })
        };
        terms.iter().map(term).collect()
    }

    /// The columns themselves.
    pub(crate) fn scalars(&self) -> Vec<Scalar> {
        self.columns.iter().map(|column| Scalar::column(*column, self.plan.schema())).collect()
    }

    /// The outer columns themselves.
    pub(crate) fn outer_scalars(&self) -> Vec<Scalar> {
        self.outer.iter().map(|(_, place)| Scalar::column(*place, self.plan.schema())).collect()
    }

    /// Computed columns under these names; outer columns come along. Plain columns need no node.
    pub(crate) fn project(&self, scalars: Vec<Scalar>, names: &DFSchema) -> Result<Self, PlanError> {
        let plain: Option<Vec<usize>> = scalars.iter().map(Scalar::as_column).collect();
        match plain {
            Some(columns) if !matches!(self.plan.kind(), PlanKind::Join { .. }) => {
                let rows = Self::chosen(self.plan.clone(), columns, names)?;
                Ok(rows.depending(self.outer.clone()).with_missing(self.missing.clone()))
            }
            _ => self.computed(scalars, names),
        }
    }

    /// The same relation over a plan that has exactly its columns and then the outer ones.
    pub(crate) fn compacted(&self) -> Result<Self, PlanError> {
        let width = self.plan.schema().fields().len();
        let places = self.columns.iter().copied().chain(self.outer.iter().map(|(_, place)| *place));
        if places.clone().count() == width && places.enumerate().all(|(place, column)| place == column) {
            return Ok(self.clone());
        }
        self.computed(self.scalars(), &self.scope)
    }

    /// The same relation over a plan without columns that nobody reads, if the plan is one that holds them at no cost: a table or a view.
    pub(crate) fn narrow(&self) -> Result<Self, PlanError> {
        let is_wide = matches!(self.plan.kind(), PlanKind::Table(_) | PlanKind::Filter { .. });
        if is_wide { self.compacted() } else { Ok(self.clone()) }
    }

    /// A plan with exactly these columns, in order. Outer columns are left behind.
    pub(crate) fn compact(&self) -> Result<Plan, PlanError> {
        let width = self.plan.schema().fields().len();
        if self.columns.len() == width
            && self.columns.iter().enumerate().all(|(place, column)| place == *column)
        {
            return Ok(self.plan.clone());
        }
        computed(&self.plan, self.scalars(), &self.scope)
    }

    /// The outer columns in this order.
    pub(crate) fn in_outer_order(mut self, order: &[Column]) -> Result<Self, PlanError> {
        let place = |column: &Column| self.outer.iter().position(|(outer, _)| outer == column);
        let mut sorted = Vec::with_capacity(order.len());
        for column in order {
            let index = place(column).ok_or_else(|| {
                PlanError::Invalid(format!("internal: outer column {column} is not carried"))
            })?;
            sorted.push(self.outer[index].clone());
        }
        self.outer = sorted;
        Ok(self)
    }

    fn computed(&self, mut scalars: Vec<Scalar>, names: &DFSchema) -> Result<Self, PlanError> {
        let width = scalars.len();
        scalars.extend(self.outer_scalars());
        let missing = self.missing.as_ref().map(|row| missing_row(&scalars, row)).transpose()?;
        let plan = computed(&self.plan, scalars, &numbered_beyond(names, width, self.outer.len())?)?;
        let outer = self
            .outer
            .iter()
            .enumerate()
            .map(|(index, (column, _))| (column.clone(), width + index))
            .collect();
        let loose = Arc::new(nullable(plan.schema()));
        let missing =
            missing.map(|columns| ChangeBatch::try_new(loose, columns, vec![1].into())).transpose()?;
        Ok(Self::chosen(plan, (0..width).collect(), names)?.depending(outer).with_missing(missing))
    }

    /// Its own columns and the outer ones, under names that expressions use after [`named_outer`].
    fn wide_scope(&self) -> Result<DFSchema, PlanError> {
        let own = self.scope.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
        let outer = self.outer.iter().map(|(column, place)| {
            let field = self.plan.schema().field(*place).clone().with_name(column.flat_name());
            (Some(TableReference::bare(OUTER)), Arc::new(field) as FieldRef)
        });
        Ok(DFSchema::new_with_metadata(own.chain(outer).collect(), Default::default())?)
    }
}

const OUTER: &str = "__outer";

/// An outer reference becomes a column of the relation that carries it.
fn named_outer(expr: Expr) -> datafusion_common::Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::OuterReferenceColumn(_, column) => {
            Transformed::yes(Expr::Column(Column::new(Some(OUTER), column.flat_name())))
        }
        other => Transformed::no(other),
    })
}

fn missing_row(scalars: &[Scalar], row: &ChangeBatch) -> Result<Vec<arrow_array::ArrayRef>, PlanError> {
    Ok(scalars.iter().map(|scalar| scalar.evaluate(row)).collect::<Result<Vec<_>, _>>()?)
}

/// A row of NULLs with some values, over the columns of a schema.
pub(crate) fn constant_row(
    schema: &SchemaRef,
    values: &[(usize, ScalarValue)],
) -> Result<ChangeBatch, PlanError> {
    let cell = |place: usize| match values.iter().find(|(at, _)| *at == place) {
        Some((_, value)) => Ok(value.to_array()?),
        None => Ok(arrow_array::new_null_array(schema.field(place).data_type(), 1)),
    };
    let columns = (0..schema.fields().len()).map(cell).collect::<Result<Vec<_>, PlanError>>()?;
    Ok(ChangeBatch::try_new(Arc::new(nullable(schema)), columns, vec![1].into())?)
}

/// A projection; one over a join becomes the join's own output.
pub(crate) fn computed(plan: &Plan, scalars: Vec<Scalar>, names: &DFSchema) -> Result<Plan, PlanError> {
    let schema = named(&scalars, names);
    if let PlanKind::Join { left, right, kind, left_keys, right_keys, residual, output, null_matches } =
        plan.kind()
        && output.iter().all(|scalar| scalar.as_column().is_some())
    {
        let places: Vec<usize> = output.iter().filter_map(Scalar::as_column).collect();
        let input = join_schema(left, right, *kind);
        let output =
            scalars.iter().map(|scalar| moved_to(scalar, &places, &input)).collect::<Result<_, _>>()?;
        let (left, right, left_keys, right_keys) =
            (left.clone(), right.clone(), left_keys.clone(), right_keys.clone());
        let kind = PlanKind::Join {
            left,
            right,
            kind: *kind,
            left_keys,
            right_keys,
            residual: residual.clone(),
            output,
            null_matches: *null_matches,
        };
        return Ok(Plan::new(kind, schema));
    }
    Ok(Plan::new(PlanKind::Project { input: plan.clone(), columns: scalars }, schema))
}

/// The schema of expressions under given names.
pub(crate) fn named(scalars: &[Scalar], names: &DFSchema) -> SchemaRef {
    let field = |(index, scalar): (usize, &Scalar)| {
        Field::new(names.field(index).name(), scalar.data_type().clone(), scalar.nullable())
    };
    Arc::new(Schema::new(scalars.iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// The names with numbered ones behind them.
pub(crate) fn numbered_beyond(names: &DFSchema, width: usize, count: usize) -> Result<DFSchema, PlanError> {
    let own = names.iter().take(width).map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
    let behind = (0..count).map(|index| {
        (None, Arc::new(Field::new(format!("__outer_{index}"), arrow_schema::DataType::Null, true)))
    });
    Ok(DFSchema::new_with_metadata(own.chain(behind).collect(), Default::default())?)
}

fn scope_of(plan: &Plan, columns: &[usize], names: &DFSchema) -> Result<DFSchema, PlanError> {
    if columns.len() != names.fields().len() {
        return Err(PlanError::Invalid(format!(
            "internal: {} columns for {} names",
            columns.len(),
            names.fields().len()
        )));
    }
    let qualifiers: Vec<Option<TableReference>> =
        names.iter().map(|(qualifier, _)| qualifier.cloned()).collect();
    let field = |(place, column): (usize, &usize)| {
        plan.schema().field(*column).clone().with_name(names.field(place).name())
    };
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    Ok(DFSchema::from_field_specific_qualified_schema(qualifiers, &Arc::new(schema))?)
}
