//! One pass over a trace for many caches.
//!
//! Runs are turned into references once for all cells of a cache page, some thousands at a time, as
//! pages or as spans of pages. Each cell takes such a block as a whole, so that its tables stay in
//! the processor's caches.

use std::collections::BTreeSet;

use flashpager_base::Result;
use flashpager_trace::{Run, Trace, for_runs};

use super::cell::Cell;
use super::hierarchy::{ICacheShape, ReferenceSource, TlbCache, check_reads};
use super::next_uses::next_uses;
use super::requests::Requests;
use super::{Counts, image_pages};
use crate::pager::{
    AllSizes, Moment, NEVER, Page, PageSpan, Policy, PolicyParameter, ReferenceBlock, Shape,
    SizesVisitor,
};
use crate::register::RegisterDesign;

/// The approximate number of references of a block.
const BLOCK: usize = 1 << 13;
/// The approximate number of spans of a block.
const BLOCK_SPANS: usize = 1 << 11;
/// The approximate limit of references in a block of spans. It is larger than [`BLOCK`], so that
/// only runs longer than any code are cut.
const BLOCK_REFERENCES: usize = 1 << 16;
/// The largest shift of a page in a piece of a run, which keeps a piece below 2³² bytes.
const MAX_PIECE_SHIFT: u32 = 16;

