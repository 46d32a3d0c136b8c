//! What a node does: an operator of some arity, or one of the three pieces of plumbing that scopes are made of.
//!
//! **Promise.** This is the only place that tells arities apart. The rest of the crate evaluates, copies, commits and
//! describes an [`Operation`] without knowing which it is.
//!
//! **Why inputs come through a function.** A step reads them from the node table, an evaluation on whole contents from its
//! memo. Both hand in a `fetch(i)`, so no vector is built for the arities that need none.

use crate::context::Context;
use crate::error::OperatorError;
use crate::feedback::Feedback;
use crate::import::Import;
use crate::operator::{
    BinaryOperator, NaryOperator, Operator, RouterOperator, SinkOperator, SourceOperator, TernaryOperator,
    UnaryOperator,
};
use crate::select::Select;
use crate::value::{Input, Value};

/// What a node does.
pub(crate) enum Operation {
    Source(Box<dyn SourceOperator>),
    Unary(Box<dyn UnaryOperator>),
    Binary(Box<dyn BinaryOperator>),
    Ternary(Box<dyn TernaryOperator>),
    Nary(Box<dyn NaryOperator>),
    Router(Box<dyn RouterOperator>),
    Sink(Box<dyn SinkOperator>),
    Import(Import),
    Feedback(Feedback),
    Select(Select),
}

impl Operation {
    /// Evaluates the operator on `count` inputs. A sink gives `None`.
    pub(crate) fn eval<'a>(
        &mut self,
        count: usize,
        mut fetch: impl FnMut(usize) -> Result<Input<'a>, OperatorError>,
        ctx: &Context<'_>,
    ) -> Result<Option<Value>, OperatorError> {
        match self {
            Operation::Source(op) => op.eval(ctx),
            Operation::Unary(op) => op.eval(fetch(0)?, ctx),
            Operation::Binary(op) => op.eval(fetch(0)?, fetch(1)?, ctx),
            Operation::Ternary(op) => op.eval(fetch(0)?, fetch(1)?, fetch(2)?, ctx),
            Operation::Nary(op) => op.eval((0..count).map(fetch).collect::<Result<_, _>>()?, ctx),
            Operation::Router(op) => op.eval(fetch(0)?, ctx).map(Value::Routed),
            Operation::Sink(op) => return op.eval(fetch(0)?, ctx).map(|()| None),
            Operation::Import(import) => return Ok(import.send()),
            Operation::Feedback(feedback) => return Ok(feedback.send()),
            Operation::Select(select) => return select.eval(fetch(0)?),
        }
        .map(Some)
    }

    /// The lifecycle, for reading.
    pub(crate) fn operator(&self) -> &dyn Operator {
        match self {
            Operation::Source(op) => &**op,
            Operation::Unary(op) => &**op,
            Operation::Binary(op) => &**op,
            Operation::Ternary(op) => &**op,
            Operation::Nary(op) => &**op,
            Operation::Router(op) => &**op,
            Operation::Sink(op) => &**op,
            Operation::Import(op) => op,
            Operation::Feedback(op) => op,
            Operation::Select(op) => op,
        }
    }

    /// The lifecycle, for calling.
    pub(crate) fn operator_mut(&mut self) -> &mut dyn Operator {
        match self {
            Operation::Source(op) => &mut **op,
            Operation::Unary(op) => &mut **op,
            Operation::Binary(op) => &mut **op,
            Operation::Ternary(op) => &mut **op,
            Operation::Nary(op) => &mut **op,
            Operation::Router(op) => &mut **op,
            Operation::Sink(op) => &mut **op,
            Operation::Import(op) => op,
            Operation::Feedback(op) => op,
            Operation::Select(op) => op,
        }
    }

    /// The same operation with empty state; sources and sinks, which belong to the outside, have no copy.
    pub(crate) fn fresh(&self) -> Option<Self> {
        Some(match self {
            Operation::Source(_) | Operation::Sink(_) => return None,
            Operation::Unary(op) => Operation::Unary(op.fresh()),
            Operation::Binary(op) => Operation::Binary(op.fresh()),
            Operation::Ternary(op) => Operation::Ternary(op.fresh()),
            Operation::Nary(op) => Operation::Nary(op.fresh()),
            Operation::Router(op) => Operation::Router(op.fresh()),
            Operation::Import(import) => Operation::Import(import.fresh()),
            Operation::Feedback(_) => Operation::Feedback(Feedback::default()),
            Operation::Select(select) => Operation::Select(*select),
        })
    }

    /// Whether the node stands for something outside the circuit and stays when nobody reads it.
    pub(crate) fn is_source(&self) -> bool {
        matches!(self, Operation::Source(_) | Operation::Import(_))
    }
}
