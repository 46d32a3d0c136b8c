//! The node of a subquery that is applied to the rows of an input.
//!
//! The optimizer works inside both inputs of an apply and leaves the apply alone; `translate_apply.rs` computes it.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow_schema::Field;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DFSchemaRef, Result, TableReference, internal_err};
use datafusion_expr::logical_plan::Extension;
use datafusion_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

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
    pub(crate) schema: DFSchemaRef,
}

impl Apply {
    /// It as a plan.
    pub(crate) fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
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
