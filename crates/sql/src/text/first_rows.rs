//! DISTINCT ON as a node of the plan: the first row of each group, by an order.
//!
//! DataFusion's own lets conditions through to its input, where they remove rows before the first one is chosen. Nothing is pushed through this one. Keys and order are
//! columns of the input, told by their places.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion_common::{DFSchemaRef, Result, internal_err};
use datafusion_expr::logical_plan::Extension;
use datafusion_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use tailrace_operators::{OrderBy, Scalar};

use super::relation::Relation;
use super::translate::{Translator, top_k};
use crate::PlanError;

/// The first row of each group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FirstRows {
    /// The columns that rows of a group agree in.
    pub(crate) on: Vec<usize>,
    /// The order within a group: column, greatest first, NULL first.
    pub(crate) order: Vec<(usize, bool, bool)>,
    pub(crate) input: LogicalPlan,
}

impl FirstRows {
    /// It as a plan.
    pub(crate) fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl Translator {
    pub(crate) fn first_rows_of(&self, first: &FirstRows) -> Result<Relation, PlanError> {
        let input = self.settled(&first.input)?.compacted()?;
        let column = |place: usize| Scalar::column(input.columns()[place], input.plan().schema());
        let partition = first.on.iter().map(|place| column(*place)).collect();
        let order = first.order.iter().map(|(place, descending, nulls_first)| OrderBy {
            scalar: column(*place),
            descending: *descending,
            nulls_first: *nulls_first,
        });
        top_k(&input, partition, order.collect(), Some(1), 0)
    }
}

impl UserDefinedLogicalNodeCore for FirstRows {
    fn name(&self) -> &str {
        "FirstRows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "FirstRows: on {:?} order {:?}", self.on, self.order)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let [input] =
            <[LogicalPlan; 1]>::try_from(inputs).or_else(|_| internal_err!("first rows have one input"))?;
        Ok(Self { on: self.on.clone(), order: self.order.clone(), input })
    }
}

impl PartialOrd for FirstRows {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.on.partial_cmp(&other.on)
    }
}
