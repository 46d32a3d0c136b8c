//! Recursive queries, and lists unfolded into rows.
//!
//! The recursive term of `WITH RECURSIVE` sees, by the standard, the rows of the iteration before. For a term that is linear in the relation (each row of its output
//! comes from one row of the relation) the sum over all iterations is the least fixed point, of sets for UNION and of bags for UNION ALL. A term that is
//! not linear is refused: its two readings differ.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::DFSchema;
use datafusion_expr::LogicalPlan;
use datafusion_expr::logical_plan::{RecursiveQuery, Unnest};
use tailrace_operators::Scalar;

use super::catalog::RelationSource;
use super::recursion::MutualRecursion;
use super::relation::{Relation, computed, numbered_beyond};
use super::translate::Translator;
use crate::scalar_function;
use crate::{JoinKind, Plan, PlanError, PlanKind, RelationId};

/// The most iterations of one step. A recursion that needs more is taken for one that never ends.
const LIMIT: u32 = 100_000;

impl Translator {
    pub(crate) fn recursive(&self, query: &RecursiveQuery) -> Result<Relation, PlanError> {
        let Some(relation) = work_table(&query.recursive_term, &query.name) else {
            return Err(PlanError::Invalid(format!(
                "internal: the recursive term of '{}' does not read it",
                query.name
            )));
        };
        let wanted = Arc::clone(relation.schema());
        let (start, step) = (self.relation(&query.static_term)?, self.relation(&query.recursive_term)?);
        if !(start.outer().is_empty() && step.outer().is_empty()) {
            let reason = format!("the recursive query '{}' depends on an outer query", query.name);
            return Err(PlanError::Refused { name: query.name.clone(), reason });
        }
        let (start, step) = (conformed(&start.compact()?, &wanted)?, step.compact()?);
        let reads = |plan: &Plan| plan.free_relations() == relation.free_relations();
        check_linear(&step, &reads, false, &query.name)?;
        let body = start.union_all(&[conformed(&step, &wanted)?])?;
        let plans = Plan::recursion(&query.name, &[(relation, body)], LIMIT, query.is_distinct)?;
        let Some(plan) = plans.into_iter().next() else {
            return Err(PlanError::Invalid("internal: an empty recursion".into()));
        };
        Relation::new(plan, &query.schema)
    }

    /// Relations that are defined by each other: the least sets that satisfy all definitions. Joins of them have one meaning then; what is not monotone has none.
    pub(crate) fn mutual_recursion(
        &self,
        recursion: &MutualRecursion,
        names: &DFSchema,
    ) -> Result<Relation, PlanError> {
        let mut pairs = Vec::with_capacity(recursion.bodies.len());
        let free: Vec<RelationId> =
            recursion.relations.iter().flat_map(|one| one.0.free_relations()).collect();
        for (relation, body) in recursion.relations.iter().zip(&recursion.bodies) {
            let rows = self.relation(body)?;
            if !rows.outer().is_empty() {
                let reason = format!("the recursive query '{}' depends on an outer query", recursion.name);
                return Err(PlanError::Refused { name: recursion.name.clone(), reason });
            }
            let body = rows.compact()?;
            let reads = |plan: &Plan| plan.free_relations().iter().any(|id| free.contains(id));
            check_linear(&body, &reads, true, &recursion.name)?;
            pairs.push((relation.0.clone(), conformed(&body, relation.0.schema())?));
        }
        let plans = Plan::recursion(&recursion.name, &pairs, LIMIT, true)?;
        match plans.into_iter().nth(recursion.index) {
            Some(plan) => Relation::new(plan, names),
            None => Err(PlanError::Invalid("internal: a recursion without that relation".into())),
        }
    }

    /// One list column after the other is unfolded; struct columns become their fields.
    pub(crate) fn unnest(&self, unnest: &Unnest) -> Result<Relation, PlanError> {
        let input = self.settled(&unnest.input)?.compacted()?;
        if unnest.list_type_columns.len() > 1 {
            let reason =
                "two lists unnested side by side are not supported: unnest one of them in a subquery"
                    .to_owned();
            return Err(PlanError::Refused { name: "unnest".into(), reason });
        }
        let mut plan = input.plan().clone();
        for (column, list) in &unnest.list_type_columns {
            for _ in 0..list.depth {
                plan = unfolded(&plan, *column, unnest.options.preserve_nulls())?;
            }
        }
        let mut scalars = Vec::new();
        for (place, column) in unnest.dependency_indices.iter().enumerate() {
            let nth = unnest.dependency_indices[..place].iter().filter(|earlier| *earlier == column).count();
            match plan.schema().field(*column).data_type() {
                DataType::Struct(fields) if unnest.struct_type_columns.contains(column) => {
                    scalars.push(field_of(&plan, *column, &fields[nth])?)
                }
                _ => scalars.push(Scalar::column(*column, plan.schema())),
            }
        }
        let width = scalars.len();
        scalars.extend(input.outer().iter().map(|(_, place)| Scalar::column(*place, plan.schema())));
        let outer = input
            .outer()
            .iter()
            .enumerate()
            .map(|(index, (column, _))| (column.clone(), width + index))
            .collect();
        let plan = computed(&plan, scalars, &numbered_beyond(&unnest.schema, width, input.outer().len())?)?;
        Ok(Relation::chosen(plan, (0..width).collect(), &unnest.schema)?.depending(outer))
    }
}

