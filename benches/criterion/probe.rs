//! Probing keys into a trace: what every join and aggregate does with its delta.
#![expect(clippy::unwrap_used, reason = "a failing bench should stop")]

use arrow_schema::DataType::{Int64, Utf8View};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use tailrace_benches::{MILLION, indexed, integer_changes, pairs, text_changes};
use tailrace_trace::{Snapshot, locate, lookup_sums};

fn many(c: &mut Criterion) {
    let (integers, texts) = (pairs(Int64, Int64).unwrap(), pairs(Utf8View, Int64).unwrap());
    let mut group = c.benchmark_group("probe 1,500 keys into a million rows");
    group.throughput(Throughput::Elements(1_500));
    let target = indexed(&integers, &integer_changes(MILLION, 1).unwrap()).unwrap();
    let probe = indexed(&integers, &integer_changes(1_500, 2).unwrap()).unwrap();
    let starts = probe.runs().unwrap();
    group
        .bench_function("integers", |b| b.iter(|| black_box(locate(probe.key(), &starts, &target).unwrap())));
    let target = indexed(&texts, &text_changes(MILLION, 1).unwrap()).unwrap();
    let probe = indexed(&texts, &text_changes(1_500, 2).unwrap()).unwrap();
    let starts = probe.runs().unwrap();
    group.bench_function("texts", |b| b.iter(|| black_box(locate(probe.key(), &starts, &target).unwrap())));
    group.finish();
}

/// One key into the twenty batches of a spine that grew row by row.
fn one(c: &mut Criterion) {
    let layout = pairs(Int64, Int64).unwrap();
    let batches =
        (0..20).map(|level| indexed(&layout, &integer_changes(1 << level, level).unwrap()).unwrap());
    let trace = Snapshot::new(Arc::clone(&layout), batches.collect());
    let keys: Vec<_> =
        (0..997).map(|seed| indexed(&layout, &integer_changes(1, 1_000 + seed).unwrap()).unwrap()).collect();
    let mut turn = 0;
    c.bench_function("probe one key into twenty batches", |b| {
        b.iter(|| {
            turn = (turn + 1) % keys.len();
            black_box(lookup_sums(keys[turn].key(), &[0, 1], &trace).unwrap())
        });
    });
}

criterion_group!(benches, many, one);
criterion_main!(benches);
