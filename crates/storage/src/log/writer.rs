//! Appends to the log. Any number of threads append and wait; whoever waits while nobody syncs writes and syncs for all.
//!
//! After a failed write or sync nothing is known about the end of the file, and a second sync that succeeds proves nothing. So a failure ends the
//! writer: what was acknowledged is durable, and opening the log again finds out about the rest.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::frame::{Frame, Header, LONGEST};
use super::segment::name_of;
use super::{LogEnd, LogError, Sequence};
use crate::{Backend, LogFile};

/// The end of a log.
pub struct LogWriter {
    backend: Arc<dyn Backend>,
    state: Mutex<State>,
    settled: Condvar,
}

struct State {
    /// Payloads that are not written yet, the first of which has the number `written`.
    pending: Vec<Vec<u8>>,
    written: Sequence,
    durable: Sequence,
    /// None while a thread writes with it, and between segments.
    segment: Option<Segment>,
    writing: bool,
    failure: Option<String>,
}

struct Segment {
    file: Box<dyn LogFile>,
    salt: u64,
}

impl LogWriter {
    /// Goes on where a log ends. A torn tail is cut, and what is left is durable when this returns.
    pub fn resume(backend: Arc<dyn Backend>, end: &LogEnd) -> Result<Self, LogError> {
        let segment = match (end.tail, end.salt, backend.appends()) {
            (Some((first, keep)), Some(salt), true) => {
                let mut file = backend.append(&name_of(first)?, keep)?;
                file.sync()?;
                Some(Segment { file, salt })
            }
            _ => None,
        };
        let state = State {
            pending: Vec::new(),
            written: end.next,
            durable: end.next,
            segment,
            writing: false,
            failure: None,
        };
        Ok(Self { backend, state: Mutex::new(state), settled: Condvar::new() })
    }

    /// Adds a record and gives it its number. It is not durable before [`commit`](Self::commit) has returned for it.
    pub fn append(&self, payload: Vec<u8>) -> Result<Sequence, LogError> {
        if payload.len() > LONGEST {
            return Err(LogError::TooLong { bytes: payload.len(), most: LONGEST });
        }
        let mut state = self.lock();
        state.check()?;
        state.pending.push(payload);
        Ok(Sequence(state.next().0 - 1))
    }

    /// Returns when the record and all before it are durable. A number that was not given yet stands for all that were.
    pub fn commit(&self, record: Sequence) -> Result<(), LogError> {
        let mut state = self.lock();
        let Some(last) = state.next().0.checked_sub(1) else { return Ok(()) };
        let record = record.min(Sequence(last));
        loop {
            if state.durable > record {
                return Ok(());
            }
            state.check()?;
            state = match state.writing {
                true => self.settled.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
                false => self.write(state),
            };
        }
    }

    /// The number of the next record.
    pub fn next(&self) -> Sequence {
        self.lock().next()
    }

    /// All records before this one are durable.
    pub fn durable(&self) -> Sequence {
        self.lock().durable
    }

    /// Makes everything durable and begins a new segment; gives the number of its first record. Called with every checkpoint.
    pub fn rotate(&self) -> Result<Sequence, LogError> {
        loop {
            let next = self.next();
            if next > Sequence(0) {
                self.commit(Sequence(next.0 - 1))?;
            }
            let mut state = self.lock();
            state.check()?;
            if !state.writing && state.pending.is_empty() {
                let first = state.written;
                state.segment = None;
                if self.backend.appends() {
                    let begun = begin(self.backend.as_ref(), first);
                    state.segment = Some(begun.inspect_err(|error| state.failure = Some(error.to_string()))?);
                }
                return Ok(first);
            }
        }
    }

    /// Writes what is pending, without the lock, and takes the lock again.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.writing = true;
        let (payloads, first, durable) = (std::mem::take(&mut state.pending), state.written, state.durable);
        state.written = Sequence(first.0 + payloads.len() as u64);
        let through = state.written;
        let mut segment = state.segment.take();
        drop(state);
        let done = self.write_group(&mut segment, &payloads, first, durable);
        let mut state = self.lock();
        state.writing = false;
        match done {
            Ok(marked) => {
                state.durable = through;
                state.segment = segment;
                state.failure = marked.err().map(|error| error.to_string());
            }
            Err(error) => state.failure = Some(error.to_string()),
        }
        self.settled.notify_all();
        state
    }

    /// The outer result tells whether the group is durable, the inner one whether the file can be written on.
    fn write_group(
        &self,
        segment: &mut Option<Segment>,
        payloads: &[Vec<u8>],
        first: Sequence,
        durable: Sequence,
    ) -> Result<Result<(), LogError>, LogError> {
        if !self.backend.appends() {
            write_object(self.backend.as_ref(), payloads, first)?;
            return Ok(Ok(()));
        }
        let segment = match segment {
            Some(segment) => segment,
            None => segment.insert(begin(self.backend.as_ref(), first)?),
        };
        segment.file.write(&frames(segment.salt, payloads, first, durable))?;
        segment.file.sync()?;
        let through = Sequence(first.0 + payloads.len() as u64);
        Ok(segment.file.write(&Frame::mark(segment.salt, through)).map_err(LogError::from))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    fn check(&self) -> Result<(), LogError> {
        match &self.failure {
            None => Ok(()),
            Some(cause) => Err(LogError::Broken { cause: cause.clone() }),
        }
    }

    fn next(&self) -> Sequence {
        Sequence(self.written.0 + self.pending.len() as u64)
    }
}

/// Begins a segment. Its header is durable before anything follows, which tells a torn header from a damaged one.
fn begin(backend: &dyn Backend, first: Sequence) -> Result<Segment, LogError> {
    let mut file = backend.append(&name_of(first)?, 0)?;
    let salt = fastrand::u64(..);
    file.write(&Header { first, salt }.to_bytes())?;
    file.sync()?;
    Ok(Segment { file, salt })
}

/// Where nothing can be appended to, each group is a segment.
fn write_object(backend: &dyn Backend, payloads: &[Vec<u8>], first: Sequence) -> Result<(), LogError> {
    if payloads.is_empty() {
        return Ok(());
    }
    let salt = fastrand::u64(..);
    let mut file = backend.create(&name_of(first)?)?;
    file.write(&Header { first, salt }.to_bytes())?;
    file.write(&frames(salt, payloads, first, first))?;
    Ok(file.finish()?)
}

fn frames(salt: u64, payloads: &[Vec<u8>], first: Sequence, durable: Sequence) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (sequence, payload) in (first.0..).map(Sequence).zip(payloads) {
        Frame::write_record(&mut bytes, salt, sequence, durable, payload);
    }
    bytes
}
