//! Functions of dates, times and intervals.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::Result;

use super::calendar::{DAY, date_of, day_of, days_in, months_later, weekday};
use super::definition::Definition;
use super::rows::{float_at, integer_at, is_number, is_text, number_column, text, text_at, wrong};

/// All functions of times.
pub(crate) static TIMES: &[Definition] = &[
    Definition {
        name: "interval_length",
        takes: |args| (args == [INTERVAL]).then(|| args.to_vec()),
        usage: "an interval",
        gives: |_| LENGTH,
        run: |args| {
            let spans = args[0].as_primitive::<IntervalMonthDayNanoType>();
            let lengths: Decimal128Array = spans.iter().map(|span| span.map(length)).collect();
            Ok(Arc::new(lengths.with_data_type(LENGTH)))
        },
    },
    Definition {
        name: "interval_times",
        takes: |args| match args {
            [DataType::Interval(_) | DataType::Null, factor] if is_number(factor) => {
                Some(vec![INTERVAL, DataType::Float64])
            }
            _ => None,
        },
        usage: "an interval and a number",
        gives: |_| INTERVAL,
        run: interval_times,
    },
    Definition {
        name: "date_at_time",
        takes: |args| (args.len() == 2).then(|| vec![DataType::Date32, TIME]),
        usage: "a date and a time",
        gives: |_| TIMESTAMP,
        run: |args| {
            let (days, clocks) =
                (args[0].as_primitive::<Date32Type>(), args[1].as_primitive::<Time64MicrosecondType>());
            number_column::<TimestampMicrosecondType>(days.len(), |row| {
                let there = days.is_valid(row) && clocks.is_valid(row);
                Ok(there.then(|| i64::from(days.value(row)) * DAY + clocks.value(row)))
            })
        },
    },
    Definition {
        name: "time_later",
        takes: |args| (args.len() == 2).then(|| vec![TIME, INTERVAL]),
        usage: "a time and an interval",
        gives: |_| TIME,
        run: |args| {
            let (clocks, spans) = (
                args[0].as_primitive::<Time64MicrosecondType>(),
                args[1].as_primitive::<IntervalMonthDayNanoType>(),
            );
            number_column::<Time64MicrosecondType>(clocks.len(), |row| {
                let there = clocks.is_valid(row) && spans.is_valid(row);
                let later =
                    |row: usize| (clocks.value(row) + spans.value(row).nanoseconds / 1_000).rem_euclid(DAY);
                Ok(there.then(|| later(row)))
            })
        },
    },
    Definition {
        name: "date_diff",
        takes: part_and_two,
        usage: PART_AND_TWO,
        gives: |_| DataType::Int64,
        run: |args| between(args, boundaries),
    },
    Definition {
        name: "date_sub",
        takes: part_and_two,
        usage: PART_AND_TWO,
        gives: |_| DataType::Int64,
        run: |args| between(args, whole_units),
    },
    Definition {
        name: "age",
        takes: |args| (args.len() == 2).then(|| vec![TIMESTAMP; 2]),
        usage: "two timestamps",
        gives: |_| INTERVAL,
        run: |args| {
            let [to, from] =
                [&args[0], &args[1]].map(|array| array.as_primitive::<TimestampMicrosecondType>());
            number_column::<IntervalMonthDayNanoType>(to.len(), |row| {
                let there = to.is_valid(row) && from.is_valid(row);
                Ok(there.then(|| age(from.value(row), to.value(row))))
            })
        },
    },
    Definition {
        name: "date_trunc",
        takes: |args| match args {
            [part, DataType::Timestamp(_, Some(zone))] if is_text(part) => {
                Some(vec![DataType::Utf8View, DataType::Timestamp(TimeUnit::Microsecond, Some(zone.clone()))])
            }
            [part, _] if is_text(part) => Some(vec![DataType::Utf8View, TIMESTAMP]),
            _ => None,
        },
        usage: "the name of a part and a date or timestamp",
        gives: |args| args[1].clone(),
        run: |args| {
            let (parts, times) = (text(&args[0]), args[1].as_primitive::<TimestampMicrosecondType>());
            let cut = number_column::<TimestampMicrosecondType>(times.len(), |row| {
                let Some(part) = text_at(parts, row).filter(|_| times.is_valid(row)) else { return Ok(None) };
                truncated(&part.to_lowercase(), times.value(row)).map(Some).ok_or_else(|| no_part(part))
            })?;
            Ok(arrow_cast::cast(&cut, args[1].data_type())?)
        },
    },
    Definition {
        name: "epoch_ms",
        takes: |args| match args {
            [found] if found.is_integer() || found.is_null() => Some(vec![DataType::Int64]),
            [_] => Some(vec![TIMESTAMP]),
            _ => None,
        },
        usage: "a timestamp or a number of milliseconds",
        gives: |args| if args[0] == DataType::Int64 { TIMESTAMP } else { DataType::Int64 },
        run: |args| match args[0].data_type() {
            DataType::Int64 => number_column::<TimestampMicrosecondType>(args[0].len(), |row| {
                Ok(integer_at(&args[0], row).map(|millis| millis.saturating_mul(1_000)))
            }),
            _ => epoch(args, 1_000),
        },
    },
    Definition {
        name: "epoch_us",
        takes: one_timestamp,
        usage: "a timestamp",
        gives: |_| DataType::Int64,
        run: |args| epoch(args, 1),
    },
    Definition {
        name: "to_timestamp_of",
        takes: |args| match args {
            [found] if is_number(found) => Some(vec![DataType::Float64]),
            [found] if is_text(found) => Some(vec![TIMESTAMP]),
            [DataType::Date32 | DataType::Timestamp(..)] => Some(vec![TIMESTAMP]),
            _ => None,
        },
        usage: "seconds since 1970 or a text",
        gives: |args| match args[0] {
            DataType::Float64 => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            _ => TIMESTAMP,
        },
        run: |args| match args[0].data_type() {
            DataType::Float64 => {
                let seconds = number_column::<TimestampMicrosecondType>(args[0].len(), |row| {
                    float_at(&args[0], row).map(micros_of_seconds).transpose()
                })?;
                let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                Ok(arrow_cast::cast(&seconds, &zoned)?)
            }
            _ => Ok(Arc::clone(&args[0])),
        },
    },
    Definition {
        name: "make_timestamp",
        takes: |args| match args {
            [_, _, _, _, _, seconds] if args[..5].iter().chain([seconds]).all(is_number) => {
                Some([vec![DataType::Int64; 5], vec![DataType::Float64]].concat())
            }
            _ => None,
        },
        usage: "year, month, day, hour, minute and second",
        gives: |_| TIMESTAMP,
        run: make_timestamp,
    },
];

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
/// The type of lengths: whole nanoseconds.
const LENGTH: DataType = DataType::Decimal128(38, 0);
const TIME: DataType = DataType::Time64(TimeUnit::Microsecond);
const PART_AND_TWO: &str = "the name of a part and two dates, times or timestamps";

