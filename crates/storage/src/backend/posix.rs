//! Files in a directory of the operating system.
//!
//! A new file is written under a name in `tmp/`, synced, renamed to its place, and then the directory is synced: at every moment, also after the loss
//! of power, the name is either not there or leads to the whole file. Whoever writes holds the lock of the directory, so that nobody takes the name
//! between the question and the rename. What a dead process left in `tmp/` is swept away when the directory is opened.
//!
//! The directory may come from a stranger. Names cannot lead out (see `file_name.rs`); here links are refused as well, for files and directories, and
//! everything else that is no plain file.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    Backend, BackendError, FileSystem, Listed, LogFile, NewFile, OpenFile, Operation, StandardFileSystem,
    name_in,
};
use crate::FileName;

const TEMPORARY: &str = "tmp";

/// A directory.
#[derive(Debug)]
pub struct PosixBackend {
    root: PathBuf,
    system: Arc<dyn FileSystem>,
    created: AtomicU64,
}

impl PosixBackend {
    /// Opens a directory; makes it if it is not there. The caller holds its lock.
    pub fn open(root: &Path) -> Result<Self, BackendError> {
        Self::open_over(root, Arc::new(StandardFileSystem))
    }

    /// The same over given calls of the operating system.
    pub fn open_over(root: &Path, system: Arc<dyn FileSystem>) -> Result<Self, BackendError> {
        let backend = Self { root: root.to_owned(), system, created: AtomicU64::new(0) };
        backend.make_directory("", root)?;
        backend.make_directory(TEMPORARY, &root.join(TEMPORARY))?;
        backend.sweep()?;
        Ok(backend)
    }

    /// Where a file lies.
    fn path(&self, name: &FileName) -> PathBuf {
        self.root.join(name.as_str())
    }

    fn make_directory(&self, name: &str, path: &Path) -> Result<(), BackendError> {
        let failed = |source| BackendError::from_io(Operation::Create, shown(name), source);
        match self.system.status(path) {
            // The root may be a link: the caller chose it. Nothing below may be one.
            Ok(_) if name.is_empty() => Ok(()),
            Ok(status) => check_directory(Operation::Create, name, &status),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.system.make_directory(path).map_err(failed)?;
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                self.system.sync_directory(parent.unwrap_or(Path::new("."))).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Removes what was never finished.
    fn sweep(&self) -> Result<(), BackendError> {
        let directory = self.root.join(TEMPORARY);
        let failed = |source| BackendError::from_io(Operation::Remove, TEMPORARY, source);
        for (name, _) in self.system.list(&directory).map_err(failed)? {
            self.system.remove(&directory.join(name)).map_err(failed)?;
        }
        Ok(())
    }

    /// Refuses links and other strange things on the way to a file.
    fn check_way(&self, operation: Operation, name: &FileName) -> Result<(), BackendError> {
        if name.directory().is_empty() {
            return Ok(());
        }
        let status = self.system.status(&self.root.join(name.directory()));
        let status = status.map_err(|error| BackendError::from_io(operation, name, error))?;
        check_directory(operation, name.directory(), &status)
    }

    /// The status of a plain file.
    fn plain(&self, operation: Operation, name: &FileName) -> Result<Metadata, BackendError> {
        self.check_way(operation, name)?;
        let status = self.system.status(&self.path(name));
        let status = status.map_err(|error| BackendError::from_io(operation, name, error))?;
        match status.is_file() {
            true => Ok(status),
            false => Err(BackendError::NotPlain { operation, name: name.to_string(), found: kind(&status) }),
        }
    }

    fn check_free(&self, operation: Operation, name: &FileName) -> Result<(), BackendError> {
        match self.plain(operation, name) {
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(BackendError::AlreadyExists { operation, name: name.to_string() }),
        }
    }

    fn directory_of(&self, name: &FileName) -> PathBuf {
        self.root.join(name.directory())
    }
}

impl Backend for PosixBackend {
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError> {
        if !name.directory().is_empty() {
            self.make_directory(name.directory(), &self.directory_of(name))?;
        }
        self.check_free(Operation::Create, name)?;
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        let temporary = self.root.join(TEMPORARY).join(format!("{number}-{}", name.file()));
        let file = self.system.create(&temporary);
        let file = file.map_err(|error| BackendError::from_io(Operation::Create, name, error))?;
        Ok(Box::new(PosixNewFile {
            system: Arc::clone(&self.system),
            name: name.clone(),
            temporary,
            place: self.path(name),
            directory: self.directory_of(name),
            file: Some(file),
        }))
    }

    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError> {
        let bytes = self.plain(Operation::Open, name)?.len();
        let file = self.system.open(&self.path(name));
        let file = file.map_err(|error| BackendError::from_io(Operation::Open, name, error))?;
        Ok(Arc::new(PosixOpenFile { system: Arc::clone(&self.system), name: name.clone(), file, bytes }))
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError> {
        let failed = |source| BackendError::from_io(Operation::List, shown(directory), source);
        let path = self.root.join(directory);
        let status = match self.system.status(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            status => status.map_err(failed)?,
        };
        if !directory.is_empty() {
            check_directory(Operation::List, directory, &status)?;
        }
        let files = self.system.list(&path).map_err(failed)?;
        let named = files.into_iter().filter_map(|(file, bytes)| Some((name_in(directory, &file)?, bytes)));
        let mut listed: Vec<Listed> = named.map(|(name, bytes)| Listed { name, bytes }).collect();
        listed.sort();
        Ok(listed)
    }

    fn remove(&self, name: &FileName) -> Result<(), BackendError> {
        self.plain(Operation::Remove, name)?;
        let removed = self.system.remove(&self.path(name));
        removed.map_err(|error| BackendError::from_io(Operation::Remove, name, error))
    }

    fn append(&self, name: &FileName, keep: u64) -> Result<Box<dyn LogFile>, BackendError> {
        let failed = |source| BackendError::from_io(Operation::Append, name, source);
        if !name.directory().is_empty() {
            self.make_directory(name.directory(), &self.directory_of(name))?;
        }
        let bytes = match self.plain(Operation::Append, name) {
            Err(error) if error.is_not_found() && keep == 0 => None,
            status => Some(status?.len()),
        };
        let file = self.system.open_append(&self.path(name)).map_err(failed)?;
        if bytes.is_some_and(|bytes| bytes > keep) {
            self.system.truncate(&file, keep).map_err(failed)?;
            self.system.sync(&file).map_err(failed)?;
        }
        if bytes.is_none() {
            self.system.sync_directory(&self.directory_of(name)).map_err(failed)?;
        }
        Ok(Box::new(PosixLogFile { system: Arc::clone(&self.system), name: name.clone(), file }))
    }

    fn appends(&self) -> bool {
        true
    }
}

struct PosixNewFile {
    system: Arc<dyn FileSystem>,
    name: FileName,
    temporary: PathBuf,
    place: PathBuf,
    directory: PathBuf,
    /// Gone when the file has been renamed.
    file: Option<File>,
}

impl PosixNewFile {
    fn publish(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        self.system.sync(file)?;
        match self.system.status(&self.place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        self.system.rename(&self.temporary, &self.place)?;
        self.file = None;
        self.system.sync_directory(&self.directory)
    }
}

impl NewFile for PosixNewFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        let Some(file) = &self.file else { return Ok(()) };
        write_all(self.system.as_ref(), &self.name, file, bytes)
    }

    fn finish(mut self: Box<Self>) -> Result<(), BackendError> {
        let published = self.publish();
        published.map_err(|error| BackendError::from_io(Operation::Finish, &self.name, error))
    }
}

impl Drop for PosixNewFile {
    /// What cannot be removed now is swept away at the next opening.
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = self.system.remove(&self.temporary);
        }
    }
}

