//! Window functions over frames: aggregates, first_value, last_value, nth_value, ntile, percent_rank and cume_dist.
//!
//! # Computes
//! Every row of the input with one more column per call, computed over the frame of the row: a stretch of its ordered partition, bounded by numbers of rows,
//! by numbers of groups of peers, or by values of the order. Peers are rows that tie in the order. Ties are ordered by the whole row, so that frames that
//! count rows are the same every time; a row of weight `w` is `w` copies, each with its own frame. Rows of negative weight are not there.
//!
//! # Delta rule
//! The general rule of groups: the output of each touched partition after the change minus its output before. Both versions are laid out row by row
//! (`sheet.rs`), each call finds the frames (`frame.rs`) and reads its values off them (`aggregates.rs`, `picks.rs`), and rows whose values are the same in both are
//! not sent.
//!
//! # State kept
//! All rows, sorted by partition and order.
//!
//! # Cost per change
//! O(rows of the touched partitions): frames slide, so each row enters and leaves them once. For array_agg and string_agg the sizes of all frames
//! together, since that is the size of the result.
//!
//! # Example
//! `sum(x)` over all rows up to this one, of `{(a, 3): 1, (a, 5): 1}`, is `{(a, 3, 3): 1, (a, 5, 8): 1}`; the change `{(a, 4): +1}` gives
//! `{(a, 5, 8): -1, (a, 4, 7): +1, (a, 5, 12): +1}`.

mod aggregates;
mod bits;
mod extremes;
mod frame;
mod picks;
mod sheet;

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::interleave::interleave;
use datafusion_common::ScalarValue;
use tailrace_circuit::{Context, OperatorError};
use tailrace_trace::{ChangeBatch, RowComparator, TraceError};

use crate::Scalar;
use crate::aggregate::AggregateFunction;
use crate::ordering::OrderBy;
use crate::positional::{PositionRule, Positional};
use crate::ranked::Ranked;
use crate::versions::Versions;
use aggregates::FrameAggregate;
use frame::Framing;
pub use frame::{Frame, FrameEdge};
use picks::Pick;
use sheet::{Sheet, Sheets};

/// What is computed of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FramedFunction {
    /// An aggregate of the rows of the frame.
    Aggregate(AggregateFunction),
    /// The argument in the first row of the frame.
    First,
    /// The argument in the last row of the frame.
    Last,
    /// The argument in the n-th row of the frame, from one on; from its end if `n` is negative.
    Nth(i64),
    /// The argument so many rows before in the partition, after if negative; or the default.
    Shift {
        /// How many rows.
        offset: i64,
        /// What stands for a row that is not there.
        default: ScalarValue,
    },
    /// The number of the bucket, if the partition is divided evenly into so many.
    Ntile(u64),
    /// The share of the other rows that come before the peers of the row.
    PercentRank,
    /// The share of the rows that come before the row or are its peers.
    CumeDist,
}

/// One call.
#[derive(Clone, Debug)]
pub struct FramedCall {
    /// What is computed.
    pub function: FramedFunction,
    /// Of what.
    pub args: Vec<Scalar>,
    /// Only rows for which this is true count.
    pub filter: Option<Scalar>,
    /// Rows whose argument is NULL do not count; for aggregates that is as the aggregate has it.
    pub ignore_nulls: bool,
    /// Over which rows.
    pub frame: Frame,
}

/// Which calls over which partitions.
#[derive(Clone, Debug)]
pub struct FramedSpec {
    /// What rows are divided by; nothing for one partition of all rows.
    pub partition: Vec<Scalar>,
    /// The order inside a partition.
    pub order: Vec<OrderBy>,
    /// What is computed.
    pub calls: Vec<FramedCall>,
    /// The columns of the output: those of the input, then one per call.
    pub schema: SchemaRef,
}

/// Adds columns that are computed over frames.
pub type Framed = Positional<FramedRule>;

/// What a framed window computes.
#[derive(Clone)]
pub struct FramedRule {
    spec: FramedSpec,
    input: SchemaRef,
    readings: Vec<Reading>,
}

/// How a call is read off its frames.
#[derive(Clone)]
enum Reading {
    Aggregate(FrameAggregate),
    Pick(Pick),
}

impl Framed {
    /// A window operator with empty state. Fails if a call does not fit its arguments or the schema does not fit the calls.
    pub fn new(spec: FramedSpec) -> Result<Self, OperatorError> {
        let (columns, calls) = (spec.schema.fields().len(), spec.calls.len());
        let Some(width) = columns.checked_sub(calls) else {
            let message = format!("{calls} calls need as many columns, the schema has {columns}");
            return Err(OperatorError::evaluation(message));
        };
        let input = Arc::new(Schema::new(spec.schema.fields()[..width].to_vec()));
        let readings = spec.calls.iter().map(reading).collect::<Result<Vec<_>, _>>()?;
        for ((call, reading), field) in spec.calls.iter().zip(&readings).zip(&spec.schema.fields()[width..]) {
            check_type(call, &reading.data_type(), field.data_type())?;
            call.frame.check(&spec.order)?;
        }
        let ranked = Ranked::new(&spec.partition, &spec.order, &input)?;
        Ok(Self::over(ranked, FramedRule { spec, input, readings }))
    }
}

