//! The lock of a directory: one process writes. The lock is the operating system's, on an open file, so that it ends with its process, however that dies.
//! The file says who holds it, for the error message of the second one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

const FILE: &str = "lock";
/// A holder's note is no longer; what is longer is not ours.
const LONGEST_NOTE: u64 = 1 << 10;

/// Why a directory could not be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "{path} is in use by process {pid} on {host}; a database is open in one process at a time: close it there, or open another directory"
    )]
    Held {
        /// The directory.
        path: PathBuf,
        /// The process, if it said so.
        pid: String,
        /// Its machine, if it said so.
        host: String,
    },
    /// The lock is no plain file.
    #[error("{path} is not a plain file: remove it if the directory is a database")]
    NotPlain {
        /// The lock file.
        path: PathBuf,
    },
    /// The system failed.
    #[error("cannot lock {path}: {source}")]
    Failed {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A locked directory; dropping it unlocks.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// Locks a directory; makes it if it is not there.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Failed { path: directory.to_owned(), source };
        std::fs::create_dir_all(directory).map_err(failed)?;
        let path = directory.join(FILE);
        if path.symlink_metadata().is_ok_and(|status| !status.is_file()) {
            return Err(LockError::NotPlain { path });
        }
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(directory, &mut file)),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        sign(&mut file).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for DirectoryLock {
    /// The note goes first: whoever finds the lock free finds it empty. Both end with the process anyway.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    let host = gethostname::gethostname();
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    write!(file, "{}\n{}\n", std::process::id(), host.to_string_lossy())?;
    file.sync_all()
}

fn held(directory: &Path, file: &mut File) -> LockError {
    let mut note = Vec::new();
    let _ = file.take(LONGEST_NOTE).read_to_end(&mut note);
    let note = String::from_utf8_lossy(&note);
    let mut lines = note.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut next = |otherwise: &str| lines.next().unwrap_or(otherwise).to_owned();
    LockError::Held { path: directory.to_owned(), pid: next("unknown"), host: next("an unknown machine") }
}
