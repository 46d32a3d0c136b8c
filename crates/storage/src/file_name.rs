//! The name of a file inside a database directory: checked once, when it is made, so that no name leads out of the directory.
//!
//! A name is one or two parts, joined by `/`, of lower-case letters, digits, `-`, `_` and `.`; no part begins with a dot. That leaves out `..`, absolute
//! paths, drive letters, separators of other systems, and names that differ only in case. Names that come from a manifest are checked by the same rule
//! as names that we make.

use std::fmt::{self, Display};
use std::sync::Arc;

use thiserror::Error;

const LONGEST_PART: usize = 100;
const MOST_PARTS: usize = 2;

/// A text that cannot be the name of a file.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{name:?} cannot be the name of a file in a database: {reason}")]
pub struct NameError {
    /// The text.
    pub name: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// A relative name that stays inside its directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Arc<str>);

impl FileName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        match fault(name) {
            None => Ok(Self(name.into())),
            Some(reason) => Err(NameError { name: shortened(name), reason }),
        }
    }

    /// The name as text, parts joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the `/`; empty for a file in the directory itself.
    pub fn directory(&self) -> &str {
        self.0.split_once('/').map_or("", |(directory, _)| directory)
    }

    /// The last part.
    pub fn file(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if name.starts_with('/') {
        return Some("it is an absolute path");
    }
    if name.split('/').count() > MOST_PARTS {
        return Some("it has more than two parts");
    }
    name.split('/').find_map(part_fault)
}

fn part_fault(part: &str) -> Option<&'static str> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    match part {
        "" => Some("a part is empty"),
        part if part.starts_with('.') => Some("a part begins with a dot"),
        part if part.len() > LONGEST_PART => Some("a part is longer than 100 bytes"),
        part if !part.bytes().all(allowed) => {
            Some("parts are made of lower-case letters, digits, '-', '_' and '.'")
        }
        _ => None,
    }
}

/// An error message does not repeat a megabyte of hostile text.
fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_PART).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside() {
        for good in ["a", "batch/ab12.batch", "manifest/00000000000000000001.manifest", "a-b_c.d"] {
            assert_eq!(FileName::new(good).unwrap().as_str(), good);
        }
        let long = "a".repeat(LONGEST_PART + 1);
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "a/b/c",
            "a//b",
            "a/",
            ".hidden",
            "a/.b",
            "a\\b",
            "c:d",
            "A",
            "a b",
            "a\0",
            "ä",
            &long,
        ] {
            assert!(FileName::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        let name = FileName::new("batch/a.b").unwrap();
        assert_eq!((name.directory(), name.file()), ("batch", "a.b"));
        let name = FileName::new("lock").unwrap();
        assert_eq!((name.directory(), name.file()), ("", "lock"));
    }
}
