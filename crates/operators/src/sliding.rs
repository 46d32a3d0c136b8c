//! Frames that slide over rows: where each begins and ends, and how a running state follows them.
//!
//! From one row to the next a frame mostly moves forward at both ends. Then each row enters and leaves the running state once, so all frames together
//! cost O(rows). A frame that goes back, or has nothing in common with the one before it, starts anew; so any list of frames gives the right answer.

use std::ops::Range;

/// A frame per row: the rows that it holds. An empty frame ends where it begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    frames: Vec<(u32, u32)>,
}

/// A state that rows enter and leave, in the order in which they came.
pub(crate) trait Sliding {
    /// Forgets all rows.
    fn clear(&mut self);

    /// A row comes in behind all others.
    fn enter(&mut self, row: usize);

    /// The row that came first goes.
    fn leave(&mut self, row: usize);

    /// Notes the value of the frame that holds the rows that are in.
    fn emit(&mut self);
}

impl Extents {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { frames: Vec::with_capacity(rows) }
    }

    /// Adds the frame of the next row; one that would end before it begins is empty.
    pub(crate) fn push(&mut self, start: usize, end: usize) {
        self.frames.push((start as u32, end.max(start) as u32));
    }

    /// Number of frames.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The rows of each frame.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.frames.iter().map(|(start, end)| *start as usize..*end as usize)
    }
}

/// Leads the state through all frames.
pub(crate) fn slide(extents: &Extents, state: &mut impl Sliding) {
    let mut held = 0..0;
    for frame in extents.iter() {
        if frame.start < held.start || frame.end < held.end || frame.start >= held.end {
            state.clear();
            held = frame.start..frame.start;
        }
        (held.end..frame.end).for_each(|row| state.enter(row));
        (held.start..frame.start).for_each(|row| state.leave(row));
        state.emit();
        held = frame;
    }
}
