//! The cache stays in its bounds, loads a page once for all who wait, reads ahead, and forgets closed files.

use std::sync::{Arc, Barrier};

use proptest::prelude::*;
use tailrace_storage::*;

use crate::samples::{cache, name, write_small};

fn sample(config: &StorageConfig) -> (MemoryBackend, Arc<Cache>, BatchFile) {
    let (backend, cache) = (MemoryBackend::new(), cache(config));
    write_small(&backend, &name("a"), 40, 200, config).unwrap();
    let file = BatchFile::open(&backend, &cache, &name("a")).unwrap();
    (backend, cache, file)
}

#[test]
fn one_thread_loads_and_the_others_wait() {
    let (_, cache, file) = sample(&StorageConfig::default());
    let start = Arc::new(Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                (0..40).for_each(|number| drop(file.block(number).unwrap()));
            });
        }
    });
    let metrics = cache.metrics().read();
    assert_eq!(metrics.cache_misses, 40);
    assert_eq!(metrics.cache_hits + metrics.cache_waits, 7 * 40);
}

#[test]
fn a_load_that_fails_is_tried_again_by_the_next() {
    let (config, backend) = (StorageConfig::default(), MemoryBackend::new());
    write_small(&backend, &name("a"), 4, 10, &config).unwrap();
    // Opening, then three reads of header, tail and footer; the next read is the block's.
    let faults = Arc::new(Faults::at(4, Fault::Broken));
    let failing = FailingBackend::new(Arc::new(backend), faults);
    let file = BatchFile::open(&failing, &cache(&config), &name("a")).unwrap();
    let error = file.block(0).unwrap_err();
    assert_eq!(error.to_string(), "cannot read a: injected: input/output error");
    assert_eq!(file.block(0).unwrap().rows(), 10);
}

#[test]
fn scans_read_ahead() {
    let config = StorageConfig { read_ahead: 8, ..StorageConfig::default() };
    let (_, cache, file) = sample(&config);
    let rows: usize = file.scan().map(|block| block.unwrap().rows()).sum();
    assert_eq!(rows, 8_000);
    assert!(cache.metrics().read().read_aheads > 0);
    let some: usize = file.scan_range(38..99).map(|block| block.unwrap().rows()).sum();
    assert_eq!(some, 400);
}

#[test]
fn closed_files_leave_the_cache_and_held_blocks_stay_readable() {
    let config = StorageConfig { read_ahead: 0, ..StorageConfig::default() };
    let (_, cache, file) = sample(&config);
    let block = file.block(3).unwrap();
    assert!(cache.bytes() > 0);
    drop(file);
    assert_eq!((cache.bytes(), cache.pages()), (0, 0));
    assert_eq!(block.columns()[0].len(), 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(16)))]

    #[test]
    fn prop_the_bound_holds_for_any_order_of_reads_by_many_threads(
        orders in prop::collection::vec(prop::collection::vec(0..40usize, 1..100), 4),
        shards in prop::sample::select(vec![1usize, 2, 4]),
    ) {
        let limit = 100 << 10;
        let config = StorageConfig { cache_bytes: limit, cache_shards: shards, ..StorageConfig::default() };
        let (_, cache, file) = sample(&config);
        std::thread::scope(|scope| {
            for order in &orders {
                let (file, cache) = (&file, &cache);
                scope.spawn(move || {
                    for number in order {
                        let block = file.block(*number).unwrap();
                        assert_eq!(block.rows(), 200);
                        assert!(cache.bytes() <= limit);
                    }
                });
            }
        });
        let metrics = cache.metrics().read();
        let reads: usize = orders.iter().map(Vec::len).sum();
        prop_assert_eq!(metrics.cache_hits + metrics.cache_waits + metrics.cache_misses, reads as u64);
    }
}
