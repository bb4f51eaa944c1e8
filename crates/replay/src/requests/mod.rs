//! Block requests, counted so that the counts of every register behind the caches follow from them.
//!
//! After a request the register holds that block's flash page, and its next column is the block's
//! end, whatever came before. So its action at a request depends only on that block and the block
//! before. Pairs of requests are therefore counted by the properties that matter: the later block,
//! whether it lies before or after the earlier one, the distance, and the flash page sizes with
//! which both share a page. These counts give the counts of every register model and flash page
//! size exactly. Only two buffers and a prefetch buffer remember more; each request is made to
//! those ([`TrackedRegister`]).

mod pairs;
mod tracked;

use std::collections::BTreeSet;
use std::ops::Range;

use flashpager_base::{Error, Result};

use crate::Counts;
use crate::pager::{Page, ReferenceOutcome, VictimSearch};
use crate::register::{Register, RegisterDesign};
use pairs::RequestPairs;
pub(super) use tracked::AccessCounts;
use tracked::TrackedRegister;

/// The most memory for the counts of one [`RequestPairs`], in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// The block before the first request.
const NO_BLOCK: Page = Page::MAX;

/// The requests of caches that differ only in size.
pub(super) struct Requests {
    block_bytes: u32,
    pagers: Vec<PagerCounts>,
    last: LastBlocks,
    /// Blocks as the cache fetches them first, then codewords, by their size.
    pairs: Vec<RequestPairs>,
    /// Registers that remember more than one request, each at every size.
    tracked: Vec<(RegisterDesign, Vec<TrackedRegister>)>,
}

/// Counts that do not depend on the register.
#[derive(Clone, Copy, Default)]
struct PagerCounts {
    misses: u64,
    bits_set: u64,
    false_faults: u64,
    downgrades: u64,
    false_fault_downgrades: u64,
    walk: u64,
    max_walk: u32,
}

/// The last block that each size requested.
enum LastBlocks {
    /// One block for each size.
    OfEach(Vec<Page>),
    /// Under inclusion, neighbouring sizes mostly requested the same block last: (end of a range of
    /// sizes, block), with the smallest sizes at the end of the list.
    Shared(Vec<(usize, Page)>),
}

impl Requests {
    /// Starts with no requests, at `sizes` sizes. `inclusion` promises that the smallest sizes are
    /// the ones that miss, with a walk of 0.
    pub(super) fn new(
        block_bytes: u32,
        pages: u32,
        sizes: usize,
        inclusion: bool,
        registers: &[RegisterDesign],
    ) -> Result<Self> {
        let (units, flash_pages) = units_and_pages(block_bytes, registers);
        let pairs = units
            .into_iter()
            .map(|unit| RequestPairs::new(block_bytes, unit, &flash_pages, pages, sizes, inclusion))
            .collect::<Result<_>>()?;
        let last = if inclusion {
            LastBlocks::Shared(vec![(sizes, NO_BLOCK)])
        } else {
            LastBlocks::OfEach(vec![NO_BLOCK; sizes])
        };
        let mut alone: Vec<RegisterDesign> =
            registers.iter().copied().filter(|register| register.is_tracked()).collect();
        alone.sort_unstable();
        alone.dedup();
        let follow = |design: RegisterDesign| {
            (design, vec![TrackedRegister::new(Register::new(design, block_bytes, pages)); sizes])
        };
        let tracked = alone.into_iter().map(follow).collect();
        let pagers = vec![PagerCounts::default(); sizes];
        Ok(Self { block_bytes, pagers, last, pairs, tracked })
    }

    /// The number of sizes.
    pub(super) fn sizes(&self) -> usize {
        self.pagers.len()
    }

    /// Counts the outcome of a reference to `block` in `sizes`.
    #[inline]
    pub(super) fn add(&mut self, sizes: Range<usize>, block: Page, outcome: ReferenceOutcome) {
        match outcome {
            ReferenceOutcome::Hit => {}
            ReferenceOutcome::BitSet => {
                self.pagers[sizes].iter_mut().for_each(|pager| pager.bits_set += 1);
            }
            ReferenceOutcome::FalseFault { downgrades } => {
                for pager in &mut self.pagers[sizes] {
                    pager.false_faults += 1;
                    pager.downgrades += u64::from(downgrades);
                    pager.false_fault_downgrades += u64::from(downgrades);
                }
            }
            ReferenceOutcome::Miss { search, .. } => self.miss(sizes, block, search),
        }
    }

    /// Counts a miss of `block` in `sizes`.
    #[inline]
    fn miss(&mut self, sizes: Range<usize>, block: Page, search: VictimSearch) {
        for (_, at_sizes) in &mut self.tracked {
            for tracked in &mut at_sizes[sizes.clone()] {
                tracked.request(block * self.block_bytes, search);
            }
        }
        match &mut self.last {
            LastBlocks::OfEach(last) => {
                for size in sizes {
                    let before = std::mem::replace(&mut last[size], block);
                    let pager = &mut self.pagers[size];
                    pager.misses += 1;
                    pager.downgrades += u64::from(search.downgrades);
                    pager.walk += u64::from(search.walk);
                    pager.max_walk = pager.max_walk.max(search.walk);
                    for pairs in &mut self.pairs {
                        pairs.add(size..size + 1, before, block, search);
                    }
                }
            }
            LastBlocks::Shared(last) => {
                // Counted as a difference, which is summed up in `finish`.
                self.pagers[sizes.end - 1].misses += 1;
                let mut start = 0;
                while let Some(&(end, before)) = last.last() {
                    let here = start..end.min(sizes.end);
                    for pairs in &mut self.pairs {
                        pairs.add(here.clone(), before, block, VictimSearch::default());
                    }
                    if end > sizes.end {
                        break;
                    }
                    last.pop();
                    start = end;
                    if end == sizes.end {
                        break;
                    }
                }
                last.push((sizes.end, block));
            }
        }
    }

