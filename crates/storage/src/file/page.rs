//! Pages: what is read, checked and cached as one piece. A page is an archive, as it is or compressed, with a checksum over the bytes that lie in the file.
//!
//! Nothing is allocated on a file's word alone: a page must lie inside the file, and a compressed one cannot claim to be larger than LZ4 can make it.

use std::borrow::Cow;

use arrow_buffer::{Buffer, MutableBuffer};

use super::archive::StoredPage;
use super::frame::compare;
use super::{FileError, Part};
use crate::{Checksum, Compression, FileName, OpenFile};

/// No page is larger, in the file or in memory.
pub(crate) const PAGE_LIMIT: usize = 1 << 30;
const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// LZ4 writes at most this many bytes for one that it reads.
const LZ4_RATIO: u64 = 255;

/// The bytes to store and the encoding that they have.
pub(crate) fn compressed(raw: &[u8], compression: Compression) -> (Cow<'_, [u8]>, u8) {
    match compression {
        Compression::None => (Cow::Borrowed(raw), PLAIN),
        Compression::Lz4 => {
            let packed = lz4_flex::block::compress(raw);
            match packed.len() <= raw.len() - raw.len() / 8 {
                true => (Cow::Owned(packed), LZ4),
                false => (Cow::Borrowed(raw), PLAIN),
            }
        }
    }
}

/// Reads a page, checks it and brings it into the form of memory, aligned as Arrow wants it. `end` is where the pages of the file end.
pub(crate) fn read(
    file: &dyn OpenFile,
    name: &FileName,
    part: Part,
    page: &StoredPage,
    end: u64,
) -> Result<Buffer, FileError> {
    let malformed = |reason: String| FileError::Malformed { file: name.to_string(), part, reason };
    check(page, end).map_err(malformed)?;
    let mut stored = MutableBuffer::from_len_zeroed(page.stored as usize);
    file.read_at(page.offset, stored.as_slice_mut())?;
    compare(name, part, Checksum(page.checksum), Checksum::of(stored.as_slice()))?;
    if page.encoding == PLAIN {
        return Ok(stored.into());
    }
    let mut raw = MutableBuffer::from_len_zeroed(page.raw as usize);
    match lz4_flex::block::decompress_into(stored.as_slice(), raw.as_slice_mut()) {
        Ok(bytes) if bytes == page.raw as usize => Ok(raw.into()),
        Ok(bytes) => Err(malformed(format!("{bytes} bytes after decompression, expected {}", page.raw))),
        Err(error) => Err(malformed(error.to_string())),
    }
}

fn check(page: &StoredPage, end: u64) -> Result<(), String> {
    let (stored, raw) = (u64::from(page.stored), u64::from(page.raw));
    if page.offset.checked_add(stored).is_none_or(|last| last > end) {
        return Err(format!("{stored} bytes at {}, but pages end at {end}", page.offset));
    }
    let possible = match page.encoding {
        PLAIN => raw == stored,
        LZ4 => raw <= stored.saturating_mul(LZ4_RATIO) && raw <= PAGE_LIMIT as u64,
        other => return Err(format!("there is no encoding {other}")),
    };
    if possible { Ok(()) } else { Err(format!("{stored} bytes cannot hold {raw}")) }
}
