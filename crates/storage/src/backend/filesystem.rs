//! The calls of the operating system that a directory of files needs, behind a trait, so that a test can break any one of them.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::Faults;

/// Calls of the operating system.
pub trait FileSystem: Debug + Send + Sync {
    /// Makes a directory; one that is there already is an error.
    fn make_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes a file that must not be there.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Opens for reading.
    fn open(&self, path: &Path) -> io::Result<File>;
    /// Opens for appending, makes the file if it is not there.
    fn open_append(&self, path: &Path) -> io::Result<File>;
    /// Cuts a file.
    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()>;
    /// Writes some of the bytes, tells how many.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;
    /// Reads some bytes from a place, tells how many.
    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Makes a file durable.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// What a path is, without following a link.
    fn status(&self, path: &Path) -> io::Result<fs::Metadata>;
    /// Names of plain files in a directory with their lengths.
    fn list(&self, path: &Path) -> io::Result<Vec<(String, u64)>>;
}

/// The operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardFileSystem;

impl FileSystem for StandardFileSystem {
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).open(path)
    }

    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    #[cfg(unix)]
    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(file, into, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(file, into, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Windows has no such call: there a rename is durable by itself.
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if cfg!(windows) { Ok(()) } else { File::open(path)?.sync_all() }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn status(&self, path: &Path) -> io::Result<fs::Metadata> {
        fs::symlink_metadata(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // What a link leads to is not ours, and a file that vanished in between is not there.
            let status = entry.metadata();
            if let (Ok(status), Ok(name)) = (status, entry.file_name().into_string())
                && status.is_file()
            {
                files.push((name, status.len()));
            }
        }
        Ok(files)
    }
}

/// Breaks single calls of the operating system.
#[derive(Clone, Debug)]
pub struct FailingFileSystem {
    inner: Arc<dyn FileSystem>,
    faults: Arc<Faults>,
}

impl FailingFileSystem {
    /// Puts a plan of faults around the operating system.
    pub fn new(faults: Arc<Faults>) -> Self {
        Self { inner: Arc::new(StandardFileSystem), faults }
    }
}

impl FileSystem for FailingFileSystem {
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.faults.around(|| self.inner.make_directory(path))
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.faults.around(|| self.inner.create(path))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.faults.around(|| self.inner.open(path))
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        self.faults.around(|| self.inner.open_append(path))
    }

    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.faults.around(|| self.inner.truncate(file, bytes))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.faults.around_write(bytes, |part| self.inner.write(file, part))
    }

    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.faults.around(|| self.inner.read_at(file, offset, into))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.faults.around(|| self.inner.sync(file))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.faults.around(|| self.inner.sync_directory(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.faults.around(|| self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.faults.around(|| self.inner.remove(path))
    }

    fn status(&self, path: &Path) -> io::Result<fs::Metadata> {
        self.faults.around(|| self.inner.status(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(String, u64)>> {
        self.faults.around(|| self.inner.list(path))
    }
}
