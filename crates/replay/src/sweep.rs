//! One pass over a trace for caches that differ only in size.

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};
use flashpager_trace::{Trace, for_runs};

use super::hierarchy::{Front, HierarchyDesign, TlbShape, Translated};
use super::next_uses::next_uses;
use super::requests::{Requests, requests_bytes};
use super::{CacheDesign, Counts, image_pages};
use crate::pager::{
    AllSizes, Moment, NEVER, Page, Parameter, Policy, PolicySpec, Shape, SizesVisitor,
};
use crate::register::RegisterDesign;

/// What one pass replays: a cache page and a policy, at several cache sizes, and
/// the registers behind each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of a cache page, a power of two.
    pub cache_page_bytes: u32,
    /// Who is evicted.
    pub policy: PolicySpec,
    /// What stands in front.
    pub hierarchy: Option<HierarchyDesign>,
    /// Bytes of RAM for frames, of each cache.
    pub cache_bytes: Vec<u64>,
    /// The registers.
    pub registers: Vec<RegisterDesign>,
}

/// Most memory for the tables of pages that policies keep.
const MAX_TABLE_BYTES: usize = 8 << 30;
/// Of a frame in a policy, with its ghosts.
const FRAME_BYTES: u64 = 128;

impl Cell {
    /// Memory that a [`sweep`] of this cell takes at most, in bytes, for a trace with
    /// an image of `image_bytes` and `runs` runs of `bytes` bytes together. Not in it
    /// is what tells faults with different searches apart, which only Clock, FIFO with
    /// second chance and their like have.
    pub fn memory_bytes(&self, image_bytes: u64, runs: u64, bytes: u64) -> u64 {
        let page = u64::from(self.cache_page_bytes.max(1));
        let pages = image_bytes.div_ceil(page);
        let references = runs.saturating_mul(2).saturating_add(bytes / page);
        let touched = pages.min(references);
        let sizes = self.cache_bytes.len();
        let frames = self.cache_bytes.iter().map(|bytes| (bytes / page).min(touched));
        let caches = (pages * self.bytes_per_page() as u64)
            .saturating_add(self.tlb_bytes() * sizes as u64)
            .saturating_add(frames.sum::<u64>().saturating_mul(FRAME_BYTES));
        let counts = requests_bytes(self.cache_page_bytes, touched, sizes as u64, &self.registers);
        // Next uses grow as a vector does, up to twice what they need.
        let moments = if self.policy.needs_next_use() { references } else { 0 };
        caches.saturating_add(counts).saturating_add(moments.saturating_mul(8))
    }

    /// Check that it can be replayed with an image of `image_bytes`.
    ///
    /// # Errors
    /// Designs that cannot be, and images with too many pages.
    pub fn check(&self, image_bytes: u32) -> Result<()> {
        power_of_two("cache page", self.cache_page_bytes)?;
        self.cache_bytes.iter().try_for_each(|bytes| self.cache(*bytes).check())?;
        self.registers.iter().try_for_each(|register| register.check(self.cache_page_bytes))?;
        let pages = image_pages(image_bytes, self.cache_page_bytes)? as usize;
        let sizes = self.cache_bytes.len();
        if pages * self.bytes_per_page() > MAX_TABLE_BYTES {
            return Err(Error::design(format!(
                "{} at {sizes} cache sizes at once takes over {} GiB for the {pages} pages of \
                 {} bytes of the image: ask for larger cache pages or fewer sizes, or place the \
                 code lower",
                self.policy,
                MAX_TABLE_BYTES >> 30,
                self.cache_page_bytes,
            )));
        }
        Ok(())
    }

    /// Bytes that all sizes take for each page of the image: side by side behind TLBs.
    fn bytes_per_page(&self) -> usize {
        match self.tlb() {
            Some(_) => self.cache_bytes.len() * size_of::<Page>(),
            None => self.policy.bytes_per_page(self.cache_bytes.len()),
        }
    }

    fn tlb_bytes(&self) -> u64 {
        let entries = self.tlb().map_or(0, |tlb| u64::from(tlb.sets) * u64::from(tlb.ways));
        2 * entries * size_of::<Page>() as u64
    }

    fn tlb(&self) -> Option<TlbShape> {
        self.hierarchy.and_then(|hierarchy| hierarchy.tlb)
    }

    /// The cache of that many bytes.
    fn cache(&self, cache_bytes: u64) -> CacheDesign {
        let Self { cache_page_bytes, policy, hierarchy, .. } = self;
        CacheDesign {
            cache_bytes,
            cache_page_bytes: *cache_page_bytes,
            policy: policy.clone(),
            hierarchy: *hierarchy,
        }
    }
}

