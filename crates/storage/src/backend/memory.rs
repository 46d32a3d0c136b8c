//! Files in memory: for tests, and for databases that end with their process. It also knows which bytes would survive the loss of power.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Backend, BackendError, Listed, LogFile, NewFile, OpenFile, Operation};
use crate::FileName;

#[derive(Clone, Debug, Default)]
struct Stored {
    bytes: Arc<Vec<u8>>,
    /// How many bytes at the front are synced. All of a finished file are.
    durable: usize,
}

type Files = Arc<Mutex<BTreeMap<FileName, Stored>>>;

/// A directory in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryBackend {
    files: Files,
}

impl MemoryBackend {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// The content of a file.
    pub fn content(&self, name: &FileName) -> Option<Vec<u8>> {
        locked(&self.files).get(name).map(|stored| stored.bytes.to_vec())
    }

    /// Puts a file there, whatever was there before. Tests break files by it.
    pub fn replace(&self, name: &FileName, bytes: Vec<u8>) {
        let durable = bytes.len();
        locked(&self.files).insert(name.clone(), Stored { bytes: Arc::new(bytes), durable });
    }

    /// What is there after power was lost: finished files whole, of each log file the synced bytes and what `torn` makes of the rest.
    pub fn after_power_loss(&self, mut torn: impl FnMut(&[u8]) -> Vec<u8>) -> Self {
        let survivor = |(name, stored): (&FileName, &Stored)| {
            let (durable, rest) = stored.bytes.split_at(stored.durable);
            let bytes = [durable, &torn(rest)].concat();
            (name.clone(), Stored { durable: bytes.len(), bytes: Arc::new(bytes) })
        };
        let files = locked(&self.files).iter().map(survivor).collect();
        Self { files: Arc::new(Mutex::new(files)) }
    }
}

impl Backend for MemoryBackend {
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError> {
        taken(&self.files, Operation::Create, name)?;
        Ok(Box::new(MemoryNewFile { files: Arc::clone(&self.files), name: name.clone(), bytes: Vec::new() }))
    }

    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError> {
        let files = locked(&self.files);
        let stored = files.get(name).ok_or_else(|| missing(Operation::Open, name))?;
        Ok(Arc::new(MemoryOpenFile { name: name.clone(), bytes: Arc::clone(&stored.bytes) }))
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError> {
        let files = locked(&self.files);
        let inside = files.iter().filter(|(name, _)| name.directory() == directory);
        Ok(inside
            .map(|(name, stored)| Listed { name: name.clone(), bytes: stored.bytes.len() as u64 })
            .collect())
    }

    fn remove(&self, name: &FileName) -> Result<(), BackendError> {
        locked(&self.files).remove(name).map(drop).ok_or_else(|| missing(Operation::Remove, name))
    }

    fn append(&self, name: &FileName, keep: u64) -> Result<Box<dyn LogFile>, BackendError> {
        let mut files = locked(&self.files);
        if keep > 0 && !files.contains_key(name) {
            return Err(missing(Operation::Append, name));
        }
        let stored = files.entry(name.clone()).or_default();
        let keep = stored.bytes.len().min(keep as usize);
        Arc::make_mut(&mut stored.bytes).truncate(keep);
        stored.durable = stored.durable.min(keep);
        Ok(Box::new(MemoryLogFile { files: Arc::clone(&self.files), name: name.clone() }))
    }

    fn appends(&self) -> bool {
        true
    }
}

struct MemoryNewFile {
    files: Files,
    name: FileName,
    bytes: Vec<u8>,
}

impl NewFile for MemoryNewFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), BackendError> {
        taken(&self.files, Operation::Finish, &self.name)?;
        let durable = self.bytes.len();
        locked(&self.files).insert(self.name, Stored { bytes: Arc::new(self.bytes), durable });
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryOpenFile {
    name: FileName,
    bytes: Arc<Vec<u8>>,
}

impl OpenFile for MemoryOpenFile {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), BackendError> {
        let (wanted, bytes) = (into.len() as u64, self.bytes());
        let end = offset.checked_add(wanted).filter(|end| *end <= bytes);
        let past_end = || BackendError::PastEnd { name: self.name.to_string(), bytes, offset, wanted };
        let end = end.ok_or_else(past_end)?;
        into.copy_from_slice(&self.bytes[offset as usize..end as usize]);
        Ok(())
    }
}

struct MemoryLogFile {
    files: Files,
    name: FileName,
}

impl MemoryLogFile {
    fn change(&self, operation: Operation, change: impl FnOnce(&mut Stored)) -> Result<(), BackendError> {
        let mut files = locked(&self.files);
        files.get_mut(&self.name).map(change).ok_or_else(|| missing(operation, &self.name))
    }
}

impl LogFile for MemoryLogFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.change(Operation::Write, |stored| Arc::make_mut(&mut stored.bytes).extend_from_slice(bytes))
    }

    fn sync(&mut self) -> Result<(), BackendError> {
        self.change(Operation::Sync, |stored| stored.durable = stored.bytes.len())
    }
}

fn locked(files: &Files) -> MutexGuard<'_, BTreeMap<FileName, Stored>> {
    // No code that can panic runs under the lock, so that a poisoned one holds whole values.
    files.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn taken(files: &Files, operation: Operation, name: &FileName) -> Result<(), BackendError> {
    match locked(files).contains_key(name) {
        true => Err(BackendError::AlreadyExists { operation, name: name.to_string() }),
        false => Ok(()),
    }
}

fn missing(operation: Operation, name: &FileName) -> BackendError {
    BackendError::NotFound { operation, name: name.to_string() }
}
