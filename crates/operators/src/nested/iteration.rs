//! The iteration as the value of a column: 32 bits with sign, which is what the columns of traces compare fastest.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use tailrace_algebra::Iteration;
use tailrace_circuit::{Context, OperatorError};
use tailrace_trace::IndexedBatch;

/// The iteration at which an operator is evaluated. Refuses all but scopes nested once.
pub(crate) fn now(ctx: &Context<'_>) -> Result<i32, OperatorError> {
    match ctx.moment.depth {
        1 => i32::try_from(ctx.iteration().0)
            .map_err(|_| OperatorError::evaluation("a recursion has at most 2^31 iterations")),
        depth => Err(OperatorError::evaluation(format!(
            "an operator of a recursion runs in a scope nested once, not {depth} times; \
             compute the inner relation of a recursion inside a recursion outside of it"
        ))),
    }
}

/// The value of a column as an iteration.
pub(crate) fn iteration(at: i32) -> Iteration {
    Iteration(at.unsigned_abs())
}

/// The iterations of the rows of a batch in a timed layout.
pub(crate) fn of(batch: &IndexedBatch) -> &[i32] {
    batch.columns().last().map_or(&[], |column| column.as_primitive::<Int32Type>().values())
}
