//! Files as objects of an object store.
//!
//! A store has no rename, no append and no fsync; an object appears whole when its upload ends, and is durable then. Small files go up in one conditional
//! request, which fails if the name is taken: that is what makes a manifest's commit atomic between machines. Large files go up in parts; their names
//! are unique, so that a condition is not needed, and stores do not offer one.
//!
//! A request whose answer is lost may have succeeded. If an upload is repeated and the name is taken then, the object is read back: if it holds our
//! bytes, it is ours.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{
    Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};

use super::error::is_transient;
use super::{Backend, BackendError, Listed, LogFile, NewFile, OpenFile, Operation, name_in};
use crate::runner::Runner;
use crate::{Clock, FileName, Next, RetryPolicy, SystemClock};

/// Bytes of a part of a large upload, and the size from which a file counts as large. Stores want at least 5 MiB.
const PART: usize = 8 << 20;

/// A prefix in an object store.
pub struct ObjectBackend {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    runner: Runner,
    retry: RetryPolicy,
    clock: Arc<dyn Clock>,
}

impl ObjectBackend {
    /// Files below `prefix`; failed uploads are repeated as `retry` says.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str, retry: RetryPolicy) -> Result<Self, BackendError> {
        let failed = |reason: String| BackendError::Unsupported {
            operation: Operation::Open,
            name: prefix.to_owned(),
            reason,
        };
        let prefix = Path::parse(prefix).map_err(|error| failed(error.to_string()))?;
        let runner = Runner::start().map_err(|error| failed(error.to_string()))?;
        let clock = Arc::new(SystemClock::default());
        Ok(Self { shared: Arc::new(Shared { store, prefix, runner, retry, clock }) })
    }
}

impl fmt::Debug for ObjectBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.shared.store, self.shared.prefix)
    }
}

impl Shared {
    fn place(&self, name: &FileName) -> Path {
        name.as_str().split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// Runs a request to its end.
    fn ask<T: Send + 'static>(
        &self,
        operation: Operation,
        name: impl fmt::Display,
        request: impl FnOnce(Arc<dyn ObjectStore>) -> BoxFuture<'static, Result<T, StoreError>>,
    ) -> Result<T, BackendError> {
        let answer = self.runner.run(request(Arc::clone(&self.store)));
        let answer = answer.map_err(|error| BackendError::from_io(operation, &name, error))?;
        answer.map_err(|error| from_store(operation, &name, error))
    }

    fn head(&self, operation: Operation, name: &FileName) -> Result<u64, BackendError> {
        let place = self.place(name);
        self.ask(operation, name, |store| Box::pin(async move { Ok(store.head(&place).await?.size) }))
    }

    fn read(
        &self,
        operation: Operation,
        name: &FileName,
        range: std::ops::Range<u64>,
    ) -> Result<Bytes, BackendError> {
        let place = self.place(name);
        self.ask(operation, name, |store| Box::pin(async move { store.get_range(&place, range).await }))
    }

    /// Puts a whole object under a free name.
    fn put(&self, name: &FileName, bytes: Bytes) -> Result<(), BackendError> {
        let mut attempts = 0;
        loop {
            let (place, payload) = (self.place(name), PutPayload::from(bytes.clone()));
            let put = self.ask(Operation::Finish, name, |store| {
                let options = PutOptions::from(PutMode::Create);
                Box::pin(async move { store.put_opts(&place, payload, options).await })
            });
            let Err(error) = put else { return Ok(()) };
            if matches!(error, BackendError::AlreadyExists { .. }) && attempts > 0 && self.holds(name, &bytes)
            {
                return Ok(());
            }
            attempts += 1;
            match self.retry.after(attempts, error.is_transient(), fastrand::f64()) {
                Next::Wait(wait) => self.clock.sleep(wait),
                Next::GiveUp => return Err(error),
            }
        }
    }

    fn holds(&self, name: &FileName, bytes: &Bytes) -> bool {
        let found = self.head(Operation::Finish, name).and_then(|size| match size == bytes.len() as u64 {
            true => self.read(Operation::Finish, name, 0..size),
            false => Ok(Bytes::new()),
        });
        found.is_ok_and(|found| found == *bytes)
    }
}

