//! Frames of window functions, out of DataFusion's logical plan.
//!
//! A RANGE frame with an offset becomes an expression for the value of the order at which it begins or ends, so that the operator knows nothing of
//! arithmetic. Integers are computed as decimals there and dates as timestamps: neither can leave its type, and half a day is half a day.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::{Sort, WindowFunctionParams};
use datafusion_expr::{Expr, WindowFrameBound, WindowFrameUnits, cast, lit};
use tailrace_operators::{Frame, FrameEdge};

use super::relation::Relation;
use crate::PlanError;

/// The frame of a call.
pub(crate) fn frame(input: &Relation, name: &str, params: &WindowFunctionParams) -> Result<Frame, PlanError> {
    let given = &params.window_frame;
    let edge = |bound: &WindowFrameBound| match given.units {
        WindowFrameUnits::Rows => counted(name, bound, FrameEdge::Rows),
        WindowFrameUnits::Groups => counted(name, bound, FrameEdge::Groups),
        WindowFrameUnits::Range => valued(input, name, bound, order_of(params)),
    };
    Ok(Frame { start: edge(&given.start_bound)?, end: edge(&given.end_bound)? })
}

/// The terms that order anything. DataFusion puts a constant where there is no ORDER BY.
pub(crate) fn order_of(params: &WindowFunctionParams) -> &[Sort] {
    match &params.order_by[..] {
        [term] if matches!(term.expr, Expr::Literal(..)) => &[],
        terms => terms,
    }
}

/// An edge that is so many rows or groups away.
fn counted(
    name: &str,
    bound: &WindowFrameBound,
    edge: impl Fn(i64) -> FrameEdge,
) -> Result<FrameEdge, PlanError> {
    let (offset, sign) = match bound {
        WindowFrameBound::CurrentRow => return Ok(edge(0)),
        bound if bound.is_unbounded() => return Ok(FrameEdge::Partition),
        WindowFrameBound::Preceding(offset) => (offset, -1),
        WindowFrameBound::Following(offset) => (offset, 1),
    };
    match offset.cast_to(&DataType::UInt64)? {
        // An offset that no partition reaches.
        ScalarValue::UInt64(Some(offset)) => Ok(edge(sign * i64::try_from(offset).unwrap_or(i64::MAX))),
        other => {
            Err(refused(name, format!("a frame offset must be a whole number of at least 0, got {other}")))
        }
    }
}

/// An edge that is told by the value of the order.
fn valued(
    input: &Relation,
    name: &str,
    bound: &WindowFrameBound,
    order: &[Sort],
) -> Result<FrameEdge, PlanError> {
    let (offset, precedes) = match bound {
        WindowFrameBound::CurrentRow => return Ok(FrameEdge::Groups(0)),
        bound if bound.is_unbounded() => return Ok(FrameEdge::Partition),
        WindowFrameBound::Preceding(offset) => (offset, true),
        WindowFrameBound::Following(offset) => (offset, false),
    };
    let [term] = order else {
        return Err(refused(name, "a RANGE frame with an offset needs one ORDER BY term".to_owned()));
    };
    if is_negative(offset)? {
        return Err(refused(name, format!("a frame offset must not be negative, got {offset}")));
    }
    let (value, offset) =
        operands(&term.expr, input.bind(&term.expr)?.data_type(), offset).ok_or_else(|| {
            refused(
                name,
                format!(
                    "a RANGE frame with an offset orders by numbers, dates or timestamps, not by {}",
                    term.expr
                ),
            )
        })?;
    // Rows that come before have greater values in a descending order.
    let target = if precedes == term.asc { value - offset } else { value + offset };
    Ok(FrameEdge::Value(input.bind(&target)?))
}

/// The value of the order and the offset in types whose sum is exact; None if there is no such sum.
fn operands(value: &Expr, data_type: &DataType, offset: &ScalarValue) -> Option<(Expr, Expr)> {
    let (value, offset) = (value.clone(), lit(offset.clone()));
    Some(match data_type {
        integer if integer.is_integer() => {
            let wide = DataType::Decimal128(20, 0);
            (cast(value, wide.clone()), cast(offset, wide))
        }
        number if number.is_numeric() => (value, offset),
        DataType::Date32 | DataType::Date64 => {
            (cast(value, DataType::Timestamp(TimeUnit::Microsecond, None)), offset)
        }
        DataType::Timestamp(..) => (value, offset),
        _ => return None,
    })
}

fn is_negative(offset: &ScalarValue) -> Result<bool, PlanError> {
    Ok(match offset {
        ScalarValue::IntervalMonthDayNano(Some(interval)) => {
            interval.months < 0 || interval.days < 0 || interval.nanoseconds < 0
        }
        number if number.data_type().is_numeric() => *number < ScalarValue::new_zero(&number.data_type())?,
        _ => false,
    })
}

fn refused(name: &str, reason: String) -> PlanError {
    PlanError::Refused { name: name.to_owned(), reason }
}
