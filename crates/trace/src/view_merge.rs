//! Merging a column of texts or binaries: picked values are copied, bytes and all, into blocks of their own.
//!
//! Copying as the merge goes on keeps a merge free of work at its end that grows with the state, keeps nothing alive that was merged away, and
//! lays the bytes out in the order of the rows, so that the next merge reads them in sequence.
#![expect(
    unsafe_code,
    reason = "values that come from valid arrays are put together without validating every text again"
)]

use std::sync::Arc;

use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};

use crate::column_merge::RIGHT;
use crate::consolidate::shrink;

/// The largest block of bytes.
const BLOCK: usize = 1 << 22;

/// Appends picked rows of two columns of views.
pub(crate) struct ViewMerge<T: ByteViewType> {
    left: GenericByteViewArray<T>,
    right: GenericByteViewArray<T>,
    views: Vec<u128>,
    full: Vec<Buffer>,
    block: Vec<u8>,
    /// Bytes of the sources that are not copied yet, at most.
    expected: usize,
}

impl<T: ByteViewType> ViewMerge<T> {
    pub(crate) fn new(
        left: &GenericByteViewArray<T>,
        right: &GenericByteViewArray<T>,
        capacity: usize,
    ) -> Self {
        let held = |array: &GenericByteViewArray<T>| {
            array.data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>()
        };
        let expected = held(left) + held(right);
        let (left, right) = (left.clone(), right.clone());
        Self {
            left,
            right,
            views: Vec::with_capacity(capacity),
            full: Vec::new(),
            block: Vec::new(),
            expected,
        }
    }

    pub(crate) fn append(&mut self, picks: &[u32]) {
        for pick in picks {
            let source = if pick & RIGHT == 0 { &self.left } else { &self.right };
            let row = (pick & !RIGHT) as usize;
            let view = source.views()[row];
            if view as u32 <= MAX_INLINE_VIEW_LEN {
                self.views.push(view);
            } else if source.is_null(row) {
                self.views.push(0);
            } else {
                let view = ByteView::from(view);
                let bytes = &source.data_buffers()[view.buffer_index as usize][view.offset as usize..]
                    [..view.length as usize];
                let place = place(&mut self.block, &mut self.full, &mut self.expected, bytes);
                self.views.push(view.with_buffer_index(self.full.len() as u32).with_offset(place).as_u128());
            }
        }
    }

    pub(crate) fn finish(mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        if !self.block.is_empty() {
            shrink(&mut self.block);
            self.full.push(self.block.into());
        }
        shrink(&mut self.views);
        // SAFETY: every view is either inline, copied from a valid array of this type, or names the range of a block into which `place` has just
        // copied the bytes of a valid value; its prefix and length are those of that value. Blocks are never changed after that.
        Arc::new(unsafe { GenericByteViewArray::<T>::new_unchecked(self.views.into(), self.full, nulls) })
    }
}

/// Copies bytes to the end of the current block, or of a new one, and returns where they start.
#[inline]
fn place(block: &mut Vec<u8>, full: &mut Vec<Buffer>, expected: &mut usize, bytes: &[u8]) -> u32 {
    if block.capacity() - block.len() < bytes.len() {
        let next = Vec::with_capacity((*expected).min(BLOCK).max(bytes.len()));
        let mut done = std::mem::replace(block, next);
        if !done.is_empty() {
            shrink(&mut done);
            full.push(done.into());
        }
    }
    let start = block.len() as u32;
    block.extend_from_slice(bytes);
    *expected = expected.saturating_sub(bytes.len());
    start
}
