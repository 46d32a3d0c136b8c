//! Joins of all kinds against their definitions; the join is bilinear.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod oracle;
mod wiring;

use std::sync::Arc;

use datafusion_expr::Operator;
use oracle::{BuildError, Cell, Oracle, Row, Rows, Table, float, int, text};
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, StreamId};
use tailrace_operators::{JoinColumn, Minus, Plus, Scalar};
use wiring::{arrange, beside, column, compare, fields, join, join_indexes, semi_join};

fn orders() -> Table {
    Table::new([int("k", 0..4).nullable(), text("v", 3), int("n", 0..2)])
}

fn customers() -> Table {
    Table::new([int("k", 0..4).nullable(), float("x").nullable()])
}

fn pair(left: &Row, right: &Row) -> Row {
    left.iter().chain(right).cloned().collect()
}

/// The join on the first `width` columns, where no key has a NULL.
fn sql_join(left: &Rows, right: &Rows, width: usize) -> Rows {
    let known = |row: &Row| !row[..width].iter().any(Cell::is_null);
    let key = |row: &Row| row[..width].to_vec();
    left.filter(known).join_by(&right.filter(known), key, key, pair)
}

#[test]
fn oracle_join_on_a_nullable_key() {
    Oracle::new([orders(), customers()]).cases(700).check(
        |circuit, inputs| join(circuit, (inputs[0], &[0]), (inputs[1], &[0])),
        |contents| sql_join(&contents[0], &contents[1], 1),
    );
}

#[test]
fn oracle_join_on_a_plain_key() {
    let left = Table::new([int("k", -1..3), text("v", 3)]);
    let right = Table::new([int("k", 0..4), int("w", 0..3)]);
    Oracle::new([left, right]).cases(700).check(
        |circuit, inputs| join(circuit, (inputs[0], &[0]), (inputs[1], &[0])),
        |contents| sql_join(&contents[0], &contents[1], 1),
    );
}

#[test]
fn oracle_join_on_two_columns_of_which_each_may_be_null() {
    let table = || Table::new([text("t", 4).nullable(), int("k", 0..2).nullable(), int("w", 0..2)]);
    Oracle::new([table(), table()]).cases(700).check(
        |circuit, inputs| join(circuit, (inputs[0], &[0, 1]), (inputs[1], &[0, 1])),
        |contents| sql_join(&contents[0], &contents[1], 2),
    );
}

#[test]
fn oracle_join_where_null_equals_null() {
    let table = || Table::new([int("k", 0..3).nullable(), text("t", 2).nullable(), int("w", 0..2)]);
    Oracle::new([table(), table()]).check(
        |circuit, inputs| {
            let (left, right) =
                (arrange(circuit, inputs[0], &[0, 1])?, arrange(circuit, inputs[1], &[0, 1])?);
            join_indexes(circuit, left, right, |spec| spec.with_null_matches())
        },
        |contents| contents[0].join_by(&contents[1], |row| row[..2].to_vec(), |row| row[..2].to_vec(), pair),
    );
}

#[test]
fn oracle_cross_join() {
    Oracle::new([orders(), customers()]).check(
        |circuit, inputs| join(circuit, (inputs[0], &[]), (inputs[1], &[])),
        |contents| contents[0].join_by(&contents[1], |_| (), |_| (), pair),
    );
}

#[test]
fn oracle_self_join_reads_one_index_twice() {
    Oracle::new([orders()]).check(
        |circuit, inputs| {
            let index = arrange(circuit, inputs[0], &[0])?;
            join_indexes(circuit, index, index, |spec| spec)
        },
        |contents| sql_join(&contents[0], &contents[0], 1),
    );
}

/// The join on `k` where `left.n < right.n`, of which `(left.v, right.v)` go out.
fn join_with_residual(
    circuit: &mut Circuit,
    inputs: &[StreamId],
    key: &[usize],
) -> Result<StreamId, BuildError> {
    let (left, right) = (arrange(circuit, inputs[0], key)?, arrange(circuit, inputs[1], key)?);
    join_indexes(circuit, left, right, |spec| {
        let gathered = spec.gathered_schema.clone();
        let less = compare(column(2, &gathered), Operator::Lt, column(5, &gathered), &gathered);
        let schema = Arc::new(arrow_schema::Schema::new(fields(&gathered, &[1, 4])));
        spec.with_residual(vec![Scalar::new(less, &gathered).unwrap()], vec![1, 4], schema)
    })
}

fn reference_with_residual(joined: &Rows) -> Rows {
    joined.filter(|row| row[2] < row[5]).map(|row| vec![row[1].clone(), row[4].clone()])
}

#[test]
fn oracle_join_with_a_residual_over_columns_that_do_not_go_out() {
    Oracle::new([orders(), orders()]).check(
        |circuit, inputs| join_with_residual(circuit, inputs, &[0]),
        |contents| reference_with_residual(&sql_join(&contents[0], &contents[1], 1)),
    );
}

