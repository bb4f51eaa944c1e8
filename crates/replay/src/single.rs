//! A single replay, which can report each fault.

use flashpager_base::{Error, Result};
use flashpager_trace::{Run, Trace, for_runs};

use super::hierarchy::{ReferenceSource, TlbCache, WORD_BYTES, check_reads, words_before};
use super::next_uses::next_uses;
use super::references::Collapser;
use super::requests::Requests;
use super::{CacheDesign, Cell, Counts, Executed, Fault, image_pages, sweep};
use crate::pager::{
    AllSizes, Moment, NEVER, Page, Policy, PolicyParameter, PolicyVisitor, ReferenceOutcome,
    SizesVisitor, VictimSearch,
};
use crate::register::{Register, RegisterDesign};

/// Callbacks that report a replay as it goes on.
pub struct Events<'a> {
    /// Bytes of the block of a page that is fetched first, a power of two, and behind an
    /// instruction cache at least a line. With it, [`Fault::left`] states when the host needs the
    /// rest.
    pub critical_block_bytes: Option<u32>,
    /// Called for each fault with the index of the register that served it: at once, or with a
    /// critical block as soon as it is known when the host needs the rest.
    pub sink: &'a mut dyn FnMut(usize, &Fault),
    /// Called at the begin of each run with all execution before it, before any fault of its first
    /// byte.
    pub begun: Option<RunSink<'a>>,
    /// Called when a word of the line that was missing last is first needed, except for the word
    /// that was missing. Not possible behind an instruction cache, which needs whole lines.
    pub words: Option<WordSink<'a>>,
}

/// Receives each run with all execution before it.
pub type RunSink<'a> = &'a mut dyn FnMut(Run, &Executed);

/// Receives the index of a word in its line, and the execution since the fault of the line.
pub type WordSink<'a> = &'a mut dyn FnMut(u32, &Executed);

/// Replays `trace` through `cache`, with each of `registers` behind it.
///
/// Returns the [`Counts`] of each register, and the execution after the last fault. Memory is
/// bounded by the image size, except for policies that need the next use: these take 4 bytes for
/// each collapsed reference.
///
/// `should_continue` is called every few runs. If it returns false, the replay ends with
/// [`Error::Interrupted`](crate::Error::Interrupted).
///
/// # Errors
/// If a design is impossible, the trace cannot be read, or the replay is interrupted.
pub fn replay(
    trace: &dyn Trace,
    cache: &CacheDesign,
    registers: &[RegisterDesign],
    should_continue: &dyn Fn() -> bool,
    events: Option<Events<'_>>,
) -> Result<(Vec<Counts>, Executed)> {
    cache.check()?;
    for register in registers {
        register.check(cache.cache_page_bytes)?;
    }
    if events.as_ref().is_some_and(|events| events.words.is_some()) {
        check_words(cache)?;
    }
    if cache.hierarchy.is_some() {
        check_reads(trace)?;
    }
    let pages = image_pages(trace.image_bytes(), cache.cache_page_bytes)?;
    let replay = SingleReplay { trace, pages, cache, registers, should_continue, events };
    let counts_alone = replay.events.is_none() && cache.hierarchy.is_none();
    if counts_alone && cache.policy.visit_sizes(cache.ways.is_some(), TakesSpans)? {
        return replay.count_alone();
    }
    cache.policy.visit(cache.shape(pages), replay)?
}

/// Asks a policy whether it takes spans, without building it.
struct TakesSpans;

impl SizesVisitor for TakesSpans {
    type Output = bool;

    fn visit<P: Policy>(self, _: &[PolicyParameter]) -> Result<bool> {
        Ok(<P::AllSizes as AllSizes>::TAKES_SPANS)
    }
}

/// The most words of a line that can be reported one by one.
const WORDS: u32 = u64::BITS;

/// Checks that the words of the cache's lines can be reported one by one.
fn check_words(cache: &CacheDesign) -> Result<()> {
    if cache.hierarchy.is_some() {
        return Err(Error::design(
            "words of a line one by one behind an instruction cache, which asks for its own lines: \
             take a board without one, or lines that are fetched whole",
        ));
    }
    if cache.cache_page_bytes > WORDS * WORD_BYTES {
        return Err(Error::design(format!(
            "words one by one of lines of {} bytes: take lines of at most {} bytes, or fetch them \
             whole",
            cache.cache_page_bytes,
            WORDS * WORD_BYTES
        )));
    }
    Ok(())
}

