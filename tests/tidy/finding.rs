//! A finding: the place where a rule is broken, and the way all rules report.

use std::fmt::{self, Display};

/// One broken rule at one place; `line` counts from 1, and 0 stands for the file as a whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn in_file(path: &str, what: impl Into<String>) -> Self {
        Self::at(path, 0, what)
    }

    pub fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Fails the calling test with all findings and the way to mend them.
#[track_caller]
pub fn assert_none(findings: &[Finding], mend: &str) {
    let list: Vec<String> = findings.iter().map(|finding| format!("  {finding}")).collect();
    assert!(list.is_empty(), "{} finding(s):\n{}\nHow to mend: {mend}", list.len(), list.join("\n"));
}
