//! Rule: a crate uses only what stands above it, and lacks what its invariant says it lacks.
//!
//! The dependencies come from `cargo metadata`, so the rule sees what cargo sees, whatever the manifests look like.
#![expect(clippy::expect_used, reason = "without the output of cargo metadata there is nothing to check")]

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, root, sources};
use serde_json::Value;
use std::process::Command;

const MEND: &str = "move the code that needs the dependency into a crate further down, or turn the dependency round with a \
                    trait; docs/architecture.md has the order of crates and says why";

/// The crates from the top down: each may use those before it.
const ORDER: [&str; 8] = ["algebra", "storage", "trace", "circuit", "operators", "sql", "engine", "python"];

/// Outer crates that only the named crates may use.
const RESERVED: [(&str, &[&str]); 4] = [
    ("pyo3", &["python"]),
    ("datafusion-sql", &["sql"]),
    ("rayon", &["trace", "circuit", "engine"]),
    ("object_store", &["storage", "engine"]),
];

/// What the source of a crate must not mention.
const ABSENCES: [(&str, &[&str]); 4] = [
    ("storage", &["tailrace_trace", "tailrace_algebra", "datafusion", "weight", "Weight"]),
    ("algebra", &["std::fs", "std::io", "std::net", "std::thread", "arrow_"]),
    ("circuit", &["tailrace_operators", "datafusion", "std::fs"]),
    ("operators", &["std::fs", "std::net", "std::thread", "rayon"]),
];

/// A package of the workspace with the names of all it uses outside its tests.
struct Package {
    name: String,
    uses: Vec<String>,
}

fn packages(metadata: &Value) -> Vec<Package> {
    let list = metadata["packages"].as_array().expect("metadata lists packages");
    list.iter().map(package).filter(|package| place(&package.name).is_some()).collect()
}

fn package(value: &Value) -> Package {
    let all = value["dependencies"].as_array().expect("a package lists its dependencies").iter();
    let outside_tests = all.filter(|dependency| dependency["kind"] != "dev");
    Package {
        name: short(&value["name"]),
        uses: outside_tests.map(|dependency| short(&dependency["name"])).collect(),
    }
}

fn short(name: &Value) -> String {
    let name = name.as_str().expect("names are strings");
    name.strip_prefix("tailrace-").unwrap_or(name).to_owned()
}

fn place(name: &str) -> Option<usize> {
    ORDER.iter().position(|other| *other == name)
}

fn findings(packages: &[Package]) -> Vec<Finding> {
    let pairs = packages
        .iter()
        .flat_map(|package| package.uses.iter().map(|used| (package.name.as_str(), used.as_str())));
    let broken = pairs.filter(|(user, used)| !may_use(user, used));
    broken
        .map(|(user, used)| {
            Finding::in_file(&format!("crates/{user}/Cargo.toml"), format!("{user} uses {used}"))
        })
        .collect()
}

fn may_use(user: &str, used: &str) -> bool {
    let reserved = RESERVED.iter().find(|(name, _)| *name == used);
    let above = place(used).is_none_or(|used| Some(used) < place(user));
    match user {
        "algebra" => false,
        "python" => place(used).is_none() || used == "engine",
        _ => above && reserved.is_none_or(|(_, users)| users.contains(&user)),
    }
}

fn mentions(files: &[SourceFile]) -> Vec<Finding> {
    ABSENCES
        .iter()
        .flat_map(|(name, words)| files.iter().flat_map(move |file| mentions_in(file, name, words)))
        .collect()
}

fn mentions_in(file: &SourceFile, name: &str, words: &[&str]) -> Vec<Finding> {
    let inside = file.path.starts_with(&format!("crates/{name}/src/"));
    let lines = file.code_lines().filter(|_| inside);
    let hits = lines.filter_map(|(number, line)| {
        words.iter().find(|word| line.contains(**word)).map(|word| (number, *word))
    });
    hits.map(|(number, word)| Finding::at(&file.path, number, format!("{name} does not know {word}")))
        .collect()
}

#[test]
fn each_crate_uses_only_what_stands_above_it() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let output = command.output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    assert_none(&findings(&packages(&metadata)), MEND);
}

#[test]
fn each_crate_lacks_what_its_invariant_says() {
    assert_none(&mentions(&sources()), MEND);
}

#[test]
fn a_wrong_direction_is_found() {
    let wrong = [
        ("algebra", "thiserror"),
        ("trace", "circuit"),
        ("engine", "pyo3"),
        ("operators", "rayon"),
        ("python", "trace"),
    ];
    let right = [
        ("trace", "algebra"),
        ("engine", "sql"),
        ("python", "pyo3"),
        ("trace", "rayon"),
        ("trace", "thiserror"),
    ];
    for (user, used) in wrong {
        assert!(!may_use(user, used), "{user} -> {used}");
    }
    for (user, used) in right {
        assert!(may_use(user, used), "{user} -> {used}");
    }
}

#[test]
fn a_broken_absence_is_found() {
    let file =
        SourceFile::new("crates/operators/src/a.rs", "//! A.\nuse std::thread;\n// std::fs in prose\n");
    assert_eq!(mentions(&[file]).len(), 1);
}