impl Backend for ObjectBackend {
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError> {
        match self.shared.head(Operation::Create, name) {
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let name = name.to_string();
                return Err(BackendError::AlreadyExists { operation: Operation::Create, name });
            }
        }
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(ObjectNewFile { shared, name: name.clone(), pending: Vec::new(), upload: None }))
    }

    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError> {
        let bytes = self.shared.head(Operation::Open, name)?;
        Ok(Arc::new(ObjectOpenFile { shared: Arc::clone(&self.shared), name: name.clone(), bytes }))
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError> {
        let mut prefix = self.shared.prefix.clone();
        if !directory.is_empty() {
            prefix = prefix.join(directory);
        }
        let objects = self.shared.ask(Operation::List, directory, |store| {
            Box::pin(async move { Ok(store.list_with_delimiter(Some(&prefix)).await?.objects) })
        })?;
        let named = objects.into_iter().filter_map(|object| {
            let name = name_in(directory, object.location.filename()?)?;
            Some(Listed { name, bytes: object.size })
        });
        let mut listed: Vec<Listed> = named.collect();
        listed.sort();
        Ok(listed)
    }

    /// A store removes what is not there without a word, so it is asked first.
    fn remove(&self, name: &FileName) -> Result<(), BackendError> {
        self.shared.head(Operation::Remove, name)?;
        let place = self.shared.place(name);
        self.shared.ask(Operation::Remove, name, |store| Box::pin(async move { store.delete(&place).await }))
    }

    fn append(&self, name: &FileName, _keep: u64) -> Result<Box<dyn LogFile>, BackendError> {
        let reason = "object stores cannot append: every commit is an object of its own there".to_owned();
        Err(BackendError::Unsupported { operation: Operation::Append, name: name.to_string(), reason })
    }

    fn appends(&self) -> bool {
        false
    }
}

struct ObjectNewFile {
    shared: Arc<Shared>,
    name: FileName,
    pending: Vec<u8>,
    upload: Option<Box<dyn MultipartUpload>>,
}

impl ObjectNewFile {
    fn send_part(&mut self) -> Result<(), BackendError> {
        let (name, place) = (self.name.clone(), self.shared.place(&self.name));
        let begun = match self.upload.take() {
            Some(upload) => upload,
            None => self.shared.ask(Operation::Write, &name, |store| {
                Box::pin(async move { store.put_multipart(&place).await })
            })?,
        };
        let part = PutPayload::from(std::mem::take(&mut self.pending));
        let mut begun = begun;
        let sent = begun.put_part(part);
        self.upload = Some(begun);
        self.shared.ask(Operation::Write, &name, |_| sent)
    }
}

impl NewFile for ObjectNewFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PART { self.send_part() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), BackendError> {
        if self.upload.is_none() {
            return self.shared.put(&self.name, std::mem::take(&mut self.pending).into());
        }
        if !self.pending.is_empty() {
            self.send_part()?;
        }
        let Some(mut upload) = self.upload.take() else { return Ok(()) };
        self.shared.ask(Operation::Finish, &self.name, |_| {
            Box::pin(async move { upload.complete().await.map(drop) })
        })
    }
}

impl Drop for ObjectNewFile {
    /// Parts that cannot be given up now are removed by the store's own rule for unfinished uploads.
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            let _ = self
                .shared
                .ask(Operation::Remove, &self.name, |_| Box::pin(async move { upload.abort().await }));
        }
    }
}

struct ObjectOpenFile {
    shared: Arc<Shared>,
    name: FileName,
    bytes: u64,
}

impl fmt::Debug for ObjectOpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl OpenFile for ObjectOpenFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), BackendError> {
        let (wanted, bytes) = (into.len() as u64, self.bytes);
        let past_end = || BackendError::PastEnd { name: self.name.to_string(), bytes, offset, wanted };
        let end = offset.checked_add(wanted).filter(|end| *end <= bytes).ok_or_else(past_end)?;
        if wanted == 0 {
            return Ok(());
        }
        let found = self.shared.read(Operation::Read, &self.name, offset..end)?;
        if found.len() != into.len() {
            return Err(past_end());
        }
        into.copy_from_slice(&found);
        Ok(())
    }
}

/// What stores report without an error of the system inside is a matter of the network or of the service: worth another try.
fn from_store(operation: Operation, name: impl fmt::Display, error: StoreError) -> BackendError {
    let name = name.to_string();
    match error {
        StoreError::NotFound { .. } => BackendError::NotFound { operation, name },
        StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } => {
            BackendError::AlreadyExists { operation, name }
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            BackendError::Unsupported { operation, name, reason: error.to_string() }
        }
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, error);
            BackendError::Failed { operation, name, transient: false, source }
        }
        StoreError::Generic { .. } => {
            let kind = system_error(&error);
            let transient = kind.is_none_or(is_transient);
            let source = io::Error::new(kind.unwrap_or(io::ErrorKind::Other), error);
            BackendError::Failed { operation, name, transient, source }
        }
        other => BackendError::Failed { operation, name, transient: false, source: io::Error::other(other) },
    }
}

fn system_error(error: &dyn std::error::Error) -> Option<io::ErrorKind> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}
