//! The groups that a change touches: their keys, sorted, each once, and the rows of the change group by group.
//!
//! Every part of an aggregate is asked about the same list of keys, so that what they answer lines up by position.

use arrow_array::{ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use tailrace_circuit::OperatorError;
use tailrace_trace::{IndexedBatch, gather, sort_rows};

/// Touched groups.
pub(crate) struct Groups {
    /// The keys in order, each once.
    pub(crate) keys: Vec<ArrayRef>,
    /// The rows of the change, group after group.
    pub(crate) rows: Vec<u32>,
    /// Where each group begins in `rows`, and at the end their number.
    pub(crate) starts: Vec<u32>,
}

impl Groups {
    /// Groups `len` rows by their keys. Without a key column there is one group, of all rows, even if there are none.
    pub(crate) fn of(keys: &[ArrayRef], len: usize) -> Result<Self, OperatorError> {
        if keys.is_empty() {
            return Ok(Self {
                keys: Vec::new(),
                rows: (0..len as u32).collect(),
                starts: vec![0, len as u32],
            });
        }
        let sorted = sort_rows(keys, len)?;
        let mut starts: Vec<u32> = (0..len as u32).filter(|row| !sorted.equal[*row as usize]).collect();
        let firsts: UInt32Array =
            starts.iter().map(|start| sorted.rows[*start as usize]).collect::<Vec<_>>().into();
        starts.push(len as u32);
        Ok(Self { keys: gather(keys, &firsts)?, rows: sorted.rows, starts })
    }

    /// The keys of an index are groups of its rows.
    pub(crate) fn of_index(index: &IndexedBatch) -> Result<Self, OperatorError> {
        let starts = index.runs()?;
        let firsts = UInt32Array::from(starts[..starts.len() - 1].to_vec());
        Ok(Self { keys: index.keys_at(&firsts)?, rows: (0..index.len() as u32).collect(), starts })
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The keys as runs of one row each, as lookups want them.
    pub(crate) fn probe(&self) -> Vec<u32> {
        (0..=self.len() as u32).collect()
    }

    /// The sum of the weights of each group.
    pub(crate) fn total(&self, weights: &[i64]) -> ScalarBuffer<i64> {
        self.runs().map(|rows| rows.iter().map(|row| weights[*row as usize]).sum::<i64>()).collect()
    }

    /// The rows of each group.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &[u32]> {
        self.starts.windows(2).map(|bounds| &self.rows[bounds[0] as usize..bounds[1] as usize])
    }
}
