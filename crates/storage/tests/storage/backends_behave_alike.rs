//! One script over all backends: memory, POSIX, object stores in memory and in a directory, plain and behind retries.

use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use tailrace_storage::*;
use tempfile::TempDir;

use crate::samples::{name, read_all, write_small};

fn everywhere(check: impl Fn(Arc<dyn Backend>)) {
    let directories: [TempDir; 3] = std::array::from_fn(|_| TempDir::new().unwrap());
    let store = |store| Arc::new(ObjectBackend::new(store, "some/prefix", RetryPolicy::never()).unwrap());
    let local = LocalFileSystem::new_with_prefix(directories[1].path()).unwrap();
    let guarded = RetryingBackend::new(
        Arc::new(PosixBackend::open(directories[2].path()).unwrap()),
        RetryPolicy::default(),
        BreakerPolicy::default(),
        Arc::new(Metrics::default()),
    );
    check(Arc::new(MemoryBackend::new()));
    check(Arc::new(PosixBackend::open(directories[0].path()).unwrap()));
    check(store(Arc::new(InMemory::new())));
    check(store(Arc::new(local)));
    check(Arc::new(guarded));
}

fn put(backend: &dyn Backend, file: &str, bytes: &[u8]) -> Result<(), BackendError> {
    let mut new = backend.create(&name(file))?;
    new.write(&bytes[..bytes.len() / 2])?;
    new.write(&bytes[bytes.len() / 2..])?;
    new.finish()
}

#[test]
fn files_appear_whole_when_they_are_finished() {
    everywhere(|backend| {
        let mut new = backend.create(&name("batch/a")).unwrap();
        new.write(b"hello").unwrap();
        assert_eq!(backend.list("batch").unwrap(), []);
        assert!(backend.open(&name("batch/a")).unwrap_err().is_not_found());
        new.finish().unwrap();
        let listed = backend.list("batch").unwrap();
        assert_eq!(listed, [Listed { name: name("batch/a"), bytes: 5 }]);
        assert_eq!(backend.list("").unwrap(), [], "{backend:?}");
    });
}

#[test]
fn files_that_are_given_up_leave_nothing() {
    everywhere(|backend| {
        let mut new = backend.create(&name("batch/a")).unwrap();
        new.write(&vec![7; 20 << 20]).unwrap();
        drop(new);
        assert_eq!(backend.list("batch").unwrap(), []);
        put(backend.as_ref(), "batch/a", b"x").unwrap();
    });
}

#[test]
fn names_are_given_once() {
    everywhere(|backend| {
        let rival = backend.create(&name("a")).unwrap();
        put(backend.as_ref(), "a", b"first").unwrap();
        let taken = |done: Result<(), BackendError>| {
            assert!(matches!(done, Err(BackendError::AlreadyExists { .. })), "{done:?} {backend:?}");
        };
        taken(put(backend.as_ref(), "a", b"second"));
        taken(rival.finish());
        let mut bytes = [0; 5];
        backend.open(&name("a")).unwrap().read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"first");
    });
}

#[test]
fn reads_are_exact() {
    everywhere(|backend| {
        let content: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        put(backend.as_ref(), "a", &content).unwrap();
        let file = backend.open(&name("a")).unwrap();
        assert_eq!(file.bytes(), 40_000);
        for (offset, length) in [(0, 40_000), (1, 3), (39_999, 1), (40_000, 0), (12_345, 0)] {
            let mut into = vec![1; length];
            file.read_at(offset, &mut into).unwrap();
            assert_eq!(into, content[offset as usize..offset as usize + length]);
        }
        for (offset, length) in [(39_999, 2), (40_001, 0), (u64::MAX, 1)] {
            let error = file.read_at(offset, &mut vec![0; length]).unwrap_err();
            assert!(matches!(error, BackendError::PastEnd { .. }), "{error}");
        }
    });
}

#[test]
fn removed_files_are_gone_and_readers_of_local_ones_go_on() {
    everywhere(|backend| {
        assert!(backend.remove(&name("batch/a")).unwrap_err().is_not_found());
        put(backend.as_ref(), "batch/a", b"x").unwrap();
        put(backend.as_ref(), "batch/b", b"x").unwrap();
        backend.remove(&name("batch/a")).unwrap();
        assert_eq!(backend.list("batch").unwrap().len(), 1);
    });
}

#[test]
fn logs_grow_and_are_cut_where_the_backend_can() {
    everywhere(|backend| {
        if !backend.appends() {
            let error = backend.append(&name("log/a"), 0).err().unwrap();
            assert!(error.to_string().contains("object stores cannot append"), "{error}");
            return;
        }
        assert!(backend.append(&name("log/a"), 1).err().unwrap().is_not_found());
        let mut log = backend.append(&name("log/a"), 0).unwrap();
        log.write(b"hello").unwrap();
        log.sync().unwrap();
        drop(log);
        let mut log = backend.append(&name("log/a"), 4).unwrap();
        log.write(b"!").unwrap();
        log.sync().unwrap();
        let mut bytes = [0; 5];
        backend.open(&name("log/a")).unwrap().read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"hell!");
    });
}

#[test]
fn batch_files_of_many_parts_come_back() {
    everywhere(|backend| {
        let config = StorageConfig::default();
        write_small(backend.as_ref(), &name("batch/big"), 30, 10_000, &config).unwrap();
        let cache = crate::samples::cache(&config);
        read_all(backend.as_ref(), &name("batch/big"), &cache).unwrap();
    });
}

#[test]
fn addresses_lead_to_backends() {
    let directory = TempDir::new().unwrap();
    let address = format!("file://{}", directory.path().display());
    let open = |address: &str| open_url(address, &[], RetryPolicy::default());
    put(open(&address).unwrap().as_ref(), "a", b"x").unwrap();
    assert!(directory.path().join("a").is_file());
    assert!(open("memory:///").unwrap().appends());
    let refused = |address: &str, expected: &str| {
        let message = open(address).err().unwrap().to_string();
        assert!(message.contains(expected), "{message}");
    };
    refused("nothing", "it is no URL");
    refused("ftp://a/b", "expected file:, memory:, s3:, gs: or az:");
    if cfg!(not(feature = "cloud")) {
        refused("s3://bucket/prefix", "feature 'cloud'");
    }
}

#[cfg(feature = "cloud")]
#[test]
fn cloud_addresses_build_clients() {
    let option = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let s3 =
        [option("region", "eu-central-1"), option("access_key_id", "x"), option("secret_access_key", "y")];
    let azure = [option("account_name", "x"), option("access_key", "eHl6")];
    let credentials =
        r#"{"private_key": "x", "private_key_id": "y", "client_email": "z", "disable_oauth": true}"#;
    let google = [option("service_account_key", credentials)];
    for (address, options) in [("s3://b/p", &s3[..]), ("az://c/p", &azure[..]), ("gs://b/p", &google[..])] {
        let backend = open_url(address, options, RetryPolicy::never()).unwrap();
        assert!(!backend.appends(), "{backend:?}");
    }
}
