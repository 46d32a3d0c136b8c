//! A batch in a file is the batch: all rows come back, probes find what they find in memory, cursors walk and seek, and merging files equals merging in memory.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use proptest::prelude::*;
use tailrace_algebra::ExactSum;
use tailrace_storage::{Cache, FileName, MemoryBackend, Metrics, StorageConfig};
use tailrace_trace::{
    DiffColumn, DiffKind, ExactColumn, FileBatch, FileBatchWriter, FileCursor, FileMerger, IndexedBatch,
    Layout, Merger, RowComparator, locate,
};

use crate::columns::{any_type, changes, entries, indexed, schema, types};
use crate::random::Random;

struct Store {
    backend: MemoryBackend,
    cache: Arc<Cache>,
    config: StorageConfig,
}

impl Store {
    fn new(block_bytes: usize) -> Self {
        let config = StorageConfig { block_bytes, ..StorageConfig::default() };
        let cache = Cache::new(&config, Arc::new(Metrics::default()));
        Self { backend: MemoryBackend::new(), cache, config }
    }

    fn writer(&self, name: &str, layout: &Arc<Layout>) -> FileBatchWriter {
        FileBatchWriter::create(&self.backend, &FileName::new(name).unwrap(), layout, &self.config).unwrap()
    }

    fn write(&self, name: &str, batch: &IndexedBatch) -> FileBatch {
        let mut writer = self.writer(name, batch.layout());
        writer.push(batch).unwrap();
        let summary = writer.finish().unwrap();
        FileBatch::open(&self.backend, &self.cache, &summary, batch.layout()).unwrap()
    }
}

fn random_batch(types: &[DataType], key_len: usize, len: usize, random: &mut Random) -> Arc<IndexedBatch> {
    let schema = schema(types);
    let layout = Layout::rows(Arc::clone(&schema), key_len).unwrap();
    indexed(&layout, &changes(&schema, len, random))
}

fn random_types(random: &mut Random) -> Vec<DataType> {
    (0..random.below(3) + 1).map(|_| any_type(random)).collect()
}

fn all_entries(file: &FileBatch) -> Vec<(crate::columns::Row, i128)> {
    file.scan().flat_map(|block| entries(&block.unwrap())).collect()
}

fn check_round_trip(types: &[DataType], len: usize, random: &mut Random) {
    let batch = random_batch(types, 1, len, random);
    let file = Store::new(random.pick(&[64, 1_000, 1 << 20])).write("a", &batch);
    assert_eq!(all_entries(&file), entries(&batch));
    assert_eq!((file.len(), file.mass()), (batch.len(), batch.mass()));
}

fn check_probe(types: &[DataType], len: usize, random: &mut Random) {
    let key_len = random.below(types.len()) + 1;
    let (batch, probe) =
        (random_batch(types, key_len, len, random), random_batch(types, key_len, 20, random));
    let file = Store::new(200).write("a", &batch);
    let starts = probe.runs().unwrap();
    let rows = |target: &IndexedBatch| -> Vec<usize> {
        locate(probe.key(), &starts, target).unwrap().iter().map(|range| range.len()).collect()
    };
    let mut found = vec![0; starts.len() - 1];
    for block in file.blocks_of(probe.key(), &starts).unwrap() {
        found.iter_mut().zip(rows(&block)).for_each(|(sum, rows)| *sum += rows);
    }
    assert_eq!(found, rows(&batch), "{types:?}");
    check_seeks(&file, &batch, &probe);
}

/// A cursor that seeks every probed key in turn stands where a scan of the whole batch stops first.
fn check_seeks(file: &FileBatch, batch: &IndexedBatch, probe: &IndexedBatch) {
    let mut cursor = FileCursor::new(file).unwrap();
    let order = RowComparator::try_new(probe.key(), batch.key()).unwrap();
    for row in 0..probe.len() {
        cursor.seek(probe.key(), row).unwrap();
        let expected = (0..batch.len()).find(|candidate| order.compare(row, *candidate) != Ordering::Greater);
        let found = cursor.at().map(|(block, row)| entries(&block.slice(row..row + 1).unwrap()));
        assert_eq!(found, expected.map(|row| entries(&batch.slice(row..row + 1).unwrap())));
    }
}