#[test]
fn oracle_cross_join_with_a_residual_is_a_range_join() {
    Oracle::new([orders(), orders()]).check(
        |circuit, inputs| join_with_residual(circuit, inputs, &[]),
        |contents| reference_with_residual(&contents[0].join_by(&contents[1], |_| (), |_| (), pair)),
    );
}

#[test]
fn oracle_join_of_joins() {
    let edges = || Table::new([int("a", 0..3), int("b", 0..3)]);
    Oracle::new([edges(), edges(), edges()]).check(
        |circuit, inputs| {
            let two = join(circuit, (inputs[0], &[1]), (inputs[1], &[0]))?;
            join(circuit, (two, &[3]), (inputs[2], &[0]))
        },
        |contents| {
            let two = contents[0].join_by(
                &contents[1],
                |l| l[1].clone(),
                |r| r[0].clone(),
                |l, r| vec![l[1].clone(), l[0].clone(), r[0].clone(), r[1].clone()],
            );
            two.join_by(
                &contents[2],
                |l| l[3].clone(),
                |r| r[0].clone(),
                |l, r| pair(&vec![l[3].clone(), l[0].clone(), l[1].clone(), l[2].clone()], r),
            )
        },
    );
}

#[test]
fn oracle_semi_and_anti_join() {
    let known = |row: &Row| !row[0].is_null();
    for anti in [false, true] {
        Oracle::new([orders(), customers()]).cases(400).check(
            |circuit, inputs| semi_join(circuit, (inputs[0], inputs[1]), &[0], (anti, false)),
            |contents| {
                let keys = contents[1].filter(known).map(|row| vec![row[0].clone()]);
                let semi = contents[0].semijoin_by(&keys, |row| row[0].clone(), |key| key[0].clone());
                if anti { contents[0].minus(&semi) } else { semi }
            },
        );
    }
}

#[test]
fn oracle_semi_and_anti_join_where_null_equals_null() {
    for anti in [false, true] {
        Oracle::new([orders(), customers()]).check(
            |circuit, inputs| semi_join(circuit, (inputs[0], inputs[1]), &[0], (anti, true)),
            |contents| {
                let keys = contents[1].map(|row| vec![row[0].clone()]);
                let semi = contents[0].semijoin_by(&keys, |row| row[0].clone(), |key| key[0].clone());
                if anti { contents[0].minus(&semi) } else { semi }
            },
        );
    }
}

#[test]
fn oracle_semi_join_on_the_empty_key_asks_whether_there_is_any_row() {
    for anti in [false, true] {
        Oracle::new([orders(), customers()]).check(
            |circuit, inputs| semi_join(circuit, (inputs[0], inputs[1]), &[], (anti, false)),
            |contents| {
                let any = contents[1].total_weight() > 0;
                if any != anti { contents[0].clone() } else { ZSet::new() }
            },
        );
    }
}

/// The difference of two streams of the same types.
fn minus(circuit: &mut Circuit, left: StreamId, right: StreamId) -> Result<StreamId, BuildError> {
    let schema = circuit.schema(left)?.clone();
    Ok(circuit.add_binary(Box::new(Minus::new(schema.clone())), left, right, schema)?)
}

/// The sum of two streams of the same types.
fn plus(circuit: &mut Circuit, left: StreamId, right: StreamId) -> Result<StreamId, BuildError> {
    let schema = circuit.schema(left)?.clone();
    Ok(circuit.add_binary(Box::new(Plus::new(schema.clone())), left, right, schema)?)
}

#[test]
fn prop_join_is_bilinear() {
    let tables = [orders(), orders(), customers(), customers()];
    Oracle::new(tables).check(
        |circuit, inputs| {
            let (left, right) = (plus(circuit, inputs[0], inputs[1])?, plus(circuit, inputs[2], inputs[3])?);
            let whole = join(circuit, (left, &[0]), (right, &[0]))?;
            let mut parts = Vec::new();
            for (left, right) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
                parts.push(join(circuit, (inputs[left], &[0]), (inputs[right], &[0]))?);
            }
            let mut sum = parts[0];
            for part in &parts[1..] {
                sum = plus(circuit, sum, *part)?;
            }
            minus(circuit, whole, sum)
        },
        |_| ZSet::new(),
    );
}

#[test]
fn oracle_join_puts_out_just_the_columns_asked_for() {
    Oracle::new([orders(), customers()]).check(
        |circuit, inputs| {
            let (left, right) = (arrange(circuit, inputs[0], &[0])?, arrange(circuit, inputs[1], &[0])?);
            let schema = beside(&[circuit.schema(left)?, circuit.schema(right)?]);
            join_indexes(circuit, left, right, |_| {
                let columns = vec![JoinColumn::Right(1), JoinColumn::Left(1), JoinColumn::Right(0)];
                let schema = arrow_schema::Schema::new(fields(&schema, &[4, 1, 3]));
                tailrace_operators::JoinSpec::new(columns, Arc::new(schema))
            })
        },
        |contents| {
            let joined = sql_join(&contents[0], &contents[1], 1);
            joined.map(|row| vec![row[4].clone(), row[1].clone(), row[3].clone()])
        },
    );
}
