//! What an aggregate sends: the old row of each group minus, the new row plus, where they differ.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use arrow_select::take::take;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, RowComparator, TraceError};

/// Groups with their values before and after a change.
pub(crate) struct Emission<'a> {
    pub(crate) keys: &'a [ArrayRef],
    /// Which groups are there before and after.
    pub(crate) exists: [Vec<bool>; 2],
    /// One column per call, before and after.
    pub(crate) values: [Vec<ArrayRef>; 2],
}

impl Emission<'_> {
    /// The change of the output.
    pub(crate) fn changes(&self, schema: &SchemaRef) -> Result<ChangeBatch, OperatorError> {
        let [minus, plus] = self.rows()?;
        let weights: Vec<i64> =
            std::iter::repeat_n(-1, minus.len()).chain(std::iter::repeat_n(1, plus.len())).collect();
        let (minus, plus) = (UInt32Array::from(minus), UInt32Array::from(plus));
        let keys = self.keys.iter().map(|key| pick([key, key], &minus, &plus));
        let values =
            self.values[0].iter().zip(&self.values[1]).map(|(old, new)| pick([old, new], &minus, &plus));
        let columns = keys.chain(values).collect::<Result<Vec<_>, _>>()?;
        Ok(ChangeBatch::try_new(Arc::clone(schema), columns, weights.into())?)
    }

    /// The groups whose old row goes and those whose new row comes.
    fn rows(&self) -> Result<[Vec<u32>; 2], TraceError> {
        let [old, new] = &self.exists;
        let comparator = RowComparator::try_new(&self.values[0], &self.values[1])?;
        let same = |row: usize| {
            old[row] == new[row] && (!old[row] || comparator.compare(row, row) == Ordering::Equal)
        };
        let changed: Vec<u32> = (0..old.len()).filter(|row| !same(*row)).map(|row| row as u32).collect();
        let there = |exists: &[bool]| changed.iter().copied().filter(|row| exists[*row as usize]).collect();
        Ok([there(old), there(new)])
    }
}

/// The chosen rows of the old column, then those of the new one. A column that is taken whole is not copied.
fn pick([old, new]: [&ArrayRef; 2], minus: &UInt32Array, plus: &UInt32Array) -> Result<ArrayRef, TraceError> {
    if minus.is_empty() {
        return if plus.len() == new.len() { Ok(Arc::clone(new)) } else { Ok(take(new, plus, None)?) };
    }
    let (old, new) = (take(old, minus, None)?, take(new, plus, None)?);
    Ok(concat(&[old.as_ref(), new.as_ref()])?)
}
