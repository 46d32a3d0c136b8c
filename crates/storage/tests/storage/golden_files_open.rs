//! Files of version 1, written once and kept: they open for ever. What is written today is compared with them, so that a change of the format is noticed
//! when it is made.
//!
//! To add files of a new version, write them with `TAILRACE_GOLDEN=directory` set and put them beside the old ones.

use std::sync::Arc;

use arrow_array::Array;
use tailrace_storage::*;

use crate::columns::{columns, schema};
use crate::samples::{cache, name};

const PLAIN: &[u8] = include_bytes!("golden/plain-1.batch");
const LZ4: &[u8] = include_bytes!("golden/lz4-1.batch");
const MANIFEST: &[u8] = include_bytes!("golden/checkpoint-1.manifest");
const LOG: &[u8] = include_bytes!("golden/input-1.log");
const MANIFEST_NAME: &str = "manifest/00000000000000000003.manifest";
const LOG_NAME: &str = "log/00000000000000000000.log";

fn write_batch(compression: Compression) -> Vec<u8> {
    let (backend, config) = (MemoryBackend::new(), StorageConfig { compression, ..StorageConfig::default() });
    let mut writer = BatchWriter::create(&backend, &name("a"), &schema(), &config).unwrap();
    for (seed, key) in [(1, b"a"), (2, b"b")] {
        let block = columns(&schema(), 15, seed);
        let hashes = [seed << 40 | 7, seed << 33 | 99];
        writer.append(NewBlock { columns: &block, first_key: key, last_key: key, hashes: &hashes }).unwrap();
    }
    writer.finish(b"golden").unwrap();
    backend.content(&name("a")).unwrap()
}

fn manifest() -> Manifest {
    let file = FileSummary {
        name: name("batch/ab12.batch"),
        bytes: 1 << 40,
        rows: 12,
        checksum: Checksum(0xe306_9283),
    };
    Manifest {
        version: Version(3),
        created: 1_700_000_000_000,
        replay_from: Sequence(42),
        files: vec![file],
        extra: b"golden".to_vec(),
    }
}

fn write_manifest() -> Vec<u8> {
    let backend = MemoryBackend::new();
    ManifestStore::new(Arc::new(backend.clone())).commit(&manifest()).unwrap();
    backend.content(&name(MANIFEST_NAME)).unwrap()
}

fn write_log() -> Vec<u8> {
    let memory = MemoryBackend::new();
    let backend: Arc<dyn Backend> = Arc::new(memory.clone());
    let end = replay(&backend, Sequence(0)).unwrap().end().unwrap();
    let writer = LogWriter::resume(backend, &end).unwrap();
    (0..4u8).for_each(|record| writer.commit(writer.append(vec![record; 5]).unwrap()).unwrap());
    memory.content(&name(LOG_NAME)).unwrap()
}

#[test]
fn old_batch_files_hold_what_they_held() {
    for bytes in [PLAIN, LZ4] {
        let (backend, config) = (MemoryBackend::new(), StorageConfig::default());
        backend.replace(&name("a"), bytes.to_vec());
        let file = BatchFile::open(&backend, &cache(&config), &name("a")).unwrap();
        assert_eq!((file.schema(), file.extra(), file.rows()), (&schema(), &b"golden"[..], 30));
        for (block, seed) in [(0, 1), (1, 2)] {
            let found = file.block(block).unwrap();
            for (found, expected) in found.columns().iter().zip(columns(&schema(), 15, seed)) {
                assert_eq!(found.to_data(), expected.to_data());
            }
            assert!(file.may_contain(block, seed << 40 | 7).unwrap());
            assert!(file.may_contain(block, seed << 33 | 99).unwrap());
        }
        assert_eq!(file.key_range(), Some((&b"a"[..], &b"b"[..])));
    }
}

#[test]
fn old_manifests_and_logs_hold_what_they_held() {
    let memory = MemoryBackend::new();
    memory.replace(&name(MANIFEST_NAME), MANIFEST.to_vec());
    memory.replace(&name(LOG_NAME), LOG.to_vec());
    let backend: Arc<dyn Backend> = Arc::new(memory);
    assert_eq!(ManifestStore::new(Arc::clone(&backend)).latest().unwrap(), Some(manifest()));
    let payloads: Vec<Vec<u8>> =
        replay(&backend, Sequence(0)).unwrap().map(|record| record.unwrap().payload).collect();
    assert_eq!(payloads, (0..4u8).map(|record| vec![record; 5]).collect::<Vec<_>>());
}

#[test]
fn what_is_written_today_is_version_1() {
    let written = [
        ("plain-1.batch", write_batch(Compression::None), PLAIN),
        ("lz4-1.batch", write_batch(Compression::Lz4), LZ4),
        ("checkpoint-1.manifest", write_manifest(), MANIFEST),
    ];
    if let Some(directory) = std::env::var_os("TAILRACE_GOLDEN") {
        let put = |file: &str, bytes: &[u8]| {
            std::fs::write(std::path::Path::new(&directory).join(file), bytes).unwrap()
        };
        written.iter().for_each(|(file, bytes, _)| put(file, bytes));
        put("input-1.log", &write_log());
        return;
    }
    for (file, bytes, golden) in written {
        assert!(bytes == golden, "{file} is written differently today");
    }
    // The salt of a segment is random, the rest has the same length.
    assert_eq!(write_log().len(), LOG.len());
}
