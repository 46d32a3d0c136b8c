//! Reads the log back, record by record, in bounded memory (one window of a segment, or one record if that is longer).

use std::collections::VecDeque;
use std::sync::Arc;

use super::frame::{FRAME, Frame, Header, STEP};
use super::segment::{name_of, segments};
use super::{LogError, Sequence};
use crate::{Backend, Checksum, FileName, OpenFile};

/// Bytes that are read at a time.
const WINDOW: u64 = 1 << 20;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub sequence: Sequence,
    /// What was appended.
    pub payload: Vec<u8>,
}

/// Where a log ends, found by reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// The number of the next record.
    pub next: Sequence,
    /// The last segment, and how many of its bytes are whole.
    pub(crate) tail: Option<(Sequence, u64)>,
    /// The salt of that segment; none if its header was torn.
    pub(crate) salt: Option<u64>,
    /// Bytes behind the last whole record that were never acknowledged.
    pub torn_bytes: u64,
}

/// Reads the records from `from` on. Nothing is changed; a torn tail is cut when a writer goes on from the [`LogEnd`].
pub fn replay(backend: &Arc<dyn Backend>, from: Sequence) -> Result<Replay, LogError> {
    let mut segments: VecDeque<Sequence> = segments(backend.as_ref())?.into();
    while segments.get(1).is_some_and(|second| *second <= from) {
        segments.pop_front();
    }
    if let Some(found) = segments.front().copied().filter(|first| *first > from) {
        return Err(LogError::Gap { expected: from, found, file: name_of(found)?.to_string() });
    }
    let next = segments.front().copied().unwrap_or(from);
    let end = LogEnd { next, tail: None, salt: None, torn_bytes: 0 };
    Ok(Replay { backend: Arc::clone(backend), segments, from, current: None, end, over: false })
}

/// Records in order.
pub struct Replay {
    backend: Arc<dyn Backend>,
    segments: VecDeque<Sequence>,
    from: Sequence,
    current: Option<Segment>,
    end: LogEnd,
    over: bool,
}

struct Segment {
    name: FileName,
    file: Arc<dyn OpenFile>,
    salt: u64,
    position: u64,
    /// Whether its end may be torn: it is the last one, and the backend appends.
    may_tear: bool,
    /// The first record of the next segment, by which this one must have given all before.
    until: Option<Sequence>,
    window: Vec<u8>,
    window_start: u64,
}

/// What stands at a place of a segment.
enum Found {
    Record(Vec<u8>),
    Mark,
    End,
    Torn,
}

