//! Negation against its definition.

mod oracle;

use oracle::{Oracle, Table, int, text};
use tailrace_operators::Negate;

#[test]
fn oracle_negate() {
    Oracle::new([Table::new([int("k", 0..4).nullable(), text("v", 4)])]).check(
        |circuit, inputs| {
            let schema = circuit.schema(inputs[0])?.clone();
            Ok(circuit.add_unary(Box::new(Negate), inputs[0], schema)?)
        },
        |contents| contents[0].neg(),
    );
}
