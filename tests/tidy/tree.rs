//! The tree: all text files of the repository as values, so that rules do no I/O.
//!
//! The walk leaves out what builds and tools leave behind; it does not ask git, so that it also works in an unpacked archive.
#![expect(clippy::expect_used, reason = "a test that cannot read the tree has nothing to say")]

use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// One text file: its path from the root, with `/` between the parts, and its text.
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

impl SourceFile {
    #[cfg(test)]
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Lines with their number from 1, without those that are blank or only a comment.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let comment = if self.extension() == "rs" { "//" } else { "#" };
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(move |(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with(comment))
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the root").to_owned()
}

/// All text files below the root, in a fixed order.
pub fn files() -> Vec<SourceFile> {
    let root = root();
    let entries =
        WalkDir::new(&root).sort_by_file_name().into_iter().filter_entry(|entry| is_ours(&root, entry));
    entries.filter_map(|entry| read(&root, &entry.expect("the tree is readable"))).collect()
}

/// Rust and Python sources.
pub fn sources() -> Vec<SourceFile> {
    files().into_iter().filter(|file| matches!(file.extension(), "rs" | "py")).collect()
}

fn is_ours(root: &Path, entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let top = entry.path().parent() == Some(root);
    let kept_hidden = [".ci", ".github", ".gitignore"].contains(&name.as_ref());
    let left_behind = ["__pycache__", "results"].contains(&name.as_ref())
        || (top && ["target", "dist"].contains(&name.as_ref()));
    entry.path() == root || (!left_behind && (!name.starts_with('.') || kept_hidden))
}

fn read(root: &Path, entry: &DirEntry) -> Option<SourceFile> {
    if !entry.file_type().is_file() {
        return None;
    }
    let path = entry.path().strip_prefix(root).expect("the walk starts at the root");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let text = String::from_utf8(std::fs::read(entry.path()).ok()?).ok()?;
    Some(SourceFile { path: parts.join("/"), text })
}

#[test]
fn the_walk_finds_the_manifest_and_no_build_output() {
    let files = files();
    assert!(files.iter().any(|file| file.path == "Cargo.toml"));
    assert!(files.iter().all(|file| !file.path.starts_with("target/") && !file.path.starts_with(".venv/")));
}
