//! Queries of WITH RECURSIVE that read each other, as one node of the plan: DataFusion's own reads itself alone.
//!
//! The node stands for one of the relations and has the bodies of all of them as inputs; equal bodies are built once, whichever relation is asked for.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion_common::{DFSchemaRef, Result};
use datafusion_expr::logical_plan::Extension;
use datafusion_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use crate::Plan;

/// One of several relations that are defined by each other.
#[derive(Clone, Debug)]
pub(crate) struct MutualRecursion {
    pub(crate) name: String,
    /// What the bodies read the relations as.
    pub(crate) relations: Vec<Relation>,
    pub(crate) bodies: Vec<LogicalPlan>,
    /// Which of them it is.
    pub(crate) index: usize,
    schema: DFSchemaRef,
}

/// A relation inside its own definition.
#[derive(Clone)]
pub(crate) struct Relation(pub(crate) Plan);

impl MutualRecursion {
    pub(crate) fn plan(
        name: &str,
        relations: Vec<Relation>,
        bodies: Vec<LogicalPlan>,
        index: usize,
    ) -> LogicalPlan {
        let schema = Arc::clone(bodies[index].schema());
        let node = Self { name: name.to_owned(), relations, bodies, index, schema };
        LogicalPlan::Extension(Extension { node: Arc::new(node) })
    }
}

impl UserDefinedLogicalNodeCore for MutualRecursion {
    fn name(&self) -> &str {
        "MutualRecursion"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.bodies.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "MutualRecursion: {} {}", self.name, self.index)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(Self { bodies: inputs, ..self.clone() })
    }
}

impl fmt::Debug for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.fingerprint())
    }
}

impl PartialEq for MutualRecursion {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && self.bodies == other.bodies
    }
}

impl Eq for MutualRecursion {}

impl Hash for MutualRecursion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.index, &self.bodies).hash(state);
    }
}

impl PartialOrd for MutualRecursion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.index.partial_cmp(&other.index)
    }
}
