//! What a backend can fail with, and whether trying again could help.

use std::fmt::{self, Display};
use std::io;
use std::time::Duration;

use thiserror::Error;

/// What was asked of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Begin a file.
    Create,
    /// Write to a file.
    Write,
    /// Make a file durable and visible.
    Finish,
    /// Open for reading.
    Open,
    /// Read.
    Read,
    /// List a directory.
    List,
    /// Remove a file.
    Remove,
    /// Open for appending.
    Append,
    /// Make a log file durable.
    Sync,
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Write => "write",
            Self::Finish => "finish",
            Self::Open => "open",
            Self::Read => "read",
            Self::List => "list",
            Self::Remove => "remove",
            Self::Append => "append to",
            Self::Sync => "sync",
        })
    }
}

/// An error of a backend.
#[derive(Debug, Error)]
pub enum BackendError {
    /// There is no such file.
    #[error("cannot {operation} {name}: there is no such file")]
    NotFound {
        /// What was asked.
        operation: Operation,
        /// The file.
        name: String,
    },
    /// The name is taken.
    #[error("cannot {operation} {name}: it exists already, and files are never overwritten")]
    AlreadyExists {
        /// What was asked.
        operation: Operation,
        /// The file.
        name: String,
    },
    /// Something that is no plain file of the database: a link, a device, a directory.
    #[error("cannot {operation} {name}: {found}, expected a plain file inside the database directory")]
    NotPlain {
        /// What was asked.
        operation: Operation,
        /// The file.
        name: String,
        /// What it is.
        found: &'static str,
    },
    /// A read past the end.
    #[error("{name} has {bytes} bytes, cannot read {wanted} bytes from {offset} on")]
    PastEnd {
        /// The file.
        name: String,
        /// Its length.
        bytes: u64,
        /// Where the read begins.
        offset: u64,
        /// How much was asked for.
        wanted: u64,
    },
    /// The system below failed.
    #[error("cannot {operation} {name}: {source}")]
    Failed {
        /// What was asked.
        operation: Operation,
        /// The file or directory.
        name: String,
        /// Whether the same call may succeed later.
        transient: bool,
        /// The cause.
        source: io::Error,
    },
    /// The backend has failed too often and is not asked for a while.
    #[error(
        "cannot {operation} {name}: storage failed {failures} times in a row and is not asked again for {wait:?}"
    )]
    Tripped {
        /// What was asked.
        operation: Operation,
        /// The file or directory.
        name: String,
        /// Failures in a row.
        failures: u32,
        /// How long it will be left alone.
        wait: Duration,
    },
    /// The backend cannot do that at all.
    #[error("cannot {operation} {name}: {reason}")]
    Unsupported {
        /// What was asked.
        operation: Operation,
        /// The file or address.
        name: String,
        /// Why not.
        reason: String,
    },
}

impl BackendError {
    /// Names the operation and the file of an error of the system.
    pub fn from_io(operation: Operation, name: impl Display, source: io::Error) -> Self {
        let name = name.to_string();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { operation, name },
            io::ErrorKind::AlreadyExists => Self::AlreadyExists { operation, name },
            kind => Self::Failed { operation, name, transient: is_transient(kind), source },
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Failed { transient: true, .. })
    }

    /// Whether the backend answered as it should: that a file is not there says nothing against the backend.
    pub fn is_answer(&self) -> bool {
        !matches!(self, Self::Failed { .. } | Self::Tripped { .. })
    }

    /// Whether the file was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// What the network or a busy system does; a full disk and a broken one do not heal by themselves.
pub(crate) fn is_transient(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::*;
    matches!(
        kind,
        Interrupted
            | TimedOut
            | WouldBlock
            | ConnectionReset
            | ConnectionRefused
            | ConnectionAborted
            | NotConnected
            | BrokenPipe
            | HostUnreachable
            | NetworkUnreachable
            | NetworkDown
            | ResourceBusy
            | StaleNetworkFileHandle
    )
}
