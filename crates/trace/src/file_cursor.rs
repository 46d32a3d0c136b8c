//! A cursor over a batch in a file: steps row by row and seeks by key, and loads only the blocks that it comes to.

use std::cmp::Ordering;

use arrow_array::ArrayRef;

use crate::locate::gallop;
use crate::{BatchRef, FileBatch, RowComparator, TraceError};

/// A position in a file.
#[derive(Debug)]
pub struct FileCursor<'a> {
    file: &'a FileBatch,
    number: usize,
    block: Option<BatchRef>,
    row: usize,
}

impl<'a> FileCursor<'a> {
    /// At the first row.
    pub fn new(file: &'a FileBatch) -> Result<Self, TraceError> {
        let mut cursor = Self { file, number: 0, block: None, row: 0 };
        cursor.enter(0)?;
        Ok(cursor)
    }

    /// The block and the row in it that the cursor stands on; None behind the end.
    pub fn at(&self) -> Option<(&BatchRef, usize)> {
        self.block.as_ref().map(|block| (block, self.row))
    }

    /// Goes one row on.
    pub fn step(&mut self) -> Result<(), TraceError> {
        self.row += 1;
        match &self.block {
            Some(block) if self.row >= block.len() => self.enter(self.number + 1),
            _ => Ok(()),
        }
    }

    /// Goes forward to the first row whose key is not below the key at `row` of `key`; never backward.
    pub fn seek(&mut self, key: &[ArrayRef], row: usize) -> Result<(), TraceError> {
        let first = self.file.first_block_upto(key, row)?;
        if first > self.number {
            self.enter(first)?;
        }
        while let Some(block) = &self.block {
            let order = RowComparator::try_new(key, &block.columns()[..key.len()])?;
            let below = |candidate: usize| order.compare(row, candidate) == Ordering::Greater;
            self.row = gallop(self.row, block.len(), below);
            if self.row < block.len() {
                return Ok(());
            }
            self.enter(self.number + 1)?;
        }
        Ok(())
    }

    fn enter(&mut self, number: usize) -> Result<(), TraceError> {
        let inside = number < self.file.blocks();
        self.block = if inside { Some(self.file.block(number)?) } else { None };
        (self.number, self.row) = (number, 0);
        Ok(())
    }
}
