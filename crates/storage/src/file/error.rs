//! What can be wrong with a batch file, or with what is to be written into one. Every message names the file, the part and both sides.

use std::fmt::{self, Display};

use arrow_schema::DataType;
use thiserror::Error;

use crate::{BackendError, Checksum};

/// A part of a batch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first bytes.
    Header,
    /// The last bytes.
    Tail,
    /// The footer.
    Footer,
    /// A block of rows.
    Block(usize),
    /// A page of filters.
    Filter(usize),
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("the header"),
            Self::Tail => f.write_str("the tail"),
            Self::Footer => f.write_str("the footer"),
            Self::Block(number) => write!(f, "block {number}"),
            Self::Filter(number) => write!(f, "filter page {number}"),
        }
    }
}

/// An error of a batch file.
#[derive(Debug, Error)]
pub enum FileError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Too few bytes to be a batch file.
    #[error("{file} has {bytes} bytes, a batch file has at least {least}")]
    TooShort {
        /// The file.
        file: String,
        /// Its length.
        bytes: u64,
        /// The least length.
        least: u64,
    },
    /// Not a batch file, or not the end of one.
    #[error(
        "{part} of {file} does not say that it is a batch file: it was cut, overwritten, or is something else"
    )]
    NotABatch {
        /// The file.
        file: String,
        /// The part that should say so.
        part: Part,
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
    /// Bytes have changed.
    #[error("checksum mismatch in {part} of {file}: stored {stored}, computed {computed}")]
    Mismatch {
        /// The file.
        file: String,
        /// The part.
        part: Part,
        /// The checksum that was stored.
        stored: Checksum,
        /// The checksum of the bytes.
        computed: Checksum,
    },
    /// The parts of the file contradict each other.
    #[error("{part} of {file} is malformed: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// The part.
        part: Part,
        /// What is wrong.
        reason: String,
    },
    /// Another file than the manifest means.
    #[error(
        "{file} is not the file that the manifest names: it has {found_bytes} bytes and checksum {found}, expected {expected_bytes} bytes and {expected}"
    )]
    OtherFile {
        /// The file.
        file: String,
        /// Length in the manifest.
        expected_bytes: u64,
        /// Checksum in the manifest.
        expected: Checksum,
        /// Length that was found.
        found_bytes: u64,
        /// Checksum that was found.
        found: Checksum,
    },
    /// There is no such block.
    #[error("{file} has {blocks} blocks, there is no block {block}")]
    NoBlock {
        /// The file.
        file: String,
        /// The number that was asked for.
        block: usize,
        /// How many there are.
        blocks: usize,
    },
    /// A type that the format has no code for.
    #[error(
        "column '{column}' of type {data_type} cannot be stored: dictionaries, unions, run-end encodings and list views must be unpacked first"
    )]
    UnsupportedType {
        /// The column.
        column: String,
        /// Its type.
        data_type: DataType,
    },
    /// Columns that do not fit the schema, or a block out of order.
    #[error("block {block} cannot be added to {file}: {reason}")]
    Refused {
        /// The file.
        file: String,
        /// The number that the block would have.
        block: usize,
        /// Why not.
        reason: String,
    },
    /// Archiving failed.
    #[error("cannot archive {part} of {file}: {reason}")]
    Archive {
        /// The file.
        file: String,
        /// The part.
        part: Part,
        /// Why not.
        reason: String,
    },
}