#[derive(Debug)]
struct PosixOpenFile {
    system: Arc<dyn FileSystem>,
    name: FileName,
    file: File,
    bytes: u64,
}

impl PosixOpenFile {
    fn past_end(&self, offset: u64, wanted: usize) -> BackendError {
        let name = self.name.to_string();
        BackendError::PastEnd { name, bytes: self.bytes, offset, wanted: wanted as u64 }
    }
}

impl OpenFile for PosixOpenFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), BackendError> {
        let wanted = into.len();
        if offset.checked_add(wanted as u64).is_none_or(|end| end > self.bytes) {
            return Err(self.past_end(offset, wanted));
        }
        let mut done = 0;
        while done < wanted {
            match self.system.read_at(&self.file, offset + done as u64, &mut into[done..]) {
                Ok(0) => return Err(self.past_end(offset, wanted)),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(BackendError::from_io(Operation::Read, &self.name, error)),
            }
        }
        Ok(())
    }
}

struct PosixLogFile {
    system: Arc<dyn FileSystem>,
    name: FileName,
    file: File,
}

impl LogFile for PosixLogFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        write_all(self.system.as_ref(), &self.name, &self.file, bytes)
    }

    fn sync(&mut self) -> Result<(), BackendError> {
        let synced = self.system.sync(&self.file);
        synced.map_err(|error| BackendError::from_io(Operation::Sync, &self.name, error))
    }
}

fn write_all(
    system: &dyn FileSystem,
    name: &FileName,
    file: &File,
    mut bytes: &[u8],
) -> Result<(), BackendError> {
    let failed = |source| BackendError::from_io(Operation::Write, name, source);
    while !bytes.is_empty() {
        match system.write(file, bytes) {
            Ok(0) => return Err(failed(io::ErrorKind::WriteZero.into())),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

fn check_directory(operation: Operation, name: &str, status: &Metadata) -> Result<(), BackendError> {
    match status.is_dir() {
        true => Ok(()),
        false => Err(BackendError::NotPlain { operation, name: name.to_owned(), found: kind(status) }),
    }
}

fn kind(status: &Metadata) -> &'static str {
    match status.file_type() {
        kind if kind.is_symlink() => "it is, or lies behind, a symbolic link",
        kind if kind.is_dir() => "it is a directory",
        kind if kind.is_file() => "it is a file where a directory should be",
        _ => "it is a device, a pipe or a socket",
    }
}

/// The top directory has no name of its own.
fn shown(directory: &str) -> impl fmt::Display {
    if directory.is_empty() { "the database directory".to_owned() } else { format!("directory {directory}") }
}
