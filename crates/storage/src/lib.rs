//! Storage: files of Arrow columns, a cache of their blocks, checkpoints that name them, and the log of what came in since.
//!
//! It keeps what it is given and finds it again, whole or with an error that says what is wrong with what. It does not know what a row means: keys are bytes that compare
//! as keys do, hashes are numbers, and what else a caller wants to remember is `extra` bytes.
//!
//! | noun on disk | module |
//! |---|---|
//! | the directory, the bucket | `backend` |
//! | a batch file, its blocks, filters and footer | `file` |
//! | a manifest | `manifest` |
//! | a segment of the input log | `log` |
//! | the lock | `lock` |
//!
//! Everything that comes from disk is hostile until it has been checked: checksums first, then rkyv's validation of archives, then Arrow's validation of
//! arrays. No path leads out of the directory, and no length is believed before it has been compared with the file's.

mod backend;
mod breaker;
mod cache;
mod checksum;
mod clock;
mod config;
mod file;
mod file_name;
mod lock;
mod log;
mod manifest;
mod metrics;
mod retry;
mod runner;

pub use backend::{
    Backend, BackendError, FailingBackend, FailingFileSystem, Fault, Faults, FileSystem, Listed, LogFile,
    MemoryBackend, NewFile, ObjectBackend, OpenFile, Operation, PosixBackend, RetryingBackend,
    StandardFileSystem, open_url,
};
pub use breaker::{Admission, Breaker, BreakerPolicy};
pub use cache::{Cache, FileId};
pub use checksum::Checksum;
pub use clock::{Clock, ManualClock, SystemClock};
pub use config::{Compression, ConfigError, StorageConfig};
pub use file::{
    BatchFile, BatchWriter, Block, BlockEntry, BlockScan, FileError, FileSummary, NewBlock, Part, ahead,
};
pub use file_name::{FileName, NameError};
pub use lock::{DirectoryLock, LockError};
pub use log::{LogEnd, LogError, LogWriter, Record, Replay, Sequence, replay, trim};
pub use manifest::{Garbage, Manifest, ManifestError, ManifestStore, Version, collect, garbage};
pub use metrics::{Counter, Metrics, Reading};
pub use retry::{Next, RetryPolicy};