/// Replays `trace` through all caches of `cell` in one pass. Returns the counts of each cache with
/// each register, in the order of the cell. They equal the counts of single replays
/// ([`super::replay`]).
///
/// Memory and `should_continue` are as in a single replay. The counts themselves grow with the
/// executed code and the number of sizes.
///
/// # Errors
/// If a design is impossible, or the trace cannot be read.
pub fn sweep(
    trace: &dyn Trace,
    cell: &Cell,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Vec<Counts>>> {
    Ok(sweep_all(trace, &[cell], should_continue)?.swap_remove(0))
}

/// Does the same as [`sweep`] for several cells of one cache page. Their memory adds up.
pub(super) fn sweep_all(
    trace: &dyn Trace,
    cells: &[&Cell],
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Vec<Vec<Counts>>>> {
    let Some(Cell { cache_page_bytes, .. }) = cells.first() else { return Ok(Vec::new()) };
    cells.iter().try_for_each(|cell| cell.check(trace.image_bytes()))?;
    if cells.iter().any(|cell| cell.hierarchy.is_some()) {
        check_reads(trace)?;
    }
    let pages = image_pages(trace.image_bytes(), *cache_page_bytes)?;
    let shift = cache_page_bytes.trailing_zeros();
    let mut streams: Vec<ReferenceStream> = Vec::new();
    let with_sizes = |(_, cell): &(usize, &&Cell)| !cell.cache_bytes.is_empty();
    for (index_of_cell, cell) in cells.iter().enumerate().filter(with_sizes) {
        debug_assert_eq!(cell.cache_page_bytes, *cache_page_bytes);
        let icache = cell.hierarchy.map(|hierarchy| hierarchy.icache);
        let caches = CellCaches::new(cell, pages)?;
        let takes_spans = caches.replay.takes_spans();
        let fits =
            |stream: &ReferenceStream| stream.icache == icache && stream.takes_spans == takes_spans;
        let index = match streams.iter().position(fits) {
            Some(index) => index,
            None => {
                streams.push(ReferenceStream::new(shift, icache, takes_spans));
                streams.len() - 1
            }
        };
        streams[index].cells.push((index_of_cell, caches));
    }
    for stream in &mut streams {
        stream.look_ahead(trace, cells, pages, should_continue)?;
    }
    let mut counts: Vec<Vec<Vec<Counts>>> = cells.iter().map(|_| Vec::new()).collect();
    if streams.is_empty() {
        return Ok(counts);
    }
    let mut bytes_read = 0;
    for_runs(trace, should_continue, |runs| {
        bytes_read += runs.iter().map(|run| u64::from(run.length)).sum::<u64>();
        streams.iter_mut().try_for_each(|stream| stream.take(runs))
    })?;
    for stream in streams {
        stream
            .finish(bytes_read, |index_of_cell, cell_counts| counts[index_of_cell] = cell_counts)?;
    }
    Ok(counts)
}

/// The number of times that [`sweep_all`] reads the trace for `cells`: once, and once more for each
/// stream of references whose future must be known.
pub(super) fn trace_reads(cells: &[&Cell]) -> usize {
    let with_sizes = || cells.iter().filter(|cell| !cell.cache_bytes.is_empty());
    let future = with_sizes().filter(|cell| cell.policy.needs_next_use());
    let icache = |cell: &&Cell| cell.hierarchy.map(|hierarchy| hierarchy.icache);
    let streams: BTreeSet<_> = future.map(icache).collect();
    usize::from(with_sizes().next().is_some()) + streams.len()
}

/// The references behind one instruction cache, or without one, and the cells that take them.
struct ReferenceStream {
    icache: Option<ICacheShape>,
    /// The binary logarithm of the bytes of a cache page.
    shift: u32,
    front: ReferenceSource,
    /// The next use of each reference of the trace, if a cell needs it.
    next_uses: Vec<Moment>,
    /// True if a block is made of spans; false if it is made of pages.
    takes_spans: bool,
    spans: Vec<PageSpan>,
    /// The pages of this block, of which `filled` are valid.
    pages: Vec<Page>,
    /// Collapsed references of this block.
    filled: usize,
    /// Collapsed references of the blocks before.
    references: u64,
    cells: Vec<(usize, CellCaches)>,
}

impl ReferenceStream {
    fn new(shift: u32, icache: Option<ICacheShape>, takes_spans: bool) -> Self {
        Self {
            icache,
            shift,
            front: ReferenceSource::new(shift, icache),
            next_uses: Vec::new(),
            takes_spans,
            spans: Vec::new(),
            pages: vec![0; if takes_spans { 0 } else { 2 * BLOCK }],
            filled: 0,
            references: 0,
            cells: Vec::new(),
        }
    }

    /// Finds the next uses, if a cell needs them.
    fn look_ahead(
        &mut self,
        trace: &dyn Trace,
        cells: &[&Cell],
        pages: u32,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<()> {
        if self.cells.iter().any(|(place, _)| cells[*place].policy.needs_next_use()) {
            self.next_uses = next_uses(trace, self.shift, self.icache, pages, should_continue)?;
        }
        Ok(())
    }

    /// Takes some runs. However long they are, a block has at most `2 * BLOCK` references, or with
    /// spans at most `2 * BLOCK_REFERENCES`.
    fn take(&mut self, runs: &[Run]) -> Result<()> {
        let most = |bytes: u64, runs: usize| (bytes >> self.shift) as usize + 2 * runs;
        let bytes = runs.iter().map(|run| u64::from(run.length)).sum();
        let limit = if self.takes_spans { BLOCK_REFERENCES } else { BLOCK };
        if most(bytes, runs.len()) <= limit {
            return self.append(runs);
        }
        for &run in runs {
            // A cut between pages keeps the references, and one between words keeps the words.
            let piece = (BLOCK as u64 - 2) << self.shift.min(MAX_PIECE_SHIFT);
            let mut offset = u64::from(run.offset);
            while offset < run.end() {
                let end = ((offset / piece + 1) * piece).min(run.end());
                self.append(&[Run { offset: offset as u32, length: (end - offset) as u32 }])?;
                offset = end;
            }
        }
        Ok(())
    }

    /// Appends runs that have at most as many references as a block.
    fn append(&mut self, runs: &[Run]) -> Result<()> {
        if self.takes_spans {
            self.filled += self.front.append_spans(runs, &mut self.spans) as usize;
            let is_full = self.spans.len() >= BLOCK_SPANS || self.filled >= BLOCK_REFERENCES;
            return if is_full { self.hand_over() } else { Ok(()) };
        }
        self.filled = self.front.append(runs, &mut self.pages, self.filled);
        if self.filled < BLOCK { Ok(()) } else { self.hand_over() }
    }

    /// Hands the block to the cells.
    fn hand_over(&mut self) -> Result<()> {
        let pages = if self.takes_spans { &[] } else { &self.pages[..self.filled] };
        let before = self.references as usize;
        let next_uses = self.next_uses.get(before..before + pages.len()).unwrap_or_default();
        let block = ReferenceBlock { pages, next_uses, spans: &self.spans };
        for (_, CellCaches { replay, .. }) in &mut self.cells {
            replay.take(block)?;
        }
        self.references += self.filled as u64;
        self.filled = 0;
        self.spans.clear();
        Ok(())
    }

    fn finish(
        mut self,
        bytes_read: u64,
        mut take_counts: impl FnMut(usize, Vec<Vec<Counts>>),
    ) -> Result<()> {
        self.hand_over()?;
        let Self { front, references, cells, .. } = self;
        for (index_of_cell, CellCaches { replay, size_of }) in cells {
            let mut counts = replay.finish(references, bytes_read);
            for counts in counts.iter_mut().flatten() {
                counts.words = front.words();
                counts.line_refills = front.refills();
            }
            take_counts(index_of_cell, size_of.iter().map(|size| counts[*size].clone()).collect());
        }
        Ok(())
    }
}

/// The caches of a cell.
struct CellCaches {
    replay: Box<dyn SizesReplay>,
    /// For each size of the cell its index among the distinct sizes, ascending.
    size_of: Vec<usize>,
}

impl CellCaches {
    fn new(cell: &Cell, pages: u32) -> Result<Self> {
        let usable = |cache_bytes: &u64| {
            let frames = cell.cache(*cache_bytes).frames().min(u64::from(u32::MAX)) as u32;
            if cell.ways.is_some() { frames } else { cell.policy.frames_that_count(frames, pages) }
        };
        let frames_of: Vec<u32> = cell.cache_bytes.iter().map(usable).collect();
        let mut frames = frames_of.clone();
        frames.sort_unstable();
        frames.dedup();
        let size_of = |frame: &u32| frames.partition_point(|smaller| smaller < frame);
        let size_of = frames_of.iter().map(size_of).collect();
        let replay = cell
            .policy
            .visit_sizes(cell.ways.is_some(), BuildSizesReplay { cell, pages, frames: &frames })?;
        Ok(Self { replay, size_of })
    }
}

/// Caches of several sizes, through which blocks of references pass.
trait SizesReplay {
    /// Returns true if the caches take spans; false if they take pages.
    fn takes_spans(&self) -> bool;

    /// Takes a block of references.
    ///
    /// # Errors
    /// If the counts take too much memory.
    fn take(&mut self, block: ReferenceBlock<'_>) -> Result<()>;

    /// The counts of each size with each register, after `references` references.
    fn finish(self: Box<Self>, references: u64, bytes_read: u64) -> Vec<Vec<Counts>>;
}

struct BuildSizesReplay<'a> {
    cell: &'a Cell,
    pages: u32,
    frames: &'a [u32],
}

impl SizesVisitor for BuildSizesReplay<'_> {
    type Output = Box<dyn SizesReplay>;

    fn visit<P: Policy>(self, parameters: &[PolicyParameter]) -> Result<Box<dyn SizesReplay>> {
        let Self { cell, pages, frames } = self;
        let Cell { cache_page_bytes, registers, .. } = cell;
        let requests =
            |inclusion| Requests::new(*cache_page_bytes, pages, frames.len(), inclusion, registers);
        let registers = registers.clone();
        let Some(tlb) = cell.tlb() else {
            let caches = P::AllSizes::new(frames, cell.ways, pages, parameters)?;
            let requests = requests(P::AllSizes::INCLUSION)?;
            return Ok(Box::new(DirectCaches { caches, requests, registers }));
        };
        let cache = |frames: &u32| {
            let policy = P::new(Shape { frames: *frames, pages, ways: cell.ways }, parameters)?;
            Ok(TlbCache::new(policy, tlb))
        };
        let caches = frames.iter().map(cache).collect::<Result<Vec<TlbCache<P>>>>()?;
        Ok(Box::new(TlbCaches { caches, requests: requests(false)?, registers }))
    }
}

/// Caches that see the same references.
struct DirectCaches<A> {
    caches: A,
    requests: Requests,
    registers: Vec<RegisterDesign>,
}

impl<A: AllSizes> SizesReplay for DirectCaches<A> {
    fn takes_spans(&self) -> bool {
        A::TAKES_SPANS
    }

    fn take(&mut self, block: ReferenceBlock<'_>) -> Result<()> {
        let Self { caches, requests, .. } = self;
        caches.references(block, |page, sizes, outcome| {
            requests.add(sizes, page, outcome);
        });
        requests.check_memory()
    }

    fn finish(self: Box<Self>, references: u64, bytes_read: u64) -> Vec<Vec<Counts>> {
        let references = vec![references; self.requests.sizes()];
        self.requests.finish(&references, bytes_read, &self.registers)
    }
}

/// Caches behind a TLB each: the references that pass the TLB depend on the cache.
struct TlbCaches<P> {
    caches: Vec<TlbCache<P>>,
    requests: Requests,
    registers: Vec<RegisterDesign>,
}

impl<P: Policy> SizesReplay for TlbCaches<P> {
    fn takes_spans(&self) -> bool {
        false
    }

    fn take(&mut self, ReferenceBlock { pages, next_uses, .. }: ReferenceBlock<'_>) -> Result<()> {
        let Self { caches, requests, .. } = self;
        for (index, &page) in pages.iter().enumerate() {
            let next_use = if P::NEEDS_NEXT_USE { next_uses[index] } else { NEVER };
            for (size, cache) in caches.iter_mut().enumerate() {
                if let Some(outcome) = cache.reference(page, next_use) {
                    requests.add(size..size + 1, page, outcome);
                }
            }
        }
        requests.check_memory()
    }

    fn finish(self: Box<Self>, _: u64, bytes_read: u64) -> Vec<Vec<Counts>> {
        let references: Vec<u64> = self.caches.iter().map(TlbCache::misses).collect();
        let mut all = self.requests.finish(&references, bytes_read, &self.registers);
        for (counts, references) in all.iter_mut().zip(references) {
            counts.iter_mut().for_each(|counts| counts.tlb_misses = references);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use flashpager_trace::Run;

    use super::*;

    /// Records the number of references of each block.
    struct Sizes(Rc<RefCell<Vec<u64>>>);

    impl SizesReplay for Sizes {
        fn takes_spans(&self) -> bool {
            true
        }

        fn take(&mut self, block: ReferenceBlock<'_>) -> Result<()> {
            let references = block.spans.iter().map(|span| u64::from(span.last - span.first) + 1);
            self.0.borrow_mut().push(references.sum());
            Ok(())
        }

        fn finish(self: Box<Self>, _: u64, _: u64) -> Vec<Vec<Counts>> {
            Vec::new()
        }
    }

    #[test]
    fn blocks_of_spans_are_bounded_by_their_references() {
        // Lines have 8 bytes, so the first run has 2²⁸ of them.
        for runs in [
            vec![Run { offset: 16, length: 1 << 31 }],
            vec![Run { offset: 0, length: 4096 }; 4096],
            vec![Run { offset: 4, length: 40 }; 4096],
        ] {
            let sizes = Rc::default();
            let mut stream = ReferenceStream::new(3, None, true);
            let replay = Box::new(Sizes(Rc::clone(&sizes)));
            stream.cells.push((0, CellCaches { replay, size_of: Vec::new() }));
            stream.take(&runs).unwrap();
            stream.hand_over().unwrap();
            let whole = ReferenceSource::new(3, None).append_spans(&runs, &mut Vec::new());
            assert_eq!(stream.references, whole);
            assert!(sizes.borrow().iter().all(|size| *size <= 2 * BLOCK_REFERENCES as u64));
        }
    }
}
