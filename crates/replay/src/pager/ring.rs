//! A ring of frames with one hand, as FIFO and Clock use it.

use super::table::Frame;

/// A ring of frames. Free frames are taken in index order; when none is left, the hand points at
/// the frame to replace.
pub(super) struct Ring<T> {
    frames: Vec<T>,
    capacity: usize,
    hand: usize,
}

impl<T: Copy> Ring<T> {
    pub(super) fn new(capacity: u32) -> Self {
        Self { frames: Vec::new(), capacity: capacity as usize, hand: 0 }
    }

    #[inline]
    pub(super) fn frame_mut(&mut self, frame: Frame) -> &mut T {
        &mut self.frames[frame as usize]
    }

    #[inline]
    pub(super) fn frame(&self, frame: Frame) -> &T {
        &self.frames[frame as usize]
    }

    /// The frame that the hand points at; `None` while a frame is free.
    #[inline]
    pub(super) fn under_hand(&mut self) -> Option<&mut T> {
        if self.frames.len() < self.capacity { None } else { self.frames.get_mut(self.hand) }
    }

    /// Moves the hand on by one.
    #[inline]
    pub(super) fn step(&mut self) {
        self.hand = if self.hand + 1 == self.capacity { 0 } else { self.hand + 1 };
    }

    /// Fills a free frame, or replaces the one under the hand and moves the hand on. Returns the
    /// frame and its previous contents.
    #[inline]
    pub(super) fn fill(&mut self, newcomer: T) -> (Frame, Option<T>) {
        if self.frames.len() < self.capacity {
            self.frames.push(newcomer);
            return (self.frames.len() as Frame - 1, None);
        }
        let frame = self.hand;
        let victim = std::mem::replace(&mut self.frames[frame], newcomer);
        self.step();
        (frame as Frame, Some(victim))
    }
}
