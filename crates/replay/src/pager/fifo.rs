//! FIFO: evict the page that came first.

use std::ops::Range;

use flashpager_base::Result;

use super::ring::Ring;
use super::sets::InOrder;
use super::sizes::MASK_SIZES;
use super::table::PageTable;
use super::{
    AllSizes, INDEX_BYTES, Moment, Page, Policy, PolicyMetadata, PolicyParameter, ReferenceBlock,
    ReferenceOutcome, Shape,
};

/// FIFO over a ring of frames. The hand points at the oldest page.
pub struct Fifo {
    table: PageTable,
    ring: Ring<Page>,
}

impl Policy for Fifo {
    const SEES_HITS: bool = false;

    /// The number of the oldest frame.
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 0.0, fixed_bytes: INDEX_BYTES });

    type AllSizes = FifoSizes;
    type InSets = InOrder<false>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self { table: PageTable::new(shape), ring: Ring::new(shape.usable_frames()) })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if self.table.frame_of(page).is_some() {
            return ReferenceOutcome::Hit;
        }
        let (frame, victim) = self.ring.fill(page);
        if let Some(victim) = victim {
            self.table.remove(victim);
        }
        self.table.insert(page, frame);
        ReferenceOutcome::miss(0, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some()
    }
}

/// FIFO at several sizes. A page has a mask of the sizes in which it is cached.
pub struct FifoSizes {
    groups: Vec<FifoGroup>,
}

/// The caches of up to 64 sizes.
struct FifoGroup {
    first_size: usize,
    all: u64,
    /// By page, a bit for each size in which it is cached.
    cached_in: Vec<u64>,
    rings: Vec<Ring<Page>>,
}

impl AllSizes for FifoSizes {
    fn bytes_per_page(sizes: usize) -> usize {
        sizes.div_ceil(MASK_SIZES) * size_of::<u64>()
    }

    fn new(frames: &[u32], _: Option<u32>, pages: u32, _: &[PolicyParameter]) -> Result<Self> {
        let group = |(index, frames): (usize, &[u32])| FifoGroup {
            first_size: index * MASK_SIZES,
            all: u64::MAX >> (MASK_SIZES - frames.len()),
            cached_in: vec![0; pages as usize],
            rings: frames.iter().map(|frames| Ring::new(*frames)).collect(),
        };
        Ok(Self { groups: frames.chunks(MASK_SIZES).enumerate().map(group).collect() })
    }

    fn references(
        &mut self,
        ReferenceBlock { pages, .. }: ReferenceBlock<'_>,
        mut report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        for &page in pages {
            for group in &mut self.groups {
                let cached = &mut group.cached_in[page as usize];
                let mut missing = group.all & !*cached;
                *cached = group.all;
                while missing != 0 {
                    let size = missing.trailing_zeros() as usize;
                    missing &= missing - 1;
                    if let Some(victim) = group.rings[size].fill(page).1 {
                        group.cached_in[victim as usize] &= !(1 << size);
                    }
                    let size = group.first_size + size;
                    report(page, size..size + 1, ReferenceOutcome::miss(0, None));
                }
            }
        }
    }
}
