//! Operators that give each row a weight that depends on its own weight only: what distinct and positive have in common.
//!
//! Such an operator is `g` applied to every weight, with `g(0) = 0`. Its change is `g(w') - g(w)` for the rows of the change and zero for all others.
//! No sum here overflows: a spine keeps the absolute weights of its batches and of what is staged below 2^63 together.

use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_schema::SchemaRef;
use tailrace_circuit::OperatorError;
use tailrace_trace::{Arranged, ChangeBatch, IndexedBatch};

use crate::gather::{gather, share};
use crate::key_weights::key_weights;

/// Which columns of the index go out, and under which schema.
#[derive(Clone, Debug)]
pub(crate) struct RowWeights {
    output: Vec<usize>,
    schema: SchemaRef,
}

impl RowWeights {
    pub(crate) fn new(output: Vec<usize>, schema: SchemaRef) -> Self {
        Self { output, schema }
    }

    /// The rows of the delta with `change(before, after)` of their weights, where that is not zero.
    pub(crate) fn eval(
        &self,
        input: &Arranged,
        change: impl Fn(i64, i64) -> i64,
    ) -> Result<ChangeBatch, OperatorError> {
        let delta = &input.delta;
        if delta.is_empty() {
            return Ok(ChangeBatch::empty(Arc::clone(&self.schema)));
        }
        let starts: Vec<u32> = (0..=delta.len() as u32).collect();
        let before = key_weights(delta.columns(), &starts, input.before.batches(), true)?;
        let changes =
            before.iter().zip(delta.weights()).map(|(before, weight)| change(*before, before + weight));
        self.output(delta, changes.collect())
    }

    fn output(&self, delta: &IndexedBatch, mut weights: Vec<i64>) -> Result<ChangeBatch, OperatorError> {
        let rows: Vec<u32> = (0..delta.len() as u32).filter(|row| weights[*row as usize] != 0).collect();
        let columns = if rows.len() == delta.len() {
            share(delta, &self.output)
        } else {
            weights.retain(|weight| *weight != 0);
            gather(delta, &self.output, &UInt32Array::from(rows))?
        };
        Ok(ChangeBatch::try_new(Arc::clone(&self.schema), columns, weights.into())?)
    }
}
