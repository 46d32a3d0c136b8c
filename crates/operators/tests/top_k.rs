//! Top-k against sorting all copies and taking a slice.

mod oracle;

use oracle::order::{Term, ascending, descending, partitions};
use oracle::{Oracle, Rows, Table, float, int, text};
use tailrace_operators::{Scalar, TopK, TopKSpec};

/// Partitions, order, k and offset of one top-k.
struct Case {
    by: Vec<usize>,
    terms: Vec<Term>,
    k: Option<usize>,
    offset: usize,
}

/// Columns: key, integer, text, float.
fn table() -> Table {
    Table::new([int("k", 0..3).nullable(), int("v", -2..3).nullable(), text("t", 5).nullable(), float("f")])
}

fn check(table: Table, cases: u32, case: &Case) {
    Oracle::new([table]).cases(cases).check(
        |circuit, inputs| {
            let schema = circuit.schema(inputs[0])?.clone();
            let partition = case.by.iter().map(|column| Scalar::column(*column, &schema)).collect();
            let order = case.terms.iter().map(|term| term.order_by(&schema)).collect();
            let spec = TopKSpec { partition, order, k: case.k, offset: case.offset, schema: schema.clone() };
            Ok(circuit.add_unary(Box::new(TopK::new(spec)?), inputs[0], schema)?)
        },
        |contents| reference(case, &contents[0]),
    );
}

fn reference(case: &Case, rows: &Rows) -> Rows {
    let partitions = partitions(rows, &case.by, &case.terms);
    let slice = |copies: Vec<Vec<_>>| copies.into_iter().skip(case.offset).take(case.k.unwrap_or(usize::MAX));
    Rows::from_rows(partitions.into_iter().flat_map(slice))
}

#[test]
fn oracle_top_k_per_key() {
    check(table(), 500, &Case { by: vec![0], terms: vec![descending(1)], k: Some(2), offset: 0 });
}

#[test]
fn oracle_top_k_with_nulls_last() {
    let terms = vec![ascending(1).nulls_last(), descending(2).nulls_last()];
    check(table(), 400, &Case { by: vec![0], terms, k: Some(3), offset: 0 });
}

#[test]
fn oracle_top_k_with_offset() {
    check(
        table(),
        400,
        &Case { by: vec![0], terms: vec![descending(3), ascending(2)], k: Some(2), offset: 1 },
    );
}

#[test]
fn oracle_global_top_k() {
    check(
        table(),
        400,
        &Case { by: vec![], terms: vec![ascending(3), descending(1)], k: Some(4), offset: 2 },
    );
}

#[test]
fn oracle_offset_without_limit() {
    check(table(), 300, &Case { by: vec![0], terms: vec![descending(2)], k: None, offset: 3 });
}

#[test]
fn oracle_top_k_without_order_takes_the_least_rows() {
    check(table(), 200, &Case { by: vec![2], terms: vec![], k: Some(1), offset: 0 });
}

#[test]
fn oracle_top_zero_is_empty() {
    check(table(), 50, &Case { by: vec![0], terms: vec![ascending(1)], k: Some(0), offset: 1 });
}

#[test]
fn oracle_top_k_of_bags() {
    let case = Case { by: vec![0], terms: vec![ascending(1)], k: Some(5), offset: 2 };
    check(table().bag(), 400, &case);
}
