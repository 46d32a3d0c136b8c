//! The input log: what came in since the last checkpoint, record by record, durable before anybody is told that it was taken.
//!
//! The log is a row of segments, each named after its first record. Records are numbered without gaps. One sync makes the records of all waiting
//! threads durable (group commit). After a checkpoint a new segment begins, and segments that only older records are in go.
//!
//! # A torn tail, and how it differs from damage
//! After a crash the end of the last segment may hold any part of what was written since the last sync. Such a tail is cut: nobody was told that it is there.
//! A record that was synced must never be cut. So each frame says up to which record everything was durable when it was written, and after each sync a
//! mark, a frame without payload, says so again. (The mark is not synced itself: it costs no time, and reaches the disk soon enough.) A broken
//! record in front of a frame that vouches for it is damage, and an error; so is any broken record before the last segment. Frames are recognised
//! by a checksum that is salted with a random number of the segment, so that nothing inside a payload can pass for one.

mod error;
mod frame;
mod replay;
mod segment;
mod writer;

use std::fmt::{self, Display};

pub use error::LogError;
pub use replay::{LogEnd, Record, Replay, replay};
pub use segment::trim;
pub use writer::LogWriter;

/// The number of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

impl Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
