//! Rule: every link between our documents leads somewhere.
//!
//! A relative link must name a file or directory of the tree; a `#fragment` must be the slug of a heading in the document it
//! points into. Links to other sites are not followed.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, files, root};

const MEND: &str = "correct the path or the heading in the link; paths are relative to the document";

fn documents() -> Vec<SourceFile> {
    files().into_iter().filter(|file| file.extension() == "md").collect()
}

fn findings(documents: &[SourceFile], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let links =
        documents.iter().flat_map(|document| links(document).map(move |(line, link)| (document, line, link)));
    let dead = links.filter(|(document, _, link)| !resolves(documents, document, link, &exists));
    dead.map(|(document, line, link)| Finding::at(&document.path, line, format!("({link}) leads nowhere")))
        .collect()
}

/// The targets of `[text](target)` outside code fences, without those that lead to other sites.
fn links(document: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    let prose = document.text.lines().enumerate().filter(move |(_, line)| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced
    });
    let targets = prose.flat_map(|(index, line)| line.split("](").skip(1).map(move |rest| (index + 1, rest)));
    let targets = targets.filter_map(|(line, rest)| rest.split_once(')').map(|(target, _)| (line, target)));
    targets.filter(|(_, target)| !target.contains("://"))
}

fn resolves(documents: &[SourceFile], from: &SourceFile, link: &str, exists: impl Fn(&str) -> bool) -> bool {
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { from.path.clone() } else { join(&from.path, path) };
    let document = documents.iter().find(|document| document.path == target);
    let lands =
        fragment.is_empty() || document.is_some_and(|document| slugs(document).any(|slug| slug == fragment));
    exists(&target) && lands
}

/// The path that `link` means when it stands in the document `from`.
fn join(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn slugs(document: &SourceFile) -> impl Iterator<Item = String> {
    let headings = document.text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| slug(line.trim_start_matches('#').trim()))
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_between_documents_resolves() {
    let root = root();
    assert_none(&findings(&documents(), |path| root.join(path).exists()), MEND);
}

#[test]
fn a_dead_link_is_found() {
    let text =
        "# The rules\n[a](b.md) [b](../c.md#the-rules) [c](#the-rules) [d](#no)\n```\n[e](no.md)\n```\n";
    let documents = [SourceFile::new("docs/a.md", text), SourceFile::new("c.md", "## The rules")];
    let found = findings(&documents, |path| ["docs/a.md", "c.md"].contains(&path));
    let what: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(what, ["(b.md) leads nowhere", "(#no) leads nowhere"]);
}
