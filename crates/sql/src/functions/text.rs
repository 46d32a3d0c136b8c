//! Functions of texts: lengths and parts, splitting, regular expressions, `format` and `printf`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::{DataType, Field};
use datafusion_common::Result;
use regex::Regex;

use super::definition::Definition;
use super::formatting::{braces, percents};
use super::rows::{integer_at, is_number, is_text, number_column, text, text_at, text_column, texts, wrong};

/// All functions of texts.
pub(crate) static TEXT: &[Definition] = &[
    Definition {
        name: "length",
        takes: |args| match args {
            [list] if is_list(list) => Some(vec![list.clone()]),
            [DataType::Binary | DataType::BinaryView | DataType::LargeBinary] => {
                Some(vec![DataType::BinaryView])
            }
            [found] if is_text(found) => Some(vec![DataType::Utf8View]),
            _ => None,
        },
        usage: "a text, bytes or a list",
        gives: |_| DataType::Int64,
        run: length,
    },
    Definition {
        name: "substr",
        takes: |args| match args {
            [found, rest @ ..]
                if is_text(found) && matches!(rest.len(), 1 | 2) && rest.iter().all(is_number) =>
            {
                Some([vec![DataType::Utf8View], vec![DataType::Int64; rest.len()]].concat())
            }
            _ => None,
        },
        usage: "a text, where to start and how many letters",
        gives: |_| DataType::Utf8View,
        run: substring,
    },
    Definition {
        name: "text_range",
        takes: |args| match args {
            [found, from, to] if is_text(found) && is_number(from) && is_number(to) => {
                Some(vec![DataType::Utf8View, DataType::Int64, DataType::Int64])
            }
            _ => None,
        },
        usage: "a text and two places",
        gives: |_| DataType::Utf8View,
        run: |args| {
            let values = text(&args[0]);
            text_column(values.len(), |row| {
                let places = (integer_at(&args[1], row), integer_at(&args[2], row));
                let (Some(value), (Some(from), Some(to))) = (text_at(values, row), places) else {
                    return Ok(None);
                };
                let letters = value.chars().count() as i64;
                let from = if from < 0 { letters.saturating_add(from) } else { (from - 1).max(0) };
                let to = if to < 0 { letters.saturating_add(to).saturating_add(1) } else { to };
                Ok(Some(
                    slice(value, from.clamp(0, letters) as usize, to.clamp(0, letters) as usize).to_owned(),
                ))
            })
        },
    },
    Definition {
        name: "octet_length",
        takes: |args| match args {
            [DataType::Binary | DataType::BinaryView | DataType::LargeBinary] => {
                Some(vec![DataType::BinaryView])
            }
            [found] if is_text(found) => Some(vec![DataType::Utf8View]),
            _ => None,
        },
        usage: "a text or bytes",
        gives: |_| DataType::Int64,
        run: |args| {
            let array = &args[0];
            let count = |row: usize| match array.data_type() {
                DataType::BinaryView => array.as_binary_view().value(row).len() as i64,
                _ => text(array).value(row).len() as i64,
            };
            number_column::<Int64Type>(array.len(), |row| Ok(array.is_valid(row).then(|| count(row))))
        },
    },
    Definition {
        name: "string_split",
        takes: texts::<2>,
        usage: "a text and a separator",
        gives: |_| text_list(),
        run: |args| {
            lists(&args[0], &args[1], |value, separator| {
                if separator.is_empty() {
                    return Ok(value.chars().map(String::from).collect());
                }
                Ok(value.split(separator).map(str::to_owned).collect())
            })
        },
    },
    Definition {
        name: "regexp_split",
        takes: texts::<2>,
        usage: "a text and a pattern",
        gives: |_| text_list(),
        run: |args| {
            let mut patterns = Patterns::default();
            lists(&args[0], &args[1], |value, pattern| {
                Ok(patterns.get(pattern)?.split(value).map(str::to_owned).collect())
            })
        },
    },
    Definition {
        name: "regexp_extract",
        takes: |args| match args {
            [found, pattern] if is_text(found) && is_text(pattern) => Some(vec![DataType::Utf8View; 2]),
            [found, pattern, group] if is_text(found) && is_text(pattern) && is_number(group) => {
                Some(vec![DataType::Utf8View, DataType::Utf8View, DataType::Int64])
            }
            _ => None,
        },
        usage: "a text, a pattern and the number of a group",
        gives: |_| DataType::Utf8View,
        run: extract,
    },
    Definition {
        name: "regexp_extract_all",
        takes: |args| match args {
            [found, pattern] if is_text(found) && is_text(pattern) => Some(vec![DataType::Utf8View; 2]),
            [found, pattern, group] if is_text(found) && is_text(pattern) && is_number(group) => {
                Some(vec![DataType::Utf8View, DataType::Utf8View, DataType::Int64])
            }
            _ => None,
        },
        usage: "a text, a pattern and the number of a group",
        gives: |_| text_list(),
        run: extract_all,
    },
    Definition {
        name: "hamming",
        takes: texts::<2>,
        usage: "two texts",
        gives: |_| DataType::Int64,
        run: |args| {
            let (a, b) = (text(&args[0]), text(&args[1]));
            number_column::<Int64Type>(a.len(), |row| {
                let (Some(a), Some(b)) = (text_at(a, row), text_at(b, row)) else { return Ok(None) };
                if a.chars().count() != b.chars().count() {
                    return Err(wrong(format!("hamming takes texts of one length, got '{a}' and '{b}'")));
                }
                Ok(Some(a.chars().zip(b.chars()).filter(|(a, b)| a != b).count() as i64))
            })
        },
    },
    Definition {
        name: "format",
        takes: |args| formatted(args),
        usage: "a text with {} in it and values",
        gives: |_| DataType::Utf8View,
        run: |args| written(args, braces),
    },
    Definition {
        name: "printf",
        takes: |args| formatted(args),
        usage: "a text with %d, %s, %f in it and values",
        gives: |_| DataType::Utf8View,
        run: |args| written(args, percents),
    },
    Definition {
        name: "blob_text",
        takes: |args| (args.len() == 1).then(|| vec![DataType::BinaryView]),
        usage: "bytes",
        gives: |_| DataType::Utf8View,
        run: |args| {
            let bytes = args[0].as_binary_view();
            text_column(bytes.len(), |row| {
                if bytes.is_null(row) {
                    return Ok(None);
                }
                let text = std::str::from_utf8(bytes.value(row));
                text.map(|text| Some(text.to_owned())).map_err(|_| wrong("the bytes are no UTF-8 text"))
            })
        },
    },
];

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::FixedSizeList(..) | DataType::Map(..))
}

