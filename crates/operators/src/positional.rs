//! Operators over ranked rows: the lifecycle and the frame of a step that top-k and windows share.
//!
//! Their state is one trace of ranked rows, and a step is always the same: sort the change, look at both versions of the touched partitions, let the rule
//! say what changes, stage the change. What positions mean is the rule's business, which keeps nothing between steps.

use tailrace_circuit::{Context, Input, Operator, OperatorError, StateSize, UnaryOperator, Value};
use tailrace_trace::{ChangeBatch, Snapshot};

use crate::ranked::Ranked;
use crate::state::{restore, size};
use crate::versions::Versions;

/// What an operator makes of the positions of rows in their partitions.
pub trait PositionRule: Clone + Send + 'static {
    /// The operator's name.
    const NAME: &'static str;

    /// The operator's label.
    fn label(&self) -> String;

    /// The difference of what the rule gives for the new and the old version of the touched partitions, which are numbered from 0 on.
    fn differ(
        &self,
        ranked: &Ranked,
        versions: &Versions,
        partitions: usize,
        ctx: &Context<'_>,
    ) -> Result<ChangeBatch, OperatorError>;
}

/// Partitions between two looks for an interrupt.
pub(crate) const CHECKED: usize = 1024;

/// An operator that follows a rule about positions.
pub struct Positional<R> {
    rule: R,
    ranked: Ranked,
}

impl<R: PositionRule> Positional<R> {
    /// With the state of `ranked`.
    pub(crate) fn over(ranked: Ranked, rule: R) -> Self {
        Self { rule, ranked }
    }

    fn advance(&mut self, batch: &ChangeBatch, ctx: &Context<'_>) -> Result<ChangeBatch, OperatorError> {
        let delta = self.ranked.index(batch)?;
        let (versions, partitions) = self.ranked.versions(&delta)?;
        let changes = self.rule.differ(&self.ranked, &versions, partitions, ctx)?;
        self.ranked.spine.charge(versions.cancelled());
        self.ranked.spine.stage(delta)?;
        Ok(changes)
    }
}

impl<R: PositionRule> Operator for Positional<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn label(&self) -> String {
        self.rule.label()
    }

    fn commit(&mut self) {
        self.ranked.spine.commit();
    }

    fn rollback(&mut self) {
        self.ranked.spine.rollback();
    }

    fn state(&self) -> StateSize {
        size(&self.ranked.spine)
    }

    fn checkpoint(&self) -> Vec<Snapshot> {
        vec![self.ranked.spine.snapshot().clone()]
    }

    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        restore([&mut self.ranked.spine], snapshots)
    }
}

impl<R: PositionRule> UnaryOperator for Positional<R> {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        ctx.check()?;
        Ok(self.advance(input.as_changes()?, ctx)?.into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Self { rule: self.rule.clone(), ranked: self.ranked.fresh() })
    }
}
