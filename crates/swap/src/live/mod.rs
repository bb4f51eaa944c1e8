//! The benchmark program of MTDCOMPR in memory that is really paged through the swap store, with
//! userfaultfd (Linux).
//!
//! The program runs on the calling thread, the pager on a thread of its own. The pager touches the
//! program's memory only to copy a present page out. The policy sees what hardware without
//! reference bits shows: faults on missing pages, and the first write to a page that a read brought
//! in.
//!
//! # No write is lost
//!
//! A page that goes out dirty is first protected from writing. When that call returns, no processor
//! can write to the page: a thread that tries waits, and the bytes stay as they are. They are
//! copied and stored, and only then is the page released. A thread that reads in the meantime gets
//! the same bytes before and after. A thread that waited to write is woken, finds the page missing
//! and gets it back from the store.
//!
//! A clean page has been protected since it came in and is released without a copy: the store still
//! has it, as its slot is freed only after the first write was seen.
//!
//! A fault message can be outdated when it is read: two threads may wait for one page, or the page
//! may be gone. If a message does not fit the page's state, its thread is woken to try again.
//!
//! # The end
//!
//! When the store is full, or anything fails, the pager sets a flag and closes the userfaultfd. The
//! kernel then lets every waiting thread go on, with zeros for missing pages; and the program,
//! which checks the flag after every page, ends.

mod link;
mod program;
mod server;
#[cfg(test)]
mod tests;

use std::thread;

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_replay::pager::PolicySpec;
use serde::Serialize;

use super::store::{Statistics, Store, StoreCounters, Wear};
use super::userfault::{FaultRegion, Userfault, page_bytes};
use super::workload::{Contents, Workload};
use link::PagerLink;
use program::program;
use server::{PagerFailure, Server};

pub use super::live_bench::{LiveCounts, LiveEnding, LiveMeasurement};

/// A live run: the program, and the memory that it runs in.
pub struct Live<'a> {
    /// The program. Its pages must have the kernel's size.
    pub workload: &'a Workload,
    /// Contents that the program fills its pages with.
    pub contents: &'a dyn Contents,
    /// Maximum number of the program's pages in RAM.
    pub ram_pages: u32,
    /// The policy that chooses the page to evict.
    pub policy: &'a PolicySpec,
    /// Returns the nanoseconds that operations of the medium take; the pager waits so long. `None`
    /// makes the medium as fast as its emulation.
    pub delay: Option<&'a (dyn Fn(StoreCounters) -> f64 + Sync)>,
}

/// The result of a live run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveOutcome {
    /// The reason why the run ended.
    pub ending: LiveEnding,
    /// Bytes that the program had filled at the end and could read back.
    pub allocated_bytes: u64,
    /// The measurements, one after each chunk.
    pub points: Vec<LiveMeasurement>,
    /// Counts of the pager over the whole run.
    pub counts: LiveCounts,
    /// Largest number of pages that were in RAM at the same time.
    pub most_resident_pages: u32,
    /// Minor faults of the program's thread, as getrusage(2) counts them. They include faults on
    /// its other memory.
    pub minor_faults: u64,
    /// Major faults of the program's thread. Kernels differ in whether a fault that the pager
    /// served is minor or major; the sum has them all.
    pub major_faults: u64,
    /// The store's statistics at the end.
    pub statistics: Statistics,
    /// Operations of the store's medium.
    pub counters: StoreCounters,
    /// Wear of the medium.
    pub wear: Wear,
    /// Notes on how to read the results.
    pub notes: Vec<String>,
}

/// Runs the program. `progress` is called with the bytes allocated after each chunk, and
/// `should_continue` after each page. Every byte that the program reads is compared with what it
/// wrote.
///
/// # Errors
/// If sizes do not fit, permission for userfaultfd is missing, the store loses a page, a byte is
/// wrong, or `should_continue` returns false.
pub fn run(
    live: &Live<'_>,
    store: &mut Store,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, u64>,
) -> Result<LiveOutcome> {
    live.check(store)?;
    let region = FaultRegion::new(live.workload.pages())?;
    let (shared, program, most) = paged(live, store, &region, |shared| {
        program(live, &region, shared, should_continue, progress)
    })?;
    let program = program?;
    Ok(LiveOutcome {
        ending: if shared.over() { LiveEnding::OutOfMemory } else { LiveEnding::Complete },
        allocated_bytes: program.allocated_bytes,
        points: program.points,
        counts: shared.counts(),
        most_resident_pages: most,
        minor_faults: program.faults.0,
        major_faults: program.faults.1,
        statistics: store.statistics(),
        counters: store.counters(),
        wear: store.wear(),
        notes: live.notes(),
    })
}

impl Live<'_> {
    fn check(&self, store: &Store) -> Result<()> {
        self.workload.check()?;
        let kernel = page_bytes();
        if self.workload.page_bytes as usize != kernel || store.page_bytes() as usize != kernel {
            return Err(Error::design(format!(
                "live pages are those of this kernel, {kernel} bytes, not {}",
                self.workload.page_bytes
            )));
        }
        if self.workload.pages() == 0 {
            return Err(Error::design("a program that allocates no chunk; let it allocate more"));
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let policy = self.policy.to_string();
        let name = policy.split_once('(').map_or(&policy[..], |(name, _)| name);
        let blind = !["fifo", "random"].contains(&name);
        let note = format!(
            "policy '{policy}' saw faults and first writes alone, for userfaultfd shows no other use of \
             a page: it evicts much as fifo does"
        );
        if blind { vec![note] } else { Vec::new() }
    }
}

/// Runs `work` while the faults of `region` are served. Returns its result and the most pages that
/// were in RAM. [`PagerLink::over`] is true if the store was full.
fn paged<T>(
    live: &Live<'_>,
    store: &mut Store,
    region: &FaultRegion,
    work: impl FnOnce(&PagerLink) -> T,
) -> Result<(PagerLink, T, u32)> {
    let shared = PagerLink::default();
    let (stop, running) = std::io::pipe().map_err(|e| Error::io("userfaultfd", e))?;
    let server = Server::new(live, store, Userfault::new(region)?, &shared)?;
    let (worked, served) = thread::scope(|scope| {
        let server = thread::Builder::new()
            .name("flashpager pager".to_owned())
            .spawn_scoped(scope, move || server.serve(&stop))
            .map_err(|e| Error::io("a thread", e))?;
        let worked = work(&shared);
        drop(running);
        Ok::<_, Error>((worked, server.join()))
    })?;
    match served {
        Ok((most, Ok(()) | Err(PagerFailure::Full))) => Ok((shared, worked, most)),
        Ok((_, Err(PagerFailure::Other(error)))) => Err(error),
        Err(_) => Err(Error::data("the live pager", "internal error; please report it")),
    }
}
