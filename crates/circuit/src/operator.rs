//! The operator traits: one lifecycle, one evaluation method per arity.
//!
//! # The life of an operator
//! 1. [`Operator::clock_start`] when its scope's clock starts: once in the outermost scope, once per evaluation of the
//!    scope in a nested one.
//! 2. `eval`, at most once per tick (step or iteration), with the inputs' *changes*. What it learns is **staged**: a later
//!    node may still fail. The operator sees its own staged state; nobody else does.
//! 3. [`Operator::clock_end`] when a nested scope has reached its fixed point.
//! 4. [`Operator::commit`] when the step succeeded everywhere, or [`Operator::rollback`] when it failed anywhere. Only
//!    operators that were evaluated since the last commit are called. Neither can fail.
//!
//! # When an operator is evaluated
//! If one of its inputs has rows, or it says so itself ([`Operator::has_work`] in the outermost scope,
//! [`Operator::next_work`] in a nested one), or it is being filled for the first time. Otherwise its output counts as
//! empty and readers get [`Operator::idle`]. So every operator must promise: *with empty inputs and no work of its own,
//! `eval` would return an empty change and leave the state alone*.
//!
//! # Evaluating once
//! `fresh` gives the same operator with empty state. Evaluated once on the whole contents of its inputs it must give the
//! whole content of its output, because `D(op(I(x)))` at the first step is `op(x)`. This is how views are filled. An
//! operator for which this is not so (delay, integrate) overrides [`Operator::integral`].
//!
//! Operators are `Send` but not `Sync`: a worker owns its circuit.

use std::ops::AddAssign;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use tailrace_algebra::Iteration;
use tailrace_trace::{ChangeBatch, Snapshot};

use crate::context::{Context, Moment};
use crate::error::OperatorError;
use crate::nested::Subcircuit;
use crate::value::{Input, Value};

/// What an operator keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSize {
    /// Rows in all traces of the operator.
    pub rows: usize,
    /// Bytes those rows take.
    pub bytes: usize,
    /// Batches those rows lie in.
    pub batches: usize,
}

impl AddAssign for StateSize {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.batches += other.batches;
    }
}

/// The lifecycle that operators of all arities share. Only the name is required: a stateless operator needs no more.
pub trait Operator: Send {
    /// What the operator is called in graphs, metrics and errors, such as `"join"`.
    fn name(&self) -> &'static str;

    /// What tells it apart from others of its name: the predicate, the key. Shown in graphs and errors.
    fn label(&self) -> String {
        String::new()
    }

    /// The clock of the operator's scope starts. `now.depth` is the scope's depth.
    fn clock_start(&mut self, now: Moment) {
        let _ = now;
    }

    /// The clock of the operator's nested scope has come to its end: the fixed point is reached.
    fn clock_end(&mut self) {}

    /// Whether the operator must be evaluated at the next step even if no input changes (outermost scope). Asked after
    /// the operator is added and after each of its commits.
    fn has_work(&self) -> bool {
        false
    }

    /// The earliest iteration after `now` at which the operator must be evaluated even if no input changes (nested
    /// scopes). The scope has reached its fixed point when all answer `None` and nothing is fed back. The clock jumps
    /// over iterations at which nobody has work.
    ///
    /// `now` is a moment of the scope at `now.depth`; an operator two scopes down is also asked about the outer one.
    fn next_work(&self, now: Moment) -> Option<Iteration> {
        let _ = now;
        None
    }

    /// What is on the output while the operator is not evaluated; `None` means an empty change batch. An operator whose
    /// readers want a trace gives an empty delta and its current snapshot.
    fn idle(&self) -> Option<Value> {
        None
    }

