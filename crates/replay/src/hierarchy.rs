//! The hierarchy between processor and page cache: an instruction cache and a TLB (In, Shin & Kim,
//! LCTES 2007, table 2).
//!
//! Every fetched word is looked up in the instruction cache. A line that is missing there is
//! refilled from the page cache, for which the TLB must know the page. Only a refill whose page the
//! TLB does not know is a reference to the page cache: it sets the page's bit, or it faults.
//!
//! The instruction cache has virtual tags, as in the ARM926EJ-S. Code does not change, so a line
//! outlives the eviction of its page, and the behaviour of the cache depends on the program alone:
//! one pass through it serves page caches of all sizes. The TLB must not know a page that would
//! fault, so its entry ends when the page is evicted or moved down, or when its reference bit is
//! cleared.

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};
use flashpager_trace::{Run, Trace};

use super::references::Collapser;
use crate::pager::{Moment, Page, PageSpan, Policy, ReferenceOutcome};

/// Bytes of a word, which is fetched at once.
pub const WORD_BYTES: u32 = 4;

/// The maximum size of an instruction cache in bytes.
const MAX_CACHE_BYTES: u32 = 1 << 24;
/// The maximum number of entries of a TLB.
const MAX_ENTRIES: u32 = 1 << 16;
/// The maximum number of ways of an instruction cache or a TLB.
const MAX_WAYS: u32 = 64;

/// The shape of an instruction cache: line number mod sets, round robin in each set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ICacheShape {
    /// Bytes of all lines.
    pub cache_bytes: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Lines of a set.
    pub ways: u32,
}

/// The shape of a TLB: page number mod sets, round robin in each set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TlbShape {
    /// Sets.
    pub sets: u32,
    /// Entries of a set.
    pub ways: u32,
}

/// The hierarchy in front of the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HierarchyDesign {
    /// The instruction cache.
    pub icache: ICacheShape,
    /// The TLB; without one every refill is a reference to the page cache.
    pub tlb: Option<TlbShape>,
}

impl HierarchyDesign {
    /// Checks the shapes, alone and against the cache page.
    ///
    /// # Errors
    /// If a shape is impossible, or a line is larger than a page.
    pub fn check(&self, cache_page_bytes: u32) -> Result<()> {
        let Self { icache, tlb } = self;
        power_of_two("line of the instruction cache", icache.line_bytes)?;
        if icache.line_bytes < WORD_BYTES || icache.line_bytes > cache_page_bytes {
            return Err(Error::design(format!(
                "a line of the instruction cache of {} bytes: take a word of {WORD_BYTES} to a \
                 cache page of {cache_page_bytes}",
                icache.line_bytes
            )));
        }
        check_ways("instruction cache", icache.ways)?;
        let sets = icache.sets();
        if icache.cache_bytes > MAX_CACHE_BYTES
            || !sets.is_power_of_two()
            || u64::from(sets) * u64::from(icache.ways) * u64::from(icache.line_bytes)
                != u64::from(icache.cache_bytes)
        {
            return Err(Error::design(format!(
                "an instruction cache of {} bytes in {} ways of {}-byte lines: the number of sets \
                 must be a power of two, and the cache at most {} MiB",
                icache.cache_bytes,
                icache.ways,
                icache.line_bytes,
                MAX_CACHE_BYTES >> 20
            )));
        }
        if let Some(TlbShape { sets, ways }) = *tlb {
            check_ways("TLB", ways)?;
            if !sets.is_power_of_two() || sets > MAX_ENTRIES / ways {
                return Err(Error::design(format!(
                    "a TLB of {sets} sets of {ways}: take a power of two of sets, and at most \
                     {MAX_ENTRIES} entries"
                )));
            }
        }
        Ok(())
    }
}

/// Refuses traces with data reads, which do not pass an instruction cache.
pub(super) fn check_reads(trace: &dyn Trace) -> Result<()> {
    if !trace.has_reads() {
        return Ok(());
    }
    Err(Error::design(
        "the trace holds data reads, which do not pass the board's instruction cache: take a \
         board without one, or record with --no-reads",
    ))
}

fn check_ways(cache_name: &str, ways: u32) -> Result<()> {
    if (1..=MAX_WAYS).contains(&ways) {
        return Ok(());
    }
    Err(Error::design(format!("{cache_name}: {ways} ways; take 1 to {MAX_WAYS}")))
}

impl ICacheShape {
    /// Sets, rounded down.
    fn sets(&self) -> u32 {
        let set_bytes = u64::from(self.ways) * u64::from(self.line_bytes);
        (u64::from(self.cache_bytes) / set_bytes.max(1)) as u32
    }
}

/// The tag of an empty entry. No line or page has it: a line has at least a word, and there are at
/// least two pages.
const NO_TAG: u32 = u32::MAX;

/// Tags in sets, replaced round robin.
struct TagArray {
    tags: Vec<u32>,
    next_way: Vec<u8>,
    ways: usize,
}

impl TagArray {
    fn new(sets: u32, ways: u32) -> Self {
        let entries = sets as usize * ways as usize;
        Self { tags: vec![NO_TAG; entries], next_way: vec![0; sets as usize], ways: ways as usize }
    }

    #[inline]
    fn set(&self, tag: u32) -> usize {
        tag as usize & (self.next_way.len() - 1)
    }

    #[inline]
    fn position(&self, tag: u32) -> Option<usize> {
        let start = self.set(tag) * self.ways;
        let tags = &self.tags[start..start + self.ways];
        tags.iter().position(|known| *known == tag).map(|way| start + way)
    }

    /// Returns whether `tag` is held, and takes it in if not.
    #[inline]
    fn find_or_fill(&mut self, tag: u32) -> bool {
        if self.position(tag).is_some() {
            return true;
        }
        self.fill(tag);
        false
    }