fn one_timestamp(args: &[DataType]) -> Option<Vec<DataType>> {
    (args.len() == 1).then(|| vec![TIMESTAMP])
}

fn part_and_two(args: &[DataType]) -> Option<Vec<DataType>> {
    match args {
        [part, DataType::Time64(_), DataType::Time64(_)] if is_text(part) => {
            Some(vec![DataType::Utf8View, TIME, TIME])
        }
        [part, _, _] if is_text(part) => Some(vec![DataType::Utf8View, TIMESTAMP, TIMESTAMP]),
        _ => None,
    }
}

/// Nanoseconds, with 30 days a month.
fn length(span: IntervalMonthDayNano) -> i128 {
    let days = i128::from(span.months) * 30 + i128::from(span.days);
    days * 86_400_000_000_000 + i128::from(span.nanoseconds)
}

/// Parts of months become days, parts of days time.
fn interval_times(args: &[ArrayRef]) -> Result<ArrayRef> {
    let spans = args[0].as_primitive::<IntervalMonthDayNanoType>();
    number_column::<IntervalMonthDayNanoType>(spans.len(), |row| {
        let Some(factor) = float_at(&args[1], row).filter(|_| spans.is_valid(row)) else { return Ok(None) };
        let span = spans.value(row);
        let months = f64::from(span.months) * factor;
        let days = f64::from(span.days) * factor + (months - months.trunc()) * 30.0;
        let nanos = (span.nanoseconds as f64 * factor + (days - days.trunc()) * 8.64e13).round();
        let fits = |value: f64, most: f64| value.is_finite() && value.abs() <= most;
        let exact = i128::from(span.nanoseconds) * (factor as i128);
        let nanos = match i64::try_from(exact) {
            Ok(exact) if factor.fract() == 0.0 => exact as f64,
            _ => nanos,
        };
        if !fits(months, 2_147_483_647.0) || !fits(days, 2_147_483_647.0) || !fits(nanos, 9.2e18) {
            return Err(wrong(format!("an interval times {factor} is too long")));
        }
        let nanos = if factor.fract() == 0.0 { exact as i64 } else { nanos as i64 };
        Ok(Some(IntervalMonthDayNano::new(months.trunc() as i32, days.trunc() as i32, nanos)))
    })
}

