//! What batch files hold, as rkyv archives it. These definitions are the format: a change of one of them is a new version of the file.
//!
//! Trees (nested columns, nested types) are stored flat, parents before children, so that no archive is recursive and validation needs no stack.

use rkyv::rancor::{Error, Strategy};
use rkyv::ser::Serializer;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::ser::sharing::Share;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Serialize};

/// Every buffer begins at a multiple of this, in the file as in memory. No Arrow type needs more, and rkyv does not write archives with more.
pub(crate) const ALIGNMENT: usize = 32;

/// 32 bytes at an address divisible by 32. Buffers are stored as lines, so that the archive puts them where Arrow wants them.
#[derive(Archive, Serialize, Clone, Copy)]
#[rkyv(attr(repr(align(32))))]
pub(crate) struct Line(pub [u8; ALIGNMENT]);

/// A buffer: its length, and its bytes in lines, the last one filled up with zeros.
#[derive(Archive, Serialize)]
pub(crate) struct Stretch {
    pub bytes: u64,
    pub lines: Vec<Line>,
}

/// One array of the tree of a column.
#[derive(Archive, Serialize)]
pub(crate) struct Node {
    pub rows: u64,
    pub nulls: Option<Stretch>,
    pub buffers: Vec<Stretch>,
}

/// A page of rows.
#[derive(Archive, Serialize)]
pub(crate) struct BlockArchive {
    pub rows: u32,
    pub nodes: Vec<Node>,
}

/// A page of filters, each a run of lines.
#[derive(Archive, Serialize)]
pub(crate) struct FilterArchive {
    pub lines: Vec<Line>,
}

/// A key and its value in the metadata of a field or schema.
#[derive(Archive, Serialize)]
pub(crate) struct Pair {
    pub key: String,
    pub value: String,
}

/// A field of the flattened schema; `schema.rs` has the codes.
#[derive(Archive, Serialize)]
pub(crate) struct StoredField {
    pub name: String,
    pub nullable: bool,
    pub code: u8,
    pub first: i32,
    pub second: i32,
    pub zone: Option<String>,
    pub children: u32,
    pub metadata: Vec<Pair>,
}

/// Where a page lies and how.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub(crate) struct StoredPage {
    pub offset: u64,
    pub stored: u32,
    pub raw: u32,
    pub checksum: u32,
    pub encoding: u8,
}

/// A block of rows and its filter.
#[derive(Archive, Serialize)]
pub(crate) struct StoredBlock {
    pub page: u32,
    pub rows: u32,
    pub first_key: Vec<u8>,
    pub last_key: Vec<u8>,
    pub filter_page: u32,
    pub filter_first: u32,
    pub filter_lines: u32,
}

/// The footer.
#[derive(Archive, Serialize)]
pub(crate) struct FooterArchive {
    pub rows: u64,
    pub fields: Vec<StoredField>,
    pub metadata: Vec<Pair>,
    pub pages: Vec<StoredPage>,
    pub blocks: Vec<StoredBlock>,
    pub extra: Vec<u8>,
}

pub(crate) type Archiver<'a> = Strategy<Serializer<AlignedVec<ALIGNMENT>, ArenaHandle<'a>, Share>, Error>;

/// Archives a value, aligned as its buffers need it.
pub(crate) fn to_bytes<T>(value: &T) -> Result<AlignedVec<ALIGNMENT>, Error>
where
    T: for<'a> Serialize<Archiver<'a>>,
{
    rkyv::api::high::to_bytes_in(value, AlignedVec::<ALIGNMENT>::new())
}

/// Bytes as lines.
pub(crate) fn lines(bytes: &[u8]) -> Vec<Line> {
    let line = |chunk: &[u8]| {
        let mut line = Line([0; ALIGNMENT]);
        line.0[..chunk.len()].copy_from_slice(chunk);
        line
    };
    bytes.chunks(ALIGNMENT).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that docs/format.md states.
    #[test]
    fn archives_have_the_documented_layout() {
        let sizes = [
            (size_of::<ArchivedLine>(), 32),
            (align_of::<ArchivedLine>(), 32),
            (size_of::<ArchivedStretch>(), 16),
            (size_of::<ArchivedNode>(), 40),
            (size_of::<ArchivedBlockArchive>(), 12),
            (size_of::<ArchivedFilterArchive>(), 8),
            (size_of::<ArchivedPair>(), 16),
            (size_of::<ArchivedStoredField>(), 44),
            (size_of::<ArchivedStoredPage>(), 24),
            (size_of::<ArchivedStoredBlock>(), 36),
            (size_of::<ArchivedFooterArchive>(), 48),
        ];
        sizes.iter().for_each(|(found, documented)| assert_eq!(found, documented));
    }

    #[test]
    fn the_last_line_is_filled_up() {
        let lines = lines(&[7; 40]);
        assert_eq!((lines.len(), lines[1].0[..8] == [7; 8], lines[1].0[8..] == [0; 24]), (2, true, true));
    }
}