    /// The whole content of the output from the operator's own state, if it has it at hand. For a trace: the delta is
    /// everything, the trace before is empty. `Ok(None)` lets the circuit evaluate a fresh copy;
    /// [`OperatorError::NoIntegral`] refuses.
    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        Ok(None)
    }

    /// The whole content of the only input from the operator's own state, if it keeps all of it: who wants to know what the input holds is spared what
    /// lies below. `schema` is that of the input.
    fn input_integral(&self, schema: &SchemaRef) -> Result<Option<Value>, OperatorError> {
        let _ = schema;
        Ok(None)
    }

    /// The step succeeded everywhere: what was staged becomes the state. A good moment to spend merge fuel.
    fn commit(&mut self) {}

    /// The step failed somewhere: what was staged since the last commit is forgotten.
    fn rollback(&mut self) {}

    /// How much the operator keeps.
    fn state(&self) -> StateSize {
        StateSize::default()
    }

    /// The committed state as immutable snapshots, always the same number in the same order.
    fn checkpoint(&self) -> Vec<Snapshot> {
        Vec::new()
    }

    /// Replaces the state by what [`Operator::checkpoint`] of the same operator gave.
    fn restore(&mut self, snapshots: Vec<Snapshot>) -> Result<(), OperatorError> {
        match snapshots.len() {
            0 => Ok(()),
            found => Err(OperatorError::WrongState { expected: 0, found }),
        }
    }

    /// The nested scope inside this operator, for graphs and metrics.
    fn subcircuit(&self) -> Option<&Subcircuit> {
        None
    }
}

/// An operator without inputs: a table, a clock, a constant.
pub trait SourceOperator: Operator {
    /// Takes changes from outside, to be sent by the next `eval`. Staged: a rollback forgets them.
    fn accept(&mut self, changes: ChangeBatch) -> Result<(), OperatorError>;

    /// What changed in this step.
    fn eval(&mut self, ctx: &Context<'_>) -> Result<Value, OperatorError>;

    /// All rows the source has sent up to the last commit, added up.
    fn contents(&self) -> Result<Value, OperatorError>;

    /// The same source with empty state.
    fn fresh(&self) -> Box<dyn SourceOperator>;
}

/// An operator with one input.
pub trait UnaryOperator: Operator {
    /// The change of the output for this change of the input.
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError>;

    /// The same operator with empty state.
    fn fresh(&self) -> Box<dyn UnaryOperator>;
}

/// An operator with two inputs.
pub trait BinaryOperator: Operator {
    /// The change of the output for these changes of the inputs.
    fn eval(&mut self, left: Input<'_>, right: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError>;

    /// The same operator with empty state.
    fn fresh(&self) -> Box<dyn BinaryOperator>;
}

/// An operator with three inputs.
pub trait TernaryOperator: Operator {
    /// The change of the output for these changes of the inputs.
    fn eval(
        &mut self,
        first: Input<'_>,
        second: Input<'_>,
        third: Input<'_>,
        ctx: &Context<'_>,
    ) -> Result<Value, OperatorError>;

    /// The same operator with empty state.
    fn fresh(&self) -> Box<dyn TernaryOperator>;
}

/// An operator with any number of inputs.
pub trait NaryOperator: Operator {
    /// The change of the output for these changes of the inputs.
    fn eval(&mut self, inputs: Vec<Input<'_>>, ctx: &Context<'_>) -> Result<Value, OperatorError>;

    /// The same operator with empty state.
    fn fresh(&self) -> Box<dyn NaryOperator>;
}

/// An operator with one input and any number of outputs, of which a change concerns few. Outputs come and go between steps; each has a number, which is
/// never used twice. It keeps no rows.
pub trait RouterOperator: Operator {
    /// Opens an output for the rows that have one of these keys.
    fn open(&mut self, keys: &ArrayRef) -> Result<u32, OperatorError>;

    /// Closes an output.
    fn close(&mut self, output: u32);

    /// The rows of each output that has any, by number, ascending.
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>)
    -> Result<Vec<(u32, ChangeBatch)>, OperatorError>;

    /// The rows of one output alone.
    fn rows_of(&self, output: u32, rows: &ChangeBatch) -> Result<ChangeBatch, OperatorError>;

    /// The same operator with the same outputs.
    fn fresh(&self) -> Box<dyn RouterOperator>;
}

/// An operator without output: it hands changes to the outside.
pub trait SinkOperator: Operator {
    /// Takes this change. What it hands on must wait for [`Operator::commit`].
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<(), OperatorError>;
}
