//! Rule: no file is too long to be read in one go.
//!
//! Blank lines and whole-line comments do not count: a long argument in a header is welcome.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, sources};

const MEND: &str = "split the file after its nouns: one type, one operator or one rule each";
const LONGEST_SOURCE: usize = 600;
const LONGEST_TEST: usize = 800;

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().filter_map(finding).collect()
}

fn finding(file: &SourceFile) -> Option<Finding> {
    let (lines, limit) = (file.code_lines().count(), limit(&file.path));
    (lines > limit)
        .then(|| Finding::in_file(&file.path, format!("{lines} lines of code, the limit is {limit}")))
}

fn limit(path: &str) -> usize {
    let is_test = path.split('/').any(|part| matches!(part, "tests" | "benches"));
    if is_test { LONGEST_TEST } else { LONGEST_SOURCE }
}

#[test]
fn no_file_is_too_long() {
    assert_none(&findings(&sources()), MEND);
}

#[test]
fn a_long_file_is_found_and_comments_do_not_count() {
    let long = "let x = 1;\n".repeat(LONGEST_SOURCE + 1);
    let commented = "// why\n\n".repeat(LONGEST_SOURCE + 1);
    assert_eq!(findings(&[SourceFile::new("crates/a/src/long.rs", &long)]).len(), 1);
    assert_eq!(findings(&[SourceFile::new("crates/a/tests/long.rs", &long)]), []);
    assert_eq!(findings(&[SourceFile::new("crates/a/src/commented.rs", &commented)]), []);
}
