//! Rule: every package takes its lints and its edition from the workspace.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, files};

const MEND: &str =
    "add `[lints]` with `workspace = true`, and `edition.workspace = true`, to the package's Cargo.toml";

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    let packages = files.iter().filter(|file| file.name() == "Cargo.toml" && file.text.contains("[package]"));
    packages.flat_map(in_manifest).collect()
}

fn in_manifest(file: &SourceFile) -> Vec<Finding> {
    let text = file.text.replace("\r\n", "\n");
    let demands = [("[lints]\nworkspace = true", "lints"), ("edition.workspace = true", "edition")];
    let missing = demands.iter().filter(|(line, _)| !text.contains(line));
    missing.map(|(_, what)| Finding::in_file(&file.path, format!("does not inherit its {what}"))).collect()
}

#[test]
fn every_package_inherits_the_workspace_lints() {
    assert_none(&findings(&files()), MEND);
}

#[test]
fn a_package_with_its_own_lints_is_found() {
    let own = "[package]\nname = \"a\"\nedition.workspace = true\n[lints.clippy]\nall = \"allow\"\n";
    assert_eq!(findings(&[SourceFile::new("crates/a/Cargo.toml", own)]).len(), 1);
    assert_eq!(findings(&[SourceFile::new("Cargo.toml", "[workspace]\n")]), []);
}
