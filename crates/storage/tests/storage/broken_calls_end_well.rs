//! A scripted life (log, file, checkpoint, garbage, again) with every single call of the operating system broken in every way: each run ends in an error or not,
//! and what is found afterwards is a committed state with everything that was acknowledged.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tailrace_storage::*;
use tempfile::TempDir;

use crate::samples::{cache, name, write_small};

/// What the life was told so far.
#[derive(Debug, Default)]
struct Told {
    version: u64,
    records: u64,
}

fn directory() -> TempDir {
    // Memory, where there is such a file system: thousands of syncs.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

fn life(backend: &Arc<dyn Backend>, told: &mut Told) -> Result<(), Box<dyn Error>> {
    let (manifests, config) = (ManifestStore::new(Arc::clone(backend)), StorageConfig::default());
    let last = manifests.latest()?.unwrap_or_default();
    let end = replay(backend, last.replay_from)?.end()?;
    let log = LogWriter::resume(Arc::clone(backend), &end)?;
    let mut files = last.files.clone();
    for version in last.version.0 + 1..last.version.0 + 3 {
        for _ in 0..2 {
            log.commit(log.append(vec![log.next().0 as u8; 20])?)?;
            told.records = log.next().0;
        }
        files.retain(|file| file.rows > 5 || version % 2 == 0);
        let file = name(&format!("batch/{version}-{}", fastrand::u32(..)));
        files.push(write_small(backend.as_ref(), &file, 1, 4 + version as i64, &config)?);
        let replay_from = log.rotate()?;
        let manifest =
            Manifest { version: Version(version), replay_from, files: files.clone(), ..Manifest::default() };
        manifests.commit(&manifest)?;
        told.version = version;
        let listed = backend.list("batch")?;
        let old = garbage(&manifests.all()?, &listed, 1, &BTreeSet::new(), &BTreeSet::new());
        collect(backend.as_ref(), &manifests, &old)?;
        trim(backend.as_ref(), replay_from)?;
    }
    Ok(())
}

/// Opens the directory as after a crash and checks all that is there.
fn inspect(directory: &Path, told: &Told) -> Arc<dyn Backend> {
    let backend: Arc<dyn Backend> = Arc::new(PosixBackend::open(directory).unwrap());
    let manifest = ManifestStore::new(Arc::clone(&backend)).latest().unwrap().unwrap_or_default();
    assert!(manifest.version.0 >= told.version, "{manifest:?} {told:?}");
    let cache = cache(&StorageConfig::default());
    for file in &manifest.files {
        BatchFile::open_expected(backend.as_ref(), &cache, file).unwrap().verify().unwrap();
    }
    let mut next = manifest.replay_from.0;
    for record in replay(&backend, manifest.replay_from).unwrap() {
        let record = record.unwrap();
        assert_eq!((record.sequence, record.payload), (Sequence(next), vec![next as u8; 20]));
        next += 1;
    }
    assert!(next >= told.records, "{next} of {told:?}");
    backend
}

fn run(faults: Faults) -> (u64, bool) {
    let (directory, faults) = (directory(), Arc::new(faults));
    let system = Arc::new(FailingFileSystem::new(Arc::clone(&faults)));
    let mut told = Told::default();
    let lived = PosixBackend::open_over(directory.path(), system)
        .map_err(Into::into)
        .and_then(|backend| life(&(Arc::new(backend) as Arc<dyn Backend>), &mut told));
    let backend = inspect(directory.path(), &told);
    // Life goes on, also after a second crash.
    life(&backend, &mut told).unwrap();
    inspect(directory.path(), &told);
    (faults.calls(), lived.is_ok())
}

#[test]
fn each_call_broken_in_each_way() {
    let (calls, lived) = run(Faults::none());
    assert!(lived && calls > 80, "{calls}");
    let mut survived = 0;
    for call in 0..calls {
        for (number, fault) in (0..).zip(Fault::ALL) {
            let plan = if (call + number) % 2 == 0 {
                Faults::at(call, fault)
            } else {
                Faults::dying_at(call, fault)
            };
            survived += u64::from(run(plan).1);
        }
    }
    // A short write is no failure, and a file that could not be removed is swept away later; all else is told.
    assert!(survived < calls, "{survived} of {}", calls * 7);
}
