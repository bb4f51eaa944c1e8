//! Clock: FIFO with a second chance for pages referenced since the hand came by.

use std::ops::Range;

use super::ring::Ring;
use super::sizes::MASK_SIZES;
use super::table::PageTable;
use super::{AllSizes, INDEX_BYTES, Metadata, Moment, Outcome, Page, Policy, Shape};
use crate::error::Result;

/// Frames in a ring with one hand. A page comes in with its reference bit set,
/// free frames are taken in index order and do not move the hand.
pub struct Clock {
    table: PageTable,
    ring: Ring<ClockFrame>,
}

#[derive(Clone, Copy)]
struct ClockFrame {
    page: Page,
    referenced: bool,
}

impl Policy for Clock {
    /// A bit a frame, and the hand.
    const METADATA: Option<Metadata> =
        Some(Metadata { bytes_per_frame: 0.125, fixed_bytes: INDEX_BYTES });

    type AllSizes = ClockSizes;

    fn new(shape: Shape, _: &[u64]) -> Result<Self> {
        Ok(Self { table: PageTable::new(shape), ring: Ring::new(shape.usable_frames()) })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> Outcome {
        if let Some(frame) = self.table.frame_of(page) {
            self.ring.frame_mut(frame).referenced = true;
            return Outcome::Hit;
        }
        let mut walk = 0;
        while let Some(frame) = self.ring.under_hand() {
            walk += 1;
            if !std::mem::take(&mut frame.referenced) {
                break;
            }
            self.ring.step();
        }
        let newcomer = ClockFrame { page, referenced: true };
        let (frame, victim) = self.ring.fill(newcomer);
        if let Some(victim) = victim {
            self.table.remove(victim.page);
        }
        self.table.insert(page, frame);
        Outcome::Miss { walk }
    }
}

/// Clock at several sizes: masks tell at once in which of them a page is, and
/// referenced.
pub struct ClockSizes {
    groups: Vec<ClockGroup>,
}

/// Up to 64 sizes.
struct ClockGroup {
    first_size: usize,
    all: u64,
    pages: Vec<Bits>,
    rings: Vec<Ring<Page>>,
}

/// A page's bits, one for each size: whether it is cached, and, where it is,
/// referenced. An array, as those start as untouched zeros.
type Bits = [u64; 2];
const CACHED: usize = 0;
const REFERENCED: usize = 1;

impl AllSizes for ClockSizes {
    fn bytes_per_page(sizes: usize) -> usize {
        sizes.div_ceil(MASK_SIZES) * size_of::<Bits>()
    }

    fn new(frames: &[u32], pages: u32, _: &[u64]) -> Result<Self> {
        let group = |(index, frames): (usize, &[u32])| ClockGroup {
            first_size: index * MASK_SIZES,
            all: u64::MAX >> (MASK_SIZES - frames.len()),
            pages: vec![[0; 2]; pages as usize],
            rings: frames.iter().map(|frames| Ring::new(*frames)).collect(),
        };
        Ok(Self { groups: frames.chunks(MASK_SIZES).enumerate().map(group).collect() })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment, mut miss: impl FnMut(Range<usize>, u32)) {
        for ClockGroup { first_size, all, pages, rings } in &mut self.groups {
            let bits = &mut pages[page as usize];
            let mut missing = *all & !bits[CACHED];
            *bits = [*all; 2];
            while missing != 0 {
                let size = missing.trailing_zeros() as usize;
                missing &= missing - 1;
                let ring = &mut rings[size];
                let mut walk = 0;
                while let Some(under_hand) = ring.under_hand() {
                    walk += 1;
                    let victim = &mut pages[*under_hand as usize];
                    if victim[REFERENCED] >> size & 1 == 0 {
                        victim[CACHED] &= !(1 << size);
                        break;
                    }
                    victim[REFERENCED] &= !(1 << size);
                    ring.step();
                }
                ring.fill(page);
                miss(*first_size + size..*first_size + size + 1, walk);
            }
        }
    }
}
