//! Memory per row, printed: of an indexed batch, of a merged one, and of a spine fed in steps.
#![expect(clippy::unwrap_used, reason = "a failing bench should stop")]

use arrow_schema::DataType::{Int64, Utf8View};
use std::sync::Arc;
use tailrace_benches::{MILLION, Random, indexed, integer_changes, pairs};
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Merger, Spine};

/// Bytes of each text that `Random::texts` makes.
const TEXT: usize = 20;

fn main() {
    let integers = pairs(Int64, Int64).unwrap();
    let batch = |seed| indexed(&integers, &integer_changes(MILLION, seed).unwrap()).unwrap();
    print("(i64, i64)", &batch(1), &batch(2), "at most 32");
    let texts =
        Layout::rows(Arc::new(pairs(Utf8View, Int64).unwrap().schema().project(&[0]).unwrap()), 1).unwrap();
    let text = |seed| indexed(&texts, &only_texts(&texts, seed)).unwrap();
    print("texts of 20 bytes", &text(1), &text(2), &format!("at most {}", TEXT + 24));
    println!("{:<20} {:>6.2} bytes a row in a spine fed by 1,500 rows a step", "(i64, i64)", fed(&integers));
}

fn only_texts(layout: &Arc<Layout>, seed: u64) -> ChangeBatch {
    let texts = Random::new(seed).texts(MILLION);
    ChangeBatch::try_new(Arc::clone(layout.schema()), vec![texts], vec![1; MILLION].into()).unwrap()
}

fn print(what: &str, left: &Arc<IndexedBatch>, right: &Arc<IndexedBatch>, limit: &str) {
    let merged = Merger::merge(left, right).unwrap();
    for (name, batch) in [("built", left.as_ref()), ("merged", &merged)] {
        println!(
            "{what:<20} {:>6.2} bytes a row {name} ({limit})",
            batch.bytes() as f64 / batch.len() as f64
        );
    }
}

fn fed(layout: &Arc<Layout>) -> f64 {
    let mut spine = Spine::new(Arc::clone(layout));
    for step in 0..667 {
        spine.stage(indexed(layout, &integer_changes(1_500, step).unwrap()).unwrap()).unwrap();
        spine.commit();
    }
    spine.bytes() as f64 / spine.len() as f64
}
