//! Feeding a spine: the amortised cost of a commit, merges included, for tiny and for middling batches.
#![expect(clippy::unwrap_used, reason = "a failing bench should stop")]

use arrow_schema::DataType::Int64;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use tailrace_benches::{indexed, integer_changes, pairs};
use tailrace_trace::Spine;

fn ingest(c: &mut Criterion) {
    let layout = pairs(Int64, Int64).unwrap();
    let mut group = c.benchmark_group("spine ingest, per commit");
    for (rows, commits) in [(1, 20_000), (10, 20_000), (1_500, 700)] {
        let batches: Vec<_> = (0..commits)
            .map(|seed| indexed(&layout, &integer_changes(rows, seed).unwrap()).unwrap())
            .collect();
        group.throughput(Throughput::Elements(commits));
        group.bench_function(BenchmarkId::from_parameter(rows), |b| {
            let fresh = || Spine::new(Arc::clone(&layout));
            let feed = |mut spine: Spine| {
                for batch in &batches {
                    spine.stage(Arc::clone(batch)).unwrap();
                    spine.commit();
                }
                spine
            };
            b.iter_batched(fresh, |spine| black_box(feed(spine)), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = ingest }
criterion_main!(benches);