fn check_merge(types: &[DataType], sizes: (usize, usize), random: &mut Random) {
    let store = Store::new(random.pick(&[100, 1_000]));
    let schema = schema(types);
    let layout = Layout::rows(Arc::clone(&schema), 1).unwrap();
    let left = indexed(&layout, &changes(&schema, sizes.0, random));
    let right = indexed(&layout, &changes(&schema, sizes.1, random));
    let (a, b) = (store.write("a", &left), store.write("b", &right));
    let mut merger = FileMerger::new(&a, &b, store.writer("c", &layout)).unwrap();
    while !merger.work(&mut (random.below(50) + 1)).unwrap() {}
    let summary = merger.finish().unwrap();
    let merged = FileBatch::open(&store.backend, &store.cache, &summary, &layout).unwrap();
    let expected = Merger::merge(&left, &right).unwrap();
    assert_eq!(all_entries(&merged), entries(&expected));
    assert_eq!(merged.mass(), expected.mass());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(16)))]

    #[test]
    fn prop_rows_of_every_type_come_back(seed: u64, len in 0usize..200) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check_round_trip(&[data_type], len, &mut random);
        }
    }

    #[test]
    fn differential_probes_and_seeks_find_in_files_what_they_find_in_memory(seed: u64, len in 0usize..200) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check_probe(&[data_type], len, &mut random);
        }
        let types = random_types(&mut random);
        check_probe(&types, len, &mut random);
    }

    #[test]
    fn differential_merging_files_equals_merging_memory(seed: u64, left in 0usize..200, right in 0usize..200) {
        let mut random = Random::new(seed);
        for _ in 0..6 {
            let types = random_types(&mut random);
            check_merge(&types, (left, right), &mut random);
        }
    }
}

#[test]
fn accumulators_come_back_and_merge() {
    let kinds = vec![DiffKind::Sum, DiffKind::Wide, DiffKind::Exact];
    let layout = Layout::accumulators(schema(&[DataType::Int64]), 1, kinds).unwrap();
    let batch = |from: i64| {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + 500));
        let mut exact = ExactColumn::default();
        for key in from..from + 500 {
            let mut sum = ExactSum::new();
            sum.add(0.1 * key as f64, 1);
            exact.push(&sum);
        }
        let diffs = [
            DiffColumn::Weight((0..500).map(|row| row % 7 + 1).collect::<Vec<i64>>().into()),
            DiffColumn::Sum((0..500).map(|row| i128::MAX / 1_000 + row).collect::<Vec<i128>>().into()),
            DiffColumn::Wide((0..500).map(|row| i256::from_i128(row)).collect::<Vec<i256>>().into()),
            DiffColumn::Exact(exact),
        ];
        Arc::new(IndexedBatch::build(&layout, &[keys], &diffs).unwrap())
    };
    let (store, left, right) = (Store::new(2_000), batch(0), batch(250));
    let (a, b) = (store.write("a", &left), store.write("b", &right));
    assert!(a.blocks() > 5);
    let mut merger = FileMerger::new(&a, &b, store.writer("c", &layout)).unwrap();
    assert!(merger.work(&mut usize::MAX.clone()).unwrap());
    let summary = merger.finish().unwrap();
    let merged = FileBatch::open(&store.backend, &store.cache, &summary, &layout).unwrap();
    let expected = Merger::merge(&left, &right).unwrap();
    let mut row = 0;
    for block in merged.scan() {
        let block = block.unwrap();
        let whole = expected.slice(row..row + block.len()).unwrap();
        assert_eq!(format!("{:?}", block.diffs()), format!("{:?}", whole.diffs()));
        assert_eq!(entries(&block), entries(&whole));
        row += block.len();
    }
    assert_eq!(row, 750);
}

#[test]
fn a_point_probe_loads_one_block_and_a_foreign_key_none() {
    let layout = Layout::rows(schema(&[DataType::Int64]), 1).unwrap();
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..20_000).map(|key| key * 2)));
    let batch = IndexedBatch::build(&layout, &[keys], &[DiffColumn::Weight(vec![1; 20_000].into())]).unwrap();
    let file = Store::new(4 << 10).write("a", &batch);
    assert!(file.blocks() > 50);
    let probe = |key: i64| {
        let key: ArrayRef = Arc::new(Int64Array::from(vec![key]));
        file.numbers_of(&[key], &[0, 1]).unwrap().len()
    };
    assert!((0..1_000).all(|key| probe(key * 40) == 1));
    let foreign: usize = (0..1_000).map(|key| probe(key * 40 + 1)).sum();
    assert!(foreign < 50, "{foreign} blocks for 1000 keys that are not there");
}

#[test]
fn a_file_of_another_layout_is_refused() {
    let mut random = Random::new(1);
    let batch = random_batch(&[DataType::Int64, DataType::Int64], 1, 10, &mut random);
    let store = Store::new(1_000);
    let summary = store.write("a", &batch).summary();
    for other in [
        Layout::rows(schema(&[DataType::Int64, DataType::Int32]), 1).unwrap(),
        Layout::rows(schema(&[DataType::Int64, DataType::Int64]), 2).unwrap(),
    ] {
        let message =
            FileBatch::open(&store.backend, &store.cache, &summary, &other).unwrap_err().to_string();
        assert!(message.starts_with("a holds other columns: expected "), "{message}");
    }
}
