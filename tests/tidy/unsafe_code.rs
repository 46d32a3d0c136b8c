//! Rule: `unsafe` stands only in the modules listed here, each with the reason why it must.
//!
//! The workspace denies `unsafe_code`; a module that needs it lifts the lint with `expect` and a reason. This rule keeps the
//! list of such modules in one place, where a review sees it grow.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, sources};

const MEND: &str = "write it without `unsafe`; if that cannot be, add the module and its reason to ALLOWED in tests/tidy/unsafe_code.rs";

/// The modules that may hold `unsafe`, with the reason.
const ALLOWED: [(&str, &str); 3] = [
    ("crates/python/src/capsule.rs", "the Arrow C interface hands over structs behind raw pointers"),
    ("crates/trace/src/text_views.rs", "views over valid texts are made without validating them again"),
    (
        "crates/trace/src/view_merge.rs",
        "texts of valid arrays are put together without validating them again",
    ),
];

fn findings(files: &[SourceFile], allowed: &[(&str, &str)]) -> Vec<Finding> {
    let ours = files.iter().filter(|file| file.extension() == "rs" && !file.path.starts_with("tests/tidy/"));
    ours.filter(|file| allowed.iter().all(|(path, _)| *path != file.path)).flat_map(in_file).collect()
}

fn in_file(file: &SourceFile) -> Vec<Finding> {
    let lines = file.code_lines().filter(|(_, line)| is_unsafe(line));
    lines.map(|(number, line)| Finding::at(&file.path, number, line.trim())).collect()
}

fn is_unsafe(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| word == "unsafe" || word == "unsafe_code")
}

#[test]
fn unsafe_code_stands_only_where_it_is_allowed() {
    assert_none(&findings(&sources(), &ALLOWED), MEND);
}

#[test]
fn every_allowed_module_exists_and_still_needs_it() {
    let sources = sources();
    for (path, reason) in ALLOWED {
        let file = sources.iter().find(|file| file.path == path);
        let needs = file.is_some_and(|file| !in_file(file).is_empty());
        assert!(needs, "{path} ({reason}) holds no unsafe code: take it off the list");
    }
}

#[test]
fn unsafe_in_another_module_is_found() {
    let file =
        SourceFile::new("crates/a/src/a.rs", "//! A.\nfn a() { unsafe { b() } }\n// unsafe in prose\n");
    assert_eq!(findings(std::slice::from_ref(&file), &[]).len(), 1);
    assert_eq!(findings(&[file], &[("crates/a/src/a.rs", "an example")]), []);
}
