//! Parameters of a view: `$name` in its text. One dataflow serves all values.
//!
//! A query with parameters is a subquery that depends on an outer row, the row of values. So it is planned as one (see `translate_apply.rs`): its rows carry the
//! parameters as columns, and hold side by side what the query gives for every value. Where `column = $name` says what the parameter is, the rows themselves
//! know their values, and nothing is kept for values apart from them. Everywhere else the rows are joined with the table of the values that
//! are asked for; an aggregate then has a row for every one of these, also where nothing is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, Result, ScalarValue};
use datafusion_expr::binary::comparison_coercion;
use datafusion_expr::expr::Placeholder;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, LogicalPlan};
use tailrace_trace::normal_type;

use super::column_names::unique;
use super::planner::external;
use super::relation::computed;
use super::translate::Translator;
use super::translate_apply::Domain;
use crate::{Plan, PlanError, PlanKind};

/// The relation that parameters are columns of, to the planner.
const RELATION: &str = "$";

/// The parameters of a view: the first columns of its plan, in this order.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The table of the values that are asked for, which the plan may read. No other table has its name.
    pub table: String,
    /// A column for each parameter, under its name.
    pub schema: SchemaRef,
}

/// A view that is to be made.
pub struct PlannedView {
    /// The columns of the parameters, then those of the query.
    pub plan: Plan,
    /// What it takes, if anything.
    pub parameters: Option<Parameters>,
}

impl PlannedView {
    /// The columns of the query under other names.
    pub(crate) fn renamed(self, names: &[String]) -> std::result::Result<Self, PlanError> {
        let fields = self.plan.schema().fields();
        let own = self.parameters.as_ref().map_or(0, |parameters| parameters.schema.fields().len());
        if names.len() != fields.len() - own {
            return Err(PlanError::TypeMismatch {
                context: "the columns of the view".into(),
                expected: format!("{} names", names.len()),
                found: format!("{} columns", fields.len() - own),
            });
        }
        let all: Vec<String> = fields[..own].iter().map(|field| field.name()).chain(names).cloned().collect();
        Ok(Self { plan: self.plan.renamed(&all), ..self })
    }
}

