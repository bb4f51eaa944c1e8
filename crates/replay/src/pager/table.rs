//! The frames of pages.

use super::{Page, Shape};

/// A frame's number, from 0.
pub(super) type Frame = u32;

/// A table from pages to frames, by direct index. Pages are dense and the table starts as untouched
/// zeros, so only its touched parts take memory.
pub(super) struct PageTable {
    /// By page, its frame + 1; 0 for a page in no frame.
    entries: Vec<Frame>,
}

impl PageTable {
    pub(super) fn new(shape: Shape) -> Self {
        Self { entries: vec![0; shape.pages as usize] }
    }

    #[inline]
    pub(super) fn frame_of(&self, page: Page) -> Option<Frame> {
        self.entries[page as usize].checked_sub(1)
    }

    #[inline]
    pub(super) fn insert(&mut self, page: Page, frame: Frame) {
        self.entries[page as usize] = frame + 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, page: Page) {
        self.entries[page as usize] = 0;
    }
}
