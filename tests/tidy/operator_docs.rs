//! Rule: every operator's file opens with the same five headings, in the same order.
//!
//! Who has read one operator has read all of them, and the operator reference can be made from the headers.

use crate::finding::{Finding, assert_none};
use crate::headers::rust_header;
use crate::tree::{SourceFile, sources};

const MEND: &str = "give the header of the operator's file the sections `# Computes`, `# Delta rule`, `# State kept`, \
                    `# Cost per change`, `# Example`; a module that is no operator goes into NOT_OPERATORS in \
                    tests/tidy/operator_docs.rs";
const HEADINGS: [&str; 5] = ["Computes", "Delta rule", "State kept", "Cost per change", "Example"];
const OPERATORS: &str = "crates/operators/src/";

/// Modules of the crate that serve operators without being one.
const NOT_OPERATORS: [&str; 36] = [
    "aggregate/accumulator.rs",
    "aggregate/emission.rs",
    "aggregate/finish.rs",
    "aggregate/function.rs",
    "aggregate/groups.rs",
    "aggregate/linear.rs",
    "aggregate/plan.rs",
    "aggregate/rows.rs",
    "aggregate/sliding.rs",
    "contents.rs",
    "framed/aggregates.rs",
    "framed/bits.rs",
    "framed/extremes.rs",
    "framed/frame.rs",
    "framed/picks.rs",
    "framed/sheet.rs",
    "gather.rs",
    "key_weights.rs",
    "nested/agenda.rs",
    "nested/history.rs",
    "nested/iteration.rs",
    "nested/mod.rs",
    "nested/recursion.rs",
    "nested/step_sums.rs",
    "ordering.rs",
    "pairs.rs",
    "positional.rs",
    "ranked.rs",
    "residual.rs",
    "row_weights.rs",
    "scalar.rs",
    "sliding.rs",
    "state.rs",
    "versions.rs",
    "window/outcome.rs",
    "window/segment.rs",
];

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().filter(|file| is_operator(&file.path)).filter_map(finding).collect()
}

fn is_operator(path: &str) -> bool {
    let Some(module) = path.strip_prefix(OPERATORS) else { return false };
    module != "lib.rs" && !NOT_OPERATORS.contains(&module)
}

fn finding(file: &SourceFile) -> Option<Finding> {
    let header = rust_header(&file.text);
    let mut headings = header.lines().filter_map(|line| line.strip_prefix("# "));
    let missing = HEADINGS.iter().find(|heading| !headings.any(|found| found == **heading))?;
    Some(Finding::in_file(&file.path, format!("'{missing}' is missing or out of order")))
}

#[test]
fn every_operator_states_its_delta_rule_and_cost() {
    assert_none(&findings(&sources()), MEND);
}

#[test]
fn every_exempt_module_exists() {
    let sources = sources();
    for name in NOT_OPERATORS {
        let path = format!("{OPERATORS}{name}");
        assert!(sources.iter().any(|file| file.path == path), "{path} is gone: take it off the list");
    }
}

#[test]
fn an_operator_without_a_delta_rule_is_found() {
    let whole = "//! # Computes\n//! # Delta rule\n//! # State kept\n//! # Cost per change\n//! # Example\n";
    let lacking = whole.replace("//! # Delta rule\n", "");
    assert_eq!(findings(&[SourceFile::new("crates/operators/src/a.rs", whole)]), []);
    assert_eq!(findings(&[SourceFile::new("crates/operators/src/a.rs", &lacking)]).len(), 1);
    assert_eq!(findings(&[SourceFile::new("crates/operators/src/a/mod.rs", &lacking)]).len(), 1);
    let bold = whole.replace("# Computes", "**Computes**");
    assert_eq!(findings(&[SourceFile::new("crates/operators/src/a.rs", &bold)]).len(), 1);
    assert_eq!(findings(&[SourceFile::new("crates/operators/src/lib.rs", &lacking)]), []);
}
