//! Functions of JSON texts.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};

use super::definition::Definition;
use super::json::{self, Kind, Step};
use super::rows::{integer_at, is_text, number_column, text, text_at, text_column, truth_column, wrong};
use super::spelling;
use super::text::text_list;

/// All functions of JSON.
pub(crate) static JSON: &[Definition] = &[
    Definition {
        name: "json_extract",
        takes: value_and_path,
        usage: VALUE_AND_PATH,
        gives: |_| DataType::Utf8View,
        run: |args| found_texts(args, |value| Some(json::compact(value))),
    },
    Definition {
        name: "json_extract_string",
        takes: value_and_path,
        usage: VALUE_AND_PATH,
        gives: |_| DataType::Utf8View,
        run: |args| {
            found_texts(args, |value| match json::kind(value) {
                Kind::Null => None,
                Kind::Text => Some(json::unquoted(value)),
                _ => Some(json::compact(value)),
            })
        },
    },
    Definition {
        name: "json_type",
        takes: value_maybe_path,
        usage: VALUE_AND_PATH,
        gives: |_| DataType::Utf8View,
        run: |args| found_texts(args, |value| Some(type_name(value).to_owned())),
    },
    Definition {
        name: "json_array_length",
        takes: value_maybe_path,
        usage: VALUE_AND_PATH,
        gives: |_| DataType::Int64,
        run: |args| {
            number_column::<Int64Type>(args[0].len(), |row| {
                found(args, row, |value| Some(json::items(value).len() as i64))
            })
        },
    },
    Definition {
        name: "json_keys",
        takes: value_maybe_path,
        usage: VALUE_AND_PATH,
        gives: |_| text_list(),
        run: keys,
    },
    Definition {
        name: "json_valid",
        takes: super::rows::texts::<1>,
        usage: "a text",
        gives: |_| DataType::Boolean,
        run: |args| {
            let values = text(&args[0]);
            truth_column(values.len(), |row| {
                Ok(text_at(values, row).map(|value| json::value(value).is_some()))
            })
        },
    },
    Definition {
        name: "json",
        takes: super::rows::texts::<1>,
        usage: "a text",
        gives: |_| DataType::Utf8View,
        run: |args| found_texts(args, |value| Some(json::compact(value))),
    },
    Definition {
        name: "to_json",
        takes: |args| (args.len() == 1).then(|| args.to_vec()),
        usage: "a value",
        gives: |_| DataType::Utf8View,
        run: |args| {
            text_column(args[0].len(), |row| {
                let mut out = String::new();
                write_value(args[0].as_ref(), row, &mut out)?;
                Ok(args[0].is_valid(row).then_some(out))
            })
        },
    },
    Definition {
        name: "json_array",
        takes: |args| Some(args.to_vec()),
        usage: "values",
        gives: |_| DataType::Utf8View,
        run: |args| {
            text_column(args.first().map_or(1, |arg| arg.len()), |row| {
                let mut out = String::from("[");
                for (place, arg) in args.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    write_value(arg.as_ref(), row, &mut out)?;
                }
                out.push(']');
                Ok(Some(out))
            })
        },
    },
    Definition {
        name: "json_object",
        takes: |args| {
            let name = |(place, found): (usize, &DataType)| {
                if place % 2 == 0 { DataType::Utf8View } else { found.clone() }
            };
            (args.len() % 2 == 0).then(|| args.iter().enumerate().map(name).collect())
        },
        usage: "names and values in turn",
        gives: |_| DataType::Utf8View,
        run: object,
    },
];

const VALUE_AND_PATH: &str = "a JSON text and a path";

fn value_and_path(args: &[DataType]) -> Option<Vec<DataType>> {
    match args {
        [value, path] if is_text(value) && is_text(path) => Some(vec![DataType::Utf8View; 2]),
        [value, place] if is_text(value) && place.is_integer() => {
            Some(vec![DataType::Utf8View, DataType::Int64])
        }
        _ => None,
    }
}