    #[inline]
    fn fill(&mut self, tag: u32) {
        let set = self.set(tag);
        let way = self.next_way[set];
        self.tags[set * self.ways + usize::from(way)] = tag;
        self.next_way[set] = if usize::from(way) + 1 == self.ways { 0 } else { way + 1 };
    }
}

/// The state of the instruction cache.
struct ICache {
    tags: TagArray,
    line_shift: u32,
    /// The line fetched last, which is in the cache.
    last_line: u32,
    words: u64,
    refills: u64,
}

impl ICache {
    fn new(shape: ICacheShape) -> Self {
        Self {
            tags: TagArray::new(shape.sets(), shape.ways),
            line_shift: shape.line_bytes.trailing_zeros(),
            last_line: NO_TAG,
            words: 0,
            refills: 0,
        }
    }

    /// Fetches a run and calls `refill` with each missing line, after counting it in `refills`.
    #[inline]
    fn fetch(&mut self, run: Run, mut refill: impl FnMut(u32)) {
        self.words += u64::from(words_before(run, run.last()) + 1);
        let first = run.offset >> self.line_shift;
        let last = run.last() >> self.line_shift;
        let from = if first == self.last_line { first + 1 } else { first };
        for line in from..=last {
            if !self.tags.find_or_fill(line) {
                self.refills += 1;
                refill(line);
            }
        }
        self.last_line = last;
    }
}

/// The number of words of `run` before the word of the byte at `offset`.
pub(super) fn words_before(run: Run, offset: u32) -> u32 {
    offset / WORD_BYTES - run.offset / WORD_BYTES
}

/// Turns runs into references to pages, through the instruction cache if there is one.
pub(super) struct ReferenceSource {
    collapser: Collapser,
    page_shift: u32,
    icache: Option<ICache>,
}

/// A request for bytes from the frame of a page.
pub(super) struct PageNeed {
    /// The page.
    pub page: Page,
    /// The flash offset of the first byte needed.
    pub offset: u32,
    /// True if the previous request was for another page.
    pub is_new: bool,
}

impl ReferenceSource {
    pub(super) fn new(page_shift: u32, icache: Option<ICacheShape>) -> Self {
        Self { collapser: Collapser::new(page_shift), page_shift, icache: icache.map(ICache::new) }
    }

    /// Calls `need` with every page that `run` enters, or behind an instruction cache with every
    /// refill.
    #[inline]
    pub(super) fn needs(&mut self, run: Run, mut need: impl FnMut(PageNeed)) {
        let shift = self.page_shift;
        let Some(icache) = &mut self.icache else {
            return self.collapser.references(run, |page| {
                need(PageNeed { page, offset: run.offset.max(page << shift), is_new: true });
            });
        };
        let line_shift = icache.line_shift;
        let collapser = &mut self.collapser;
        icache.fetch(run, |line| {
            let offset = run.offset.max(line << line_shift);
            let page = offset >> shift;
            need(PageNeed { page, offset, is_new: collapser.is_new(page) });
        });
    }

    /// Writes the references of `runs` into `pages` from index `filled` on; `pages` grows as
    /// needed. Returns the new fill level.
    pub(super) fn append(&mut self, runs: &[Run], pages: &mut Vec<Page>, filled: usize) -> usize {
        if self.icache.is_none() {
            return self.collapser.append(runs, pages, filled);
        }
        pages.truncate(filled);
        for &run in runs {
            self.needs(run, |need| {
                if need.is_new {
                    pages.push(need.page);
                }
            });
        }
        pages.len()
    }

    /// Appends the references of `runs` to `spans`. Returns their number, collapsed.
    pub(super) fn append_spans(&mut self, runs: &[Run], spans: &mut Vec<PageSpan>) -> u64 {
        if self.icache.is_none() {
            return self.collapser.append_spans(runs, spans);
        }
        let before = spans.len();
        for &run in runs {
            self.needs(run, |need| {
                if need.is_new {
                    spans.push(PageSpan { first: need.page, last: need.page });
                }
            });
        }
        (spans.len() - before) as u64
    }

    /// Words fetched so far, including those of a started run; 0 without an instruction cache.
    pub(super) fn words(&self) -> u64 {
        self.icache.as_ref().map_or(0, |icache| icache.words)
    }

    /// Lines refilled so far; 0 without an instruction cache.
    pub(super) fn refills(&self) -> u64 {
        self.icache.as_ref().map_or(0, |icache| icache.refills)
    }
}

/// A page cache behind a TLB.
pub(super) struct TlbCache<P> {
    policy: P,
    tlb: TagArray,
    misses: u64,
}

impl<P: Policy> TlbCache<P> {
    pub(super) fn new(policy: P, shape: TlbShape) -> Self {
        Self { policy, tlb: TagArray::new(shape.sets, shape.ways), misses: 0 }
    }

    /// Takes a reference. Returns its outcome in the page cache, or `None` if the TLB served it.
    ///
    /// A policy that knows the future sees every reference, to stay at the right moment.
    #[inline]
    pub(super) fn reference(&mut self, page: Page, next_use: Moment) -> Option<ReferenceOutcome> {
        let entry = self.tlb.position(page);
        if let Some(entry) = entry {
            if self.policy.would_hit(page) {
                if P::NEEDS_NEXT_USE {
                    self.policy.reference(page, next_use);
                }
                return None;
            }
            self.tlb.tags[entry] = NO_TAG;
        }
        self.misses += 1;
        let outcome = self.policy.reference(page, next_use);
        if self.policy.would_hit(page) {
            self.tlb.fill(page);
        }
        Some(outcome)
    }

    /// The number of references that the TLB did not serve.
    pub(super) fn misses(&self) -> u64 {
        self.misses
    }
}
