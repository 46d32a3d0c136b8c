//! The scalar functions that a program may call, by their SQL name: DataFusion's, and in their place or beside them those of the files here.
//!
//! A function whose value is not decided by its arguments cannot be maintained: `random()` or `now()` would give another row when the row is taken
//! back than when it was put in. Such functions are refused here.

mod calendar;
mod cast;
mod definition;
mod digest;
mod formatting;
mod json;
mod json_functions;
mod kinds;
mod numbers;
mod reading;
mod rows;
mod spelling;
mod text;
mod times;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::{ScalarUDF, Volatility};

use crate::PlanError;
use crate::or_empty::or_empty;

pub(crate) use cast::{cast_call, is_cast};
pub use kinds::type_name;

/// Other names of functions.
const ALIASES: &[(&str, &str)] = &[
    ("substring", "substr"),
    ("mismatches", "hamming"),
    ("to_binary", "bin"),
    ("pg_typeof", "typeof"),
    ("json_extract_path", "json_extract"),
    ("json_extract_path_text", "json_extract_string"),
    ("row_to_json", "to_json"),
    ("array_to_json", "to_json"),
    ("json_quote", "to_json"),
    ("string_to_list", "string_split"),
    ("list_value", "make_array"),
    ("list_pack", "make_array"),
    ("array_value", "make_array"),
    ("gen_random_uuid", "uuid"),
    ("struct_pack", "named_struct"),
    ("date_format", "to_char"),
    ("array_indexof", "array_position"),
    ("list_flatten", "flatten"),
    ("list_cardinality", "cardinality"),
];

static FUNCTIONS: LazyLock<BTreeMap<String, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let all = datafusion_functions::all_default_functions().into_iter();
    let all = all.chain(datafusion_functions_nested::all_default_nested_functions());
    let all = all.chain([or_empty()]);
    let mut functions = BTreeMap::new();
    for function in all {
        for alias in function.aliases() {
            functions.insert(alias.clone(), Arc::clone(&function));
        }
        functions.insert(function.name().to_owned(), function);
    }
    let families =
        [text::TEXT, numbers::NUMBERS, times::TIMES, json_functions::JSON, digest::DIGESTS, kinds::KINDS];
    for definition in families.into_iter().flatten() {
        functions.insert(definition.name.to_owned(), definition::defined(definition));
    }
    // Every function of lists has both names.
    for (name, function) in functions.clone() {
        if let Some(rest) = name.strip_prefix("array_") {
            functions.entry(format!("list_{rest}")).or_insert(function);
        }
    }
    for (alias, name) in ALIASES {
        if let Some(function) = functions.get(*name).cloned() {
            functions.insert((*alias).to_owned(), function);
        }
    }
    functions
});

/// An interval in the words that DataFusion reads, out of the words that users write; None if it is no interval.
pub(crate) fn read_interval(text: &str) -> Option<String> {
    let span = reading::interval(text)?;
    let (sign, nanos) = if span.nanoseconds < 0 {
        ("-", span.nanoseconds.unsigned_abs())
    } else {
        ("", span.nanoseconds as u64)
    };
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Some(format!("{} months {} days {sign}{seconds}.{fraction:09} seconds", span.months, span.days))
}

/// The function of that name.
pub fn scalar_function(name: &str) -> Result<Arc<ScalarUDF>, PlanError> {
    let wanted = name.to_lowercase();
    let Some(function) = FUNCTIONS.get(&wanted) else {
        return Err(PlanError::UnknownFunction { name: name.to_owned(), hint: closest(&wanted) });
    };
    if function.signature().volatility != Volatility::Immutable {
        let reason = "its value depends on when it is called, so a row could not be taken back";
        return Err(PlanError::Invalid(format!("function '{name}' cannot be used in a view: {reason}")));
    }
    Ok(Arc::clone(function))
}

/// The function of that name, whatever its volatility: a text is checked as a whole.
pub(crate) fn known_scalar(name: &str) -> Option<Arc<ScalarUDF>> {
    FUNCTIONS.get(&name.to_lowercase()).cloned()
}

/// The names of all scalar functions.
pub(crate) fn scalar_names() -> Vec<String> {
    FUNCTIONS.keys().cloned().collect()
}

/// Names of scalar functions that resemble a wanted one, for hints.
pub(crate) fn near_names(wanted: &str) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let prefix: String = wanted.chars().take(2).collect();
    FUNCTIONS.keys().filter(|name| name.starts_with(&prefix) || name.contains(&wanted)).cloned().collect()
}

/// Names that start alike, or all names that contain the wanted one.
fn closest(wanted: &str) -> String {
    let prefix: String = wanted.chars().take(3).collect();
    let near: Vec<&str> = FUNCTIONS
        .keys()
        .filter(|name| name.starts_with(&prefix) || name.contains(wanted))
        .map(String::as_str)
        .take(8)
        .collect();
    if near.is_empty() {
        format!("{} functions exist, none with a similar name", FUNCTIONS.len())
    } else {
        format!("Similar names: {}", near.join(", "))
    }
}
