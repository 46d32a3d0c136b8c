//! What can go wrong with the input log.

use thiserror::Error;

use super::Sequence;
use crate::{BackendError, NameError};

/// An error of the input log.
#[derive(Debug, Error)]
pub enum LogError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A name could not be made.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A segment's header is not one.
    #[error("{file} is no segment of an input log: {reason}")]
    NotASegment {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// Written by a newer program.
    #[error("{file} has format version {found}, this program reads versions up to {newest}")]
    Version {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version known here.
        newest: u32,
    },
    /// A record that was durable is no longer whole.
    #[error("record {record} at byte {offset} of {file} is damaged ({reason}), and {proof}")]
    Damaged {
        /// The file.
        file: String,
        /// The record.
        record: Sequence,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        reason: String,
        /// How we know that it was whole.
        proof: String,
    },
    /// Records are missing.
    #[error("the input log has a gap: expected record {expected}, found {found} in {file}")]
    Gap {
        /// The record that should come.
        expected: Sequence,
        /// The record that comes.
        found: Sequence,
        /// The file.
        file: String,
    },
    /// A record is too long.
    #[error("a record of {bytes} bytes; the input log takes up to {most}: send it in smaller steps")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The greatest length.
        most: usize,
    },
    /// An earlier write failed. What was acknowledged is durable; the rest is unknown until the log is opened again.
    #[error("the input log takes no more records since a write failed ({cause}): open the database again")]
    Broken {
        /// The cause.
        cause: String,
    },
}