impl Iterator for Replay {
    type Item = Result<Record, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            match self.advance() {
                Ok(Some(record)) if record.sequence >= self.from => return Some(Ok(record)),
                Ok(_) => {}
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl Replay {
    /// Reads what is left and tells where the log ends.
    pub fn end(mut self) -> Result<LogEnd, LogError> {
        for record in self.by_ref() {
            record?;
        }
        // Records that the checkpoint holds and the log has lost are not missed, but their numbers are used up.
        if self.end.next < self.from {
            let (next, torn_bytes) = (self.from, self.end.torn_bytes);
            return Ok(LogEnd { next, tail: None, salt: None, torn_bytes });
        }
        Ok(self.end)
    }

    /// One step: a record, or none if something else was there.
    fn advance(&mut self) -> Result<Option<Record>, LogError> {
        let Some(segment) = &mut self.current else {
            self.open_next()?;
            return Ok(None);
        };
        match segment.read(self.end.next)? {
            Found::Record(payload) => {
                let sequence = self.end.next;
                self.end.next = Sequence(sequence.0 + 1);
                Ok(Some(Record { sequence, payload }))
            }
            Found::Mark => Ok(None),
            found => {
                self.end.tail = self.end.tail.map(|(first, _)| (first, segment.position));
                if matches!(found, Found::Torn) {
                    self.end.torn_bytes = segment.file.bytes() - segment.position;
                }
                self.current = None;
                Ok(None)
            }
        }
    }

    fn open_next(&mut self) -> Result<(), LogError> {
        let Some(first) = self.segments.pop_front() else {
            self.over = true;
            return Ok(());
        };
        let (name, is_last) = (name_of(first)?, self.segments.is_empty());
        if first != self.end.next {
            return Err(LogError::Gap { expected: self.end.next, found: first, file: name.to_string() });
        }
        let file = self.backend.open(&name)?;
        let may_tear = is_last && self.backend.appends();
        // No record is written before the header is durable, so that only a segment without records can have a torn one.
        if may_tear && file.bytes() <= FRAME as u64 && header_of(&name, file.as_ref()).is_err() {
            (self.end.tail, self.end.salt, self.end.torn_bytes) = (Some((first, 0)), None, file.bytes());
            self.over = true;
            return Ok(());
        }
        let header = header_of(&name, file.as_ref())?;
        if header.first != first {
            return Err(LogError::Gap { expected: first, found: header.first, file: name.to_string() });
        }
        (self.end.tail, self.end.salt) = (Some((first, FRAME as u64)), Some(header.salt));
        let (salt, position, window, window_start) = (header.salt, FRAME as u64, Vec::new(), 0);
        let until = self.segments.front().copied();
        self.current = Some(Segment { name, file, salt, position, may_tear, until, window, window_start });
        Ok(())
    }
}

fn header_of(name: &FileName, file: &dyn OpenFile) -> Result<Header, LogError> {
    if file.bytes() < FRAME as u64 {
        let reason = format!("it has {} bytes, its header alone has {FRAME}", file.bytes());
        return Err(LogError::NotASegment { file: name.to_string(), reason });
    }
    let mut bytes = [0; FRAME];
    file.read_at(0, &mut bytes)?;
    Header::from_bytes(name, &bytes)
}

impl Segment {
    /// What stands at the position; moves behind it if it is whole.
    fn read(&mut self, expected: Sequence) -> Result<Found, LogError> {
        let left = self.file.bytes() - self.position;
        if left == 0 {
            return Ok(Found::End);
        }
        let salt = self.salt;
        let front = self.bytes(self.position, left.min(FRAME as u64))?;
        let frame = match Frame::from_bytes(front, salt) {
            Ok(frame) => frame,
            Err(reason) => return self.broken(expected, reason),
        };
        if frame.sequence != expected {
            let file = self.name.to_string();
            return Err(LogError::Gap { expected, found: frame.sequence, file });
        }
        if frame.length() > left {
            return self.broken(expected, format!("{left} bytes are left of {}", frame.length()));
        }
        let payload = self.bytes(self.position + FRAME as u64, u64::from(frame.bytes))?;
        let computed = Checksum::of(payload);
        if computed != frame.payload {
            let stored = frame.payload;
            return self.broken(expected, format!("checksum mismatch: stored {stored}, computed {computed}"));
        }
        let payload = payload.to_vec();
        self.position += frame.length();
        Ok(if frame.is_record { Found::Record(payload) } else { Found::Mark })
    }

    /// A broken record: the torn end of a log, if nothing proves that it was durable. Where the next segment goes on with this very record, it was the last
    /// mark, which nobody synced.
    fn broken(&mut self, record: Sequence, reason: String) -> Result<Found, LogError> {
        if self.until == Some(record) {
            return Ok(Found::End);
        }
        let proof = match self.may_tear {
            false => Some("it does not stand at the end of the log".to_owned()),
            true => self.voucher(record)?.map(|at| format!("the frame at byte {at} says that it was whole")),
        };
        let (file, offset) = (self.name.to_string(), self.position);
        match proof {
            None => Ok(Found::Torn),
            Some(proof) => Err(LogError::Damaged { file, record, offset, reason, proof }),
        }
    }

    /// Where a later frame says that the record was durable.
    fn voucher(&mut self, record: Sequence) -> Result<Option<u64>, LogError> {
        let (salt, end) = (self.salt, self.file.bytes());
        let mut at = self.position + STEP as u64;
        while at + FRAME as u64 <= end {
            let front = self.bytes(at, FRAME as u64)?;
            if Frame::from_bytes(front, salt).is_ok_and(|frame| frame.durable > record) {
                return Ok(Some(at));
            }
            at += STEP as u64;
        }
        Ok(None)
    }

    /// Bytes of the file, which are there.
    fn bytes(&mut self, offset: u64, wanted: u64) -> Result<&[u8], LogError> {
        let inside =
            offset >= self.window_start && offset + wanted <= self.window_start + self.window.len() as u64;
        if !inside {
            let length = wanted.max(WINDOW).min(self.file.bytes() - offset);
            self.window.resize(length as usize, 0);
            self.window_start = offset;
            self.file.read_at(offset, &mut self.window)?;
        }
        let start = (offset - self.window_start) as usize;
        Ok(&self.window[start..start + wanted as usize])
    }
}