impl Parameters {
    /// The named parameters of a plan, in the order of their first use.
    pub(crate) fn of(plan: &LogicalPlan) -> Result<Option<Self>> {
        let mut uses = Uses::default();
        plan.apply_with_subqueries(|node| {
            let limits = matches!(node, LogicalPlan::Limit(_));
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    if limits
                        && matches!(part, Expr::Placeholder(placeholder) if name_of(placeholder).is_some())
                    {
                        return Err(external(in_limit()));
                    }
                    uses.note(part);
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        let fields = uses.fields().map_err(external)?;
        if fields.is_empty() {
            return Ok(None);
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let table = format!("$ {}", NEXT.fetch_add(1, Ordering::Relaxed));
        Ok(Some(Self { table, schema: Arc::new(Schema::new(fields)) }))
    }

    /// The plan with its parameters as columns of an outer query.
    pub(crate) fn as_outer(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let replaced = plan.transform_up_with_subqueries(|node| {
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let replaced = expr.transform_up(|part| Ok(self.outer(part)))?;
                Ok(replaced.update_data(|expr| name.restore(expr)))
            })?
            .map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(replaced.data)
    }

    fn outer(&self, expr: Expr) -> Transformed<Expr> {
        if let Expr::Placeholder(placeholder) = &expr
            && let Some(name) = name_of(placeholder)
            && let Ok(field) = self.schema.field_with_name(name)
        {
            let column = Column::new(Some(RELATION), name);
            return Transformed::yes(Expr::OuterReferenceColumn(Arc::new(field.clone()), column));
        }
        Transformed::no(expr)
    }

    /// Our plan: the parameters as columns, then those of the query.
    pub(crate) fn translate(&self, optimized: &LogicalPlan) -> std::result::Result<Plan, PlanError> {
        let fields = self.schema.fields();
        let columns: Vec<Column> =
            fields.iter().map(|field| Column::new(Some(RELATION), field.name())).collect();
        let asked = Plan::table(&self.table, Arc::clone(&self.schema));
        let inside = Translator { domain: Some(Domain::new(columns.clone(), asked)) };
        let rows = inside.attached(inside.settled(optimized)?, &columns)?.in_outer_order(&columns)?;
        let own = fields.iter().map(|field| format!("${}", field.name()));
        let shown = optimized.schema().fields().iter().map(|field| field.name().clone());
        let named = |name: &String| Field::new(name, DataType::Null, true);
        let names: Vec<Field> = unique(own.chain(shown)).iter().map(named).collect();
        let names = DFSchema::try_from(Schema::new(names))?;
        computed(rows.plan(), rows.outer_scalars().into_iter().chain(rows.scalars()).collect(), &names)
    }

    /// Whether a plan reads the table of values: otherwise its rows know them.
    pub fn are_asked_for(&self, plan: &Plan) -> bool {
        matches!(plan.kind(), PlanKind::Table(name) if *name == self.table)
            || plan.inputs().into_iter().any(|input| self.are_asked_for(input))
    }
}

/// Every parameter with the types that its uses suggest.
#[derive(Default)]
struct Uses(Vec<(String, Vec<DataType>)>);

impl Uses {
    fn note(&mut self, expr: &Expr) {
        match expr {
            Expr::Placeholder(placeholder) => {
                let data_type = placeholder.field.as_ref().map(|field| field.data_type().clone());
                self.add(placeholder, data_type);
            }
            Expr::Cast(cast) => {
                if let Expr::Placeholder(placeholder) = cast.expr.as_ref() {
                    self.add(placeholder, Some(cast.field.data_type().clone()));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, placeholder: &Placeholder, data_type: Option<DataType>) {
        let Some(name) = name_of(placeholder) else { return };
        let place = self.0.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        self.0[place].1.extend(data_type.filter(|found| !found.is_null()).map(|found| normal_type(&found)));
    }

    fn fields(self) -> std::result::Result<Vec<Field>, PlanError> {
        let field = |(name, types): (String, Vec<DataType>)| {
            let refused = |reason: String| PlanError::Refused { name: name.clone(), reason };
            let mut types = types.into_iter();
            let first = types.next().ok_or_else(|| {
                refused(format!("the type of parameter ${name} is not known: write CAST(${name} AS ...)"))
            })?;
            let met = |one: DataType, other: DataType| {
                let alike = one.is_numeric() == other.is_numeric() && one.is_string() == other.is_string();
                let common = if one == other { Some(one.clone()) } else { comparison_coercion(&one, &other) };
                let common = common.filter(|_| alike);
                common.ok_or_else(|| {
                    refused(format!(
                        "parameter ${name} is used as {one} and as {other}: write CAST(${name} AS ...)"
                    ))
                })
            };
            Ok(Field::new(&name, normal_type(&types.try_fold(first, met)?), true))
        };
        self.0.into_iter().map(field).collect()
    }
}

fn in_limit() -> PlanError {
    let reason = "LIMIT and OFFSET must be constants: number the rows with row_number() and compare with the parameter";
    PlanError::Refused { name: "LIMIT".into(), reason: reason.into() }
}

/// The name of a parameter that has one; `$1` has a number.
fn name_of(placeholder: &Placeholder) -> Option<&str> {
    let name = placeholder.id.trim_start_matches(['$', ':', '@']);
    (!name.starts_with(|first: char| first.is_ascii_digit())).then_some(name)
}

/// Refuses a parameter that has a name where values are given by position.
pub(crate) fn refuse_named(plan: &LogicalPlan) -> Result<()> {
    let named = plan.get_parameter_names()?.into_iter().find(|name| {
        !name.trim_start_matches(['$', ':', '@']).starts_with(|first: char| first.is_ascii_digit())
    });
    match named {
        None => Ok(()),
        Some(name) => {
            let reason =
                format!("{name}: parameters with names belong to views; a statement takes ? or $1, $2, ...");
            Err(external(PlanError::Refused { name: name.trim_start_matches('$').to_owned(), reason }))
        }
    }
}

/// Values of parameters in the types of their columns.
pub fn parameter_values(
    schema: &Schema,
    values: &[ScalarValue],
) -> std::result::Result<Vec<ScalarValue>, PlanError> {
    let cast = |(field, value): (&Arc<Field>, &ScalarValue)| Ok(value.cast_to(field.data_type())?);
    schema.fields().iter().zip(values).map(cast).collect()
}
