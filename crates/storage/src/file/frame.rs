//! The fixed ends of a batch file: 64 bytes in front that say what it is, 64 bytes behind that say where the footer lies.

use super::{FileError, Part};
use crate::{Checksum, FileName};

/// Length of the header and of the tail.
pub(crate) const FRAME: usize = 64;
/// The version that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;
const HEADER_MAGIC: &[u8; 8] = b"TLRBATCH";
const TAIL_MAGIC: &[u8; 8] = b"TLRBTAIL";

/// The header: magic, version, checksum of both, zeros.
pub(crate) fn header() -> [u8; FRAME] {
    let mut bytes = [0; FRAME];
    bytes[..8].copy_from_slice(HEADER_MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let checksum = Checksum::of(&bytes[..12]);
    bytes[12..16].copy_from_slice(&checksum.0.to_le_bytes());
    bytes
}

/// Checks a header.
pub(crate) fn check_header(file: &FileName, bytes: &[u8; FRAME]) -> Result<(), FileError> {
    if &bytes[..8] != HEADER_MAGIC {
        return Err(FileError::NotABatch { file: file.to_string(), part: Part::Header });
    }
    check_version(file, u32_at(bytes, 8))?;
    compare(file, Part::Header, Checksum(u32_at(bytes, 12)), Checksum::of(&bytes[..12]))
}

/// Where the footer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub offset: u64,
    pub bytes: u64,
    pub checksum: Checksum,
    pub file_bytes: u64,
}

impl Tail {
    /// The tail: place and checksum of the footer, version, length of the file, checksum of all this, zeros, magic.
    pub(crate) fn to_bytes(self) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.checksum.0.to_le_bytes());
        bytes[20..24].copy_from_slice(&VERSION.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.file_bytes.to_le_bytes());
        let checksum = Checksum::of(&bytes[..32]);
        bytes[32..36].copy_from_slice(&checksum.0.to_le_bytes());
        bytes[56..].copy_from_slice(TAIL_MAGIC);
        bytes
    }

    /// Checks a tail against the length that the file has.
    pub(crate) fn from_bytes(
        file: &FileName,
        bytes: &[u8; FRAME],
        file_bytes: u64,
    ) -> Result<Self, FileError> {
        if &bytes[56..] != TAIL_MAGIC {
            return Err(FileError::NotABatch { file: file.to_string(), part: Part::Tail });
        }
        check_version(file, u32_at(bytes, 20))?;
        compare(file, Part::Tail, Checksum(u32_at(bytes, 32)), Checksum::of(&bytes[..32]))?;
        let tail = Self {
            offset: u64_at(bytes, 0),
            bytes: u64_at(bytes, 8),
            checksum: Checksum(u32_at(bytes, 16)),
            file_bytes: u64_at(bytes, 24),
        };
        let end = tail.offset.checked_add(tail.bytes).and_then(|end| end.checked_add(FRAME as u64));
        match tail.file_bytes == file_bytes
            && tail.offset >= FRAME as u64
            && end.is_some_and(|end| end <= file_bytes)
        {
            true => Ok(tail),
            false => Err(FileError::Malformed {
                file: file.to_string(),
                part: Part::Tail,
                reason: format!(
                    "footer of {} bytes at {} in a file of {} bytes; the file has {file_bytes}",
                    tail.bytes, tail.offset, tail.file_bytes
                ),
            }),
        }
    }

    /// The checksum that stands for the whole file: it covers the footer's, which covers those of all pages.
    pub(crate) fn identity(self) -> Checksum {
        Checksum(u32_at(&self.to_bytes(), 32))
    }
}

/// Compares a stored with a computed checksum.
pub(crate) fn compare(
    file: &FileName,
    part: Part,
    stored: Checksum,
    computed: Checksum,
) -> Result<(), FileError> {
    match stored == computed {
        true => Ok(()),
        false => Err(FileError::Mismatch { file: file.to_string(), part, stored, computed }),
    }
}

fn check_version(file: &FileName, found: u32) -> Result<(), FileError> {
    match found {
        1..=VERSION => Ok(()),
        _ => Err(FileError::Version { file: file.to_string(), found, newest: VERSION }),
    }
}

fn u32_at(bytes: &[u8; FRAME], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8; FRAME], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
