//! Writes a batch into a file, from batches that come in order. Memory is bounded by about two blocks.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use tailrace_storage::{Backend, BatchWriter, FileName, FileSummary, NewBlock, StorageConfig};

use crate::file_batch::Note;
use crate::file_columns::{file_schema, to_array};
use crate::key_bytes::{ENCODING, KeyBytes, summary};
use crate::{IndexedBatch, Layout, TraceError};

/// A batch file in the making. Dropped before [`finish`](Self::finish) it leaves nothing behind.
pub struct FileBatchWriter {
    layout: Arc<Layout>,
    keys: KeyBytes,
    writer: BatchWriter,
    block_bytes: usize,
    /// Columns and diffs that do not fill a block yet.
    pending: Vec<Vec<ArrayRef>>,
    pending_bytes: usize,
    mass: i64,
}

impl FileBatchWriter {
    /// Begins a file for a batch of this layout.
    pub fn create(
        backend: &dyn Backend,
        name: &FileName,
        layout: &Arc<Layout>,
        config: &StorageConfig,
    ) -> Result<Self, TraceError> {
        Ok(Self {
            layout: Arc::clone(layout),
            keys: KeyBytes::new(layout.schema(), layout.key_len()),
            writer: BatchWriter::create(backend, name, &file_schema(layout), config)?,
            block_bytes: config.block_bytes,
            pending: Vec::new(),
            pending_bytes: 0,
            mass: 0,
        })
    }

    /// Adds rows, all of which come after those that were added before; the caller vouches for that.
    pub fn push(&mut self, batch: &IndexedBatch) -> Result<(), TraceError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.mass = self.mass.checked_add(batch.mass()).ok_or(TraceError::WeightOverflow)?;
        let mut columns = batch.columns().to_vec();
        for diffs in batch.diffs() {
            columns.push(to_array(diffs)?);
        }
        self.pending.push(columns);
        self.pending_bytes += batch.bytes();
        if self.pending_bytes >= 2 * self.block_bytes { self.flush(false) } else { Ok(()) }
    }

    /// Ends the file. When this returns it is durable.
    pub fn finish(mut self) -> Result<FileSummary, TraceError> {
        self.flush(true)?;
        let note = Note { encoding: ENCODING, key_len: self.layout.key_len() as u32, mass: self.mass };
        Ok(self.writer.finish(&note.to_bytes())?)
    }

    /// Writes what fills blocks, and all of it at the end.
    fn flush(&mut self, end: bool) -> Result<(), TraceError> {
        let rows: usize = self.pending.iter().map(|columns| columns[0].len()).sum();
        if rows == 0 {
            return Ok(());
        }
        let joined = joined(&std::mem::take(&mut self.pending))?;
        let per_block = rows_per_block(rows, self.pending_bytes, self.block_bytes);
        let mut start = 0;
        while rows - start > per_block || (end && start < rows) {
            let length = per_block.min(rows - start);
            self.write(&sliced(&joined, start, length), length)?;
            start += length;
        }
        let left = rows - start;
        self.pending_bytes = self.pending_bytes / rows * left;
        if left > 0 {
            self.pending.push(sliced(&joined, start, left));
        }
        Ok(())
    }

    fn write(&mut self, columns: &[ArrayRef], rows: usize) -> Result<(), TraceError> {
        let keys = self.keys.encode(columns, rows)?;
        let (first, last, hashes) = summary(keys.as_ref());
        let block = NewBlock { columns, first_key: &first, last_key: &last, hashes: &hashes };
        Ok(self.writer.append(block)?)
    }
}

/// How many rows make a block of about the wanted size, if all rows are alike.
fn rows_per_block(rows: usize, bytes: usize, block_bytes: usize) -> usize {
    let per_row = (bytes / rows).max(1);
    (block_bytes / per_row).max(1)
}

fn sliced(columns: &[ArrayRef], start: usize, length: usize) -> Vec<ArrayRef> {
    columns.iter().map(|column| column.slice(start, length)).collect()
}

fn joined(parts: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>, TraceError> {
    let columns = parts.first().map_or(0, Vec::len);
    let column = |index: usize| {
        let pieces: Vec<&dyn Array> = parts.iter().map(|part| part[index].as_ref()).collect();
        Ok(concat(&pieces)?)
    };
    (0..columns).map(column).collect()
}
