//! Aggregates of frames: the same functions as of groups, with the same types and the same rounding.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, TraceError};

use super::FramedCall;
use super::bits::bits;
use super::extremes::extremes;
use super::sheet::Sheet;
use crate::Scalar;
use crate::aggregate::accumulator::passing;
use crate::aggregate::finish::{Accumulated, Finish};
use crate::aggregate::linear::LinearPlan;
use crate::aggregate::whole::{Expanded, MOST_REPEATED, Whole};
use crate::aggregate::{AggregateCall, AggregateFunction};
use crate::sliding::Extents;

/// An aggregate that is read off frames.
#[derive(Clone)]
pub(crate) struct FrameAggregate {
    call: AggregateCall,
    data_type: DataType,
    /// Accumulators and how the call is read off them, if it is linear.
    linear: Option<(LinearPlan, Finish)>,
}

impl FrameAggregate {
    pub(crate) fn new(call: &FramedCall, function: &AggregateFunction) -> Result<Self, OperatorError> {
        let types: Vec<DataType> = call.args.iter().map(|arg| arg.data_type().clone()).collect();
        let data_type = function.return_type(&types).map_err(OperatorError::evaluation)?;
        let (args, filter) = (call.args.clone(), call.filter.clone());
        let call =
            AggregateCall { function: function.clone(), args, filter, distinct: false, order: Vec::new() };
        let mut plan = LinearPlan::default();
        let finish = Finish::plan(&call, &call.args, call.filter.as_ref(), &data_type, &mut plan);
        Ok(Self { linear: finish.map(|finish| (plan, finish)), call, data_type })
    }

    pub(crate) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The value of each row's frame.
    pub(crate) fn read(&self, sheet: &Sheet, extents: &Extents) -> Result<ArrayRef, OperatorError> {
        if let Some((plan, finish)) = &self.linear {
            let sums = plan.slide(&sheet.rows, extents)?;
            let exists = vec![true; sheet.len()];
            return finish.read(&Accumulated { sums: &sums, exists: &exists }, &|_| self.overflow());
        }
        let args =
            self.call.args.iter().map(|arg| arg.evaluate(&sheet.rows)).collect::<Result<Vec<_>, _>>()?;
        let skipped = if self.call.function == AggregateFunction::ArrayAgg { &[] } else { &args[..] };
        let counted = counted_rows(self.call.filter.as_ref(), skipped, &sheet.rows)?;
        self.walk(&args, counted.as_ref(), extents)
    }

    fn walk(
        &self,
        args: &[ArrayRef],
        counted: Option<&NullBuffer>,
        extents: &Extents,
    ) -> Result<ArrayRef, OperatorError> {
        use AggregateFunction as F;
        match self.call.function {
            // Any value of a frame is its least one, as it is of a group.
            F::Min | F::Max | F::AnyValue => {
                let best = extremes(extents, args, counted, self.call.function == F::Max)?;
                taken(&args[0], best)
            }
            F::ArgMin | F::ArgMax => {
                let columns = [args[1].clone(), args[0].clone()];
                let best = extremes(extents, &columns, counted, self.call.function == F::ArgMax)?;
                taken(&args[0], best)
            }
            F::BitAnd | F::BitOr | F::BitXor => bits(&self.call.function, extents, &args[0], counted),
            _ => self.lists(&args[0], counted, extents),
        }
    }

    /// A value that holds all rows of the frame.
    fn lists(
        &self,
        values: &ArrayRef,
        counted: Option<&NullBuffer>,
        extents: &Extents,
    ) -> Result<ArrayRef, OperatorError> {
        let (mut rows, mut starts) = (Vec::new(), vec![0]);
        for frame in extents.iter() {
            let counts = |row: &usize| counted.is_none_or(|counted| counted.is_valid(*row));
            rows.extend(frame.filter(counts).map(|row| Some(row as u32)));
            if rows.len() > MOST_REPEATED {
                let message = format!("the frames of {} hold more than {MOST_REPEATED} values", self.call);
                return Err(OperatorError::evaluation(message));
            }
            starts.push(rows.len());
        }
        let whole = Whole { function: self.call.function.clone(), distinct: false };
        whole.fold(&Expanded { values: taken(values, rows)?, starts })
    }

    fn overflow(&self) -> OperatorError {
        OperatorError::evaluation(format!("{} over a window does not fit into {}", self.call, self.data_type))
    }
}

/// The rows that a filter and the NULLs of some columns leave over; None if all count.
pub(crate) fn counted_rows(
    filter: Option<&Scalar>,
    columns: &[ArrayRef],
    rows: &ChangeBatch,
) -> Result<Option<NullBuffer>, OperatorError> {
    let filter = filter.map(|filter| passing(filter, rows)).transpose()?;
    let nulls = columns.iter().map(|column| column.logical_nulls());
    Ok(nulls.fold(filter, |all, one| NullBuffer::union(all.as_ref(), one.as_ref())))
}

/// The values at some rows, NULL where there is none.
pub(crate) fn taken(values: &ArrayRef, rows: Vec<Option<u32>>) -> Result<ArrayRef, OperatorError> {
    Ok(take(values, &UInt32Array::from(rows), None).map_err(TraceError::from)?)
}