struct SingleReplay<'a, 'e> {
    trace: &'a dyn Trace,
    pages: u32,
    cache: &'a CacheDesign,
    registers: &'a [RegisterDesign],
    should_continue: &'a dyn Fn() -> bool,
    events: Option<Events<'e>>,
}

impl PolicyVisitor for SingleReplay<'_, '_> {
    type Output = Result<(Vec<Counts>, Executed)>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        if self.events.is_none() && self.cache.hierarchy.is_none() {
            return self.count(policy);
        }
        match self.cache.hierarchy.and_then(|hierarchy| hierarchy.tlb) {
            None => self.run::<P>(|page, next_use| Some(policy.reference(page, next_use)), false),
            Some(tlb) => {
                let mut cache = TlbCache::new(policy, tlb);
                self.run::<P>(|page, next_use| cache.reference(page, next_use), true)
            }
        }
    }
}

impl SingleReplay<'_, '_> {
    /// Counts without reporting, as a sweep of one size.
    fn count_alone(self) -> Result<(Vec<Counts>, Executed)> {
        let Self { trace, cache, registers, should_continue, .. } = self;
        let CacheDesign { cache_bytes, cache_page_bytes, ref policy, ways, hierarchy } = *cache;
        let (policy, registers) = (policy.clone(), registers.to_vec());
        let cache_bytes = vec![cache_bytes];
        let cell = Cell { cache_page_bytes, policy, ways, hierarchy, cache_bytes, registers };
        let counts = sweep(trace, &cell, should_continue)?.swap_remove(0);
        let first = counts.first();
        let (bytes, references) = first.map_or((0, 0), |one| (one.bytes_read, one.references));
        Ok((counts, Executed { bytes, references, ..Executed::default() }))
    }

    /// Counts without reporting and without a hierarchy, which is 1.5 times as fast as the full
    /// replay.
    fn count<P: Policy>(self, mut policy: P) -> Result<(Vec<Counts>, Executed)> {
        let Self { trace, pages, registers, should_continue, .. } = self;
        let page_bytes = self.cache.cache_page_bytes;
        let shift = page_bytes.trailing_zeros();
        let next_uses = if P::NEEDS_NEXT_USE {
            next_uses(trace, shift, None, pages, should_continue)?
        } else {
            Vec::new()
        };
        let mut requests = Requests::new(page_bytes, pages, 1, false, registers)?;
        let mut collapser = Collapser::new(shift);
        let (mut moment, mut bytes) = (0, 0);
        for_runs(trace, should_continue, |runs| {
            for &run in runs {
                collapser.references(run, |page| {
                    let next_use = if P::NEEDS_NEXT_USE { next_uses[moment] } else { NEVER };
                    moment += 1;
                    match policy.reference(page, next_use) {
                        ReferenceOutcome::Hit => {}
                        outcome => requests.add(0..1, page, outcome),
                    }
                });
                bytes += u64::from(run.length);
            }
            requests.check_memory()
        })?;
        let references = moment as u64;
        let counts = requests.finish(&[references], bytes, registers).swap_remove(0);
        Ok((counts, Executed { bytes, references, ..Executed::default() }))
    }

