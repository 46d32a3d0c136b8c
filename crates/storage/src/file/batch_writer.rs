//! Writes a batch file block by block. Memory is bounded by one block, one page of filters and the index (some bytes for each block), whatever the
//! number of rows.

use arrow_array::{Array, ArrayRef};
use arrow_schema::SchemaRef;

use super::archive::{
    ALIGNMENT, BlockArchive, FilterArchive, FooterArchive, Line, StoredBlock, StoredPage, to_bytes,
};
use super::footer::NO_FILTER;
use super::frame::{FRAME, Tail, header};
use super::{FileError, FileSummary, PAGE_LIMIT, Part, columns, filter, page, schema};
use crate::{Backend, Checksum, Compression, FileName, NewFile, StorageConfig};

/// Small writes are put together to about this size.
const WRITE_BYTES: usize = 1 << 20;

/// Rows to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewBlock<'a> {
    /// The columns, as the schema says.
    pub columns: &'a [ArrayRef],
    /// A lower bound of the keys of these rows, as bytes whose order is the order of keys.
    pub first_key: &'a [u8],
    /// An upper bound of them.
    pub last_key: &'a [u8],
    /// Hashes of the distinct keys; none leaves the filter of this block out.
    pub hashes: &'a [u64],
}

/// A batch file in the making. Dropped before [`finish`](Self::finish) it leaves nothing behind.
pub struct BatchWriter {
    file: Box<dyn NewFile>,
    name: FileName,
    schema: SchemaRef,
    compression: Compression,
    filter_bits: usize,
    filter_bytes: usize,
    /// Bytes that belong into the file next.
    pending: Vec<u8>,
    /// Bytes before them.
    written: u64,
    footer: FooterArchive,
    filters: Vec<Line>,
    /// The first block whose filter is among `filters`.
    first_filtered: usize,
}

impl BatchWriter {
    /// Begins a file with this schema.
    pub fn create(
        backend: &dyn Backend,
        name: &FileName,
        schema: &SchemaRef,
        config: &StorageConfig,
    ) -> Result<Self, FileError> {
        let footer = FooterArchive {
            rows: 0,
            fields: schema::flatten(schema)?,
            metadata: schema::pairs(schema.metadata()),
            pages: Vec::new(),
            blocks: Vec::new(),
            extra: Vec::new(),
        };
        Ok(Self {
            file: backend.create(name)?,
            name: name.clone(),
            schema: schema.clone(),
            compression: config.compression,
            filter_bits: config.filter_bits,
            filter_bytes: config.block_bytes,
            pending: header().to_vec(),
            written: 0,
            footer,
            filters: Vec::new(),
            first_filtered: 0,
        })
    }

