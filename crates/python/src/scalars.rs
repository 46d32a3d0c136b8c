//! Python's numbers, dates and times as the numbers that Arrow keeps. What a column could not keep exactly is refused, never rounded off.

use pyo3::prelude::*;

/// A float, or an int that is exactly a float.
pub(crate) fn float64(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let float: f64 = value.extract()?;
    if value.is_instance_of::<pyo3::types::PyInt>() && !value.eq(float)? {
        return Err(pyo3::exceptions::PyOverflowError::new_err("float"));
    }
    Ok(float)
}

/// The nearest small float, as Python numbers have no exact one; a value beyond its range is refused.
pub(crate) fn float32(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    let wide = float64(value)?;
    let float = wide as f32;
    if float.is_infinite() && wide.is_finite() {
        return Err(pyo3::exceptions::PyOverflowError::new_err("float"));
    }
    Ok(float)
}

/// The day of a date. A datetime is one too, to Python, but its time would be lost.
pub(crate) fn date(value: &Bound<'_, PyAny>) -> PyResult<i32> {
    if value.hasattr("hour")? {
        return Err(pyo3::exceptions::PyTypeError::new_err("date"));
    }
    Ok(days(value)? as i32)
}

/// The time of a time of day without a zone, which the column could not keep.
pub(crate) fn time_of_day(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if value.hasattr("year")? || !value.getattr("tzinfo")?.is_none() {
        return Err(pyo3::exceptions::PyTypeError::new_err("time"));
    }
    micros_of_day(value)
}

fn days(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    const EPOCH: i64 = 719_163;
    Ok(value.call_method0("toordinal")?.extract::<i64>()? - EPOCH)
}

fn micros_of_day(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let part = |name: &str| value.getattr(name)?.extract::<i64>();
    Ok(((part("hour")? * 60 + part("minute")?) * 60 + part("second")?) * 1_000_000 + part("microsecond")?)
}

/// What a pandas value has below a microsecond.
fn nanoseconds(value: &Bound<'_, PyAny>, name: &str) -> PyResult<i64> {
    value.getattr_opt(name)?.map_or(Ok(0), |part| part.extract())
}

pub(crate) fn micros_of_delta(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if nanoseconds(value, "nanoseconds")? != 0 {
        return Err(pyo3::exceptions::PyTypeError::new_err("nanoseconds"));
    }
    let part = |name: &str| value.getattr(name)?.extract::<i64>();
    let overflow = || pyo3::exceptions::PyOverflowError::new_err("duration");
    let seconds = part("days")?
        .checked_mul(86_400)
        .and_then(|days| days.checked_add(part("seconds").ok()?))
        .ok_or_else(overflow)?;
    seconds
        .checked_mul(1_000_000)
        .and_then(|micros| micros.checked_add(part("microseconds").ok()?))
        .ok_or_else(overflow)
}

/// Microseconds since the epoch; a zone is needed if the column has one, and refused if it has none.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>, zoned: bool) -> PyResult<i64> {
    if nanoseconds(value, "nanosecond")? != 0 {
        return Err(pyo3::exceptions::PyTypeError::new_err("nanoseconds"));
    }
    let local = days(value)? * 86_400_000_000 + micros_of_day(value)?;
    let offset = value.call_method0("utcoffset")?;
    if offset.is_none() == zoned {
        return Err(pyo3::exceptions::PyTypeError::new_err("zone"));
    }
    Ok(if zoned { local - micros_of_delta(&offset)? } else { local })
}

/// A decimal (or int) as an integer of the column's scale; a value that needs more digits is refused.
pub(crate) fn decimal(value: &Bound<'_, PyAny>, precision: u8, scale: i8) -> PyResult<i128> {
    let wrong = || pyo3::exceptions::PyTypeError::new_err("decimal");
    if value.is_instance_of::<pyo3::types::PyFloat>() {
        return Err(wrong());
    }
    let text = format!(
        "{}",
        value.call_method1("__format__", ("f",)).or_else(|_| value.str().map(Bound::into_any))?
    );
    let (negative, digits) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale as usize
        || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
    {
        return Err(wrong());
    }
    let padded = format!("{whole}{fraction:0<width$}", width = scale as usize);
    let magnitude: i128 = padded.parse().map_err(|_| wrong())?;
    if 10_i128.checked_pow(u32::from(precision)).is_some_and(|bound| magnitude >= bound) {
        return Err(wrong());
    }
    Ok(if negative { -magnitude } else { magnitude })
}