    /// Replays with a hierarchy or callbacks, or both. `reference` takes a reference through TLB
    /// and page cache, and returns `None` if the TLB served it.
    fn run<P: Policy>(
        mut self,
        mut reference: impl FnMut(Page, Moment) -> Option<ReferenceOutcome>,
        has_tlb: bool,
    ) -> Result<(Vec<Counts>, Executed)> {
        let Self { trace, pages, registers, should_continue, .. } = self;
        let CacheDesign { cache_page_bytes, hierarchy, .. } = *self.cache;
        let shift = cache_page_bytes.trailing_zeros();
        let icache = hierarchy.map(|hierarchy| hierarchy.icache);
        let next_uses = if P::NEEDS_NEXT_USE {
            next_uses(trace, shift, icache, pages, should_continue)?
        } else {
            Vec::new()
        };
        let mut requests = Requests::new(cache_page_bytes, pages, 1, false, registers)?;
        let line_bytes = icache.map(|icache| icache.line_bytes);
        let mut faults = self.events.take().map(|events| {
            FaultRecorder::new(cache_page_bytes, pages, registers, events, line_bytes)
        });
        let mut front = ReferenceSource::new(shift, icache);
        let mut moment = 0;
        // Sums over all runs before, and over the needs so far.
        let mut sums = Executed::default();
        let (mut words, mut refills) = (0, 0);
        for_runs(trace, should_continue, |runs| {
            for &run in runs {
                let at = |sums: &Executed, offset: u32| Executed {
                    bytes: sums.bytes + u64::from(offset - run.offset),
                    words: words + line_bytes.map_or(0, |_| u64::from(words_before(run, offset))),
                    ..*sums
                };
                if let Some(faults) = &mut faults {
                    faults.begin(run, &sums);
                }
                front.needs(run, |need| {
                    if line_bytes.is_some() {
                        refills += 1;
                        sums.line_refills = refills;
                    }
                    if let Some(faults) = &mut faults {
                        faults.executed(need.offset, |offset| at(&sums, offset));
                    }
                    let outcome = if need.is_new {
                        let next_use = if P::NEEDS_NEXT_USE { next_uses[moment] } else { NEVER };
                        moment += 1;
                        reference(need.page, next_use)
                    } else {
                        None
                    };
                    if let Some(outcome) = outcome {
                        requests.add(0..1, need.page, outcome);
                        add_reference(&mut sums, outcome, has_tlb);
                    }
                    if let Some(faults) = &mut faults {
                        let now = |offset| at(&sums, offset);
                        match outcome {
                            Some(ReferenceOutcome::Miss { search, .. }) => {
                                faults.serve(need.offset, search, now(need.offset));
                            }
                            _ => faults.refilled(need.page, need.offset, now),
                        }
                    }
                });
                if let Some(faults) = &mut faults {
                    faults.end(run, |offset| at(&sums, offset));
                }
                sums.bytes += u64::from(run.length);
                words = front.words();
                sums.words = words;
            }
            requests.check_memory()
        })?;
        let (last, first_words) = faults.map_or((sums, Vec::new()), |faults| faults.finish(sums));
        let mut counts = requests.finish(&[sums.references], sums.bytes, registers).swap_remove(0);
        for counts in &mut counts {
            counts.words = sums.words;
            counts.line_refills = sums.line_refills;
            counts.tlb_misses = sums.tlb_misses;
            counts.first_words.clone_from(&first_words);
        }
        Ok((counts, last))
    }
}

/// Adds a reference to the page cache to the sums of execution.
#[inline]
fn add_reference(sums: &mut Executed, outcome: ReferenceOutcome, has_tlb: bool) {
    sums.references += 1;
    sums.tlb_misses += u64::from(has_tlb);
    match outcome {
        ReferenceOutcome::Hit | ReferenceOutcome::Miss { .. } => {}
        ReferenceOutcome::BitSet => sums.reference_bits_set += 1,
        ReferenceOutcome::FalseFault { downgrades } => {
            sums.false_faults += 1;
            sums.downgrades += u64::from(downgrades);
        }
    }
}

/// Reports the faults of one pager, with the actions of the registers behind it.
struct FaultRecorder<'e> {
    registers: Vec<Register>,
    shift: u32,
    block_bytes: Option<u32>,
    by_lines: bool,
    /// The last fault, which is reported when the next one comes.
    pending: Option<PendingFault>,
    last: Executed,
    events: Events<'e>,
    /// The first byte of the run that was not examined yet, without an instruction cache.
    cursor: u32,
    /// The first byte of the line that was missing last, if words are reported.
    line_start: u32,
    /// A bit for each word of that line that was needed.
    needed: u64,
    /// The number of misses by the word needed first.
    first_words: Vec<u64>,
}

struct PendingFault {
    offset: u32,
    search: VictimSearch,
    executed: Executed,
    left: Option<Executed>,
}

impl<'e> FaultRecorder<'e> {
    fn new(
        page_bytes: u32,
        pages: u32,
        designs: &[RegisterDesign],
        events: Events<'e>,
        line_bytes: Option<u32>,
    ) -> Self {
        let register = |design: &RegisterDesign| Register::new(*design, page_bytes, pages);
        Self {
            registers: designs.iter().map(register).collect(),
            shift: page_bytes.trailing_zeros(),
            block_bytes: events
                .critical_block_bytes
                .map(|block| block.max(line_bytes.unwrap_or(1))),
            by_lines: line_bytes.is_some(),
            pending: None,
            last: Executed::default(),
            first_words: vec![0; if events.words.is_some() { WORDS as usize } else { 0 }],
            events,
            cursor: 0,
            line_start: u32::MAX,
            needed: 0,
        }
    }

