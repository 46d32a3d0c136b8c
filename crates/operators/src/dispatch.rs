//! Dispatch: rows go to those who asked for their key.
//!
//! # Computes
//! For each output, the rows of its input whose key is one of the output's keys. A NULL key is nobody's.
//!
//! # Delta rule
//! Linear, as the filters `key = c` are that it stands for: each output of `Δa` is a filter of `Δa`.
//!
//! # State kept
//! None but the table of keys.
//!
//! # Cost per change
//! One look-up per row, however many outputs there are, and a copy of the rows of those outputs that have any. Nobody else hears of the change.
//!
//! # Example
//! A thousand views `WHERE region = c`: the row `+(ann, 17)` is looked up once and goes to the view of region 17.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use hashbrown::HashMap;
use tailrace_circuit::{Context, Input, Operator, OperatorError, RouterOperator};
use tailrace_trace::{ChangeBatch, TraceError, normal_array};

use crate::Scalar;

/// Sends rows to the outputs that asked for their key.
#[derive(Clone)]
pub struct Dispatch {
    key: Scalar,
    /// Keys as bytes that are equal when the keys are: values are in normal form.
    converter: Arc<RowConverter>,
    outputs: HashMap<Box<[u8]>, Vec<u32>>,
    /// The keys of each output.
    keys: BTreeMap<u32, Vec<Box<[u8]>>>,
    /// The number of the next output.
    next: u32,
}

impl Dispatch {
    /// By the value of `key`.
    pub fn new(key: Scalar) -> Result<Self, OperatorError> {
        let field = SortField::new(key.data_type().clone());
        let converter = Arc::new(RowConverter::new(vec![field]).map_err(TraceError::from)?);
        Ok(Self { key, converter, outputs: HashMap::new(), keys: BTreeMap::new(), next: 0 })
    }

    fn bytes(&self, keys: &ArrayRef) -> Result<Rows, OperatorError> {
        Ok(self.converter.convert_columns(std::slice::from_ref(keys)).map_err(TraceError::from)?)
    }

    /// The rows that have a key, with its bytes.
    fn keyed(&self, rows: &ChangeBatch) -> Result<(ArrayRef, Rows), OperatorError> {
        let keys = self.key.evaluate(rows)?;
        let bytes = self.bytes(&keys)?;
        Ok((keys, bytes))
    }
}

impl Operator for Dispatch {
    fn name(&self) -> &'static str {
        "dispatch"
    }

    fn label(&self) -> String {
        format!("by {} to {} outputs", self.key, self.keys.len())
    }
}

impl RouterOperator for Dispatch {
    fn open(&mut self, keys: &ArrayRef) -> Result<u32, OperatorError> {
        let keys = normal_array(keys)?;
        let bytes = self.bytes(&keys)?;
        let mut own: Vec<Box<[u8]>> = (0..keys.len())
            .filter(|row| keys.is_valid(*row))
            .map(|row| bytes.row(row).data().into())
            .collect();
        own.sort_unstable();
        own.dedup();
        let output = self.next;
        self.next += 1;
        own.iter().for_each(|key| self.outputs.entry(key.clone()).or_default().push(output));
        self.keys.insert(output, own);
        Ok(output)
    }

    fn close(&mut self, output: u32) {
        for key in self.keys.remove(&output).unwrap_or_default() {
            if let Some(outputs) = self.outputs.get_mut(&key) {
                outputs.retain(|known| *known != output);
                if outputs.is_empty() {
                    self.outputs.remove(&key);
                }
            }
        }
    }

    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Vec<(u32, ChangeBatch)>, OperatorError> {
        let rows = input.as_changes()?;
        let (keys, bytes) = self.keyed(rows)?;
        let mut found: Vec<(u32, u32)> = Vec::new();
        for row in (0..rows.len()).filter(|row| keys.is_valid(*row)) {
            let outputs = self.outputs.get(bytes.row(row).data());
            found.extend(outputs.into_iter().flatten().map(|output| (*output, row as u32)));
        }
        found.sort_unstable();
        let part = |found: &[(u32, u32)]| {
            let places = UInt32Array::from_iter_values(found.iter().map(|(_, row)| *row));
            Ok((found[0].0, rows.take(&places)?))
        };
        found.chunk_by(|a, b| a.0 == b.0).map(part).collect()
    }

    fn rows_of(&self, output: u32, rows: &ChangeBatch) -> Result<ChangeBatch, OperatorError> {
        let (keys, bytes) = self.keyed(rows)?;
        let own = self.keys.get(&output).ok_or(OperatorError::Missing { what: "output of a router" })?;
        let is_own = |row: &usize| {
            let key = bytes.row(*row);
            keys.is_valid(*row) && own.binary_search_by(|known| (**known).cmp(key.data())).is_ok()
        };
        let places = UInt32Array::from_iter_values((0..rows.len()).filter(is_own).map(|row| row as u32));
        Ok(rows.take(&places)?)
    }

    fn fresh(&self) -> Box<dyn RouterOperator> {
        Box::new(self.clone())
    }
}
