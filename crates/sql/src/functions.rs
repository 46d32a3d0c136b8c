//! The scalar functions that a program may call, by their SQL name.
//!
//! A function whose value is not decided by its arguments cannot be maintained: `random()` or `now()` would give another row when the row is taken
//! back than when it was put in. Such functions are refused here.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::{ScalarUDF, Volatility};

use crate::PlanError;
use crate::or_empty::or_empty;

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
    functions
});

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
