//! Values of a whole group that are found among its sorted values: quantiles and the mode; and the product, which is taken in that order so that it is the
//! same every time.
//!
//! # Computes
//! For each group the value between or at the places that a share of its sorted values points to, the value that stands most often (the least of several),
//! or the product of all.
//!
//! # Delta rule
//! The general rule of groups: `f(a'[k]) - f(a[k])` for each touched key `k`.
//!
//! # State kept
//! None of its own: the rows of a group come sorted from the trace of `whole.rs`. The rows of a frame do not, and are sorted here.
//!
//! # Cost per change
//! The rows of the touched groups.
//!
//! # Example
//! `median(x)` over `{(a, 1): 1, (a, 4): 1}` is 2.5; the change `{(a, 2): +1}` gives `{(a, 2.5): -1, (a, 2): +1}`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use tailrace_circuit::OperatorError;
use tailrace_trace::{RowComparator, TraceError, sort_rows};

use super::function::{AggregateFunction, Share};
use super::whole::Expanded;

/// The value of each group.
pub(crate) fn fold(function: &AggregateFunction, rows: &Expanded) -> Result<ArrayRef, OperatorError> {
    let sorted = sorted(rows)?;
    match function {
        AggregateFunction::QuantileCont(share) => {
            floats(&sorted, rows, |values| interpolated(values, *share))
        }
        AggregateFunction::Product => floats(&sorted, rows, |values| values.iter().product()),
        AggregateFunction::QuantileDisc(Share(share)) => chosen(&sorted, rows, |start, end| {
            let rank = ((end - start) as f64 * share).ceil() as usize;
            Ok(start + rank.clamp(1, end - start) - 1)
        }),
        _ => {
            let columns = std::slice::from_ref(&sorted);
            let comparator = RowComparator::try_new(columns, columns)?;
            chosen(&sorted, rows, |start, end| Ok(most_frequent(&comparator, start, end)))
        }
    }
}

/// The values with those of each group in order.
fn sorted(rows: &Expanded) -> Result<ArrayRef, OperatorError> {
    let columns = std::slice::from_ref(&rows.values);
    let comparator = RowComparator::try_new(columns, columns)?;
    let in_order =
        |bounds: &[usize]| (bounds[0] + 1..bounds[1]).all(|row| comparator.compare(row - 1, row).is_le());
    if rows.starts.windows(2).all(in_order) {
        return Ok(Arc::clone(&rows.values));
    }
    let mut places = Vec::with_capacity(rows.values.len());
    for bounds in rows.starts.windows(2) {
        let group = rows.values.slice(bounds[0], bounds[1] - bounds[0]);
        let order = sort_rows(&[group], bounds[1] - bounds[0])?;
        places.extend(order.rows.iter().map(|row| bounds[0] as u32 + row));
    }
    Ok(take(&rows.values, &UInt32Array::from(places), None).map_err(TraceError::from)?)
}

fn floats(
    sorted: &ArrayRef,
    rows: &Expanded,
    value: impl Fn(&[f64]) -> f64,
) -> Result<ArrayRef, OperatorError> {
    let cast = arrow_cast::cast(sorted, &DataType::Float64).map_err(TraceError::from)?;
    let values = cast.as_primitive::<Float64Type>().values();
    let groups = rows.starts.windows(2).map(|bounds| {
        let value = (bounds[0] < bounds[1]).then(|| value(&values[bounds[0]..bounds[1]]));
        value.map(tailrace_algebra::float::canonical)
    });
    Ok(Arc::new(Float64Array::from_iter(groups)))
}

/// One of the values of each group, NULL for an empty one.
fn chosen(
    sorted: &ArrayRef,
    rows: &Expanded,
    place: impl Fn(usize, usize) -> Result<usize, OperatorError>,
) -> Result<ArrayRef, OperatorError> {
    let mut places = Vec::with_capacity(rows.starts.len());
    for bounds in rows.starts.windows(2) {
        let found = if bounds[0] < bounds[1] { Some(place(bounds[0], bounds[1])? as u32) } else { None };
        places.push(found);
    }
    Ok(take(sorted, &UInt32Array::from(places), None).map_err(TraceError::from)?)
}

/// Between the two values around the place that the share points to.
fn interpolated(values: &[f64], Share(share): Share) -> f64 {
    let place = share * (values.len() - 1) as f64;
    let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
    if low == high { low } else { low + (high - low) * place.fract() }
}

/// The place of the value that stands most often between two places.
fn most_frequent(comparator: &RowComparator, start: usize, end: usize) -> usize {
    let (mut best, mut longest, mut run) = (start, 0, start);
    for row in start + 1..=end {
        if row == end || comparator.compare(row - 1, row).is_ne() {
            if row - run > longest {
                (best, longest) = (run, row - run);
            }
            run = row;
        }
    }
    best
}
