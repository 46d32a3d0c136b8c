//! A directory may come from a stranger: links that lead out, pipes and directories in the place of files are refused, and strange names are not seen.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use tailrace_storage::*;
use tempfile::TempDir;

use crate::samples::{name, write_small};

fn refused<T>(done: Result<T, BackendError>, expected: &str) {
    let message = done.err().unwrap().to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn links_are_not_followed() {
    let (inside, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    let backend = PosixBackend::open(inside.path()).unwrap();
    symlink(outside.path().join("secret"), inside.path().join("a")).unwrap();
    symlink(outside.path(), inside.path().join("batch")).unwrap();
    symlink(outside.path().join("nothing"), inside.path().join("log")).unwrap();
    refused(backend.open(&name("a")), "symbolic link");
    refused(backend.append(&name("a"), 0), "symbolic link");
    refused(backend.create(&name("a")), "symbolic link");
    refused(backend.remove(&name("a")), "symbolic link");
    refused(backend.open(&name("batch/secret")), "symbolic link");
    refused(backend.create(&name("batch/new")), "symbolic link");
    refused(backend.remove(&name("batch/secret")), "symbolic link");
    refused(backend.append(&name("log/a"), 0), "symbolic link");
    refused(backend.list("batch"), "symbolic link");
    assert_eq!(backend.list("").unwrap(), []);
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn directories_and_foreign_names_are_no_files() {
    let directory = TempDir::new().unwrap();
    let backend = PosixBackend::open(directory.path()).unwrap();
    fs::create_dir(directory.path().join("a")).unwrap();
    refused(backend.open(&name("a")), "it is a directory");
    fs::write(directory.path().join("b"), b"").unwrap();
    refused(backend.create(&name("b/c")), "it is a file where a directory should be");
    fs::write(directory.path().join("Readme.TXT"), b"").unwrap();
    fs::write(directory.path().join(".hidden"), b"").unwrap();
    assert_eq!(backend.list("").unwrap().len(), 1);
}

#[test]
fn what_a_dead_process_left_unfinished_is_swept_away() {
    let directory = TempDir::new().unwrap();
    let backend = PosixBackend::open(directory.path()).unwrap();
    write_small(&backend, &name("batch/whole"), 1, 5, &StorageConfig::default()).unwrap();
    let mut new = backend.create(&name("batch/half")).unwrap();
    new.write(b"half").unwrap();
    std::mem::forget(new);
    assert_eq!(fs::read_dir(directory.path().join("tmp")).unwrap().count(), 1);
    let again: Arc<dyn Backend> = Arc::new(PosixBackend::open(directory.path()).unwrap());
    assert_eq!(fs::read_dir(directory.path().join("tmp")).unwrap().count(), 0);
    assert_eq!(again.list("batch").unwrap().len(), 1);
}
