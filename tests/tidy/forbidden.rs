//! Rule: nothing unfinished, no debugging output and no address of one machine stays in the tree.
//!
//! The forbidden words are put together from halves, so that this file does not find itself.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, files};

const MEND: &str = "finish the code, or leave the feature out and say so in the issue; print nothing for debugging; \
                    name no machine's paths";
const IN_RUST: [&str; 3] = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("db", "g!(")];
const IN_PYTHON: [&str; 3] =
    [concat!("breakpoint", "()"), concat!("pdb.", "set_trace"), concat!("raise NotImple", "mentedError")];
const ANYWHERE: [&str; 3] = [concat!("/wor", "k/"), concat!("/roo", "t/"), concat!("/home/", "runner")];

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(in_file).collect()
}

fn in_file(file: &SourceFile) -> Vec<Finding> {
    let words = words_for(file.extension());
    let lines = file.text.lines().enumerate();
    lines.filter_map(|(index, line)| in_line(&file.path, index + 1, line, &words)).collect()
}

fn in_line(path: &str, number: usize, line: &str, words: &[&str]) -> Option<Finding> {
    let word = words.iter().find(|word| line.contains(**word))?;
    Some(Finding::at(path, number, format!("'{word}'")))
}

fn words_for(extension: &str) -> Vec<&'static str> {
    match extension {
        "rs" => [IN_RUST, ANYWHERE].concat(),
        "py" => [IN_PYTHON, ANYWHERE].concat(),
        _ => ANYWHERE.to_vec(),
    }
}

#[test]
fn nothing_unfinished_is_left() {
    assert_none(&findings(&files()), MEND);
}

#[test]
fn each_forbidden_word_is_found() {
    for word in IN_RUST.iter().chain(&ANYWHERE) {
        let found =
            findings(&[SourceFile::new("crates/a/src/a.rs", &format!("//! A.\nfn a() {{ {word} }}\n"))]);
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2], "{word}");
    }
    for word in IN_PYTHON {
        assert_eq!(findings(&[SourceFile::new("python/a.py", word)]).len(), 1, "{word}");
    }
}