fn epoch(args: &[ArrayRef], unit: i64) -> Result<ArrayRef> {
    let times = args[0].as_primitive::<TimestampMicrosecondType>();
    number_column::<Int64Type>(times.len(), |row| {
        Ok(times.is_valid(row).then(|| times.value(row).div_euclid(unit)))
    })
}

fn micros_of_seconds(seconds: f64) -> Result<i64> {
    let micros = (seconds * 1e6).round();
    if micros.abs() < 9.2e18 {
        Ok(micros as i64)
    } else {
        Err(wrong(format!("{seconds} seconds are too many")))
    }
}

fn make_timestamp(args: &[ArrayRef]) -> Result<ArrayRef> {
    number_column::<TimestampMicrosecondType>(args[0].len(), |row| {
        let parts: Option<Vec<i64>> = args[..5].iter().map(|part| integer_at(part, row)).collect();
        let (Some(parts), Some(seconds)) = (parts, float_at(&args[5], row)) else { return Ok(None) };
        let clock =
            (0..24).contains(&parts[3]) && (0..60).contains(&parts[4]) && (0.0..60.0).contains(&seconds);
        let day = day_of(parts[0], parts[1], parts[2]).filter(|_| clock);
        let day =
            day.ok_or_else(|| wrong(format!("{parts:?} and {seconds} seconds are no date and time")))?;
        let micros = (parts[3] * 60 + parts[4]) * 60_000_000 + (seconds * 1e6).round() as i64;
        Ok(day.checked_mul(DAY).and_then(|start| start.checked_add(micros)))
    })
}

fn between(args: &[ArrayRef], count: fn(&str, i64, i64) -> Option<i64>) -> Result<ArrayRef> {
    let parts = text(&args[0]);
    let micros = |array: &ArrayRef, row: usize| match array.data_type() {
        DataType::Time64(_) => array.as_primitive::<Time64MicrosecondType>().value(row),
        _ => array.as_primitive::<TimestampMicrosecondType>().value(row),
    };
    number_column::<Int64Type>(parts.len(), |row| {
        let there = args[1].is_valid(row) && args[2].is_valid(row);
        let Some(part) = text_at(parts, row).filter(|_| there) else { return Ok(None) };
        let counted = count(&part.to_lowercase(), micros(&args[1], row), micros(&args[2], row));
        counted.map(Some).ok_or_else(|| no_part(part))
    })
}

fn no_part(part: &str) -> datafusion_common::DataFusionError {
    wrong(format!(
        "'{part}' is no part of a date. Parts: millennium, century, decade, year, quarter, month, week, day, hour, minute, second, millisecond, microsecond"
    ))
}

/// The time at which its part began.
fn truncated(part: &str, time: i64) -> Option<i64> {
    if let Some(unit) = fixed(part) {
        return Some(time.div_euclid(unit) * unit);
    }
    let day = time.div_euclid(DAY);
    let monday = day - (weekday(day) + 6) % 7;
    let start = match part {
        "week" | "weeks" | "w" => monday,
        "isoyear" => {
            let january = day_of(date_of(monday + 3).0, 1, 4)?;
            january - (weekday(january) + 6) % 7
        }
        _ => {
            let months = monthly(part)?;
            let (year, month, _) = date_of(day);
            let number = (year * 12 + month - 1).div_euclid(months) * months;
            day_of(number.div_euclid(12), number.rem_euclid(12) + 1, 1)?
        }
    };
    start.checked_mul(DAY)
}