    /// Adds rows. Blocks come in the order of their keys: neither bound is below that of the block before.
    pub fn append(&mut self, block: NewBlock<'_>) -> Result<(), FileError> {
        let number = self.footer.blocks.len();
        let refused = |reason| FileError::Refused { file: self.name.to_string(), block: number, reason };
        let rows = self.check(&block).map_err(refused)?;
        let mut nodes = Vec::new();
        block.columns.iter().for_each(|column| columns::encode(column, &mut nodes));
        let page = self.add_page(&BlockArchive { rows, nodes }, Part::Block(number))?;
        let filter = filter::build(block.hashes, self.filter_bits);
        self.footer.rows += u64::from(rows);
        self.footer.blocks.push(StoredBlock {
            page,
            rows,
            first_key: block.first_key.to_vec(),
            last_key: block.last_key.to_vec(),
            filter_page: NO_FILTER,
            filter_first: self.filters.len() as u32,
            filter_lines: filter.len() as u32,
        });
        self.filters.extend(filter);
        if self.filters.len() * ALIGNMENT >= self.filter_bytes { self.flush_filters() } else { Ok(()) }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// Ends the file; `extra` is kept in the footer for the caller. When this returns the file is durable and visible.
    pub fn finish(mut self, extra: &[u8]) -> Result<FileSummary, FileError> {
        self.flush_filters()?;
        self.footer.extra = extra.to_vec();
        let footer = self.archived(&self.footer, Part::Footer)?;
        let offset = self.position();
        self.write(&footer)?;
        let tail = Tail {
            offset,
            bytes: footer.len() as u64,
            checksum: Checksum::of(&footer),
            file_bytes: self.position() + FRAME as u64,
        };
        self.pending.extend_from_slice(&tail.to_bytes());
        self.file.write(&self.pending)?;
        self.file.finish()?;
        let (name, rows) = (self.name, self.footer.rows);
        Ok(FileSummary { name, bytes: tail.file_bytes, rows, checksum: tail.identity() })
    }

    fn check(&self, block: &NewBlock<'_>) -> Result<u32, String> {
        let fields = self.schema.fields();
        if block.columns.len() != fields.len() {
            return Err(format!("{} columns, expected {}", block.columns.len(), fields.len()));
        }
        let rows = block.columns.first().map_or(0, |column| column.len());
        for (field, column) in fields.iter().zip(block.columns) {
            if column.data_type() != field.data_type() {
                let (name, expected, found) = (field.name(), field.data_type(), column.data_type());
                return Err(format!("column '{name}' has type {found}, expected {expected}"));
            }
            if column.len() != rows {
                return Err(format!("column '{}' has {} rows, expected {rows}", field.name(), column.len()));
            }
        }
        if block.first_key > block.last_key {
            return Err("its keys end before they begin".to_owned());
        }
        let before = self.footer.blocks.last();
        if before.is_some_and(|before| {
            before.first_key.as_slice() > block.first_key || before.last_key.as_slice() > block.last_key
        }) {
            return Err("it begins or ends before the block in front of it".to_owned());
        }
        match u32::try_from(rows) {
            Ok(0) | Err(_) => Err(format!("{rows} rows, expected 1 to {}", u32::MAX)),
            Ok(rows) => Ok(rows),
        }
    }

    fn flush_filters(&mut self) -> Result<(), FileError> {
        let lines = std::mem::take(&mut self.filters);
        let from = std::mem::replace(&mut self.first_filtered, self.footer.blocks.len());
        if lines.is_empty() {
            return Ok(());
        }
        let page = self.add_page(&FilterArchive { lines }, Part::Filter(self.footer.pages.len()))?;
        for block in self.footer.blocks[from..].iter_mut().filter(|block| block.filter_lines > 0) {
            block.filter_page = page;
        }
        Ok(())
    }

    fn add_page<T: for<'a> rkyv::Serialize<super::archive::Archiver<'a>>>(
        &mut self,
        value: &T,
        part: Part,
    ) -> Result<u32, FileError> {
        let raw = self.archived(value, part)?;
        if raw.len() > PAGE_LIMIT {
            let reason = format!("{} bytes, a page has at most {PAGE_LIMIT}", raw.len());
            return Err(FileError::Archive { file: self.name.to_string(), part, reason });
        }
        let (stored, encoding) = page::compressed(&raw, self.compression);
        let page = StoredPage {
            offset: self.position(),
            stored: stored.len() as u32,
            raw: raw.len() as u32,
            checksum: Checksum::of(&stored).0,
            encoding,
        };
        self.write(&stored)?;
        self.footer.pages.push(page);
        Ok(self.footer.pages.len() as u32 - 1)
    }

    fn archived<T: for<'a> rkyv::Serialize<super::archive::Archiver<'a>>>(
        &self,
        value: &T,
        part: Part,
    ) -> Result<rkyv::util::AlignedVec<ALIGNMENT>, FileError> {
        let failed = |error: rkyv::rancor::Error| FileError::Archive {
            file: self.name.to_string(),
            part,
            reason: error.to_string(),
        };
        to_bytes(value).map_err(failed)
    }

    fn position(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Adds bytes, filled up with zeros so that what follows is aligned.
    fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.pending.extend_from_slice(bytes);
        self.pending.resize(self.pending.len().next_multiple_of(ALIGNMENT), 0);
        if self.pending.len() >= WRITE_BYTES {
            self.file.write(&self.pending)?;
            self.written += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }
}
