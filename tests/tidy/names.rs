//! Rule: files and directories are named after what they hold, never after being a rest.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, sources};

const MEND: &str = "name the file after the noun it holds; if it holds several, split it";
const NO_NAMES: [&str; 8] = ["utils", "util", "common", "helpers", "helper", "misc", "stuff", "v2"];

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().filter_map(finding).collect()
}

fn finding(file: &SourceFile) -> Option<Finding> {
    let mut parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let name = parts.find(|part| NO_NAMES.contains(&part.trim_matches('_')))?;
    Some(Finding::in_file(&file.path, format!("'{name}' says nothing about the content")))
}

#[test]
fn every_name_says_what_is_inside() {
    assert_none(&findings(&sources()), MEND);
}

#[test]
fn a_name_without_meaning_is_found() {
    for path in ["crates/a/src/utils.rs", "python/common/x.py", "tests/_helpers.py", "crates/a/src/v2/x.rs"] {
        assert_eq!(findings(&[SourceFile::new(path, "")]).len(), 1, "{path}");
    }
    assert_eq!(findings(&[SourceFile::new("crates/a/src/utility_function.rs", "")]), []);
}