fn value_maybe_path(args: &[DataType]) -> Option<Vec<DataType>> {
    match args {
        [value] if is_text(value) => Some(vec![DataType::Utf8View]),
        _ => value_and_path(args),
    }
}

fn found_texts(args: &[ArrayRef], read: impl Fn(&str) -> Option<String>) -> Result<ArrayRef> {
    text_column(args[0].len(), |row| found(args, row, &read))
}

/// What stands at the path of a row, read by `read`; None if there is nothing.
fn found<T>(args: &[ArrayRef], row: usize, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    let Some(given) = text_at(text(&args[0]), row) else { return Ok(None) };
    let steps = match args.get(1) {
        None => Vec::new(),
        Some(place) if *place.data_type() == DataType::Int64 => match integer_at(place, row) {
            Some(place) => vec![Step::Item(place)],
            None => return Ok(None),
        },
        Some(paths) => match text_at(text(paths), row) {
            Some(path) => json::path(path).ok_or_else(|| {
                wrong(format!("'{path}' is no JSON path: write $.name[0] or /name/0, without wildcards"))
            })?,
            None => return Ok(None),
        },
    };
    let value = json::value(given).ok_or_else(|| malformed(given))?;
    Ok(json::at(value, &steps).and_then(read))
}

fn malformed(given: &str) -> datafusion_common::DataFusionError {
    let shown: String = given.chars().take(60).collect();
    wrong(format!("'{shown}' is no JSON"))
}

fn type_name(value: &str) -> &'static str {
    match json::kind(value) {
        Kind::Null => "NULL",
        Kind::Boolean => "BOOLEAN",
        Kind::Text => "VARCHAR",
        Kind::Array => "ARRAY",
        Kind::Object => "OBJECT",
        Kind::Number if value.contains(['.', 'e', 'E']) => "DOUBLE",
        Kind::Number if value.starts_with('-') => "BIGINT",
        Kind::Number => "UBIGINT",
    }
}

fn keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in 0..args[0].len() {
        let names = |value: &str| {
            Some(json::members(value).into_iter().map(|(name, _)| Some(json::unquoted(name))).collect())
        };
        out.append_option(found::<Vec<Option<String>>>(args, row, names)?);
    }
    Ok(Arc::new(out.finish()))
}

fn object(args: &[ArrayRef]) -> Result<ArrayRef> {
    text_column(args.first().map_or(1, |arg| arg.len()), |row| {
        let mut out = String::from("{");
        for (place, pair) in args.chunks_exact(2).enumerate() {
            let Some(name) = text_at(text(&pair[0]), row) else {
                return Err(wrong("a name in json_object is NULL"));
            };
            out.push_str(if place > 0 { "," } else { "" });
            json::quoted(name, &mut out);
            out.push(':');
            write_value(pair[1].as_ref(), row, &mut out)?;
        }
        out.push('}');
        Ok(Some(out))
    })
}

/// A value as JSON; NULL is `null`.
fn write_value(array: &dyn Array, row: usize, out: &mut String) -> Result<()> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            out.push('[');
            for place in 0..items.len() {
                out.push_str(if place > 0 { "," } else { "" });
                write_value(items.as_ref(), place, out)?;
            }
            out.push(']');
        }
        DataType::Struct(fields) => {
            out.push('{');
            for (place, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                json::quoted(field.name(), out);
                out.push(':');
                write_value(column.as_ref(), row, out)?;
            }
            out.push('}');
        }
        data_type if data_type.is_numeric() || *data_type == DataType::Boolean => {
            match ScalarValue::try_from_array(array, row)? {
                ScalarValue::Float64(Some(value)) => out.push_str(&spelling::float(value)),
                value => {
                    let _ = write!(out, "{value}");
                }
            }
        }
        _ => {
            let one = spelling::written(&array.slice(row, 1))?;
            json::quoted(text_at(text(&one), 0).unwrap_or_default(), out);
        }
    }
    Ok(())
}
