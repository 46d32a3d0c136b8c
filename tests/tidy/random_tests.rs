//! Rule: the number of cases of every random test can be turned up from outside.
//!
//! A number of cases that is written into a test alone makes `make soak` repeat what `make test` has done already.

use crate::finding::{Finding, assert_none};
use crate::tree::{SourceFile, sources};

const MEND: &str = "take the number of cases from `tailrace_tests::cases(usual)`, also where the usual number is proptest's own (256)";
const BLOCK: &str = concat!("proptest", "! {");
const CONFIGURED: &str = "tailrace_tests::cases(";
const CHOICE: &str = concat!("with_cases", "(");

fn findings(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(in_file).collect()
}

fn in_file(file: &SourceFile) -> Vec<Finding> {
    let lines: Vec<(usize, &str)> = file.code_lines().collect();
    let unconfigured = lines.windows(2).filter(|pair| is_block(pair[0].1) && !pair[1].1.contains(CONFIGURED));
    let fixed = lines.iter().filter(|(_, line)| is_fixed(line));
    let numbers = unconfigured.map(|pair| pair[0].0).chain(fixed.map(|(number, _)| *number));
    numbers.map(|number| Finding::at(&file.path, number, "a fixed number of cases")).collect()
}

fn is_block(line: &str) -> bool {
    line.trim_start().starts_with(BLOCK)
}

fn is_fixed(line: &str) -> bool {
    line.split_once(CHOICE).is_some_and(|(_, rest)| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[test]
fn every_random_test_can_be_turned_up() {
    assert_none(&findings(&sources()), MEND);
}

#[test]
fn a_fixed_number_of_cases_is_found() {
    let silent = format!("//! A.\n{BLOCK}\n    #[test]\n    fn prop_a(x: u8) {{}}\n}}\n");
    let fixed = format!("//! A.\nlet config = Config::{CHOICE}100);\n");
    let good = format!("//! A.\n{BLOCK}\n    #![config(with_cases({CONFIGURED}64)))]\n}}\n");
    let found = |text: &str| findings(&[SourceFile::new("crates/a/tests/a.rs", text)]).len();
    assert_eq!([found(&silent), found(&fixed), found(&good)], [1, 1, 0]);
}
