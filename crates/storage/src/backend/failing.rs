//! A backend that fails when a plan of faults says so, around any other backend.

use std::sync::Arc;

use super::{Backend, BackendError, Faults, Listed, LogFile, NewFile, OpenFile, Operation};
use crate::FileName;

/// Breaks single calls of the backend inside.
#[derive(Clone, Debug)]
pub struct FailingBackend {
    inner: Arc<dyn Backend>,
    faults: Arc<Faults>,
}

impl FailingBackend {
    /// Puts a plan around a backend.
    pub fn new(inner: Arc<dyn Backend>, faults: Arc<Faults>) -> Self {
        Self { inner, faults }
    }
}

/// Counts a call of the backend and does it, or fails. The error of the backend inside comes through as it is.
fn around<T>(
    faults: &Faults,
    operation: Operation,
    name: &str,
    work: impl FnOnce() -> Result<T, BackendError>,
) -> Result<T, BackendError> {
    let done = faults.around(|| Ok(work()));
    done.map_err(|error| BackendError::from_io(operation, name, error))?
}

/// The same for a write. A short write, which a backend must not tell its caller about, is a failed one here.
fn around_write(
    faults: &Faults,
    name: &str,
    bytes: &[u8],
    mut work: impl FnMut(&[u8]) -> Result<(), BackendError>,
) -> Result<(), BackendError> {
    let mut inner = Ok(());
    let written = faults.around_write(bytes, |part| {
        inner = work(part);
        Ok(part.len())
    });
    inner?;
    match written {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(written) => work(&bytes[written..]),
        Err(error) => Err(BackendError::from_io(Operation::Write, name, error)),
    }
}

impl Backend for FailingBackend {
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError> {
        let inner = around(&self.faults, Operation::Create, name.as_str(), || self.inner.create(name))?;
        Ok(Box::new(FailingNewFile { inner, name: name.clone(), faults: Arc::clone(&self.faults) }))
    }

    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError> {
        let inner = around(&self.faults, Operation::Open, name.as_str(), || self.inner.open(name))?;
        Ok(Arc::new(FailingOpenFile { inner, name: name.clone(), faults: Arc::clone(&self.faults) }))
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError> {
        around(&self.faults, Operation::List, directory, || self.inner.list(directory))
    }

    fn remove(&self, name: &FileName) -> Result<(), BackendError> {
        around(&self.faults, Operation::Remove, name.as_str(), || self.inner.remove(name))
    }

    fn append(&self, name: &FileName, keep: u64) -> Result<Box<dyn LogFile>, BackendError> {
        let inner = around(&self.faults, Operation::Append, name.as_str(), || self.inner.append(name, keep))?;
        Ok(Box::new(FailingLogFile { inner, name: name.clone(), faults: Arc::clone(&self.faults) }))
    }

    fn appends(&self) -> bool {
        self.inner.appends()
    }
}

struct FailingNewFile {
    inner: Box<dyn NewFile>,
    name: FileName,
    faults: Arc<Faults>,
}

impl NewFile for FailingNewFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        around_write(&self.faults, self.name.as_str(), bytes, |part| self.inner.write(part))
    }

    fn finish(self: Box<Self>) -> Result<(), BackendError> {
        let Self { inner, name, faults } = *self;
        around(&faults, Operation::Finish, name.as_str(), || inner.finish())
    }
}

#[derive(Debug)]
struct FailingOpenFile {
    inner: Arc<dyn OpenFile>,
    name: FileName,
    faults: Arc<Faults>,
}

impl OpenFile for FailingOpenFile {
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), BackendError> {
        around(&self.faults, Operation::Read, self.name.as_str(), || self.inner.read_at(offset, into))
    }
}

struct FailingLogFile {
    inner: Box<dyn LogFile>,
    name: FileName,
    faults: Arc<Faults>,
}

impl LogFile for FailingLogFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        around_write(&self.faults, self.name.as_str(), bytes, |part| self.inner.write(part))
    }

    fn sync(&mut self) -> Result<(), BackendError> {
        around(&self.faults, Operation::Sync, self.name.as_str(), || self.inner.sync())
    }
}