/// Replay `trace` through all caches of `cell` in one pass. Gives the counts of
/// each cache with each register, in the order of the cell; they equal those of
/// single replays ([`super::replay`]).
///
/// Memory and `go_on` are as in a single replay, the counts themselves grow with
/// the code executed and the number of sizes.
///
/// # Errors
/// Designs that cannot be, and whatever reading the trace gives.
pub fn sweep(trace: &dyn Trace, cell: &Cell, go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<Counts>>> {
    let Cell { cache_page_bytes, cache_bytes, .. } = cell;
    cell.check(trace.image_bytes())?;
    let pages = image_pages(trace.image_bytes(), *cache_page_bytes)?;
    let usable = |cache: CacheDesign| {
        let frames = cache.frames().min(u64::from(u32::MAX)) as u32;
        cell.policy.frames_that_count(frames, pages)
    };
    let frames_of: Vec<u32> = cache_bytes.iter().map(|bytes| usable(cell.cache(*bytes))).collect();
    let mut frames = frames_of.clone();
    frames.sort_unstable();
    frames.dedup();
    if frames.is_empty() {
        return Ok(Vec::new());
    }
    let replay = Sweep { trace, pages, frames: &frames, cell, go_on };
    let counts = cell.policy.visit_sizes(replay)?;
    let size_of = |frame: &u32| frames.partition_point(|smaller| smaller < frame);
    Ok(frames_of.iter().map(|frame| counts[size_of(frame)].clone()).collect())
}

struct Sweep<'a> {
    trace: &'a dyn Trace,
    pages: u32,
    frames: &'a [u32],
    cell: &'a Cell,
    go_on: &'a dyn Fn() -> bool,
}

impl SizesVisitor for Sweep<'_> {
    type Output = Vec<Vec<Counts>>;

    fn visit<P: Policy>(self, parameters: &[Parameter]) -> Result<Self::Output> {
        let Self { pages, frames, .. } = self;
        let sizes = frames.len();
        let Some(tlb) = self.cell.tlb() else {
            let mut caches = P::AllSizes::new(frames, pages, parameters)?;
            let replayed = self.run::<P>(P::AllSizes::INCLUSION, |page, next_use, requests| {
                caches.reference(page, next_use, |sizes, outcome| {
                    requests.add(sizes, page, outcome);
                });
            })?;
            let references = vec![replayed.references; sizes];
            return Ok(replayed.finish(&references, &self.cell.registers, false));
        };
        // What a TLB lets through depends on the cache behind it.
        let cache = |frames: &u32| {
            let policy = P::new(Shape { frames: *frames, pages }, parameters)?;
            Ok(Translated::new(policy, tlb))
        };
        let mut caches = frames.iter().map(cache).collect::<Result<Vec<Translated<P>>>>()?;
        let replayed = self.run::<P>(false, |page, next_use, requests| {
            for (size, cache) in caches.iter_mut().enumerate() {
                if let Some(outcome) = cache.reference(page, next_use) {
                    requests.add(size..size + 1, page, outcome);
                }
            }
        })?;
        let references: Vec<u64> = caches.iter().map(Translated::misses).collect();
        Ok(replayed.finish(&references, &self.cell.registers, true))
    }
}

/// A pass that has come to its end.
struct Replayed {
    requests: Requests,
    references: u64,
    bytes_read: u64,
    words: u64,
    line_refills: u64,
}

impl Replayed {
    /// The counts, of caches that had so many references each.
    fn finish(
        self,
        references: &[u64],
        registers: &[RegisterDesign],
        has_tlb: bool,
    ) -> Vec<Vec<Counts>> {
        let mut all = self.requests.finish(references, self.bytes_read, registers);
        for (counts, references) in all.iter_mut().zip(references) {
            for counts in counts {
                counts.words = self.words;
                counts.line_refills = self.line_refills;
                counts.tlb_misses = if has_tlb { *references } else { 0 };
            }
        }
        all
    }
}

impl Sweep<'_> {
    /// Hand every reference to `take`, which knows the caches.
    fn run<P: Policy>(
        &self,
        inclusion: bool,
        mut take: impl FnMut(Page, Moment, &mut Requests),
    ) -> Result<Replayed> {
        let Self { trace, pages, frames, go_on, .. } = *self;
        let Cell { cache_page_bytes, hierarchy, registers, .. } = self.cell;
        let shift = cache_page_bytes.trailing_zeros();
        let next_uses = next_uses(trace, shift, *hierarchy, pages, go_on, P::NEEDS_NEXT_USE)?;
        let mut requests =
            Requests::new(*cache_page_bytes, pages, frames.len(), inclusion, registers)?;
        let mut front = Front::new(shift, *hierarchy);
        let (mut moment, mut bytes_read) = (0, 0);
        for_runs(trace, go_on, |runs| {
            for &run in runs {
                front.needs(run, |need| {
                    if !need.is_new {
                        return;
                    }
                    let next_use = if P::NEEDS_NEXT_USE { next_uses[moment] } else { NEVER };
                    moment += 1;
                    take(need.page, next_use, &mut requests);
                });
                bytes_read += u64::from(run.length);
            }
            requests.check_memory()
        })?;
        let references = moment as u64;
        let (words, line_refills) = (front.words(), front.refills());
        Ok(Replayed { requests, references, bytes_read, words, line_refills })
    }
}
