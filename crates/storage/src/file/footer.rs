//! The footer of a batch file, read and checked: afterwards every number in it is safe to use.

use arrow_buffer::MutableBuffer;
use arrow_schema::SchemaRef;
use rkyv::rancor::Error;

use super::archive::{ArchivedFooterArchive, ArchivedStoredBlock, ArchivedStoredPage, StoredPage};
use super::frame::{FRAME, Tail, check_header, compare};
use super::{BlockEntry, FileError, Part, schema};
use crate::{Checksum, FileName, OpenFile};

/// Says that a block has no filter.
pub(crate) const NO_FILTER: u32 = u32::MAX;

/// What the footer says.
#[derive(Debug)]
pub(crate) struct Footer {
    pub schema: SchemaRef,
    pub rows: u64,
    pub pages: Vec<StoredPage>,
    pub blocks: Vec<BlockEntry>,
    pub extra: Vec<u8>,
    pub tail: Tail,
}

impl Footer {
    /// Reads the ends of a file.
    pub(crate) fn read(file: &dyn OpenFile, name: &FileName) -> Result<Self, FileError> {
        let (bytes, least) = (file.bytes(), 2 * FRAME as u64);
        if bytes < least {
            return Err(FileError::TooShort { file: name.to_string(), bytes, least });
        }
        let mut frame = [0; FRAME];
        file.read_at(0, &mut frame)?;
        check_header(name, &frame)?;
        file.read_at(bytes - FRAME as u64, &mut frame)?;
        let tail = Tail::from_bytes(name, &frame, bytes)?;
        let mut stored = MutableBuffer::from_len_zeroed(tail.bytes as usize);
        file.read_at(tail.offset, stored.as_slice_mut())?;
        compare(name, Part::Footer, tail.checksum, Checksum::of(stored.as_slice()))?;
        let archived = rkyv::access::<ArchivedFooterArchive, Error>(stored.as_slice());
        let footer = archived.map_err(|error| error.to_string()).and_then(|footer| Self::of(footer, tail));
        footer.map_err(|reason| FileError::Malformed { file: name.to_string(), part: Part::Footer, reason })
    }

    fn of(archived: &ArchivedFooterArchive, tail: Tail) -> Result<Self, String> {
        let schema = schema::unflatten(&archived.fields, &archived.metadata)?;
        let pages: Vec<StoredPage> = archived.pages.iter().map(page_of).collect();
        let blocks: Vec<BlockEntry> = archived.blocks.iter().map(entry_of).collect();
        let rows = archived.rows.to_native();
        check_blocks(&blocks, pages.len(), rows)?;
        Ok(Self { schema, rows, pages, blocks, extra: archived.extra.to_vec(), tail })
    }
}

fn page_of(page: &ArchivedStoredPage) -> StoredPage {
    StoredPage {
        offset: page.offset.to_native(),
        stored: page.stored.to_native(),
        raw: page.raw.to_native(),
        checksum: page.checksum.to_native(),
        encoding: page.encoding,
    }
}

fn entry_of(block: &ArchivedStoredBlock) -> BlockEntry {
    BlockEntry {
        page: block.page.to_native(),
        rows: block.rows.to_native(),
        first_key: block.first_key.as_slice().into(),
        last_key: block.last_key.as_slice().into(),
        filter_page: block.filter_page.to_native(),
        filter_first: block.filter_first.to_native(),
        filter_lines: block.filter_lines.to_native(),
    }
}

/// Searching relies on keys in order; reading relies on pages that are there.
fn check_blocks(blocks: &[BlockEntry], pages: usize, rows: u64) -> Result<(), String> {
    let known = |page: u32| (page as usize) < pages;
    for (number, block) in blocks.iter().enumerate() {
        if !known(block.page) || (block.filter_page != NO_FILTER && !known(block.filter_page)) {
            return Err(format!("block {number} lies in a page that is not there"));
        }
        if block.first_key > block.last_key {
            return Err(format!("the keys of block {number} end before they begin"));
        }
        let before = number.checked_sub(1).map(|before| &blocks[before]);
        if before.is_some_and(|before| before.first_key > block.first_key || before.last_key > block.last_key)
        {
            return Err(format!("block {number} begins or ends before the one in front of it"));
        }
    }
    let found: u64 = blocks.iter().map(|block| u64::from(block.rows)).sum();
    if found == rows { Ok(()) } else { Err(format!("blocks have {found} rows, expected {rows}")) }
}
