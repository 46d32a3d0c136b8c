//! Rule: every Rust and Python file opens with what it is.
//!
//! Rust files open with `//!` lines, Python files with a docstring; a header of a few letters does not count.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, sources};

const MEND: &str = "open the file with what it is, what it promises and why it works: `//! ...` in Rust, a docstring in Python";
const SHORTEST: usize = 20;

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    let lacking = files.iter().filter(|file| header(file).len() < SHORTEST);
    lacking.map(|file| Finding::in_file(&file.path, "no header")).collect()
}

fn header(file: &SourceFile) -> String {
    match file.extension() {
        "rs" => rust_header(&file.text),
        _ => python_header(&file.text).to_owned(),
    }
}

/// The text of the `//!` lines at the top.
pub fn rust_header(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The text between the quotes that open the file; comments, such as a shebang, may stand before them.
fn python_header(text: &str) -> &str {
    let start = text.lines().take_while(|line| line.starts_with('#')).map(|line| line.len() + 1).sum();
    let body = text.get(start..).unwrap_or("").trim_start();
    let body = body.strip_prefix('r').unwrap_or(body);
    body.strip_prefix("\"\"\"").and_then(|rest| rest.split_once("\"\"\"")).map_or("", |(header, _)| header)
}

#[test]
fn every_source_file_opens_with_a_header() {
    assert_none(&findings(&sources()), MEND);
}

#[test]
fn a_missing_or_empty_header_is_found() {
    let bad =
        [("a.rs", "use std::fmt;\n//! late"), ("b.rs", "//! short\n"), ("c.py", "import os\n"), ("d.py", "")];
    let good = [
        ("e.rs", "//! What this file is and does.\n"),
        ("f.py", "#!python\n\"\"\"What this file is and does.\"\"\"\n"),
    ];
    for (path, text) in bad {
        assert_eq!(findings(&[SourceFile::new(path, text)]).len(), 1, "{path}");
    }
    for (path, text) in good {
        assert_eq!(findings(&[SourceFile::new(path, text)]), [], "{path}");
    }
}
