//! Merging two indexed batches of a million rows each; the throughput counts the rows of both.
#![expect(clippy::unwrap_used, reason = "a failing bench should stop")]

use arrow_schema::DataType::{Int64, Utf8View};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tailrace_benches::{MILLION, indexed, integer_changes, pairs, text_changes};
use tailrace_trace::Merger;

fn merges(c: &mut Criterion) {
    let (integers, texts) = (pairs(Int64, Int64).unwrap(), pairs(Utf8View, Int64).unwrap());
    let integer = |seed| indexed(&integers, &integer_changes(MILLION, seed).unwrap()).unwrap();
    let text = |seed| indexed(&texts, &text_changes(MILLION, seed).unwrap()).unwrap();
    let mut group = c.benchmark_group("merge two million");
    group.throughput(Throughput::Elements(2 * MILLION as u64));
    for (name, left, right) in [("integers", integer(1), integer(2)), ("texts", text(1), text(2))] {
        group.bench_function(name, |b| b.iter(|| black_box(Merger::merge(&left, &right).unwrap())));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = merges }
criterion_main!(benches);
