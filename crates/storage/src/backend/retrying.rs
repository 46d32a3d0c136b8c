//! A backend that tries again, and that stops asking a dead one.
//!
//! Repeated are the calls that can be repeated without harm: beginning a file, opening, reading, listing, removing. Writing and finishing are not: after
//! an error nobody knows how much of a write is there, and after a failed sync a second one that succeeds proves nothing. Their errors fail the file,
//! and the caller writes another one. Every call counts for the breaker and the metrics.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Backend, BackendError, Listed, LogFile, NewFile, OpenFile, Operation};
use crate::{Admission, Breaker, BreakerPolicy, Clock, FileName, Metrics, Next, RetryPolicy, SystemClock};

/// Retries, a breaker and metrics around a backend.
#[derive(Debug)]
pub struct RetryingBackend {
    inner: Arc<dyn Backend>,
    guard: Arc<Guard>,
}

#[derive(Debug)]
struct Guard {
    retry: RetryPolicy,
    breaker: Mutex<Breaker>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
}

impl RetryingBackend {
    /// Puts the policies around a backend.
    pub fn new(
        inner: Arc<dyn Backend>,
        retry: RetryPolicy,
        breaker: BreakerPolicy,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self::with_clock(inner, retry, breaker, metrics, Arc::new(SystemClock::default()))
    }

    /// The same with a given clock.
    pub fn with_clock(
        inner: Arc<dyn Backend>,
        retry: RetryPolicy,
        breaker: BreakerPolicy,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let breaker = Mutex::new(Breaker::new(breaker));
        Self { inner, guard: Arc::new(Guard { retry, breaker, clock, metrics }) }
    }
}

impl Guard {
    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// One call, if the breaker lets it through.
    fn once<T>(
        &self,
        operation: Operation,
        name: &impl Display,
        call: impl FnOnce() -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let admission = self.breaker().admit(self.clock.now());
        if let Admission::Refuse { failures, wait } = admission {
            self.metrics.refusals.add(1);
            return Err(BackendError::Tripped { operation, name: name.to_string(), failures, wait });
        }
        let answer = call();
        match &answer {
            Err(error) if !error.is_answer() => {
                let tripped = self.breaker().failed(self.clock.now());
                self.metrics.trips.add(u64::from(tripped));
            }
            _ => self.breaker().succeeded(),
        }
        answer
    }

    /// A call that may be repeated.
    fn often<T>(
        &self,
        operation: Operation,
        name: &impl Display,
        mut call: impl FnMut() -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let mut attempts = 0;
        loop {
            let error = match self.once(operation, name, &mut call) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            attempts += 1;
            match self.retry.after(attempts, error.is_transient(), fastrand::f64()) {
                Next::Wait(wait) => {
                    self.metrics.retries.add(1);
                    self.clock.sleep(wait);
                }
                Next::GiveUp => {
                    self.metrics.failures.add(u64::from(!error.is_answer()));
                    return Err(error);
                }
            }
        }
    }
}

impl Backend for RetryingBackend {
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError> {
        let inner = self.guard.often(Operation::Create, name, || self.inner.create(name))?;
        Ok(Box::new(GuardedNewFile { inner, name: name.clone(), guard: Arc::clone(&self.guard) }))
    }

    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError> {
        let inner = self.guard.often(Operation::Open, name, || self.inner.open(name))?;
        Ok(Arc::new(GuardedOpenFile { inner, name: name.clone(), guard: Arc::clone(&self.guard) }))
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError> {
        self.guard.often(Operation::List, &directory, || self.inner.list(directory))
    }

    /// If an attempt failed, it may have removed the file all the same: then the next one does not find it.
    fn remove(&self, name: &FileName) -> Result<(), BackendError> {
        let mut attempts = 0;
        self.guard.often(Operation::Remove, name, || {
            attempts += 1;
            match self.inner.remove(name) {
                Err(error) if error.is_not_found() && attempts > 1 => Ok(()),
                removed => removed,
            }
        })
    }

    fn append(&self, name: &FileName, keep: u64) -> Result<Box<dyn LogFile>, BackendError> {
        let inner = self.guard.often(Operation::Append, name, || self.inner.append(name, keep))?;
        Ok(Box::new(GuardedLogFile { inner, name: name.clone(), guard: Arc::clone(&self.guard) }))
    }

    fn appends(&self) -> bool {
        self.inner.appends()
    }
}

impl Guard {
    fn write(
        &self,
        name: &FileName,
        bytes: &[u8],
        call: impl FnOnce() -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        self.metrics.writes.add(1);
        self.metrics.written_bytes.add(bytes.len() as u64);
        self.counted(self.once(Operation::Write, name, call))
    }

    fn settle(
        &self,
        operation: Operation,
        name: &FileName,
        call: impl FnOnce() -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        self.metrics.syncs.add(1);
        self.counted(self.once(operation, name, call))
    }

    fn counted(&self, done: Result<(), BackendError>) -> Result<(), BackendError> {
        self.metrics.failures.add(u64::from(done.is_err()));
        done
    }
}

struct GuardedNewFile {
    inner: Box<dyn NewFile>,
    name: FileName,
    guard: Arc<Guard>,
}

impl NewFile for GuardedNewFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.guard.write(&self.name, bytes, || self.inner.write(bytes))
    }

    fn finish(self: Box<Self>) -> Result<(), BackendError> {
        let Self { inner, name, guard } = *self;
        guard.settle(Operation::Finish, &name, || inner.finish())
    }
}

#[derive(Debug)]
struct GuardedOpenFile {
    inner: Arc<dyn OpenFile>,
    name: FileName,
    guard: Arc<Guard>,
}

impl OpenFile for GuardedOpenFile {
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), BackendError> {
        self.guard.metrics.reads.add(1);
        self.guard.metrics.read_bytes.add(into.len() as u64);
        self.guard.often(Operation::Read, &self.name, || self.inner.read_at(offset, into))
    }
}

struct GuardedLogFile {
    inner: Box<dyn LogFile>,
    name: FileName,
    guard: Arc<Guard>,
}

impl LogFile for GuardedLogFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.guard.write(&self.name, bytes, || self.inner.write(bytes))
    }

    fn sync(&mut self) -> Result<(), BackendError> {
        self.guard.settle(Operation::Sync, &self.name, || self.inner.sync())
    }
}