impl PositionRule for FramedRule {
    const NAME: &'static str = "framed";

    fn label(&self) -> String {
        let calls: Vec<String> = self.spec.calls.iter().map(ToString::to_string).collect();
        let partition: Vec<String> = self.spec.partition.iter().map(ToString::to_string).collect();
        let by = if partition.is_empty() { String::new() } else { format!(" by {}", partition.join(", ")) };
        format!("{}{by}", calls.join(", "))
    }

    fn differ(
        &self,
        ranked: &Ranked,
        versions: &Versions,
        partitions: usize,
        ctx: &Context<'_>,
    ) -> Result<ChangeBatch, OperatorError> {
        let sheets = Sheets::read(ranked, versions, partitions, &self.input, ctx)?;
        ctx.check()?;
        let old = self.values(&sheets.old, ctx)?;
        let new = self.values(&sheets.new, ctx)?;
        self.difference(&sheets, &old, &new)
    }
}

impl FramedRule {
    /// The columns of the calls for all rows of a version.
    fn values(&self, sheet: &Sheet, ctx: &Context<'_>) -> Result<Vec<ArrayRef>, OperatorError> {
        let framing = Framing::new(sheet, &self.spec.order);
        let mut columns = Vec::with_capacity(self.readings.len());
        for (call, reading) in self.spec.calls.iter().zip(&self.readings) {
            ctx.check()?;
            columns.push(match reading {
                Reading::Aggregate(aggregate) => aggregate.read(sheet, &framing.extents(&call.frame)?)?,
                Reading::Pick(pick) => pick.read(sheet, &framing.extents(&call.frame)?)?,
            });
        }
        Ok(columns)
    }

    /// Old rows minus, new rows plus, without those that are the same in both.
    fn difference(
        &self,
        sheets: &Sheets,
        old: &[ArrayRef],
        new: &[ArrayRef],
    ) -> Result<ChangeBatch, OperatorError> {
        let same = RowComparator::try_new(old, new)?;
        let mut gone = vec![true; sheets.old.len()];
        let mut come = vec![true; sheets.new.len()];
        for (before, after) in &sheets.pairs {
            let changed = same.compare(*before as usize, *after as usize).is_ne();
            gone[*before as usize] = changed;
            come[*after as usize] = changed;
        }
        let rows_of = |side: usize, kept: &[bool]| {
            let places = kept.iter().enumerate().filter(|(_, kept)| **kept);
            places.map(|(row, _)| (side, row)).collect::<Vec<_>>()
        };
        let (minus, plus) = (rows_of(0, &gone), rows_of(1, &come));
        let weights: Vec<i64> = minus.iter().map(|_| -1).chain(plus.iter().map(|_| 1)).collect();
        let rows = [minus, plus].concat();
        let pick = |(before, after): (&ArrayRef, &ArrayRef)| {
            interleave(&[before.as_ref() as &dyn Array, after.as_ref()], &rows).map_err(TraceError::from)
        };
        let inputs = sheets.old.rows.columns().iter().zip(sheets.new.rows.columns());
        let columns = inputs.chain(old.iter().zip(new)).map(pick).collect::<Result<Vec<_>, _>>()?;
        let cancels = weights.first().is_some_and(|weight| *weight < 0);
        let changes = ChangeBatch::try_new(Arc::clone(&self.spec.schema), columns, weights.into())?;
        Ok(if cancels { changes.consolidate()? } else { changes })
    }
}

impl Reading {
    fn data_type(&self) -> DataType {
        match self {
            Self::Aggregate(aggregate) => aggregate.data_type().clone(),
            Self::Pick(pick) => pick.data_type(),
        }
    }
}

impl FramedFunction {
    /// Its SQL name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Aggregate(function) => function.name(),
            Self::First => "first_value",
            Self::Last => "last_value",
            Self::Nth(_) => "nth_value",
            Self::Shift { .. } => "lag",
            Self::Ntile(_) => "ntile",
            Self::PercentRank => "percent_rank",
            Self::CumeDist => "cume_dist",
        }
    }
}

impl fmt::Display for FramedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        write!(f, "{}({})", self.function.name(), args.join(", "))
    }
}

fn reading(call: &FramedCall) -> Result<Reading, OperatorError> {
    use AggregateFunction as F;
    Ok(match &call.function {
        // The end of a frame is a row, whatever its argument.
        FramedFunction::Aggregate(F::First) => Reading::Pick(Pick::new(call, FramedFunction::First)?),
        FramedFunction::Aggregate(F::Last) => Reading::Pick(Pick::new(call, FramedFunction::Last)?),
        FramedFunction::Aggregate(function) => Reading::Aggregate(FrameAggregate::new(call, function)?),
        function => Reading::Pick(Pick::new(call, function.clone())?),
    })
}

fn check_type(call: &FramedCall, found: &DataType, wanted: &DataType) -> Result<(), OperatorError> {
    if found.equals_datatype(wanted) {
        return Ok(());
    }
    Err(OperatorError::evaluation(format!("{call} has type {found}, its column has type {wanted}")))
}
