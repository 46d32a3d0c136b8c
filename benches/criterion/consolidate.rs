//! Consolidating and indexing unsorted rows: the cost of loading, and of every delta that an operator keeps.
#![expect(clippy::unwrap_used, reason = "a failing bench should stop")]

use arrow_schema::DataType::{Int64, Utf8View};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tailrace_benches::{MILLION, Random, indexed, integer_changes, pairs, text_changes};
use tailrace_trace::ChangeBatch;

fn integers(c: &mut Criterion) {
    let layout = pairs(Int64, Int64).unwrap();
    let mut group = c.benchmark_group("consolidate integers");
    for rows in [1, 100, 1_500, 100_000, MILLION] {
        let changes = integer_changes(rows, 1).unwrap();
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_with_input(BenchmarkId::from_parameter(rows), &changes, |b, changes| {
            b.iter(|| black_box(indexed(&layout, changes).unwrap()));
        });
    }
    group.finish();
}

/// Keys and values as tables have them: small ranges, both signs of weights, every row twice.
fn shapes(c: &mut Criterion) {
    let layout = pairs(Int64, Int64).unwrap();
    let mut random = Random::new(2);
    let columns = vec![random.below(10_000, MILLION), random.below(50, MILLION)];
    let signs: Vec<i64> =
        (0..MILLION).map(|_| if random.number().is_multiple_of(2) { 1 } else { -1 }).collect();
    let narrow = ChangeBatch::try_new(layout.schema().clone(), columns, signs.clone().into()).unwrap();
    let wide = integer_changes(MILLION, 3).unwrap();
    let sorted = wide.consolidate().unwrap();
    let signed = wide.with_weights(signs.into()).unwrap();
    let mut group = c.benchmark_group("consolidate a million");
    for (name, changes) in [("narrow, signed", narrow), ("wide, signed", signed), ("sorted", sorted)] {
        group.bench_function(name, |b| b.iter(|| black_box(indexed(&layout, &changes).unwrap())));
    }
    group.finish();
}

fn texts(c: &mut Criterion) {
    let layout = pairs(Utf8View, Int64).unwrap();
    let mut group = c.benchmark_group("consolidate texts");
    for rows in [1_500, MILLION] {
        let changes = text_changes(rows, 4).unwrap();
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_with_input(BenchmarkId::from_parameter(rows), &changes, |b, changes| {
            b.iter(|| black_box(indexed(&layout, changes).unwrap()));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = integers, shapes, texts }
criterion_main!(benches);
