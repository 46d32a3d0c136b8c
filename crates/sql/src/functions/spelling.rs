//! Values written as texts, as `CAST(x AS VARCHAR)` does: a timestamp has a blank between date and time, a float reads back to itself, a list stands
//! in brackets and a struct in braces.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::Result;

use super::calendar::{DAY, date_of};
use super::rows::{text_column, wrong};

/// Whether values of the type are written here, not by Arrow.
pub(crate) fn has_own_spelling(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Float64
            | DataType::Float32
            | DataType::Timestamp(..)
            | DataType::Time64(_)
            | DataType::Interval(IntervalUnit::MonthDayNano)
            | DataType::Binary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
            | DataType::List(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_)
            | DataType::Map(..)
    )
}

/// The column as texts.
pub(crate) fn written(array: &ArrayRef) -> Result<ArrayRef> {
    let mut out = String::new();
    let writer = Writer::new(array.as_ref())?;
    text_column(array.len(), |row| {
        if array.is_null(row) {
            return Ok(None);
        }
        out.clear();
        writer.write(row, &mut out)?;
        Ok(Some(out.clone()))
    })
}

/// Writes the values of one column.
enum Writer<'a> {
    Own(&'a dyn Array),
    Arrow(ArrayFormatter<'a>),
    List(&'a dyn Array, Box<Writer<'a>>, Box<dyn Fn(usize) -> (usize, usize) + 'a>),
    Struct(&'a dyn Array, Vec<(&'a str, Writer<'a>)>),
    Map(&'a dyn Array, Box<Writer<'a>>, Box<Writer<'a>>),
    Text(&'a dyn Array),
}

impl<'a> Writer<'a> {
    fn new(array: &'a dyn Array) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let bounds = |row: usize| {
                    let offsets = list.value_offsets();
                    (offsets[row] as usize, offsets[row + 1] as usize)
                };
                Self::List(array, Box::new(Self::new(list.values())?), Box::new(bounds))
            }
            DataType::FixedSizeList(_, size) => {
                let size = *size as usize;
                let values = array.as_fixed_size_list().values();
                Self::List(
                    array,
                    Box::new(Self::new(values)?),
                    Box::new(move |row| (row * size, (row + 1) * size)),
                )
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns();
                let part = |(field, column): (&'a arrow_schema::FieldRef, &'a ArrayRef)| {
                    Ok((field.name().as_str(), Self::new(column.as_ref())?))
                };
                Self::Struct(array, fields.iter().zip(columns).map(part).collect::<Result<_>>()?)
            }
            DataType::Map(..) => {
                let map = array.as_map();
                Self::Map(array, Box::new(Self::new(map.keys())?), Box::new(Self::new(map.values())?))
            }
            data_type if data_type.is_string() => Self::Text(array),
            data_type if has_own_spelling(data_type) => Self::Own(array),
            _ => Self::Arrow(ArrayFormatter::try_new(array, &OPTIONS)?),
        })
    }

    fn array(&self) -> Option<&dyn Array> {
        match self {
            Self::Own(array)
            | Self::List(array, ..)
            | Self::Struct(array, _)
            | Self::Map(array, ..)
            | Self::Text(array) => Some(*array),
            Self::Arrow(_) => None,
        }
    }

    /// The value inside a list or struct: NULL is written out.
    fn write_inner(&self, row: usize, out: &mut String) -> Result<()> {
        if self.array().is_some_and(|array| array.is_null(row)) {
            out.push_str("NULL");
            return Ok(());
        }
        self.write(row, out)
    }

    fn write(&self, row: usize, out: &mut String) -> Result<()> {
        match self {
            Self::Arrow(formatter) => {
                write!(out, "{}", formatter.value(row)).map_err(|error| wrong(error.to_string()))
            }
            Self::Text(array) => {
                write_text(*array, row, out);
                Ok(())
            }
            Self::Own(array) => write_own(*array, row, out),
            Self::List(_, values, bounds) => {
                let (start, end) = bounds(row);
                out.push('[');
                for place in start..end {
                    out.push_str(if place > start { ", " } else { "" });
                    values.write_inner(place, out)?;
                }
                out.push(']');
                Ok(())
            }
            Self::Struct(_, parts) => {
                out.push('{');
                for (place, (name, values)) in parts.iter().enumerate() {
                    let _ = write!(out, "{}'{name}': ", if place > 0 { ", " } else { "" });
                    values.write_inner(row, out)?;
                }
                out.push('}');
                Ok(())
            }
            Self::Map(array, keys, values) => {
                let offsets = array.as_map().value_offsets();
                out.push('{');
                for place in offsets[row] as usize..offsets[row + 1] as usize {
                    out.push_str(if place > offsets[row] as usize { ", " } else { "" });
                    keys.write_inner(place, out)?;
                    out.push('=');
                    values.write_inner(place, out)?;
                }
                out.push('}');
                Ok(())
            }
        }
    }
}

const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("NULL");

fn write_text(array: &dyn Array, row: usize, out: &mut String) {
    out.push_str(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        _ => array.as_string_view().value(row),
    });
}