    /// Checks the memory of the counts.
    ///
    /// # Errors
    /// If they take too much; then they are no longer right.
    pub(super) fn check_memory(&self) -> Result<()> {
        if self.pairs.iter().any(|pairs| pairs.is_full) {
            return Err(Error::design(format!(
                "counting {} cache sizes with cache pages of {} bytes takes over {} GiB: ask for \
                 fewer cache sizes at once, or larger cache pages",
                self.pagers.len(),
                self.block_bytes,
                MAX_BYTES >> 30
            )));
        }
        Ok(())
    }

    /// The counts of every size with each of `registers`, which are those given to
    /// [`Requests::new`]. `references` are those of each size.
    pub(super) fn finish(
        mut self,
        references: &[u64],
        bytes_read: u64,
        registers: &[RegisterDesign],
    ) -> Vec<Vec<Counts>> {
        if matches!(self.last, LastBlocks::Shared(_)) {
            for size in (1..self.pagers.len()).rev() {
                self.pagers[size - 1].misses += self.pagers[size].misses;
            }
            self.pairs.iter_mut().for_each(RequestPairs::sum_differences);
        }
        let counts = |(size, pager): (usize, &PagerCounts)| {
            let common = Counts {
                references: references[size],
                hits: references[size] - pager.misses - pager.false_faults,
                misses: pager.misses,
                reference_bits_set: pager.bits_set,
                false_faults: pager.false_faults,
                downgrades: pager.downgrades,
                false_fault_downgrades: pager.false_fault_downgrades,
                bytes_read,
                bytes_written: pager.misses * u64::from(self.block_bytes),
                walk: pager.walk,
                max_walk: pager.max_walk,
                ..Counts::default()
            };
            registers.iter().map(|register| self.counts_of(size, register, &common)).collect()
        };
        self.pagers.iter().enumerate().map(counts).collect()
    }

    fn counts_of(&self, size: usize, register: &RegisterDesign, common: &Counts) -> Counts {
        let unit = unit_bytes(register, self.block_bytes);
        let mut counts = common.clone();
        if let Some((_, at_sizes)) = self.tracked.iter().find(|(design, _)| design == register) {
            at_sizes[size].write_to(&mut counts);
            return counts;
        }
        for pairs in &self.pairs {
            let Some(page) = pairs.page_index(register.flash_page_bytes) else { continue };
            if pairs.unit_bytes == unit {
                pairs.write_to(size, page, register.model, &mut counts);
            }
            if pairs.unit_bytes == self.block_bytes {
                counts.distance_histogram = pairs.distances(size, page);
            }
        }
        counts
    }
}

/// The sizes to count for `registers`: those of units fetched whole, and of flash pages, both
/// ascending. Tracked registers need none.
fn units_and_pages(block_bytes: u32, registers: &[RegisterDesign]) -> (Vec<u32>, Vec<u32>) {
    let counted = || registers.iter().filter(|register| !register.is_tracked());
    let units: BTreeSet<u32> =
        counted().flat_map(|register| [block_bytes, unit_bytes(register, block_bytes)]).collect();
    let pages: BTreeSet<u32> = counted().map(|register| register.flash_page_bytes).collect();
    (units.into_iter().collect(), pages.into_iter().collect())
}

/// The most memory that [`Requests`] take for `touched` distinct blocks, with the finished counts,
/// in bytes. The counts by search are not included.
pub(super) fn requests_bytes(
    block_bytes: u32,
    touched: u64,
    sizes: u64,
    registers: &[RegisterDesign],
) -> u64 {
    let (units, flash_pages) = units_and_pages(block_bytes, registers);
    let classes = flash_pages.len() as u64;
    let largest = u64::from(flash_pages.last().copied().unwrap_or(block_bytes));
    let of_unit = |unit: u32| {
        // Counts grow as a vector does, to at most twice their size.
        let by_unit = (8 + 2 * 8 * (2 * classes + 1) * sizes).saturating_mul(touched + 1);
        let places = largest.div_ceil(u64::from(unit.max(1)));
        by_unit.min(2 * MAX_BYTES) + 16 * classes * sizes * places
    };
    // Tracked registers count loads by flash page, distances and classes.
    let tracked = registers.iter().filter(|register| register.is_tracked()).count();
    let tracked = (64 * sizes * tracked as u64).saturating_mul(touched + 1);
    let finished = sizes * registers.len() as u64 * 16;
    units.into_iter().map(of_unit).fold(tracked, u64::saturating_add).saturating_add(
        finished.saturating_mul(touched + 3 * largest.div_ceil(u64::from(block_bytes.max(1)))),
    )
}

/// Bytes fetched whole: a block, or the codeword around it.
fn unit_bytes(register: &RegisterDesign, block_bytes: u32) -> u32 {
    register.codeword_bytes.unwrap_or(1).max(block_bytes)
}
