//! Reads a batch file: blocks at random, through the cache, and the filters that keep probes from reading them in vain.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::block::{block_of, filters_of};
use super::footer::{Footer, NO_FILTER};
use super::{Block, BlockScan, FileError, FilterPage, Part, page};
use crate::cache::{Cache, FileId, Page, PageKey};
use crate::{Backend, Checksum, FileName, OpenFile};

/// What a manifest says about a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileSummary {
    /// Its name.
    pub name: FileName,
    /// Its length.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// A checksum that covers every page.
    pub checksum: Checksum,
}

/// A block in the index.
#[derive(Clone, Debug)]
pub struct BlockEntry {
    pub(crate) page: u32,
    pub(crate) rows: u32,
    pub(crate) first_key: Box<[u8]>,
    pub(crate) last_key: Box<[u8]>,
    pub(crate) filter_page: u32,
    pub(crate) filter_first: u32,
    pub(crate) filter_lines: u32,
}

impl BlockEntry {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// A lower bound of its keys.
    pub fn first_key(&self) -> &[u8] {
        &self.first_key
    }

    /// An upper bound of its keys.
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }
}

/// An open batch file. Clones share it.
#[derive(Clone, Debug)]
pub struct BatchFile {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: Arc<dyn OpenFile>,
    name: FileName,
    footer: Footer,
    cache: Arc<Cache>,
    id: FileId,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.cache.forget(self.id);
    }
}

impl BatchFile {
    /// Opens a file and checks its ends.
    pub fn open(backend: &dyn Backend, cache: &Arc<Cache>, name: &FileName) -> Result<Self, FileError> {
        let file = backend.open(name)?;
        let footer = Footer::read(file.as_ref(), name)?;
        let (cache, id) = (Arc::clone(cache), cache.new_file());
        Ok(Self { shared: Arc::new(Shared { file, name: name.clone(), footer, cache, id }) })
    }

    /// Opens the file that a manifest means; another file of that name is refused.
    pub fn open_expected(
        backend: &dyn Backend,
        cache: &Arc<Cache>,
        expected: &FileSummary,
    ) -> Result<Self, FileError> {
        let opened = Self::open(backend, cache, &expected.name)?;
        let found = opened.summary();
        match found == *expected {
            true => Ok(opened),
            false => Err(FileError::OtherFile {
                file: expected.name.to_string(),
                expected_bytes: expected.bytes,
                expected: expected.checksum,
                found_bytes: found.bytes,
                found: found.checksum,
            }),
        }
    }

    /// Name, length, rows and checksum.
    pub fn summary(&self) -> FileSummary {
        let footer = &self.shared.footer;
        FileSummary {
            name: self.shared.name.clone(),
            bytes: footer.tail.file_bytes,
            rows: footer.rows,
            checksum: footer.tail.identity(),
        }
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.shared.footer.schema
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.shared.footer.rows
    }

    /// What the writer wanted to be kept.
    pub fn extra(&self) -> &[u8] {
        &self.shared.footer.extra
    }

    /// The index of blocks, in order.
    pub fn blocks(&self) -> &[BlockEntry] {
        &self.shared.footer.blocks
    }

    /// Bounds of all keys; none if there are no rows.
    pub fn key_range(&self) -> Option<(&[u8], &[u8])> {
        let blocks = self.blocks();
        Some((blocks.first()?.first_key(), blocks.last()?.last_key()))
    }

    /// The blocks that may hold keys from `from` to `to`, both included, by their bounds alone.
    pub fn blocks_between(&self, from: &[u8], to: &[u8]) -> Range<usize> {
        let blocks = self.blocks();
        let end = blocks.partition_point(|block| block.first_key() <= to);
        let start = blocks.partition_point(|block| block.last_key() < from);
        start.min(end)..end
    }

    /// A block, from the cache or from the file.
    pub fn block(&self, number: usize) -> Result<Arc<Block>, FileError> {
        let page = self.entry(number)?.page;
        match self.page(page, || Ok(Page::Block(Arc::new(self.load_block(number)?))))? {
            Page::Block(block) => Ok(block),
            Page::Filter(_) => Err(self.twofold(number)),
        }
    }

