//! The frames of a segment: a header, then records and marks, each beginning at a multiple of 8.

use super::{LogError, Sequence};
use crate::{Checksum, FileName};

/// Length of a segment's header and of the front of a frame.
pub(crate) const FRAME: usize = 32;
/// Where frames begin.
pub(crate) const STEP: usize = 8;
/// No record is longer.
pub(crate) const LONGEST: usize = 1 << 30;
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"TLRINLOG";
const RECORD: &[u8; 4] = b"TREC";
const MARK: &[u8; 4] = b"TMRK";

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub first: Sequence,
    pub salt: u64,
}

impl Header {
    /// Magic, version, checksum, first record, salt.
    pub(crate) fn to_bytes(self) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.salt.to_le_bytes());
        let checksum = Checksum::of(&bytes[..12]).and(&bytes[16..]);
        bytes[12..16].copy_from_slice(&checksum.0.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(file: &FileName, bytes: &[u8]) -> Result<Self, LogError> {
        let not = |reason: String| LogError::NotASegment { file: file.to_string(), reason };
        if bytes.len() < FRAME || &bytes[..8] != MAGIC {
            return Err(not("its first bytes do not say so".to_owned()));
        }
        let (found, stored) = (u32_at(bytes, 8), Checksum(u32_at(bytes, 12)));
        if found != VERSION {
            return Err(LogError::Version { file: file.to_string(), found, newest: VERSION });
        }
        let computed = Checksum::of(&bytes[..12]).and(&bytes[16..FRAME]);
        if stored != computed {
            return Err(not(format!(
                "checksum mismatch in its header: stored {stored}, computed {computed}"
            )));
        }
        Ok(Self { first: Sequence(u64_at(bytes, 16)), salt: u64_at(bytes, 24) })
    }
}

/// The front of a record or mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub is_record: bool,
    /// The record's number; for a mark, the number that the next record will have.
    pub sequence: Sequence,
    /// All records before this one were durable when the frame was written.
    pub durable: Sequence,
    pub bytes: u32,
    pub payload: Checksum,
}

impl Frame {
    /// Adds a record.
    pub(crate) fn write_record(
        out: &mut Vec<u8>,
        salt: u64,
        sequence: Sequence,
        durable: Sequence,
        payload: &[u8],
    ) {
        let checksum = Checksum::of(payload);
        let frame =
            Self { is_record: true, sequence, durable, bytes: payload.len() as u32, payload: checksum };
        out.extend_from_slice(&frame.to_bytes(salt));
        out.extend_from_slice(payload);
        out.resize(out.len().next_multiple_of(STEP), 0);
    }

    /// A mark: everything before `durable` is.
    pub(crate) fn mark(salt: u64, durable: Sequence) -> [u8; FRAME] {
        let frame =
            Self { is_record: false, sequence: durable, durable, bytes: 0, payload: Checksum::of(&[]) };
        frame.to_bytes(salt)
    }

    /// How far it is to the next frame.
    pub(crate) fn length(&self) -> u64 {
        FRAME as u64 + u64::from(self.bytes).next_multiple_of(STEP as u64)
    }

    fn to_bytes(self, salt: u64) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..4].copy_from_slice(if self.is_record { RECORD } else { MARK });
        bytes[8..16].copy_from_slice(&self.sequence.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.payload.0.to_le_bytes());
        let checksum = salted(salt, &bytes);
        bytes[4..8].copy_from_slice(&checksum.0.to_le_bytes());
        bytes
    }

    /// The frame whose front these bytes are, or why they are none.
    pub(crate) fn from_bytes(bytes: &[u8], salt: u64) -> Result<Self, String> {
        let is_record = match bytes.get(..4) {
            Some(magic) if bytes.len() >= FRAME && magic == RECORD => true,
            Some(magic) if bytes.len() >= FRAME && magic == MARK => false,
            _ => return Err("no frame begins there".to_owned()),
        };
        let (stored, computed) = (Checksum(u32_at(bytes, 4)), salted(salt, bytes));
        if stored != computed {
            return Err(format!("checksum mismatch in its frame: stored {stored}, computed {computed}"));
        }
        Ok(Self {
            is_record,
            sequence: Sequence(u64_at(bytes, 8)),
            durable: Sequence(u64_at(bytes, 16)),
            bytes: u32_at(bytes, 24),
            payload: Checksum(u32_at(bytes, 28)),
        })
    }
}

fn salted(salt: u64, bytes: &[u8]) -> Checksum {
    Checksum::of(&salt.to_le_bytes()).and(&bytes[..4]).and(&bytes[8..FRAME])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lead_back_and_another_salt_does_not_know_them() {
        let mut bytes = Vec::new();
        Frame::write_record(&mut bytes, 7, Sequence(3), Sequence(2), b"hello");
        assert_eq!(bytes.len(), FRAME + 8);
        let frame = Frame::from_bytes(&bytes, 7).unwrap();
        assert_eq!((frame.sequence, frame.durable, frame.bytes), (Sequence(3), Sequence(2), 5));
        assert_eq!(frame.length(), bytes.len() as u64);
        assert!(Frame::from_bytes(&bytes, 8).is_err());
        let mark = Frame::from_bytes(&Frame::mark(7, Sequence(9)), 7).unwrap();
        assert!(!mark.is_record && mark.durable == Sequence(9) && mark.length() == FRAME as u64);
    }

    #[test]
    fn headers_lead_back() {
        let file = FileName::new("log/a").unwrap();
        let header = Header { first: Sequence(12), salt: 99 };
        assert_eq!(Header::from_bytes(&file, &header.to_bytes()).unwrap(), header);
    }
}
