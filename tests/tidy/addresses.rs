//! Rule: the tree says what it depends on, never from where it is downloaded.
//!
//! Where packages come from is the business of the machine that builds. The lock file alone names a source, in the one form
//! that cargo writes for its default registry whatever mirror is in use.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, files};

const MEND: &str =
    "name packages and versions only: no URL, no hash, no index option, no git dependency, no registry host";
const LOCK_SOURCE: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
const IN_REQUIREMENTS: [&str; 6] =
    ["://", "--hash", "--index-url", "--extra-index-url", "--find-links", " @ "];
const IN_MANIFESTS: [&str; 3] = ["git = ", "registry = ", "registry-index"];
const HOSTS: [&str; 4] = [
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
];

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(in_file).collect()
}

fn in_file(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    let found = lines.filter_map(|(index, line)| fault(file, line).map(|what| (index + 1, what)));
    found.map(|(number, what)| Finding::at(&file.path, number, format!("'{what}'"))).collect()
}

fn fault(file: &SourceFile, line: &str) -> Option<&'static str> {
    let first = |words: &[&'static str]| words.iter().copied().find(|word| line.contains(word));
    let by_kind = match (file.name(), file.path.starts_with("requirements/")) {
        ("Cargo.lock", _) => first(&["://"]).filter(|_| line != LOCK_SOURCE),
        ("Cargo.toml", _) => first(&IN_MANIFESTS),
        (_, true) => first(&IN_REQUIREMENTS),
        _ => None,
    };
    by_kind.or_else(|| first(&HOSTS))
}

#[test]
fn no_file_says_where_packages_are_downloaded() {
    assert_none(&findings(&files()), MEND);
}

#[test]
fn an_address_is_found() {
    let bad = [
        ("Cargo.lock", "source = \"git+https://example.org/x\""),
        ("crates/a/Cargo.toml", "x = { git = \"x\" }"),
        ("requirements/dev.txt", "x==1 --hash=sha256:00"),
        ("docs/a.md", HOSTS[0]),
    ];
    for (path, text) in bad {
        assert_eq!(findings(&[SourceFile::new(path, text)]).len(), 1, "{path}");
    }
    assert_eq!(findings(&[SourceFile::new("Cargo.lock", LOCK_SOURCE)]), []);
}
