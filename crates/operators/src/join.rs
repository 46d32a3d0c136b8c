//! Join: pairs of rows with equal keys.
//!
//! # Computes
//! `{(l, r) : l in a, r in b, key(l) = key(r), p(l, r)}`, weights multiplied. A key with a NULL equals nothing, unless the join is one of
//! `IS NOT DISTINCT FROM`. With the empty key it is the cross join.
//!
//! # Delta rule
//! Bilinear: `Δa ⋈ b' + a ⋈ Δb`, with `b' = b + Δb`, since `(a + Δa) ⋈ b' - a ⋈ b = Δa ⋈ b' + a ⋈ (b' - b)`. The residual `p` looks at
//! one pair at a time, so it is a filter of the output, which is linear.
//!
//! # State kept
//! None of its own; it reads the indexes of its inputs by the key.
//!
//! # Cost per change
//! Finding each changed key in the other index, `O(log n)`, and its matches. The size of the inputs does not matter.
//!
//! # Example
//! Orders and customers by customer: `+(ann, 7)` on the left meets `(ann, Ulm)` on the right and gives `+(ann, 7, Ulm)`.

use std::iter::once;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{BinaryOperator, Context, Input, Operator, OperatorError, Value};
use tailrace_trace::{ChangeBatch, IndexedBatch};

use crate::Scalar;
use crate::filter::conjunction_label;
use crate::pairs::Pairs;

/// A column of one side of a join, counted in that side's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinColumn {
    /// A column of the left index.
    Left(usize),
    /// A column of the right index.
    Right(usize),
}

/// What a join does with a pair of rows.
#[derive(Clone, Debug)]
pub struct JoinSpec {
    /// The columns that are read: those of the output, and those that the residual needs besides.
    pub gathered: Vec<JoinColumn>,
    /// Their names and types.
    pub gathered_schema: SchemaRef,
    /// Predicates over the gathered columns, asked one after the other.
    pub residual: Vec<Scalar>,
    /// The gathered columns that go out.
    pub output: Vec<usize>,
    /// The schema of the output.
    pub schema: SchemaRef,
    /// Whether NULL keys equal each other.
    pub null_matches: bool,
}

/// Joins two indexed streams on their keys.
#[derive(Clone, Debug)]
pub struct Join {
    spec: JoinSpec,
}

/// Which input the rows of a delta come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl JoinSpec {
    /// An SQL join without residual that puts out these columns.
    pub fn new(columns: Vec<JoinColumn>, schema: SchemaRef) -> Self {
        let output = (0..columns.len()).collect();
        let gathered_schema = Arc::clone(&schema);
        Self { gathered: columns, gathered_schema, residual: Vec::new(), output, schema, null_matches: false }
    }

    /// The join of the pairs for which `residual` holds, of which only the columns `output` of those named so far go out.
    pub fn with_residual(self, residual: Vec<Scalar>, output: Vec<usize>, schema: SchemaRef) -> Self {
        Self { residual, output, schema, ..self }
    }

    /// The join in which NULL keys equal each other.
    pub fn with_null_matches(self) -> Self {
        Self { null_matches: true, ..self }
    }
}

impl Join {
    /// Joins by `spec` two indexes whose keys have the same number and types of columns.
    pub fn new(spec: JoinSpec) -> Self {
        Self { spec }
    }

    /// Appends the pairs of `delta` with rows of `batches`.
    fn half<'a>(
        &self,
        side: Side,
        delta: &'a IndexedBatch,
        batches: impl Iterator<Item = &'a Arc<IndexedBatch>>,
        ctx: &Context<'_>,
    ) -> Result<Vec<ChangeBatch>, OperatorError> {
        let mut pairs = Pairs::new(&self.spec, side, delta)?;
        if !delta.is_empty() {
            let starts = delta.runs()?;
            for batch in batches.filter(|batch| !batch.is_empty()) {
                ctx.check()?;
                pairs.meet(&starts, batch, ctx)?;
            }
        }
        pairs.finish()
    }
}

impl Operator for Join {
    fn name(&self) -> &'static str {
        "join"
    }

    fn label(&self) -> String {
        conjunction_label(&self.spec.residual)
    }
}

impl BinaryOperator for Join {
    fn eval(&mut self, left: Input<'_>, right: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let (left, right) = (left.as_indexed()?, right.as_indexed()?);
        let after = right.before.batches().iter().chain(once(&right.delta));
        let mut parts = self.half(Side::Left, &left.delta, after, ctx)?;
        parts.extend(self.half(Side::Right, &right.delta, left.before.batches().iter(), ctx)?);
        Ok(ChangeBatch::concat(Arc::clone(&self.spec.schema), &parts)?.into())
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(self.clone())
    }
}
