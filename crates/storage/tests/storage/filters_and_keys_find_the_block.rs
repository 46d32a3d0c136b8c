//! A probe reads only the block that can hold its key: bounds choose it, and the filter rejects most keys that are not there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use proptest::prelude::*;
use tailrace_storage::*;

use crate::samples::{cache, hash, key, name, write_small};

fn sample(filter_bits: usize) -> (BatchFile, Arc<Cache>) {
    let config = StorageConfig { filter_bits, block_bytes: 2 << 10, ..StorageConfig::default() };
    let (backend, cache) = (MemoryBackend::new(), cache(&config));
    write_small(&backend, &name("a"), 50, 100, &config).unwrap();
    (BatchFile::open(&backend, &cache, &name("a")).unwrap(), cache)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn prop_bounds_lead_to_exactly_the_blocks_that_overlap(from in -50..10_050i64, length in 0..2_000i64) {
        let (file, _) = sample(12);
        let to = from + length;
        let found = file.blocks_between(&key(from), &key(to));
        for number in 0..file.blocks().len() {
            let ids = file.block(number).unwrap().columns()[0].as_primitive::<Int64Type>().clone();
            let (first, last) = (ids.value(0), ids.value(ids.len() - 1));
            prop_assert_eq!(found.contains(&number), first <= to && last >= from);
        }
    }
}

#[test]
fn keys_that_are_there_pass_and_few_others() {
    let (file, cache) = sample(12);
    assert_eq!(file.key_range(), Some((&key(0)[..], &key(9_998)[..])));
    let may = |id: i64| {
        let blocks = file.blocks_between(&key(id), &key(id));
        blocks.into_iter().any(|block| file.may_contain(block, hash(id)).unwrap())
    };
    assert!((0..5_000).all(|row| may(row * 2)));
    let foreign = (0..5_000).filter(|row| may(row * 2 + 1)).count();
    assert!(foreign < 100, "{foreign} of 5000");
    let metrics = cache.metrics().read();
    assert!(metrics.filter_rejections > 4_800 && metrics.filter_passes >= 5_000);
    assert!(metrics.cache_misses <= 8, "only filters were loaded: {metrics:?}");
}

#[test]
fn without_filters_everything_may_be_there() {
    let (file, _) = sample(0);
    assert!(file.may_contain(0, hash(1)).unwrap());
    let error = file.may_contain(50, 1).unwrap_err();
    assert_eq!(error.to_string(), "a has 50 blocks, there is no block 50");
}