/// Microseconds of a part that is always equally long.
fn fixed(part: &str) -> Option<i64> {
    Some(match part.strip_suffix('s').unwrap_or(part) {
        "day" | "d" | "dayofmonth" | "doy" | "dow" => DAY,
        "hour" | "h" | "hr" => 3_600_000_000,
        "minute" | "min" | "m" => 60_000_000,
        "second" | "sec" | "" => 1_000_000,
        "millisecond" | "ms" | "msec" | "m_" => 1_000,
        "microsecond" | "us" | "u" | "usec" => 1,
        _ => return None,
    })
}

/// Months of a part that is whole months.
fn monthly(part: &str) -> Option<i64> {
    Some(match part.strip_suffix('s').unwrap_or(part) {
        "month" | "mon" => 1,
        "quarter" => 3,
        "year" | "yr" | "y" => 12,
        "decade" => 120,
        "century" | "centurie" => 1_200,
        "millennium" | "millennia" => 12_000,
        _ => return None,
    })
}

/// How often a new part begins between two times.
fn boundaries(part: &str, from: i64, to: i64) -> Option<i64> {
    if let Some(unit) = fixed(part) {
        return Some(to.div_euclid(unit) - from.div_euclid(unit));
    }
    let day = |micros: i64| micros.div_euclid(DAY);
    if matches!(part, "week" | "weeks" | "w") {
        let monday = |day: i64| day - (weekday(day) + 6) % 7;
        return Some((monday(day(to)) - monday(day(from))) / 7);
    }
    if matches!(part, "isoyear") {
        let year = |day: i64| date_of(day - (weekday(day) + 6) % 7 + 3).0;
        return Some(year(day(to)) - year(day(from)));
    }
    let months = monthly(part)?;
    let number = |micros: i64| {
        let (year, month, _) = date_of(day(micros));
        (year * 12 + month - 1).div_euclid(months)
    };
    Some(number(to) - number(from))
}

/// How many whole parts lie between two times.
fn whole_units(part: &str, from: i64, to: i64) -> Option<i64> {
    if let Some(unit) = fixed(part) {
        return Some((to - from) / unit);
    }
    if matches!(part, "week" | "weeks" | "w") {
        return Some((to - from) / (7 * DAY));
    }
    Some(whole_months(from, to)? / monthly(part)?)
}

/// Whole months from one time to another, negative if that is earlier.
fn whole_months(from: i64, to: i64) -> Option<i64> {
    if to < from {
        return Some(-whole_months(to, from)?);
    }
    let month_number = |micros: i64| {
        let (year, month, _) = date_of(micros.div_euclid(DAY));
        year * 12 + month
    };
    let months = month_number(to) - month_number(from);
    let reached = months_later(from.div_euclid(DAY), months)?.checked_mul(DAY)? + from.rem_euclid(DAY);
    Some(if reached > to { months - 1 } else { months })
}

/// Years, months, days and time from one time to another, field by field; days are borrowed from the month of the earlier one.
fn age(from: i64, to: i64) -> IntervalMonthDayNano {
    if to < from {
        let other = age(to, from);
        return IntervalMonthDayNano::new(-other.months, -other.days, -other.nanoseconds);
    }
    let ((y0, m0, d0), (y1, m1, d1)) = (date_of(from.div_euclid(DAY)), date_of(to.div_euclid(DAY)));
    let (mut months, mut days) = ((y1 - y0) * 12 + m1 - m0, d1 - d0);
    let mut micros = to.rem_euclid(DAY) - from.rem_euclid(DAY);
    if micros < 0 {
        micros += DAY;
        days -= 1;
    }
    if days < 0 {
        days += days_in(y0, m0);
        months -= 1;
    }
    IntervalMonthDayNano::new(months as i32, days as i32, micros * 1_000)
}