fn unfolded(plan: &Plan, column: usize, keep_empty: bool) -> Result<Plan, PlanError> {
    if keep_empty {
        let reason = "unnest that keeps rows with empty lists is not supported".to_owned();
        return Err(PlanError::Refused { name: "unnest".into(), reason });
    }
    let DataType::List(element) = plan.schema().field(column).data_type() else {
        let found = plan.schema().field(column).data_type().to_string();
        return Err(PlanError::TypeMismatch { context: "unnest".into(), expected: "a list".into(), found });
    };
    let mut fields: Vec<_> = plan.schema().fields().iter().cloned().collect();
    fields[column] = Arc::new(Field::new(fields[column].name(), element.data_type().clone(), true));
    Ok(Plan::new(PlanKind::Unnest { input: plan.clone(), column }, Arc::new(Schema::new(fields))))
}

fn field_of(plan: &Plan, column: usize, field: &Field) -> Result<Scalar, PlanError> {
    let names = DFSchema::try_from(Arc::new(Schema::new(vec![plan.schema().field(column).clone()])))?;
    let source = Relation::chosen(plan.clone(), vec![column], &names)?;
    let whole = datafusion_expr::Expr::Column(names.columns().remove(0));
    source.bind(&scalar_function("get_field")?.call(vec![whole, datafusion_expr::lit(field.name().clone())]))
}

/// The relation that the recursive term reads under this name.
fn work_table(plan: &LogicalPlan, name: &str) -> Option<Plan> {
    if let LogicalPlan::TableScan(scan) = plan
        && scan.table_name.table() == name
        && let Some(source) = scan.source.downcast_ref::<RelationSource>()
        && matches!(source.plan.kind(), PlanKind::Relation(_))
    {
        return Some(source.plan.clone());
    }
    plan.inputs().into_iter().find_map(|input| work_table(input, name))
}

/// The rows under the names, types and nullability of the relation.
fn conformed(plan: &Plan, wanted: &arrow_schema::SchemaRef) -> Result<Plan, PlanError> {
    let columns =
        (0..plan.schema().fields().len()).map(|place| Scalar::column(place, plan.schema())).collect();
    let compatible =
        |(mine, theirs): (&Arc<Field>, &Arc<Field>)| mine.data_type().equals_datatype(theirs.data_type());
    if plan.schema().fields().len() != wanted.fields().len()
        || !plan.schema().fields().iter().zip(wanted.fields()).all(compatible)
    {
        let context = "the terms of a recursive query".to_owned();
        return Err(PlanError::TypeMismatch {
            context,
            expected: format!("{:?}", types(wanted)),
            found: format!("{:?}", types(plan.schema())),
        });
    }
    Ok(Plan::new(PlanKind::Project { input: plan.clone(), columns }, Arc::clone(wanted)))
}

fn types(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.data_type().to_string()).collect()
}

/// Whether each output row of the term comes from one row of the relation or, where products are allowed, from one row each time that it is read.
fn check_linear(
    plan: &Plan,
    reads: &dyn Fn(&Plan) -> bool,
    products: bool,
    name: &str,
) -> Result<(), PlanError> {
    let refuse = |what: &str| {
        let reason = format!(
            "the recursive term of '{name}' {what}: what that means depends on the iteration, so it cannot be kept up to date"
        );
        Err(PlanError::Refused { name: name.to_owned(), reason })
    };
    if !reads(plan) {
        return Ok(());
    }
    match plan.kind() {
        PlanKind::Relation(_)
        | PlanKind::Filter { .. }
        | PlanKind::Project { .. }
        | PlanKind::Unnest { .. }
        | PlanKind::Union(_) => {}
        PlanKind::Join { left, right, kind, .. } => match (reads(left), reads(right), kind) {
            (true, true, JoinKind::Inner | JoinKind::Semi) if products => {}
            (true, true, _) => return refuse("reads it twice in a join"),
            (_, _, JoinKind::Inner)
            | (true, false, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
            | (false, true, JoinKind::Right) => {}
            _ => return refuse("reads it on the optional side of a join"),
        },
        PlanKind::Aggregate { .. } => return refuse("aggregates it"),
        PlanKind::Distinct(_) | PlanKind::Positive(_) | PlanKind::Minus(..) => {
            return refuse("uses it in a set operation");
        }
        PlanKind::TopK { .. } => return refuse("limits it"),
        PlanKind::Window { .. } | PlanKind::Framed { .. } => return refuse("uses a window over it"),
        _ => return refuse("uses it in a way that is not linear"),
    }
    plan.inputs().into_iter().try_for_each(|input| check_linear(input, reads, products, name))
}
