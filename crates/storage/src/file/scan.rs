//! Reads blocks one after the other, and asks for the next ones while the caller works on this one.

use std::ops::Range;
use std::sync::Arc;

use super::{BatchFile, Block, FileError};

/// Which blocks to ask for when `next` is about to be read, all before `asked` have been asked for, and blocks end at `end`: the window behind `next`,
/// without what is on its way.
pub fn ahead(next: usize, asked: usize, end: usize, window: usize) -> Range<usize> {
    let from = asked.max(next + 1).min(end);
    let to = next.saturating_add(1).saturating_add(window).min(end);
    from..to.max(from)
}

/// Blocks of a file in order.
#[derive(Debug)]
pub struct BlockScan {
    file: BatchFile,
    blocks: Range<usize>,
    asked: usize,
}

impl BlockScan {
    pub(crate) fn new(file: BatchFile, blocks: Range<usize>) -> Self {
        Self { file, asked: blocks.start, blocks }
    }
}

impl Iterator for BlockScan {
    type Item = Result<Arc<Block>, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.blocks.next()?;
        let wanted = ahead(number, self.asked, self.blocks.end, self.file.window());
        self.asked = self.asked.max(wanted.end);
        wanted.for_each(|block| self.file.prefetch(block));
        Some(self.file.block(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_moves_and_nothing_is_asked_for_twice() {
        assert_eq!(ahead(0, 0, 10, 4), 1..5);
        assert_eq!(ahead(1, 5, 10, 4), 5..6);
        assert_eq!(ahead(8, 10, 10, 4), 10..10);
        assert!(ahead(0, 0, 1, 4).is_empty());
        assert!(ahead(3, 0, 10, 0).is_empty());
    }
}
