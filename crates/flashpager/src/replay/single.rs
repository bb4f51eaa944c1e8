//! One replay, fault by fault.

use super::references::{Collapser, next_uses};
use super::requests::Requests;
use super::{CacheDesign, Counts, Fault, image_pages};
use crate::error::Result;
use crate::media::register::{Register, RegisterDesign};
use crate::pager::{NEVER, Outcome, Policy, Shape, Visitor};
use crate::trace::{Trace, for_runs};

/// Called with each fault and the index of the register that served it.
pub type FaultSink<'a> = &'a mut dyn FnMut(usize, &Fault);

/// Replay `trace` through `cache`, with each of `registers` behind it.
///
/// Gives one [`Counts`] for each register. Memory is bounded by the image
/// size, but for policies that need the next use: they take 4 bytes for each
/// collapsed reference.
///
/// `go_on` is asked every few runs; when it says false the replay ends with
/// [`Error::Interrupted`](crate::Error::Interrupted).
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
    let pages = image_pages(trace.image_bytes(), cache.cache_page_bytes)?;
    let shape = Shape { frames: cache.frames().min(u64::from(u32::MAX)) as u32, pages };
    let block_bytes = cache.cache_page_bytes;
    cache.policy.visit(shape, Replay { trace, pages, block_bytes, registers, go_on, events })?
}

struct Replay<'a, 'e> {
    trace: &'a dyn Trace,
    pages: u32,
    block_bytes: u32,
    registers: &'a [RegisterDesign],
    go_on: &'a dyn Fn() -> bool,
    events: Option<FaultSink<'e>>,
}

impl Visitor for Replay<'_, '_> {
    type Output = Result<Vec<Counts>>;

    fn visit<P: Policy>(mut self, mut policy: P) -> Self::Output {
        let Self { trace, pages, block_bytes, registers, go_on, .. } = self;
        let shift = block_bytes.trailing_zeros();
        let next_uses = next_uses(trace, shift, pages, go_on, P::NEEDS_NEXT_USE)?;
        let mut requests = Requests::new(block_bytes, pages, 1, false, registers)?;
        let mut faults = self.events.take().map(|sink| Faults::new(block_bytes, registers, sink));
        let mut collapser = Collapser::new(shift);
        let (mut moment, mut bytes_read) = (0, 0);
        for_runs(trace, go_on, |runs| {
            for &run in runs {
                collapser.references(run, |page| {
                    let next_use = if P::NEEDS_NEXT_USE { next_uses[moment] } else { NEVER };
                    moment += 1;
                    if let Outcome::Miss { walk } = policy.reference(page, next_use) {
                        requests.add(0..1, page, walk);
                        if let Some(faults) = &mut faults {
                            let offset = run.offset.max(page << shift);
                            let position = bytes_read + u64::from(offset - run.offset);
                            faults.serve(offset, walk, position);
                        }
                    }
                });
                bytes_read += u64::from(run.length);
            }
            requests.check_memory()
        })?;
        Ok(requests.finish(moment as u64, bytes_read, registers).swap_remove(0))
    }
}

/// The registers at work behind one pager, for those who want to see each fault.
struct Faults<'e> {
    registers: Vec<Register>,
    shift: u32,
    last_position: u64,
    sink: FaultSink<'e>,
}

impl<'e> Faults<'e> {
    fn new(block_bytes: u32, designs: &[RegisterDesign], sink: FaultSink<'e>) -> Self {
        let registers = designs.iter().map(|design| Register::new(*design, block_bytes)).collect();
        Self { registers, shift: block_bytes.trailing_zeros(), last_position: 0, sink }
    }

    /// Fetch the page of the byte at `offset`; `position` counts the bytes executed
    /// before it.
    fn serve(&mut self, offset: u32, walk: u32, position: u64) {
        let bytes_executed = position - self.last_position;
        self.last_position = position;
        let page = offset >> self.shift;
        for (index, register) in self.registers.iter_mut().enumerate() {
            let access = register.request(page << self.shift);
            (self.sink)(index, &Fault { page, offset, access, walk, bytes_executed });
        }
    }
}
