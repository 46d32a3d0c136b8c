//! Every byte of a small file, manifest and log flipped, and every truncation: detected or harmless.

use std::sync::Arc;

use tailrace_storage::*;

use crate::samples::{cache, name, read_all, write_small};

/// Puts every flip and every truncation of a file before a reader. What it reads, if it reads, must be what it read before.
fn break_everywhere(
    backend: &MemoryBackend,
    file: &FileName,
    read: impl Fn() -> Result<String, String>,
    harmless: impl Fn(&str, &str) -> bool,
) {
    let (whole, before) = (backend.content(file).unwrap(), read().unwrap());
    for place in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[place] ^= flip;
            backend.replace(file, bytes);
            if let Ok(after) = read() {
                assert!(after == before || harmless(&before, &after), "byte {place} of {file} ^ {flip:#x}");
            }
        }
    }
    for length in 0..whole.len() {
        backend.replace(file, whole[..length].to_vec());
        if let Ok(after) = read() {
            assert!(harmless(&before, &after), "{file} cut to {length} bytes");
        }
    }
    backend.replace(file, whole);
    assert_eq!(read().unwrap(), before);
}

#[test]
fn in_batch_files() {
    for compression in [Compression::None, Compression::Lz4] {
        let config = StorageConfig { compression, ..StorageConfig::default() };
        let (backend, file, cache) = (MemoryBackend::new(), name("batch/a"), cache(&config));
        write_small(&backend, &file, 2, 5, &config).unwrap();
        let read = || read_all(&backend, &file, &cache).map_err(|error| error.to_string());
        break_everywhere(&backend, &file, read, |_, _| false);
    }
}

#[test]
fn messages_name_the_part_and_both_sides() {
    let (backend, file, config) = (MemoryBackend::new(), name("ab12.batch"), StorageConfig::default());
    write_small(&backend, &file, 20, 5, &config).unwrap();
    let mut bytes = backend.content(&file).unwrap();
    // Pages of equal blocks have equal lengths; the 17th begins after the header and sixteen, hence 17 blocks of the same size.
    let size = BatchFile::open(&backend, &cache(&config), &file).unwrap().block(1).unwrap().page().len();
    bytes[64 + 17 * size.next_multiple_of(32) + 5] ^= 1;
    backend.replace(&file, bytes);
    let opened = BatchFile::open(&backend, &cache(&config), &file).unwrap();
    let broken: Vec<String> =
        (0..20).filter_map(|block| Some(opened.block(block).err()?.to_string())).collect();
    assert_eq!(broken.len(), 1);
    assert!(broken[0].starts_with("checksum mismatch in block "), "{broken:?}");
    assert!(broken[0].contains(" of ab12.batch: stored 0x") && broken[0].contains(", computed 0x"));
}

#[test]
fn in_manifests() {
    let backend = MemoryBackend::new();
    let store = ManifestStore::new(Arc::new(backend.clone()));
    let file = |number: u64| FileSummary {
        name: name(&format!("batch/{number}")),
        bytes: number,
        rows: 3,
        checksum: Checksum(number as u32),
    };
    let files = (0..4).map(file).collect();
    let manifest =
        Manifest { version: Version(7), created: 1, replay_from: Sequence(9), files, extra: vec![1, 2] };
    store.commit(&manifest).unwrap();
    let read = || store.latest().map(|manifest| format!("{manifest:?}")).map_err(|error| error.to_string());
    break_everywhere(&backend, &name("manifest/00000000000000000007.manifest"), read, |_, _| false);
}

fn write_log(backend: &Arc<dyn Backend>, records: u8) {
    let end = replay(backend, Sequence(0)).unwrap().end().unwrap();
    let writer = LogWriter::resume(Arc::clone(backend), &end).unwrap();
    for record in 0..records {
        let sequence = writer.append(vec![record; usize::from(record) * 3]).unwrap();
        writer.commit(sequence).unwrap();
    }
}

fn read_log(backend: &Arc<dyn Backend>) -> Result<String, String> {
    let records: Result<Vec<Record>, LogError> =
        replay(backend, Sequence(0)).map_err(|error| error.to_string())?.collect();
    Ok(records.map_err(|error| error.to_string())?.iter().map(|record| format!("{record:?}\n")).collect())
}

/// A log that is cut off looks like one that ends there: what is read is a beginning of what was, never anything else. Flips are found.
#[test]
fn in_logs() {
    let backend = MemoryBackend::new();
    let shared: Arc<dyn Backend> = Arc::new(backend.clone());
    write_log(&shared, 5);
    let file = name("log/00000000000000000000.log");
    let whole = backend.content(&file).unwrap();
    let before = read_log(&shared).unwrap();
    assert_eq!(before.lines().count(), 5);
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        backend.replace(&file, bytes);
        if let Ok(after) = read_log(&shared) {
            assert_eq!(after, before, "byte {place}");
        }
    }
    for length in 0..whole.len() {
        backend.replace(&file, whole[..length].to_vec());
        let after = read_log(&shared).unwrap();
        assert!(before.starts_with(&after), "cut to {length}");
    }
}

#[test]
fn in_segments_before_the_last() {
    let backend = MemoryBackend::new();
    let shared: Arc<dyn Backend> = Arc::new(backend.clone());
    let end = replay(&shared, Sequence(0)).unwrap().end().unwrap();
    let writer = LogWriter::resume(Arc::clone(&shared), &end).unwrap();
    writer.append(vec![1; 9]).unwrap();
    assert_eq!(writer.rotate().unwrap(), Sequence(1));
    writer.commit(writer.append(vec![2; 9]).unwrap()).unwrap();
    let file = name("log/00000000000000000000.log");
    let before = read_log(&shared).unwrap();
    break_everywhere(&backend, &file, || read_log(&shared), |_, after| after == before);
    backend.remove(&file).unwrap();
    let message = read_log(&shared).unwrap_err();
    assert!(message.contains("expected record 0, found 1"), "{message}");
}

#[test]
fn swapped_and_foreign_files_are_found() {
    let (backend, config) = (MemoryBackend::new(), StorageConfig::default());
    let one = write_small(&backend, &name("batch/1"), 1, 5, &config).unwrap();
    let two = write_small(&backend, &name("batch/2"), 2, 5, &config).unwrap();
    let content = backend.content(&two.name).unwrap();
    backend.replace(&one.name, content);
    let error = BatchFile::open_expected(&backend, &cache(&config), &one).unwrap_err();
    assert!(error.to_string().contains("is not the file that the manifest names"), "{error}");
    backend.remove(&one.name).unwrap();
    let error = BatchFile::open_expected(&backend, &cache(&config), &one).unwrap_err();
    assert_eq!(error.to_string(), "cannot open batch/1: there is no such file");
}
