//! Distinct and positive against their definitions, and the index under them.

mod oracle;
mod wiring;

use oracle::{Cell, Oracle, Row, Table, float, int, list, text};
use tailrace_operators::{Minus, Plus};
use wiring::{arrange, distinct, positive};

fn rows() -> Table {
    Table::new([int("k", 0..3).nullable(), text("v", 4).nullable()])
}

#[test]
fn oracle_arrange_keeps_the_rows_and_moves_the_columns() {
    Oracle::new([Table::new([int("k", 0..3), float("x").nullable(), text("v", 3)])]).check(
        |circuit, inputs| arrange(circuit, inputs[0], &[2, 0]),
        |contents| contents[0].map(|row| vec![row[2].clone(), row[0].clone(), row[1].clone()]),
    );
}

#[test]
fn oracle_distinct() {
    Oracle::new([rows()])
        .cases(500)
        .check(|circuit, inputs| distinct(circuit, inputs[0]), |contents| contents[0].distinct());
}

#[test]
fn oracle_distinct_floats_and_lists() {
    Oracle::new([Table::new([float("x").nullable(), list("l", 0..2).nullable()])])
        .check(|circuit, inputs| distinct(circuit, inputs[0]), |contents| contents[0].distinct());
}

#[test]
fn oracle_positive() {
    Oracle::new([rows()])
        .cases(500)
        .check(|circuit, inputs| positive(circuit, inputs[0]), |contents| contents[0].positive());
}

#[test]
fn oracle_except_all_is_the_positive_part_of_a_difference() {
    Oracle::new([rows().bag(), rows().bag()]).check(
        |circuit, inputs| {
            let schema = circuit.schema(inputs[0])?.clone();
            let minus = Minus::new(schema.clone());
            let difference = circuit.add_binary(Box::new(minus), inputs[0], inputs[1], schema)?;
            positive(circuit, difference)
        },
        |contents| {
            let left = contents[0].iter();
            left.map(|(row, weight)| (row.clone(), (weight - contents[1].weight(row)).max(0))).collect()
        },
    );
}

#[test]
fn oracle_union_is_the_distinct_of_a_sum() {
    Oracle::new([rows().bag(), rows().bag()]).check(
        |circuit, inputs| {
            let schema = circuit.schema(inputs[0])?.clone();
            let sum =
                circuit.add_binary(Box::new(Plus::new(schema.clone())), inputs[0], inputs[1], schema)?;
            distinct(circuit, sum)
        },
        |contents| {
            let all = contents[0].iter().chain(contents[1].iter());
            all.map(|(row, _)| (row.clone(), 1)).collect::<oracle::Rows>().distinct()
        },
    );
}

#[test]
fn prop_distinct_is_idempotent() {
    Oracle::new([rows()]).check(
        |circuit, inputs| {
            let once = distinct(circuit, inputs[0])?;
            distinct(circuit, once)
        },
        |contents| contents[0].distinct(),
    );
}

#[test]
fn oracle_rows_without_columns_count() {
    Oracle::new([Table::new([])]).check(
        |circuit, inputs| distinct(circuit, inputs[0]),
        |contents| {
            let empty: Row = Vec::<Cell>::new();
            let present = contents[0].weight(&empty) > 0;
            present.then_some((empty, 1)).into_iter().collect()
        },
    );
}
