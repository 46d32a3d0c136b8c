//! Bytes made to deceive, with checksums that agree: the readers refuse them or read something, but never panic, never read outside, and allocate no more
//! than the file is long (times what LZ4 can unpack).

use std::sync::{Arc, OnceLock};

use arrow_array::Array;
use proptest::prelude::*;
use tailrace_storage::*;

use crate::columns::{columns, schema};
use crate::samples::{cache, name};

const FRAME: usize = 64;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Makes all checksums of a batch file agree with its bytes again; `page` is a page that was changed, and where its checksum stands in the footer.
fn repair(bytes: &mut [u8], page: Option<(std::ops::Range<usize>, usize)>) {
    if let Some((page, place)) = page {
        let checksum = Checksum::of(&bytes[page]).0;
        bytes[place..place + 4].copy_from_slice(&checksum.to_le_bytes());
    }
    let tail = bytes.len() - FRAME;
    let footer = u64_at(bytes, tail) as usize..(u64_at(bytes, tail) + u64_at(bytes, tail + 8)) as usize;
    let checksum = Checksum::of(&bytes[footer]).0;
    bytes[tail + 16..tail + 20].copy_from_slice(&checksum.to_le_bytes());
    let checksum = Checksum::of(&bytes[tail..tail + 32]).0;
    bytes[tail + 32..tail + 36].copy_from_slice(&checksum.to_le_bytes());
}

fn sample(compression: Compression) -> (MemoryBackend, FileName) {
    let (backend, file) = (MemoryBackend::new(), name("batch/a"));
    let config = StorageConfig { compression, ..StorageConfig::default() };
    let mut writer = BatchWriter::create(&backend, &file, &schema(), &config).unwrap();
    let stored = columns(&schema(), 20, 3);
    writer
        .append(NewBlock { columns: &stored, first_key: b"a", last_key: b"b", hashes: &[1, 2, 3] })
        .unwrap();
    writer.finish(b"extra").unwrap();
    (backend, file)
}

/// The first page and the place of its checksum in the footer.
fn first_page(bytes: &[u8]) -> (std::ops::Range<usize>, usize) {
    let footer = u64_at(bytes, bytes.len() - FRAME) as usize;
    // Pages begin behind the header; the length is found by trying which one has its checksum in the footer.
    let place = |end: usize| {
        let checksum = Checksum::of(&bytes[FRAME..end]).0.to_le_bytes();
        bytes[footer..].windows(4).position(|window| window == checksum).map(|at| footer + at)
    };
    let end = (FRAME + 1..footer).find(|end| {
        let entry = place(*end).filter(|at| at % 4 == 0 && *at >= 16);
        entry.is_some_and(|at| {
            u32::from_le_bytes(bytes[at - 8..at - 4].try_into().unwrap()) as usize == end - FRAME
        })
    });
    let end = end.unwrap();
    (FRAME..end, place(end).unwrap())
}

/// The bytes of a sample, its first page, and the place of that page's checksum.
type Prepared = (Vec<u8>, std::ops::Range<usize>, usize);

/// A sample with its first page, which takes a while to find.
fn prepared(compression: Compression) -> &'static Prepared {
    static PREPARED: [OnceLock<Prepared>; 2] = [const { OnceLock::new() }; 2];
    PREPARED[usize::from(compression == Compression::Lz4)].get_or_init(|| {
        let (backend, file) = sample(compression);
        let bytes = backend.content(&file).unwrap();
        let (page, place) = first_page(&bytes);
        (bytes, page, place)
    })
}

fn try_read(backend: &MemoryBackend, file: &FileName) -> Result<(), FileError> {
    let opened = BatchFile::open(backend, &cache(&StorageConfig::default()), file)?;
    opened.verify()?;
    for number in 0..opened.blocks().len() {
        let block = opened.block(number)?;
        // What was accepted can be worked with.
        assert!(
            block.columns().iter().all(|column| column
                .slice(0, column.len() / 2)
                .to_data()
                .validate_full()
                .is_ok())
        );
        opened.may_contain(number, 1)?;
    }
    Ok(())
}

