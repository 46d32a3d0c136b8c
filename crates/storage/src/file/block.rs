//! A block of rows in memory: Arrow arrays over one page, without a copy, validated when the page came in.

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use rkyv::rancor::Error;

use super::archive::{ALIGNMENT, ArchivedBlockArchive, ArchivedFilterArchive};
use super::{FileError, FilterPage, Part, columns};
use crate::FileName;

/// Rows of a batch file.
#[derive(Debug)]
pub struct Block {
    page: Buffer,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Block {
    /// The columns, in the order of the schema.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.page.capacity()
    }

    /// The page under the columns.
    pub fn page(&self) -> &Buffer {
        &self.page
    }
}

/// Makes a block of a page.
pub(crate) fn block_of(
    name: &FileName,
    number: usize,
    page: Buffer,
    schema: &SchemaRef,
    rows: u32,
) -> Result<Block, FileError> {
    let part = Part::Block(number);
    let malformed = |reason: String| FileError::Malformed { file: name.to_string(), part, reason };
    let archived = rkyv::access::<ArchivedBlockArchive, Error>(page.as_slice());
    let archived = archived.map_err(|error| malformed(error.to_string()))?;
    if archived.rows.to_native() != rows {
        return Err(malformed(format!("{} rows, the footer says {rows}", archived.rows.to_native())));
    }
    let columns = columns::decode(&page, archived, schema).map_err(malformed)?;
    Ok(Block { columns, rows: rows as usize, page })
}

/// Makes filters of a page.
pub(crate) fn filters_of(name: &FileName, number: usize, page: Buffer) -> Result<FilterPage, FileError> {
    let part = Part::Filter(number);
    let malformed = |reason: String| FileError::Malformed { file: name.to_string(), part, reason };
    let archived = rkyv::access::<ArchivedFilterArchive, Error>(page.as_slice());
    let lines = &archived.map_err(|error| malformed(error.to_string()))?.lines;
    let (bytes, capacity) = (lines.len() * ALIGNMENT, page.capacity());
    if bytes == 0 {
        return Ok(FilterPage::new(page.slice_with_length(0, 0), capacity));
    }
    let offset = lines.as_ptr() as usize - page.as_ptr() as usize;
    Ok(FilterPage::new(page.slice_with_length(offset, bytes), capacity))
}
