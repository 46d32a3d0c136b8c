//! Backends: where files lie. One small trait for memory, POSIX directories and object stores.
//!
//! A file is written once, from front to back, and becomes visible whole and durable when it is finished; before that, and if it is never finished,
//! nobody sees it. A name is never given twice. So there is no torn file, and no reader meets a file that changes. The one exception is a log file,
//! which grows by appending and becomes durable by syncing; object stores do not have it.

mod address;
mod error;
mod failing;
mod faults;
mod filesystem;
mod memory;
mod object;
mod posix;
mod retrying;

use std::fmt::Debug;
use std::sync::Arc;

pub use address::open_url;
pub use error::{BackendError, Operation};
pub use failing::FailingBackend;
pub use faults::{Fault, Faults};
pub use filesystem::{FailingFileSystem, FileSystem, StandardFileSystem};
pub use memory::MemoryBackend;
pub use object::ObjectBackend;
pub use posix::PosixBackend;
pub use retrying::RetryingBackend;

use crate::FileName;

/// A place for files.
pub trait Backend: Debug + Send + Sync {
    /// Begins a file that must not exist yet.
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError>;

    /// Opens a finished file, or a log file, for reading. Its length is taken now.
    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError>;

    /// The files of a directory (`""` is the top), sorted by name. Files that are not finished are not among them.
    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError>;

    /// Removes a file. A file that is not there is an error.
    fn remove(&self, name: &FileName) -> Result<(), BackendError>;

    /// Opens a log file to append to, cut to `keep` bytes; it is made if it is not there and `keep` is 0.
    fn append(&self, name: &FileName, keep: u64) -> Result<Box<dyn LogFile>, BackendError>;

    /// Whether [`append`](Self::append) works here.
    fn appends(&self) -> bool;
}

/// A file that is being written. Dropped before it is finished, it leaves nothing behind.
pub trait NewFile: Send {
    /// Adds all the bytes at the end.
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError>;

    /// Makes the file durable and visible. After an error it may or may not be visible, but never in part.
    fn finish(self: Box<Self>) -> Result<(), BackendError>;
}

/// A file to read from, at any place, from any thread.
pub trait OpenFile: Debug + Send + Sync {
    /// Its length when it was opened.
    fn bytes(&self) -> u64;

    /// Fills `into` from `offset` on, or fails.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), BackendError>;
}

/// A file that grows.
pub trait LogFile: Send {
    /// Adds all the bytes at the end. After an error the end may hold any part of them.
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError>;

    /// Returns when everything written so far survives the loss of power. After an error nothing is known, and a second try proves nothing.
    fn sync(&mut self) -> Result<(), BackendError>;
}

/// A file in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name, with the directory.
    pub name: FileName,
    /// Its length.
    pub bytes: u64,
}

/// The name of a file in a directory, if it is one that we could have given. Others are not ours and are left alone.
pub(crate) fn name_in(directory: &str, file: &str) -> Option<FileName> {
    match directory {
        "" => FileName::new(file).ok().filter(|name| name.directory().is_empty()),
        _ => FileName::new(&format!("{directory}/{file}")).ok(),
    }
}
