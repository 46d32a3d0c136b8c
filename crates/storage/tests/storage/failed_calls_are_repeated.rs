//! Transient errors heal by repetition, lasting ones are told at once, and a dead backend is not asked again and again.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use tailrace_storage::*;

use crate::samples::{name, read_all, write_small};

struct Setup {
    backend: RetryingBackend,
    metrics: Arc<Metrics>,
    clock: Arc<ManualClock>,
    faults: Arc<Faults>,
}

fn setup(inner: &MemoryBackend, faults: Faults, failures: u32) -> Setup {
    let (metrics, clock) = (Arc::new(Metrics::default()), Arc::new(ManualClock::default()));
    let faults = Arc::new(faults);
    let failing = FailingBackend::new(Arc::new(inner.clone()), Arc::clone(&faults));
    let backend = RetryingBackend::with_clock(
        Arc::new(failing),
        RetryPolicy { attempts: 4, ..RetryPolicy::default() },
        BreakerPolicy { failures, rest: Duration::from_secs(10) },
        Arc::clone(&metrics),
        Arc::clone(&clock) as Arc<dyn Clock>,
    );
    Setup { backend, metrics, clock, faults }
}

fn transient(calls: std::ops::Range<u64>) -> Faults {
    Faults::many(calls.map(|call| (call, Fault::Before(ErrorKind::TimedOut))).collect())
}

#[test]
fn a_file_is_read_although_every_other_call_fails() {
    let (inner, config) = (MemoryBackend::new(), StorageConfig::default());
    write_small(&inner, &name("a"), 5, 10, &config).unwrap();
    let faults = (0..100).step_by(2).map(|call| (call, Fault::Before(ErrorKind::ConnectionReset))).collect();
    let setup = setup(&inner, Faults::many(faults), 100);
    let cache = crate::samples::cache(&config);
    let found = read_all(&setup.backend, &name("a"), &cache).unwrap();
    assert_eq!(found, read_all(&inner, &name("a"), &cache).unwrap());
    assert!(setup.metrics.read().retries > 10);
    assert!(setup.clock.now() > Duration::ZERO);
}

#[test]
fn patience_ends() {
    let setup = setup(&MemoryBackend::new(), transient(0..100), 100);
    let message = setup.backend.list("").unwrap_err().to_string();
    assert_eq!((message.as_str(), setup.faults.calls()), ("cannot list : injected", 4));
    assert_eq!(setup.metrics.read().failures, 1);
}

#[test]
fn lasting_errors_are_told_at_once() {
    let setup = setup(&MemoryBackend::new(), Faults::at(0, Fault::NoSpace), 100);
    assert!(setup.backend.list("").is_err());
    assert_eq!((setup.faults.calls(), setup.clock.now()), (1, Duration::ZERO));
    assert!(setup.backend.open(&name("a")).unwrap_err().is_not_found());
    assert_eq!(setup.faults.calls(), 2);
}

#[test]
fn a_removal_whose_answer_was_lost_is_a_removal() {
    let inner = MemoryBackend::new();
    inner.replace(&name("a"), vec![1]);
    let setup = setup(&inner, Faults::at(0, Fault::After(ErrorKind::TimedOut)), 100);
    setup.backend.remove(&name("a")).unwrap();
    assert_eq!(inner.content(&name("a")), None);
}

#[test]
fn a_failed_write_or_sync_is_never_repeated() {
    let setup = setup(&MemoryBackend::new(), transient(1..100), 100);
    let mut log = setup.backend.append(&name("log/a"), 0).unwrap();
    assert!(log.write(b"x").is_err());
    assert!(log.sync().is_err());
    assert_eq!(setup.faults.calls(), 3);
}

#[test]
fn a_dead_backend_fails_fast_and_is_tried_again_later() {
    let setup = setup(&MemoryBackend::new(), transient(0..6), 6);
    assert!(setup.backend.list("").is_err());
    assert!(setup.backend.list("").is_err());
    let (calls, now) = (setup.faults.calls(), setup.clock.now());
    assert_eq!(calls, 6);
    let message = setup.backend.list("").unwrap_err().to_string();
    assert!(message.contains("storage failed 6 times in a row"), "{message}");
    assert_eq!((setup.faults.calls(), setup.clock.now()), (calls, now));
    setup.clock.sleep(Duration::from_secs(10));
    assert_eq!(setup.backend.list("").unwrap(), []);
    let metrics = setup.metrics.read();
    assert_eq!((metrics.trips, metrics.refusals > 0), (1, true));
}

#[test]
fn a_manifest_on_an_object_store_is_committed_once() {
    let backend: Arc<dyn Backend> =
        Arc::new(ObjectBackend::new(Arc::new(InMemory::new()), "db", RetryPolicy::default()).unwrap());
    let store = ManifestStore::new(Arc::clone(&backend));
    let manifest = Manifest { version: Version(1), ..Manifest::default() };
    store.commit(&manifest).unwrap();
    assert!(matches!(store.commit(&manifest), Err(ManifestError::Overtaken { .. })));
    assert_eq!(store.latest().unwrap(), Some(manifest));
}
