//! Outcome: the outputs of the core rows of all segments, old ones minus, new ones plus.
//!
//! Copies of one row whose neighbours are copies of the same row have the same outputs, so without `row_number` a row of any weight needs at most
//! `lag + lead + 1` outputs.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::interleave::interleave;
use datafusion_common::ScalarValue;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, TraceError};

use super::segment::{Reach, Segment, SegmentRow, Standing};
use super::{WindowCall, WindowFunction, WindowSpec};
use crate::Scalar;
use crate::ranked::Ranked;
use crate::versions::{Place, Versions};

/// A row of greater weight than this has too many positions to be listed.
const MOST_COPIES: u64 = 1 << 24;

/// Outputs, by rows and places.
pub(crate) struct Outcome<'a> {
    calls: &'a [WindowCall],
    reach: Reach,
    places: Vec<Place>,
    weights: Vec<i64>,
    values: Vec<Values>,
}

/// The values of one function.
enum Values {
    Numbers(Vec<i64>),
    /// The rows whose arguments are the values.
    Neighbours(Vec<Option<Place>>),
}

/// One version of a segment.
struct Side<'s> {
    rows: &'s [SegmentRow],
    standing: fn(&SegmentRow) -> &Standing,
    weight: i64,
}

impl<'a> Outcome<'a> {
    pub(crate) fn new(calls: &'a [WindowCall], reach: Reach) -> Self {
        let values = calls.iter().map(|call| match call.function {
            WindowFunction::Lag { .. } | WindowFunction::Lead { .. } => Values::Neighbours(Vec::new()),
            _ => Values::Numbers(Vec::new()),
        });
        Self { calls, reach, places: Vec::new(), weights: Vec::new(), values: values.collect() }
    }

    /// Adds the outputs of a segment.
    pub(crate) fn add(&mut self, segment: &Segment) -> Result<(), OperatorError> {
        let rows = &segment.rows[..];
        let old = Side { rows, standing: |row| &row.old, weight: -1 };
        let new = Side { rows, standing: |row| &row.new, weight: 1 };
        for row in segment.core.clone() {
            self.add_row(&old, row)?;
            self.add_row(&new, row)?;
        }
        Ok(())
    }

    /// All outputs as changes, without those that cancel.
    pub(crate) fn changes(
        self,
        spec: &WindowSpec,
        input: &SchemaRef,
        ranked: &Ranked,
        versions: &Versions,
    ) -> Result<ChangeBatch, OperatorError> {
        let mut columns = ranked.rows(versions, &self.places)?;
        for ((values, call), field) in
            self.values.iter().zip(self.calls).zip(&spec.schema.fields()[input.fields().len()..])
        {
            let column = match values {
                Values::Numbers(numbers) => Arc::new(Int64Array::from(numbers.clone())) as ArrayRef,
                Values::Neighbours(places) => neighbours(call, places, input, ranked, versions)?,
            };
            columns.push(as_type(column, field.data_type())?);
        }
        let cancels = self.weights.iter().any(|weight| *weight < 0);
        let changes = ChangeBatch::try_new(Arc::clone(&spec.schema), columns, self.weights.into())?;
        Ok(if cancels { changes.consolidate()? } else { changes })
    }

    fn add_row(&mut self, side: &Side<'_>, row: usize) -> Result<(), OperatorError> {
        let copies = side.at(row).copies;
        let first = if self.reach.row_number { copies } else { copies.min(self.reach.lag) };
        let last = (copies - first).min(self.reach.lead);
        if first + last > MOST_COPIES {
            return Err(OperatorError::evaluation(format!(
                "a row of weight {copies} has too many positions; the limit is {MOST_COPIES}"
            )));
        }
        let middle = copies - first - last;
        (0..first).for_each(|copy| self.add_copies(side, row, copy, 1));
        if middle > 0 {
            self.add_copies(side, row, first, middle);
        }
        (copies - last..copies).for_each(|copy| self.add_copies(side, row, copy, 1));
        Ok(())
    }

    /// Adds `count` copies that have the outputs of the copy `copy`.
    fn add_copies(&mut self, side: &Side<'_>, row: usize, copy: u64, count: u64) {
        let standing = side.at(row);
        let position = standing.position + copy;
        self.places.push(side.rows[row].place);
        self.weights.push(side.weight * count as i64);
        for (values, call) in self.values.iter_mut().zip(self.calls) {
            match (values, &call.function) {
                (Values::Numbers(numbers), WindowFunction::Rank) => numbers.push(standing.peer as i64 + 1),
                (Values::Numbers(numbers), WindowFunction::DenseRank) => numbers.push(standing.dense as i64),
                (Values::Numbers(numbers), _) => numbers.push(position as i64 + 1),
                (Values::Neighbours(places), WindowFunction::Lag { offset, .. }) => {
                    places
                        .push(position.checked_sub(*offset as u64).and_then(|position| side.place(position)));
                }
                (Values::Neighbours(places), WindowFunction::Lead { offset, .. }) => {
                    places
                        .push(position.checked_add(*offset as u64).and_then(|position| side.place(position)));
                }
                (Values::Neighbours(places), _) => places.push(None),
            }
        }
    }
}

impl Side<'_> {
    fn at(&self, row: usize) -> &Standing {
        (self.standing)(&self.rows[row])
    }

    /// The row at a position of the segment.
    fn place(&self, position: u64) -> Option<Place> {
        let after = self.rows.partition_point(|row| (self.standing)(row).position <= position);
        let row = after.checked_sub(1)?;
        let standing = self.at(row);
        (position < standing.position + standing.copies).then_some(self.rows[row].place)
    }
}

/// The argument of a call at other rows, the default where there is none.
fn neighbours(
    call: &WindowCall,
    places: &[Option<Place>],
    input: &SchemaRef,
    ranked: &Ranked,
    versions: &Versions,
) -> Result<ArrayRef, OperatorError> {
    let there: Vec<Place> = places.iter().flatten().copied().collect();
    let values = argument(&call.args[0], &there, input, ranked, versions)?;
    let default = default_of(call)?;
    let mut next = 0;
    let indices: Vec<(usize, usize)> = places
        .iter()
        .map(|place| match place {
            None => (1, 0),
            Some(_) => {
                next += 1;
                (0, next - 1)
            }
        })
        .collect();
    Ok(interleave(&[values.as_ref(), default.as_ref()], &indices).map_err(TraceError::from)?)
}

/// An expression over the rows at `places`.
fn argument(
    arg: &Scalar,
    places: &[Place],
    input: &SchemaRef,
    ranked: &Ranked,
    versions: &Versions,
) -> Result<ArrayRef, OperatorError> {
    if let Some(column) = arg.as_column() {
        return ranked.column(versions, places, column);
    }
    let columns = ranked.rows(versions, places)?;
    arg.evaluate(&ChangeBatch::try_new(Arc::clone(input), columns, vec![1; places.len()].into())?)
}

fn default_of(call: &WindowCall) -> Result<ArrayRef, OperatorError> {
    let default = match &call.function {
        WindowFunction::Lag { default, .. } | WindowFunction::Lead { default, .. } => default,
        _ => &ScalarValue::Null,
    };
    default.to_array().map_err(|error| OperatorError::evaluation(error.to_string()))
}

fn as_type(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef, OperatorError> {
    if column.data_type().equals_datatype(data_type) {
        return Ok(column);
    }
    Ok(arrow_cast::cast(&column, data_type).map_err(TraceError::from)?)
}
