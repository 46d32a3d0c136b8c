//! Checkpoints are there whole or not at all, versions only grow, and collecting garbage leaves every checkpoint that stays readable.

use std::collections::BTreeSet;
use std::sync::Arc;

use tailrace_storage::*;

use crate::samples::{cache, name, write_small};

fn manifest(version: u64, files: &[FileSummary]) -> Manifest {
    let replay_from = Sequence(version * 10);
    Manifest { version: Version(version), created: 5, replay_from, files: files.to_vec(), extra: vec![7; 3] }
}

fn sample() -> (Arc<dyn Backend>, ManifestStore, Vec<FileSummary>) {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let config = StorageConfig::default();
    let write =
        |number| write_small(backend.as_ref(), &name(&format!("batch/{number}")), 1, 5, &config).unwrap();
    let files = (0..4).map(write).collect();
    (Arc::clone(&backend), ManifestStore::new(backend), files)
}

#[test]
fn the_newest_is_the_last_one_committed() {
    let (_, store, files) = sample();
    assert_eq!(store.latest().unwrap(), None);
    store.commit(&manifest(1, &files[..2])).unwrap();
    store.commit(&manifest(5, &files[1..])).unwrap();
    assert_eq!(store.versions().unwrap(), [Version(1), Version(5)]);
    assert_eq!(store.latest().unwrap(), Some(manifest(5, &files[1..])));
    assert_eq!(store.open(Version(1)).unwrap(), manifest(1, &files[..2]));
    assert_eq!(store.all().unwrap().len(), 2);
    let message = store.open(Version(3)).unwrap_err().to_string();
    assert_eq!(message, "there is no checkpoint 3; there are: 1, 5");
    let message = store.commit(&manifest(5, &files)).unwrap_err().to_string();
    assert_eq!(message, "checkpoint 5 cannot be committed: the newest one is 5");
}

#[test]
fn a_name_with_two_contents_is_refused_before_it_is_committed() {
    let (_, store, files) = sample();
    let other = FileSummary { rows: 99, ..files[0].clone() };
    assert!(store.commit(&manifest(1, &[files[0].clone(), other])).is_err());
    store.commit(&manifest(1, &[files[0].clone(), files[0].clone()])).unwrap();
    assert_eq!(store.latest().unwrap().unwrap().files, [files[0].clone()]);
}

#[test]
fn an_unreadable_newest_checkpoint_is_an_error_not_an_older_one() {
    let backend = MemoryBackend::new();
    let store = ManifestStore::new(Arc::new(backend.clone()));
    store.commit(&manifest(1, &[])).unwrap();
    let copy = backend.content(&name("manifest/00000000000000000001.manifest")).unwrap();
    backend.replace(&name("manifest/00000000000000000002.manifest"), copy);
    let message = store.latest().unwrap_err().to_string();
    assert!(message.contains("it holds checkpoint 1"), "{message}");
}

#[test]
fn garbage_goes_and_what_stays_opens() {
    let (backend, store, files) = sample();
    store.commit(&manifest(1, &files[..2])).unwrap();
    store.commit(&manifest(2, &files[1..3])).unwrap();
    store.commit(&manifest(3, &files[2..])).unwrap();
    let (listed, none) = (backend.list("batch").unwrap(), BTreeSet::new());
    let chosen = garbage(&store.all().unwrap(), &listed, 2, &BTreeSet::new(), &none);
    assert_eq!(
        (chosen.versions.as_slice(), chosen.files.as_slice()),
        (&[Version(1)][..], &[name("batch/0")][..])
    );
    assert_eq!(collect(backend.as_ref(), &store, &chosen).unwrap(), 1);
    assert_eq!(collect(backend.as_ref(), &store, &chosen).unwrap(), 0, "a second time does no harm");
    let cache = cache(&StorageConfig::default());
    for manifest in store.all().unwrap() {
        for file in &manifest.files {
            BatchFile::open_expected(backend.as_ref(), &cache, file).unwrap().verify().unwrap();
        }
    }
}