/// The type of a list of texts.
pub(crate) fn text_list() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)))
}

fn length(args: &[ArrayRef]) -> Result<ArrayRef> {
    let array = &args[0];
    let count = |row: usize| match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value_length(row) as i64,
        DataType::FixedSizeList(_, size) => i64::from(*size),
        DataType::Map(..) => i64::from(array.as_map().value_length(row)),
        DataType::BinaryView => array.as_binary_view().value(row).len() as i64,
        _ => text(array).value(row).chars().count() as i64,
    };
    number_column::<Int64Type>(array.len(), |row| Ok(array.is_valid(row).then(|| count(row))))
}

/// Positions count from one; negative ones from the end.
fn substring(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = text(&args[0]);
    text_column(values.len(), |row| {
        let (Some(value), Some(start)) = (text_at(values, row), integer_at(&args[1], row)) else {
            return Ok(None);
        };
        let letters = value.chars().count() as i64;
        let start = if start < 0 { letters.saturating_add(start) } else { start - 1 };
        let (from, to) = match args.get(2) {
            None => (start, letters),
            Some(count) => match integer_at(count, row) {
                None => return Ok(None),
                Some(count) if count < 0 => (start.saturating_add(count), start),
                Some(count) => (start, start.saturating_add(count)),
            },
        };
        Ok(Some(slice(value, from.clamp(0, letters) as usize, to.clamp(0, letters) as usize).to_owned()))
    })
}

