//! One replay: one cache, any number of registers.

use super::{CacheDesign, Counts, Fault, MAX_PAGES, RegisterTally};
use crate::error::{Error, Result};
use crate::media::register::{Register, RegisterDesign};
use crate::pager::{Moment, NEVER, Outcome, Page, Policy, Shape, Visitor};
use crate::trace::{Run, Trace};

/// Called with each fault and the index of the register that served it.
pub type FaultSink<'a> = &'a mut dyn FnMut(usize, &Fault);

/// Replay `trace` through `cache`, with each of `registers` behind it.
///
/// Gives one [`Counts`] for each register. Memory is bounded by the image
/// size, but for policies that need the next use: they take 4 bytes for each
/// collapsed reference.
///
/// `go_on` is asked once a chunk; when it says false the replay ends with
/// [`Error::Interrupted`].
///
/// # Errors
/// Designs that cannot be, and whatever reading the trace gives.
pub fn replay(
    trace: &dyn Trace,
    cache: &CacheDesign,
    registers: &[RegisterDesign],
    go_on: &dyn Fn() -> bool,
    events: Option<FaultSink<'_>>,
) -> Result<Vec<Counts>> {
    cache.check()?;
    for register in registers {
        register.check(cache.cache_page_bytes)?;
    }
    let shift = cache.cache_page_bytes.trailing_zeros();
    let pages = u64::from(trace.image_bytes()).div_ceil(u64::from(cache.cache_page_bytes));
    if pages > MAX_PAGES {
        return Err(Error::design(format!(
            "an image of {} bytes in cache pages of {} bytes has over {MAX_PAGES} pages; place the \
             code lower or take larger pages",
            trace.image_bytes(),
            cache.cache_page_bytes
        )));
    }
    let shape =
        Shape { frames: cache.frames().min(u64::from(u32::MAX)) as u32, pages: pages as u32 };
    cache.policy.visit(shape, Replay { trace, shift, registers, go_on, events })?
}

struct Replay<'a, 'e> {
    trace: &'a dyn Trace,
    shift: u32,
    registers: &'a [RegisterDesign],
    go_on: &'a dyn Fn() -> bool,
    events: Option<FaultSink<'e>>,
}

impl Visitor for Replay<'_, '_> {
    type Output = Result<Vec<Counts>>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        let next_uses = if P::NEEDS_NEXT_USE { self.next_uses()? } else { Vec::new() };
        let mut pager = Counts::default();
        let mut faults = Faults::new(self.shift, self.registers, self.events);
        let mut collapser = Collapser::new(self.shift);
        let mut time = 0;
        for_each_run(self.trace, self.go_on, |run| {
            collapser.references(run, |page| {
                let next_use = if P::NEEDS_NEXT_USE { next_uses[time] } else { NEVER };
                time += 1;
                match policy.reference(page, next_use) {
                    Outcome::Hit => {}
                    Outcome::Miss { walk } => {
                        pager.misses += 1;
                        pager.walk += u64::from(walk);
                        pager.max_walk = pager.max_walk.max(walk);
                        let offset = run.offset.max(page << self.shift);
                        let into_run = u64::from(offset - run.offset);
                        faults.serve(page, offset, walk, pager.bytes_read + into_run);
                    }
                }
            });
            pager.bytes_read += u64::from(run.length);
            Ok(())
        })?;
        pager.references = time as u64;
        pager.hits = pager.references - pager.misses - pager.false_faults;
        pager.bytes_written = pager.misses << self.shift;
        Ok(faults.tallies.into_iter().map(|tally| tally.finish(&pager)).collect())
    }
}

impl Replay<'_, '_> {
    /// For each reference the time of the next one to the same page.
    fn next_uses(&self) -> Result<Vec<Moment>> {
        let mut times: Vec<Moment> = Vec::new();
        let mut collapser = Collapser::new(self.shift);
        for_each_run(self.trace, self.go_on, |run| {
            collapser.references(run, |page| times.push(page));
            if times.len() >= NEVER as usize {
                return Err(Error::design(
                    "min: the trace has over 2^32 page references; take larger cache pages",
                ));
            }
            Ok(())
        })?;
        // From the end backwards, each page gives way to its next use.
        let pages = u64::from(self.trace.image_bytes()).div_ceil(1 << self.shift) as usize;
        let mut next_use_of = vec![0; pages];
        for (time, entry) in times.iter_mut().enumerate().rev() {
            // Stored + 1, so that untouched zeros mean "not seen": NEVER.
            let next_use = std::mem::replace(&mut next_use_of[*entry as usize], time as Moment + 1);
            *entry = next_use.wrapping_sub(1);
        }
        Ok(times)
    }
}

/// Hands out runs one by one and asks once a chunk whether to go on.
fn for_each_run(
    trace: &dyn Trace,
    go_on: &dyn Fn() -> bool,
    mut take: impl FnMut(Run) -> Result<()>,
) -> Result<()> {
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        for &run in &chunk {
            take(run)?;
        }
    }
}

/// Turns runs into page references, consecutive ones to one page into one.
struct Collapser {
    shift: u32,
    previous: Page,
}

impl Collapser {
    fn new(shift: u32) -> Self {
        Self { shift, previous: Page::MAX }
    }

    #[inline]
    fn references(&mut self, run: Run, mut reference: impl FnMut(Page)) {
        let first = run.offset >> self.shift;
        let last = (run.end() - 1) >> self.shift;
        if first != self.previous {
            reference(first);
        }
        for page in first + 1..=last {
            reference(page);
        }
        self.previous = last;
    }
}

/// The registers at work behind one pager.
struct Faults<'e> {
    registers: Vec<Register>,
    tallies: Vec<RegisterTally>,
    shift: u32,
    last_position: u64,
    events: Option<FaultSink<'e>>,
}

impl<'e> Faults<'e> {
    fn new(shift: u32, designs: &[RegisterDesign], events: Option<FaultSink<'e>>) -> Self {
        let block_bytes = 1 << shift;
        Self {
            registers: designs.iter().map(|design| Register::new(*design, block_bytes)).collect(),
            tallies: designs
                .iter()
                .map(|design| RegisterTally::new(*design, block_bytes))
                .collect(),
            shift,
            last_position: 0,
            events,
        }
    }

    /// Fetch `page` for the byte at `offset`; `position` counts the bytes executed
    /// before the fault.
    fn serve(&mut self, page: Page, offset: u32, walk: u32, position: u64) {
        let bytes_executed = position - self.last_position;
        self.last_position = position;
        let block = page << self.shift;
        let both = self.registers.iter_mut().zip(&mut self.tallies);
        for (index, (register, tally)) in both.enumerate() {
            let access = register.request(block);
            tally.add(register.flash_page(block), &access, walk);
            if let Some(events) = &mut self.events {
                events(index, &Fault { page, offset, access, walk, bytes_executed });
            }
        }
    }
}
