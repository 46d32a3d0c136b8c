//! What can go wrong with checkpoints.

use thiserror::Error;

use super::Version;
use crate::{BackendError, Checksum, NameError};

/// An error of manifests.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// There is no such checkpoint.
    #[error("there is no checkpoint {version}; there are: {}", listed(.existing))]
    NoVersion {
        /// The version that was asked for.
        version: Version,
        /// The versions that there are.
        existing: Vec<Version>,
    },
    /// Not a manifest.
    #[error("{file} is no manifest: it was cut, overwritten, or is something else")]
    NotAManifest {
        /// The file.
        file: String,
    },
    /// Written by a newer program.
    #[error("{file} has format version {found}, this program reads versions up to {newest}")]
    Format {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version known here.
        newest: u32,
    },
    /// Bytes have changed.
    #[error("checksum mismatch in {file}: stored {stored}, computed {computed}")]
    Mismatch {
        /// The file.
        file: String,
        /// The checksum that was stored.
        stored: Checksum,
        /// The checksum of the bytes.
        computed: Checksum,
    },
    /// It contradicts itself or its name.
    #[error("{file} is malformed: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// It names a file that cannot be.
    #[error("{file} is refused: {source}")]
    Name {
        /// The manifest.
        file: String,
        /// What is wrong with the name.
        source: NameError,
    },
    /// Someone else has committed this version, or a later one.
    #[error("checkpoint {version} cannot be committed: the newest one is {newest}")]
    Overtaken {
        /// The version that was to be committed.
        version: Version,
        /// The newest one that there is.
        newest: Version,
    },
}

fn listed(versions: &[Version]) -> String {
    match versions {
        [] => "none".to_owned(),
        versions => versions.iter().map(Version::to_string).collect::<Vec<_>>().join(", "),
    }
}
