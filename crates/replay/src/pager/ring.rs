//! Frames in a ring with one hand, as FIFO and Clock have them.

use super::table::Frame;

/// Frames are taken in index order while some are free; then the hand says who
/// is replaced.
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

    /// What the hand points at; nothing while a frame is free.
    #[inline]
    pub(super) fn under_hand(&mut self) -> Option<&mut T> {
        if self.frames.len() < self.capacity { None } else { self.frames.get_mut(self.hand) }
    }

    /// Move the hand on by one.
    #[inline]
    pub(super) fn step(&mut self) {
        self.hand = if self.hand + 1 == self.capacity { 0 } else { self.hand + 1 };
    }

    /// Fill a free frame, or replace what the hand points at and step on. Gives
    /// the frame, and whom it held.
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
