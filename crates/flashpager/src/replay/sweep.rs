//! One pass over a trace for caches that differ only in size.

use super::references::{Collapser, for_each_run, next_uses};
use super::requests::{Requests, requests_bytes};
use super::{CacheDesign, Counts, image_pages};
use crate::error::{Error, Result};
use crate::media::register::RegisterDesign;
use crate::pager::{AllSizes, NEVER, Policy, PolicySpec, SizesVisitor};
use crate::trace::Trace;

/// What one pass replays: a cache page and a policy, at several cache sizes, and
/// the registers behind each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of a cache page, a power of two.
    pub cache_page_bytes: u32,
    /// Who is evicted.
    pub policy: PolicySpec,
    /// Bytes of RAM for frames, of each cache.
    pub cache_bytes: Vec<u64>,
    /// The registers.
    pub registers: Vec<RegisterDesign>,
}

/// Most entries in the tables of pages of all sizes together.
const MAX_TABLE_ENTRIES: u64 = 1 << 30;
/// Of a page in a policy's table.
const PAGE_ENTRY_BYTES: u64 = 16;
/// Of a frame in a policy, with its ghosts.
const FRAME_BYTES: u64 = 128;

impl Cell {
    /// Most memory that a [`sweep`] of this cell takes, in bytes, for a trace with
    /// an image of `image_bytes` and `runs` runs of `bytes` bytes together.
    pub fn memory_bytes(&self, image_bytes: u64, runs: u64, bytes: u64) -> u64 {
        let page = u64::from(self.cache_page_bytes.max(1));
        let pages = image_bytes.div_ceil(page);
        let sizes = self.cache_bytes.len() as u64;
        let frames = self.cache_bytes.iter().map(|bytes| (bytes / page).min(pages));
        // Each policy's table of pages, and what it keeps of a frame and its ghosts.
        let caches = sizes * pages * PAGE_ENTRY_BYTES + frames.sum::<u64>() * FRAME_BYTES;
        let counts = requests_bytes(self.cache_page_bytes, pages, sizes, &self.registers);
        // Next uses grow as a vector does, up to twice what they need.
        let references = if self.policy.needs_next_use() { runs + bytes / page } else { 0 };
        caches + counts + 8 * references
    }

    /// The cache of that many bytes.
    fn cache(&self, cache_bytes: u64) -> CacheDesign {
        let Self { cache_page_bytes, policy, .. } = self;
        CacheDesign { cache_bytes, cache_page_bytes: *cache_page_bytes, policy: policy.clone() }
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
    let Cell { cache_page_bytes, cache_bytes, registers, .. } = cell;
    for register in registers {
        register.check(*cache_page_bytes)?;
    }
    let pages = image_pages(trace, *cache_page_bytes)?;
    if u64::from(pages) * cache_bytes.len() as u64 > MAX_TABLE_ENTRIES {
        return Err(Error::design(format!(
            "{} cache sizes at once, each with a table of {pages} pages of {cache_page_bytes} bytes, \
             are too many: ask for fewer sizes or larger cache pages",
            cache_bytes.len()
        )));
    }
    // Frames that no page is left for change nothing.
    let usable = |cache: CacheDesign| cache.frames().min(u64::from(pages).max(1)) as u32;
    let frames_of = cache_bytes
        .iter()
        .map(|bytes| {
            let cache = cell.cache(*bytes);
            cache.check().map(|()| usable(cache))
        })
        .collect::<Result<Vec<u32>>>()?;
    let mut frames = frames_of.clone();
    frames.sort_unstable();
    frames.dedup();
    if frames.is_empty() {
        return Ok(Vec::new());
    }
    let replay = Sweep { trace, pages, sizes: frames.len(), cell, go_on };
    let counts = cell.policy.visit_sizes(&frames, pages, replay)?;
    let size_of = |frame: &u32| frames.partition_point(|smaller| smaller < frame);
    Ok(frames_of.iter().map(|frame| counts[size_of(frame)].clone()).collect())
}

struct Sweep<'a> {
    trace: &'a dyn Trace,
    pages: u32,
    sizes: usize,
    cell: &'a Cell,
    go_on: &'a dyn Fn() -> bool,
}

impl SizesVisitor for Sweep<'_> {
    type Output = Vec<Vec<Counts>>;

    fn visit<P: Policy>(self, mut caches: P::AllSizes) -> Result<Self::Output> {
        let Self { trace, pages, sizes, go_on, .. } = self;
        let Cell { cache_page_bytes, registers, .. } = self.cell;
        let shift = cache_page_bytes.trailing_zeros();
        let next_uses = next_uses(trace, shift, pages, go_on, P::NEEDS_NEXT_USE)?;
        let inclusion = P::AllSizes::INCLUSION;
        let mut requests = Requests::new(*cache_page_bytes, pages, sizes, inclusion, registers)?;
        let mut collapser = Collapser::new(shift);
        let (mut moment, mut bytes_read) = (0, 0);
        for_each_run(trace, go_on, |run| {
            collapser.references(run, |page| {
                let next_use = if P::NEEDS_NEXT_USE { next_uses[moment] } else { NEVER };
                moment += 1;
                caches.reference(page, next_use, |sizes, walk| requests.add(sizes, page, walk));
            });
            bytes_read += u64::from(run.length);
            requests.check_memory()
        })?;
        Ok(requests.finish(moment as u64, bytes_read, registers))
    }
}
