//! Clock: FIFO with a second chance for pages referenced since the hand passed.

use std::ops::Range;

use flashpager_base::Result;

use super::ring::Ring;
use super::sizes::MASK_SIZES;
use super::table::PageTable;
use super::{
    AllSizes, INDEX_BYTES, Moment, Page, PerSet, Policy, PolicyMetadata, PolicyParameter,
    ReferenceBlock, ReferenceOutcome, Shape,
};

/// No limit on how many frames the hand examines.
const NO_BUDGET: u32 = u32::MAX;

/// Frames in a ring with one hand. A page comes in with its reference bit set,
/// free frames are taken in index order and do not move the hand.
pub struct Clock {
    table: PageTable,
    ring: Ring<ClockFrame>,
    budget: u32,
}

#[derive(Clone, Copy)]
struct ClockFrame {
    page: Page,
    referenced: bool,
}

impl Clock {
    /// A clock that evicts at the latest the `budget`-th frame it examines, whatever its bit.
    pub(super) fn with_budget(shape: Shape, budget: u32) -> Self {
        let ring = Ring::new(shape.usable_frames());
        Self { table: PageTable::new(shape), ring, budget }
    }
}

impl Policy for Clock {
    const SEES_HITS: bool = false;

    /// A bit per frame, and the hand.
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 0.125, fixed_bytes: INDEX_BYTES });

    type AllSizes = ClockSizes;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self::with_budget(shape, NO_BUDGET))
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if let Some(frame) = self.table.frame_of(page) {
            let was_set = std::mem::replace(&mut self.ring.frame_mut(frame).referenced, true);
            return if was_set { ReferenceOutcome::Hit } else { ReferenceOutcome::BitSet };
        }
        let mut walk = 0;
        while let Some(frame) = self.ring.under_hand() {
            walk += 1;
            if !std::mem::take(&mut frame.referenced) || walk == self.budget {
                break;
            }
            self.ring.step();
        }
        let newcomer = ClockFrame { page, referenced: true };
        let (frame, victim) = self.ring.fill(newcomer);
        let victim = victim.map(|victim| victim.page);
        if let Some(victim) = victim {
            self.table.remove(victim);
        }
        self.table.insert(page, frame);
        ReferenceOutcome::miss(walk, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some_and(|frame| self.ring.frame(frame).referenced)
    }
}

/// Clock at several sizes. A page has a mask of the sizes in which it is cached, and one of those
/// in which its bit is set.
pub struct ClockSizes {
    groups: Vec<ClockGroup>,
    budget: u32,
}

/// The caches of up to 64 sizes.
struct ClockGroup {
    first_size: usize,
    all: u64,
    pages: Vec<Bits>,
    rings: Vec<Ring<Page>>,
}

/// The masks of a page, with one bit per size: cached, and referenced. An array, because arrays of
/// zeros start as untouched memory.
type Bits = [u64; 2];
const CACHED: usize = 0;
const REFERENCED: usize = 1;

impl ClockSizes {
    pub(super) fn with_budget(frames: &[u32], pages: u32, budget: u32) -> Self {
        let group = |(index, frames): (usize, &[u32])| ClockGroup {
            first_size: index * MASK_SIZES,
            all: u64::MAX >> (MASK_SIZES - frames.len()),
            pages: vec![[0; 2]; pages as usize],
            rings: frames.iter().map(|frames| Ring::new(*frames)).collect(),
        };
        Self { groups: frames.chunks(MASK_SIZES).enumerate().map(group).collect(), budget }
    }
}

impl AllSizes for ClockSizes {
    fn bytes_per_page(sizes: usize) -> usize {
        sizes.div_ceil(MASK_SIZES) * size_of::<Bits>()
    }

    fn new(frames: &[u32], _: Option<u32>, pages: u32, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self::with_budget(frames, pages, NO_BUDGET))
    }

    fn references(
        &mut self,
        block: ReferenceBlock<'_>,
        mut report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        for &page in block.pages {
            for ClockGroup { first_size, all, pages, rings } in &mut self.groups {
                let bits = &mut pages[page as usize];
                let mut missing = *all & !bits[CACHED];
                let mut clear = bits[CACHED] & !bits[REFERENCED];
                *bits = [*all; 2];
                while clear != 0 {
                    let size = *first_size + clear.trailing_zeros() as usize;
                    clear &= clear - 1;
                    report(page, size..size + 1, ReferenceOutcome::BitSet);
                }
                while missing != 0 {
                    let size = missing.trailing_zeros() as usize;
                    missing &= missing - 1;
                    let ring = &mut rings[size];
                    let mut walk = 0;
                    while let Some(under_hand) = ring.under_hand() {
                        walk += 1;
                        let victim = &mut pages[*under_hand as usize];
                        if victim[REFERENCED] >> size & 1 == 0 || walk == self.budget {
                            victim[CACHED] &= !(1 << size);
                            victim[REFERENCED] &= !(1 << size);
                            break;
                        }
                        victim[REFERENCED] &= !(1 << size);
                        ring.step();
                    }
                    ring.fill(page);
                    let size = *first_size + size;
                    report(page, size..size + 1, ReferenceOutcome::miss(walk, None));
                }
            }
        }
    }
}
