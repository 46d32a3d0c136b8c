//! Checkpoints: a manifest names the immutable files that together are the state, and the place in the input log from which to go on.
//!
//! A manifest is a file of its own and is never changed; its name carries its version. Committing is finishing that file, which is atomic in every backend.
//! So the newest manifest is the last checkpoint, at every moment and after every crash. Checkpoints share the files that did not change between them.

mod archive;
mod error;
mod garbage;
mod store;

use std::fmt::{self, Display};

pub use error::ManifestError;
pub use garbage::{Garbage, collect, garbage};
pub use store::ManifestStore;

use crate::{FileSummary, Sequence};

/// The number of a checkpoint; later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Its version.
    pub version: Version,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// The first record of the input log that is not in it.
    pub replay_from: Sequence,
    /// The files, each once.
    pub files: Vec<FileSummary>,
    /// What the caller wants to be kept.
    pub extra: Vec<u8>,
}