    #[inline]
    fn begin(&mut self, run: Run, sums: &Executed) {
        self.cursor = run.offset;
        if let Some(begun) = &mut self.events.begun {
            begun(run, sums);
        }
    }

    /// Notes that the run is executed up to `offset`.
    #[inline]
    fn executed(&mut self, offset: u32, at: impl Fn(u32) -> Executed) {
        if !self.by_lines {
            self.touch(self.cursor, offset.into(), at);
            self.cursor = offset;
        }
    }

    /// Notes that the line of `offset` is refilled from `page`.
    #[inline]
    fn refilled(&mut self, page: Page, offset: u32, at: impl Fn(u32) -> Executed) {
        let of_last = |last: &PendingFault| last.offset >> self.shift == page;
        if self.by_lines && self.pending.as_ref().is_some_and(of_last) {
            self.touch(offset, u64::from(offset) + 1, at);
        }
    }

    fn end(&mut self, run: Run, at: impl Fn(u32) -> Executed) {
        if !self.by_lines {
            self.touch(self.cursor, run.end(), at);
        }
    }

    /// Notes that the bytes from `from` up to `to` are executed.
    #[inline]
    fn touch(&mut self, from: u32, to: u64, at: impl Fn(u32) -> Executed) {
        if self.events.words.is_some() {
            return self.need_words(from, to, at);
        }
        let (Some(block_bytes), Some(last)) = (self.block_bytes, &mut self.pending) else {
            return;
        };
        if last.left.is_some() {
            return;
        }
        let page_start = last.offset >> self.shift << self.shift;
        let page_end = u64::from(page_start) + (1 << self.shift);
        let block_start = last.offset & !(block_bytes - 1);
        let block_end = u64::from(block_start) + u64::from(block_bytes);
        let from = from.max(page_start);
        let to = to.min(page_end);
        let first_outside = if from < block_start || u64::from(from) >= block_end {
            u64::from(from)
        } else {
            block_end
        };
        if first_outside < to {
            last.left = Some(at(first_outside as u32) - self.last);
        }
    }

    /// Reports the words of the last missing line that the bytes from `from` up to `to` are the
    /// first to need.
    fn need_words(&mut self, from: u32, to: u64, at: impl Fn(u32) -> Executed) {
        let Some(words) = &mut self.events.words else { return };
        let line_end = u64::from(self.line_start) + (1 << self.shift);
        let (from, to) = (from.max(self.line_start), line_end.min(to));
        if self.line_start == u32::MAX || u64::from(from) >= to {
            return;
        }
        let word_of = |offset: u32| (offset - self.line_start) / WORD_BYTES;
        for word in word_of(from)..=word_of((to - 1) as u32) {
            if self.needed >> word & 1 == 0 {
                self.needed |= 1 << word;
                let offset = from.max(self.line_start + word * WORD_BYTES);
                words(word, &(at(offset) - self.last));
            }
        }
    }

    /// Fetches the page of the byte at `offset`; `now` sums up all execution before.
    fn serve(&mut self, offset: u32, search: VictimSearch, now: Executed) {
        self.report();
        let executed = now - self.last;
        self.last = now;
        if self.events.words.is_some() {
            self.line_start = offset >> self.shift << self.shift;
            let word = (offset - self.line_start) / WORD_BYTES;
            self.needed = 1 << word;
            self.first_words[word as usize] += 1;
        }
        self.pending = Some(PendingFault { offset, search, executed, left: None });
        if self.block_bytes.is_none() {
            self.report();
        }
    }

    /// Reports the pending fault for each register.
    fn report(&mut self) {
        let Some(PendingFault { offset, search, executed, left }) = self.pending.take() else {
            return;
        };
        let page = offset >> self.shift;
        for (index, register) in self.registers.iter_mut().enumerate() {
            let access = register.request(page << self.shift);
            let fault = Fault { page, offset, access, search, executed, left };
            (self.events.sink)(index, &fault);
        }
    }

    /// Returns the execution after the last fault, from the total `sums`, and the misses by the
    /// offset in the line of the word needed first.
    fn finish(mut self, sums: Executed) -> (Executed, Vec<(u32, u64)>) {
        self.report();
        let offsets = (0..).step_by(WORD_BYTES as usize).zip(self.first_words);
        (sums - self.last, offsets.filter(|(_, misses)| *misses > 0).collect())
    }
}