    /// Whether a key of this hash may be in a block. "No" is certain. Reads a page of filters, never the block.
    pub fn may_contain(&self, number: usize, hash: u64) -> Result<bool, FileError> {
        let entry = self.entry(number)?;
        if entry.filter_page == NO_FILTER || entry.filter_lines == 0 {
            return Ok(true);
        }
        let page = entry.filter_page;
        let load = || Ok(Page::Filter(Arc::new(self.load_filters(page)?)));
        let Page::Filter(filters) = self.page(page, load)? else { return Err(self.twofold(number)) };
        let may = filters.may_contain(entry.filter_first as usize, entry.filter_lines as usize, hash);
        let metrics = self.shared.cache.metrics();
        if may {
            metrics.filter_passes.add(1)
        } else {
            metrics.filter_rejections.add(1)
        }
        Ok(may)
    }

    /// All blocks in order, read ahead.
    pub fn scan(&self) -> BlockScan {
        BlockScan::new(self.clone(), 0..self.blocks().len())
    }

    /// The blocks of a range in order, read ahead.
    pub fn scan_range(&self, blocks: Range<usize>) -> BlockScan {
        let end = blocks.end.min(self.blocks().len());
        BlockScan::new(self.clone(), blocks.start.min(end)..end)
    }

    /// Asks for a block ahead of its reader.
    pub(crate) fn prefetch(&self, number: usize) {
        let Ok(entry) = self.entry(number) else { return };
        let key = PageKey { file: self.shared.id, page: entry.page };
        if !self.shared.cache.contains(key) {
            let file = self.clone();
            // The reader will meet the error, if there is one, itself.
            self.shared.cache.ahead(Box::new(move || drop(file.block(number))));
        }
    }

    /// How many blocks to read ahead.
    pub(crate) fn window(&self) -> usize {
        self.shared.cache.window()
    }

    /// Reads and checks every page, past the cache.
    pub fn verify(&self) -> Result<(), FileError> {
        for (number, entry) in self.blocks().iter().enumerate() {
            self.load_block(number)?;
            if entry.filter_page != NO_FILTER {
                let filters = self.load_filters(entry.filter_page)?;
                let end = u64::from(entry.filter_first) + u64::from(entry.filter_lines);
                if end > filters.lines() as u64 {
                    return Err(self.twofold(number));
                }
            }
        }
        Ok(())
    }

    fn entry(&self, number: usize) -> Result<&BlockEntry, FileError> {
        let blocks = self.blocks();
        let none =
            || FileError::NoBlock { file: self.shared.name.to_string(), block: number, blocks: blocks.len() };
        blocks.get(number).ok_or_else(none)
    }

    fn page(&self, page: u32, load: impl FnOnce() -> Result<Page, FileError>) -> Result<Page, FileError> {
        self.shared.cache.get(PageKey { file: self.shared.id, page }, load)
    }

    fn load_block(&self, number: usize) -> Result<Block, FileError> {
        let (shared, entry) = (&self.shared, self.entry(number)?);
        let page = self.read_page(Part::Block(number), entry.page)?;
        block_of(&shared.name, number, page, &shared.footer.schema, entry.rows)
    }

    fn load_filters(&self, page: u32) -> Result<FilterPage, FileError> {
        let bytes = self.read_page(Part::Filter(page as usize), page)?;
        filters_of(&self.shared.name, page as usize, bytes)
    }

    fn read_page(&self, part: Part, page: u32) -> Result<arrow_buffer::Buffer, FileError> {
        let shared = &self.shared;
        // Every page number was checked when the footer was read.
        let stored = &shared.footer.pages[page as usize];
        page::read(shared.file.as_ref(), &shared.name, part, stored, shared.footer.tail.offset)
    }

    /// The index calls one page both rows and filters, or a filter longer than its page.
    fn twofold(&self, number: usize) -> FileError {
        let (file, part) = (self.shared.name.to_string(), Part::Footer);
        let reason = format!("the filter of block {number} does not lie where the index says");
        FileError::Malformed { file, part, reason }
    }
}