/// Letters of a text.
fn slice(value: &str, from: usize, to: usize) -> &str {
    let place = |letter: usize| value.char_indices().nth(letter).map_or(value.len(), |(place, _)| place);
    if from >= to { "" } else { &value[place(from)..place(to)] }
}

fn lists(
    values: &ArrayRef,
    others: &ArrayRef,
    mut split: impl FnMut(&str, &str) -> Result<Vec<String>>,
) -> Result<ArrayRef> {
    let (values, others) = (text(values), text(others));
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in 0..values.len() {
        match (text_at(values, row), text_at(others, row)) {
            (Some(value), Some(other)) => {
                out.append_value(split(value, other)?.into_iter().map(Some));
            }
            (Some(value), None) => out.append_value([Some(value)]),
            _ => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Patterns that were read, by their texts.
#[derive(Default)]
struct Patterns(HashMap<String, Regex>);

impl Patterns {
    fn get(&mut self, pattern: &str) -> Result<&Regex> {
        if !self.0.contains_key(pattern) {
            let read = Regex::new(pattern);
            let read =
                read.map_err(|error| wrong(format!("'{pattern}' is no regular expression: {error}")))?;
            self.0.insert(pattern.to_owned(), read);
        }
        self.0.get(pattern).ok_or_else(|| wrong("no pattern"))
    }
}

fn group_at(args: &[ArrayRef], row: usize) -> Option<i64> {
    args.get(2).map_or(Some(0), |group| integer_at(group, row))
}

/// The first match, or a group of it; an empty text if there is none.
fn extract(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (values, patterns) = (text(&args[0]), text(&args[1]));
    let mut known = Patterns::default();
    text_column(values.len(), |row| {
        let (Some(value), Some(pattern)) = (text_at(values, row), text_at(patterns, row)) else {
            return Ok(None);
        };
        let pattern = known.get(pattern)?;
        let group = group_number(group_at(args, row), pattern)?;
        let found = pattern.captures(value).and_then(|captures| captures.get(group));
        Ok(Some(found.map_or_else(String::new, |found| found.as_str().to_owned())))
    })
}

fn extract_all(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (values, patterns): (&StringViewArray, &StringViewArray) = (text(&args[0]), text(&args[1]));
    let mut known = Patterns::default();
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in 0..values.len() {
        let (Some(value), Some(pattern)) = (text_at(values, row), text_at(patterns, row)) else {
            out.append_null();
            continue;
        };
        let pattern = known.get(pattern)?;
        let group = group_number(group_at(args, row), pattern)?;
        let found = pattern.captures_iter(value).map(|captures| {
            Some(captures.get(group).map_or_else(String::new, |found| found.as_str().to_owned()))
        });
        out.append_value(found.collect::<Vec<_>>());
    }
    Ok(Arc::new(out.finish()))
}

fn group_number(group: Option<i64>, pattern: &Regex) -> Result<usize> {
    let group = group.unwrap_or(0);
    match usize::try_from(group) {
        Ok(group) if group < pattern.captures_len() => Ok(group),
        _ => Err(wrong(format!(
            "group {group} does not exist: the pattern '{pattern}' has {} group(s)",
            pattern.captures_len() - 1
        ))),
    }
}

/// The first argument is a text, the others stay numbers or become texts.
fn formatted(args: &[DataType]) -> Option<Vec<DataType>> {
    let (first, rest) = args.split_first()?;
    let kept = |found: &DataType| match found {
        integer if integer.is_integer() => DataType::Int64,
        number if number.is_numeric() => DataType::Float64,
        _ => DataType::Utf8View,
    };
    is_text(first).then(|| std::iter::once(DataType::Utf8View).chain(rest.iter().map(kept)).collect())
}

fn written(
    args: &[ArrayRef],
    write: fn(&str, &[ArrayRef], usize) -> Result<Option<String>>,
) -> Result<ArrayRef> {
    let patterns = text(&args[0]);
    text_column(patterns.len(), |row| match text_at(patterns, row) {
        None => Ok(None),
        Some(pattern) => write(pattern, &args[1..], row),
    })
}
