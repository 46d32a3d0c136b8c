//! Tables of small domains, and random sequences of changes to them.
//!
//! Domains are small so that rows meet: duplicates, cancellations and keys with several rows are the rule. Weights are any
//! small integers, so contents may be negative for a while; a [`Table::bag`] never is. Some changes take back a row that
//! is there, since a random row rarely hits one.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tailrace_algebra::ZSet;

use super::{Cell, Row, Rows};

/// The changes of one step: for each table, rows with weights.
pub type Step = Vec<Vec<(Row, i64)>>;

/// A column: a field and the values it takes.
#[derive(Clone)]
pub struct Column {
    field: Field,
    cells: BoxedStrategy<Cell>,
}

/// A table of random rows.
#[derive(Clone)]
pub struct Table {
    schema: SchemaRef,
    row: BoxedStrategy<Row>,
    bag: bool,
}

/// Integers of a range.
pub fn int(name: &str, values: Range<i64>) -> Column {
    Column::new(name, DataType::Int64, values.prop_map(Cell::Int))
}

/// Strings out of `count` different ones, short and long, some with a common prefix.
pub fn text(name: &str, count: usize) -> Column {
    let words = [
        "a",
        "",
        "ab",
        "a long one that does not fit into a view",
        "a long one that does not fit into a word",
        "b",
    ];
    let words = words[..count.min(words.len())].to_vec();
    Column::new(name, DataType::Utf8View, proptest::sample::select(words).prop_map(Cell::from))
}

/// Floats, with an infinity, a NaN and numbers that do not add up exactly.
pub fn float(name: &str) -> Column {
    let values = vec![0.0, 1.0, -1.5, 0.1, 0.2, 1e300, -1e300, f64::INFINITY, f64::NAN];
    Column::new(name, DataType::Float64, proptest::sample::select(values).prop_map(Cell::from))
}

/// Truth values.
pub fn flag(name: &str) -> Column {
    Column::new(name, DataType::Boolean, any::<bool>().prop_map(Cell::Bool))
}

/// Short lists of integers and NULLs.
pub fn list(name: &str, values: Range<i64>) -> Column {
    let element = prop_oneof![1 => Just(Cell::Null), 5 => values.prop_map(Cell::Int)];
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    Column::new(name, DataType::List(item), vec(element, 0..4).prop_map(Cell::List))
}

impl Column {
    /// A column of any cells that fit its type.
    pub fn new(name: &str, data_type: DataType, cells: impl Strategy<Value = Cell> + 'static) -> Self {
        Self { field: Field::new(name, data_type, false), cells: cells.boxed() }
    }

    /// The column with a NULL now and then.
    pub fn nullable(self) -> Self {
        let cells = prop_oneof![1 => Just(Cell::Null), 4 => self.cells].boxed();
        Self { field: self.field.with_nullable(true), cells }
    }
}

impl Table {
    /// A table of these columns.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let (fields, cells): (Vec<Field>, Vec<_>) =
            columns.into_iter().map(|column| (column.field, column.cells)).unzip();
        Self { schema: Arc::new(Schema::new(fields)), row: cells.boxed(), bag: false }
    }

    /// The table without negative weights in its contents after a step.
    pub fn bag(self) -> Self {
        Self { bag: true, ..self }
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

/// Random sequences of steps over the tables.
pub fn steps(tables: &[Table]) -> BoxedStrategy<Vec<Step>> {
    let draft: Vec<_> = tables.iter().map(changes).collect();
    let tables = tables.to_vec();
    vec(draft, 1..=11).prop_map(move |drafts| settle(&tables, drafts)).boxed()
}

/// A change before it is known what the table holds: the index asks to take back a row that is there.
type Draft = (Row, i64, Option<Index>);

fn changes(table: &Table) -> BoxedStrategy<Vec<Draft>> {
    let weight =
        prop_oneof![8 => Just(1), 3 => Just(-1), 1 => Just(2), 1 => Just(-2), 1 => Just(0), 1 => Just(7)];
    let retract = prop_oneof![3 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let change = (table.row.clone(), weight, retract);
    prop_oneof![1 => Just(Vec::new()), 3 => vec(change, 1..6)].boxed()
}

fn settle(tables: &[Table], drafts: Vec<Vec<Vec<Draft>>>) -> Vec<Step> {
    let mut contents: Vec<Rows> = vec![ZSet::new(); tables.len()];
    let settle_step = |draft: Vec<Vec<Draft>>| {
        let tables = tables.iter().zip(&mut contents).zip(draft);
        tables.map(|((table, rows), draft)| settle_table(table, rows, draft)).collect()
    };
    drafts.into_iter().map(settle_step).collect()
}

fn settle_table(table: &Table, rows: &mut Rows, draft: Vec<Draft>) -> Vec<(Row, i64)> {
    let mut settled = Vec::with_capacity(draft.len());
    for (row, weight, retract) in draft {
        let (row, weight) = match retract {
            Some(index) if !rows.is_empty() => {
                let present: Vec<&Row> = rows.iter().map(|(row, _)| row).collect();
                let row = (*index.get(&present)).clone();
                let weight = -rows.weight(&row) as i64;
                (row, weight)
            }
            _ => (row, weight),
        };
        let weight = if table.bag { weight.max(-rows.weight(&row) as i64) } else { weight };
        rows.insert(row.clone(), weight);
        settled.push((row, weight));
    }
    settled
}
