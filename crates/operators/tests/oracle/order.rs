//! The order of rows by terms, as plainly as possible: for the references of operators on ordered groups.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use arrow_schema::Schema;
use tailrace_operators::{OrderBy, Scalar};

use super::{Cell, Row, Rows};

/// A column to order by.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Which column.
    pub column: usize,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything.
    pub nulls_first: bool,
}

/// Ascending, NULL first.
pub fn ascending(column: usize) -> Term {
    Term { column, descending: false, nulls_first: true }
}

/// Descending, NULL first.
pub fn descending(column: usize) -> Term {
    Term { column, descending: true, nulls_first: true }
}

impl Term {
    /// The same with NULL last.
    pub fn nulls_last(self) -> Self {
        Self { nulls_first: false, ..self }
    }

    /// The term as operators take it.
    pub fn order_by(self, schema: &Schema) -> OrderBy {
        let scalar = Scalar::column(self.column, schema);
        OrderBy { scalar, descending: self.descending, nulls_first: self.nulls_first }
    }

    fn compare(self, a: &Cell, b: &Cell) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => {
                if self.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if self.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) => {
                if self.descending {
                    b.cmp(a)
                } else {
                    a.cmp(b)
                }
            }
        }
    }
}

/// Compares rows by terms only.
pub fn compare(terms: &[Term], a: &[Cell], b: &[Cell]) -> Ordering {
    terms
        .iter()
        .map(|term| term.compare(&a[term.column], &b[term.column]))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// For each value of the `by` columns all copies of its rows with positive weight, ordered by the terms, then by the whole row.
pub fn partitions(rows: &Rows, by: &[usize], terms: &[Term]) -> Vec<Vec<Row>> {
    let mut partitions: BTreeMap<Vec<Cell>, Vec<Row>> = BTreeMap::new();
    for (row, weight) in rows.iter() {
        let key = by.iter().map(|column| row[*column].clone()).collect();
        partitions.entry(key).or_default().extend((0..weight).map(|_| row.clone()));
    }
    for copies in partitions.values_mut() {
        copies.sort_by(|a, b| compare(terms, a, b).then_with(|| a.cmp(b)));
    }
    partitions.into_values().collect()
}
