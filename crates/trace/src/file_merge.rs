//! Merges two batches in files into a third, in bounded memory: a block of each side, and what the writer collects.
//!
//! Of the two blocks at hand the one that ends first is used up: it is merged with the rows of the other that are not greater than its last row, and what comes
//! out is final, since everything that follows on either side is greater. Each such piece is merged by the [`Merger`] for batches in memory, so that
//! there is one definition of what merging is.

use std::cmp::Ordering;
use std::sync::Arc;

use tailrace_storage::FileSummary;

use crate::locate::gallop;
use crate::{BatchRef, FileBatch, FileBatchWriter, IndexedBatch, Merger, RowComparator, TraceError};

/// An unfinished merge of two files.
pub struct FileMerger {
    left: Side,
    right: Side,
    writer: FileBatchWriter,
}

/// One source: the rest of its block at hand, and the blocks behind it.
struct Side {
    file: FileBatch,
    next: usize,
    rest: Option<BatchRef>,
}

impl FileMerger {
    /// Starts to merge into a writer of the same layout.
    pub fn new(left: &FileBatch, right: &FileBatch, writer: FileBatchWriter) -> Result<Self, TraceError> {
        left.mass().checked_add(right.mass()).ok_or(TraceError::WeightOverflow)?;
        let side = |file: &FileBatch| Side { file: file.clone(), next: 0, rest: None };
        Ok(Self { left: side(left), right: side(right), writer })
    }

    /// Looks at rows until the fuel is spent or none is left; true when done. A piece of work is never smaller than a block.
    pub fn work(&mut self, fuel: &mut usize) -> Result<bool, TraceError> {
        while *fuel > 0 {
            self.left.fill()?;
            self.right.fill()?;
            let (piece, looked_at) = match (self.left.rest.take(), self.right.rest.take()) {
                (None, None) => return Ok(true),
                (Some(only), None) | (None, Some(only)) => (Arc::clone(&only), only.len()),
                (Some(left), Some(right)) => self.merge(&left, &right)?,
            };
            self.writer.push(&piece)?;
            *fuel = fuel.saturating_sub(looked_at);
        }
        Ok(false)
    }

    /// The file with the merged batch; call it when `work` has returned true.
    pub fn finish(self) -> Result<FileSummary, TraceError> {
        self.writer.finish()
    }

    fn merge(&mut self, left: &BatchRef, right: &BatchRef) -> Result<(BatchRef, usize), TraceError> {
        let order = RowComparator::try_new(left.columns(), right.columns())?;
        let (ends_left, ends_right) = (left.len() - 1, right.len() - 1);
        let (upto_left, upto_right) = match order.compare(ends_left, ends_right) {
            Ordering::Equal => (left.len(), right.len()),
            Ordering::Less => {
                let upto = gallop(0, right.len(), |row| order.compare(ends_left, row) != Ordering::Less);
                (left.len(), upto)
            }
            Ordering::Greater => {
                let upto = gallop(0, left.len(), |row| order.compare(row, ends_right) != Ordering::Greater);
                (upto, right.len())
            }
        };
        self.left.rest = rest(left, upto_left)?;
        self.right.rest = rest(right, upto_right)?;
        let (head_left, head_right) = (left.slice(0..upto_left)?, right.slice(0..upto_right)?);
        let merged = Merger::merge(&Arc::new(head_left), &Arc::new(head_right))?;
        Ok((Arc::new(merged), upto_left + upto_right))
    }
}

impl Side {
    fn fill(&mut self) -> Result<(), TraceError> {
        if self.rest.is_none() && self.next < self.file.blocks() {
            self.rest = Some(self.file.block(self.next)?);
            self.next += 1;
        }
        Ok(())
    }
}

fn rest(batch: &IndexedBatch, from: usize) -> Result<Option<BatchRef>, TraceError> {
    match from < batch.len() {
        true => Ok(Some(Arc::new(batch.slice(from..batch.len())?))),
        false => Ok(None),
    }
}
