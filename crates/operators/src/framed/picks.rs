//! Values that are read off one row of the frame, and numbers that depend on the place in the partition.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use tailrace_circuit::OperatorError;
use tailrace_trace::{TraceError, normal_array};

use super::aggregates::{counted_rows, taken};
use super::sheet::Sheet;
use super::{FramedCall, FramedFunction};
use crate::Scalar;
use crate::sliding::Extents;

/// A call that is read off one row, or off the row's own place.
#[derive(Clone)]
pub(crate) struct Pick {
    function: FramedFunction,
    args: Vec<Scalar>,
    filter: Option<Scalar>,
    ignore_nulls: bool,
}

/// The rows that count, in order.
enum Counted {
    All,
    Some(Vec<u32>),
}

impl Pick {
    pub(crate) fn new(call: &FramedCall, mut function: FramedFunction) -> Result<Self, OperatorError> {
        use FramedFunction as F;
        let wanted = usize::from(matches!(function, F::First | F::Last | F::Nth(_) | F::Shift { .. }));
        if call.args.len() != wanted {
            let message = format!("{} takes {wanted} argument(s), got {}", function.name(), call.args.len());
            return Err(OperatorError::evaluation(message));
        }
        if matches!(function, F::Nth(0) | F::Ntile(0)) {
            let message = format!("{} needs a number other than 0", function.name());
            return Err(OperatorError::evaluation(message));
        }
        if let F::Shift { default, .. } = &mut function {
            let cast = default.cast_to(call.args[0].data_type());
            *default = cast.map_err(|error| {
                OperatorError::evaluation(format!("the default of {}: {error}", call.args[0]))
            })?;
        }
        let (args, filter) = (call.args.clone(), call.filter.clone());
        Ok(Self { function, args, filter, ignore_nulls: call.ignore_nulls })
    }

    pub(crate) fn data_type(&self) -> DataType {
        match (&self.function, self.args.first()) {
            (FramedFunction::PercentRank | FramedFunction::CumeDist, _) => DataType::Float64,
            (_, Some(arg)) => arg.data_type().clone(),
            _ => DataType::Int64,
        }
    }

    /// The value of each row.
    pub(crate) fn read(&self, sheet: &Sheet, extents: &Extents) -> Result<ArrayRef, OperatorError> {
        match &self.function {
            FramedFunction::Ntile(buckets) => Ok(Arc::new(Int64Array::from(ntile(sheet, *buckets)))),
            FramedFunction::PercentRank => Ok(shares(sheet, percent_rank)),
            FramedFunction::CumeDist => Ok(shares(sheet, cume_dist)),
            _ => self.of_rows(sheet, extents),
        }
    }

    fn of_rows(&self, sheet: &Sheet, extents: &Extents) -> Result<ArrayRef, OperatorError> {
        let values = self.args[0].evaluate(&sheet.rows)?;
        let skipped = if self.ignore_nulls { std::slice::from_ref(&values) } else { &[] };
        let counted = Counted::new(counted_rows(self.filter.as_ref(), skipped, &sheet.rows)?);
        let picked = match &self.function {
            FramedFunction::Shift { offset, .. } => shifted(sheet, &counted, *offset),
            function => extents.iter().map(|frame| counted.pick(frame, function)).collect(),
        };
        match &self.function {
            FramedFunction::Shift { default, .. } if !default.is_null() => {
                let default =
                    default.to_array().map_err(|error| OperatorError::evaluation(error.to_string()))?;
                let default = normal_array(&default)?;
                let rows = picked.iter().map(|row| row.map_or((1, 0), |row| (0, row as usize)));
                let sources: [&dyn Array; 2] = [values.as_ref(), default.as_ref()];
                Ok(interleave(&sources, &rows.collect::<Vec<_>>()).map_err(TraceError::from)?)
            }
            _ => taken(&values, picked),
        }
    }
}

impl Counted {
    fn new(counted: Option<NullBuffer>) -> Self {
        match counted {
            None => Self::All,
            Some(counted) => Self::Some(counted.valid_indices().map(|row| row as u32).collect()),
        }
    }

    /// How many counted rows stand before a row.
    fn before(&self, row: usize) -> usize {
        match self {
            Self::All => row,
            Self::Some(rows) => rows.partition_point(|counted| (*counted as usize) < row),
        }
    }

    /// The counted row with so many counted rows before it.
    fn row(&self, index: usize) -> u32 {
        match self {
            Self::All => index as u32,
            Self::Some(rows) => rows[index],
        }
    }

    fn pick(&self, frame: Range<usize>, function: &FramedFunction) -> Option<u32> {
        let (start, end) = (self.before(frame.start), self.before(frame.end));
        let index = match function {
            FramedFunction::Last => end.checked_sub(1)?,
            FramedFunction::Nth(n) if *n < 0 => end.checked_sub(n.unsigned_abs() as usize)?,
            FramedFunction::Nth(n) => start.checked_add(n.unsigned_abs() as usize - 1)?,
            _ => start,
        };
        (start..end).contains(&index).then(|| self.row(index))
    }
}

/// Per row the counted row of the partition that is so many counted rows before it, after it if negative.
fn shifted(sheet: &Sheet, counted: &Counted, offset: i64) -> Vec<Option<u32>> {
    let away = offset.unsigned_abs() as usize;
    let mut picked = Vec::with_capacity(sheet.len());
    for partition in sheet.partitions() {
        let known = counted.before(partition.start)..counted.before(partition.end);
        for row in partition {
            let index = match offset {
                0 => {
                    picked.push(Some(row as u32));
                    continue;
                }
                1.. => counted.before(row).checked_sub(away),
                _ => counted.before(row + 1).checked_add(away - 1),
            };
            let index = index.filter(|index| known.contains(index));
            picked.push(index.map(|index| counted.row(index)));
        }
    }
    picked
}

/// The first buckets have one row more than the last ones, if the rows cannot be divided evenly.
fn ntile(sheet: &Sheet, buckets: u64) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(sheet.len());
    for partition in sheet.partitions() {
        let rows = partition.len() as u64;
        let (small, larger) = (rows / buckets, rows % buckets);
        let in_larger = larger * (small + 1);
        numbers.extend((0..rows).map(|row| {
            let bucket = if row < in_larger { row / (small + 1) } else { larger + (row - in_larger) / small };
            bucket as i64 + 1
        }));
    }
    numbers
}

/// A share that a row's peers have in the partition.
fn shares(sheet: &Sheet, share: impl Fn(Range<usize>, Range<usize>) -> f64) -> ArrayRef {
    let rows =
        sheet.partitions().flat_map(|partition| partition.clone().map(move |row| (row, partition.clone())));
    let values = rows.map(|(row, partition)| share(sheet.peers(row), partition));
    Arc::new(Float64Array::from_iter_values(values))
}

fn percent_rank(peers: Range<usize>, partition: Range<usize>) -> f64 {
    let others = partition.len() - 1;
    if others == 0 { 0.0 } else { (peers.start - partition.start) as f64 / others as f64 }
}

fn cume_dist(peers: Range<usize>, partition: Range<usize>) -> f64 {
    (peers.end - partition.start) as f64 / partition.len() as f64
}