fn read(backend: &MemoryBackend, file: &FileName) {
    if let Err(error) = try_read(backend, file) {
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn every_byte_of_a_page_changed_and_vouched_for() {
    for compression in [Compression::None, Compression::Lz4] {
        let (backend, file) = (MemoryBackend::new(), name("batch/a"));
        let (whole, page, place) = prepared(compression);
        for at in page.clone() {
            let mut bytes = whole.clone();
            bytes[at] = bytes[at].wrapping_add(1 + (at % 7) as u8 * 37);
            repair(&mut bytes, Some((page.clone(), *place)));
            backend.replace(&file, bytes);
            read(&backend, &file);
        }
    }
}

#[test]
fn every_byte_of_the_footer_and_tail_changed_and_vouched_for() {
    let (backend, file) = sample(Compression::None);
    let whole = backend.content(&file).unwrap();
    let footer = u64_at(&whole, whole.len() - FRAME) as usize;
    for at in footer..whole.len() {
        for value in [0xff, whole[at] ^ 1] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            // A tail that points outside has no checksum to repair.
            let tail = bytes.len() - FRAME;
            let end = u64_at(&bytes, tail).checked_add(u64_at(&bytes, tail + 8));
            if end.is_some_and(|end| end <= tail as u64) {
                repair(&mut bytes, None);
            } else {
                let checksum = Checksum::of(&bytes[tail..tail + 32]).0;
                bytes[tail + 32..tail + 36].copy_from_slice(&checksum.to_le_bytes());
            }
            backend.replace(&file, bytes);
            read(&backend, &file);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

    #[test]
    fn prop_many_changes_of_a_vouched_file(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), lz4: bool,
    ) {
        let (backend, file) = (MemoryBackend::new(), name("batch/a"));
        let (whole, page, place) = prepared(if lz4 { Compression::Lz4 } else { Compression::None });
        let mut bytes = whole.clone();
        let body = bytes.len() - 2 * FRAME;
        changes.iter().for_each(|(at, value)| bytes[FRAME + at.index(body)] = *value);
        repair(&mut bytes, Some((page.clone(), *place)));
        backend.replace(&file, bytes);
        read(&backend, &file);
    }

    #[test]
    fn prop_any_bytes_for_every_reader(bytes in prop::collection::vec(any::<u8>(), 0..400), keep in 0..40usize) {
        let backend = MemoryBackend::new();
        let (batch, log) = (name("batch/a"), name("log/00000000000000000000.log"));
        let manifest = name("manifest/00000000000000000001.manifest");
        // Behind a right beginning, so that readers get further than the magic.
        let start = prepared(Compression::None).0[..keep].to_vec();
        backend.replace(&batch, [start, bytes.clone()].concat());
        backend.replace(&manifest, bytes.clone());
        backend.replace(&log, bytes);
        read(&backend, &batch);
        let shared: Arc<dyn Backend> = Arc::new(backend);
        prop_assert!(ManifestStore::new(Arc::clone(&shared)).latest().is_err());
        if let Ok(replay) = replay(&shared, Sequence(0)) {
            prop_assert_eq!(replay.filter(Result::is_ok).count(), 0);
        }
    }

    #[test]
    fn prop_changed_manifests_with_right_checksums(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let backend = MemoryBackend::new();
        let store = ManifestStore::new(Arc::new(backend.clone()));
        let files = vec![FileSummary { name: name("batch/a-long-enough-name"), bytes: 1, rows: 1, checksum: Checksum(1) }];
        store.commit(&Manifest { version: Version(1), files, extra: vec![9; 20], ..Manifest::default() }).unwrap();
        let file = name("manifest/00000000000000000001.manifest");
        let mut bytes = backend.content(&file).unwrap();
        let body = bytes.len() - 32;
        changes.iter().for_each(|(at, value)| bytes[32 + at.index(body)] = *value);
        vouch_manifest(&mut bytes);
        backend.replace(&file, bytes);
        drop(store.latest());
    }

    #[test]
    fn prop_changed_logs(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in 0..100usize,
    ) {
        let backend = MemoryBackend::new();
        let shared: Arc<dyn Backend> = Arc::new(backend.clone());
        let end = replay(&shared, Sequence(0)).unwrap().end().unwrap();
        let writer = LogWriter::resume(Arc::clone(&shared), &end).unwrap();
        (0..6).for_each(|record| writer.commit(writer.append(vec![record; 11]).unwrap()).unwrap());
        let file = name("log/00000000000000000000.log");
        let mut bytes = backend.content(&file).unwrap();
        bytes.truncate(bytes.len() - cut);
        let length = bytes.len();
        changes.iter().for_each(|(at, value)| bytes[at.index(length)] = *value);
        backend.replace(&file, bytes);
        if let Ok(replay) = replay(&shared, Sequence(0)) {
            for (number, record) in replay.map_while(Result::ok).enumerate() {
                prop_assert_eq!(record, Record { sequence: Sequence(number as u64), payload: vec![number as u8; 11] });
            }
        }
    }
}

fn vouch_manifest(bytes: &mut [u8]) {
    let checksum = Checksum::of(&bytes[..12]).and(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.0.to_le_bytes());
}

#[test]
fn manifests_that_lead_out_are_refused() {
    let backend = MemoryBackend::new();
    let store = ManifestStore::new(Arc::new(backend.clone()));
    let inside = "batch/a-long-enough-name";
    let files = vec![FileSummary { name: name(inside), bytes: 1, rows: 1, checksum: Checksum(1) }];
    store.commit(&Manifest { version: Version(1), files, ..Manifest::default() }).unwrap();
    let file = name("manifest/00000000000000000001.manifest");
    let whole = backend.content(&file).unwrap();
    let at = whole.windows(inside.len()).position(|window| window == inside.as_bytes()).unwrap();
    for outside in [
        "../../../../etc/passwd..",
        "/etc/aaaaaaaaaaaaaaaaaaa",
        "batch/a-long-\0nough-name",
        "..\\..\\..\\..\\..\\..\\..\\a..",
    ] {
        let mut bytes = whole.clone();
        bytes[at..at + inside.len()].copy_from_slice(outside.as_bytes());
        vouch_manifest(&mut bytes);
        backend.replace(&file, bytes);
        let message = store.latest().unwrap_err().to_string();
        assert!(message.contains("cannot be the name of a file in a database"), "{message}");
    }
}

#[test]
fn a_page_that_claims_to_be_huge_is_refused_before_memory_is_taken() {
    let (backend, file) = (MemoryBackend::new(), name("batch/a"));
    let (whole, _, place) = prepared(Compression::Lz4);
    let mut bytes = whole.clone();
    // The length in memory stands before the checksum.
    bytes[place - 4..*place].copy_from_slice(&u32::MAX.to_le_bytes());
    repair(&mut bytes, None);
    backend.replace(&file, bytes);
    let opened = BatchFile::open(&backend, &cache(&StorageConfig::default()), &file).unwrap();
    let message = opened.block(0).unwrap_err().to_string();
    assert!(message.contains("bytes cannot hold 4294967295"), "{message}");
}