fn write_own(array: &dyn Array, row: usize, out: &mut String) -> Result<()> {
    match array.data_type() {
        DataType::Float64 => out.push_str(&float(array.as_primitive::<Float64Type>().value(row))),
        DataType::Float32 => out.push_str(&small_float(array.as_primitive::<Float32Type>().value(row))),
        DataType::Timestamp(unit, zone) => {
            let micros = timestamp_micros(array, *unit, row);
            date(micros.div_euclid(DAY), out);
            out.push(' ');
            clock(micros.rem_euclid(DAY), out);
            out.push_str(if zone.is_some() { "+00" } else { "" });
        }
        DataType::Time64(unit) => {
            let micros = match unit {
                TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().value(row) / 1_000,
                _ => array.as_primitive::<Time64MicrosecondType>().value(row),
            };
            clock(micros, out);
        }
        DataType::Interval(_) => interval(array.as_primitive::<IntervalMonthDayNanoType>().value(row), out),
        DataType::FixedSizeBinary(16) => uuid(array.as_fixed_size_binary().value(row), out),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row), out),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row), out),
        DataType::BinaryView => bytes(array.as_binary_view().value(row), out),
        other => return Err(wrong(format!("a value of type {other} cannot be written as a text"))),
    }
    Ok(())
}

fn timestamp_micros(array: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1_000_000),
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().value(row).saturating_mul(1_000)
        }
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000),
    }
}

fn date(day: i64, out: &mut String) {
    let (year, month, date) = date_of(day);
    let (shown, era) = if year > 0 { (year, "") } else { (1 - year, " (BC)") };
    let _ = write!(out, "{shown:04}-{month:02}-{date:02}{era}");
}

/// A time of day; a fraction without the zeros at its end.
fn clock(micros: i64, out: &mut String) {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

/// `1 year 2 months -3 days 04:05:06`.
pub(crate) fn interval(span: IntervalMonthDayNano, out: &mut String) {
    let start = out.len();
    let mut part = |amount: i32, unit: &str| {
        if amount != 0 {
            let plural = if amount.abs() == 1 { "" } else { "s" };
            let _ = write!(out, "{}{amount} {unit}{plural}", if out.len() > start { " " } else { "" });
        }
    };
    part(span.months / 12, "year");
    part(span.months % 12, "month");
    part(span.days, "day");
    let micros = span.nanoseconds / 1_000;
    if micros != 0 || out.len() == start {
        out.push_str(if out.len() > start { " " } else { "" });
        out.push_str(if micros < 0 { "-" } else { "" });
        clock(micros.abs(), out);
    }
}

fn uuid(bytes: &[u8], out: &mut String) {
    for (place, byte) in bytes.iter().enumerate() {
        out.push_str(if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" });
        let _ = write!(out, "{byte:02x}");
    }
}

/// Printable letters as they are, other bytes as `\xAB`.
fn bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b' '..=b'~' if !matches!(byte, b'\\' | b'\'' | b'"') => out.push(*byte as char),
            _ => {
                let _ = write!(out, "\\x{byte:02X}");
            }
        }
    }
}

/// The shortest text that reads back to the float, with an exponent where it is shorter than zeros.
pub(crate) fn float(value: f64) -> String {
    shortest(&format!("{value:e}"), value.is_finite(), value.is_nan(), value < 0.0)
}

fn small_float(value: f32) -> String {
    shortest(&format!("{value:e}"), value.is_finite(), value.is_nan(), value < 0.0)
}

fn shortest(scientific: &str, finite: bool, nan: bool, negative: bool) -> String {
    if !finite {
        return if nan {
            "nan"
        } else if negative {
            "-inf"
        } else {
            "inf"
        }
        .to_owned();
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    if !(-4..16).contains(&exponent) {
        let mark = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{mantissa}e{mark}{:02}", exponent.abs());
    }
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_short_and_read_back() {
        let cases = [
            (1.0, "1.0"),
            (-0.5, "-0.5"),
            (0.0, "0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (123.456, "123.456"),
            (0.0001, "0.0001"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
        ];
        for (value, text) in cases {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn intervals_name_their_units() {
        let show = |months, days, nanos| {
            let mut out = String::new();
            interval(IntervalMonthDayNano::new(months, days, nanos), &mut out);
            out
        };
        assert_eq!(show(14, 1, 0), "1 year 2 months 1 day");
        assert_eq!(show(0, 0, 0), "00:00:00");
        assert_eq!(show(0, -2, 1_500_000_000), "-2 days 00:00:01.5");
        assert_eq!(show(0, 0, -3_600_000_000_000), "-01:00:00");
    }
}
