//! Live: MTDCOMPR's benchmark program in memory that is really paged, by userfaultfd,
//! through the swap store (Linux).
//!
//! The program runs on the calling thread, the pager on one of its own, which touches
//! the program's memory only to copy out a page that is there. The policy learns what
//! hardware without reference bits shows: a fault for a missing page, and the first
//! write to a page that came in by reading. Other uses pass unseen.
//!
//! # No write is lost
//!
//! A page that goes out dirty is first protected from writing. When that call returns, no
//! processor can write to the page any more: a thread that tries waits, and the page's
//! bytes stay as they are. They are copied, stored, and only then is the page let go. A
//! thread that reads meanwhile gets the same bytes, before and after; a thread that waited
//! to write is woken when its turn comes, finds the page missing and gets it back from the
//! store. A clean page has been protected since it came in and is let go at once: the store
//! still has it, for its slot is freed by the first write, and only after that was seen.
//!
//! A fault message can be old when it is read: two threads wait for one page, or the page
//! has gone since. So what a message asks is compared with what is true now, and where
//! they do not fit, the thread is woken to try again.
//!
//! # An end without a hang
//!
//! When the store is full, or anything fails, the pager says so and closes the userfaultfd:
//! the kernel lets every waiting thread go on, with zeros where pages were missing, and
//! the program, which looks after every page, ends.

mod link;
mod program;
mod server;
#[cfg(test)]
mod tests;

use std::thread;

use flashpager_base::{Error, Result};
use flashpager_replay::pager::PolicySpec;
use serde::Serialize;

use super::store::{Statistics, Store, StoreCounters, Wear};
use super::userfault::{FaultRegion, Userfault, page_bytes};
use super::workload::{Contents, Workload};
use link::PagerLink;
use program::program;
use server::{PagerFailure, Server};

pub use super::live_bench::{LiveCounts, LiveEnding, LiveMeasurement};

/// What runs, and in what.
pub struct Live<'a> {
    /// The program; its pages are the kernel's.
    pub workload: &'a Workload,
    /// What it fills its pages with.
    pub contents: &'a dyn Contents,
    /// Pages of it that are in RAM at most.
    pub ram_pages: u32,
    /// Who decides which page goes.
    pub policy: &'a PolicySpec,
    /// Nanoseconds that the medium takes for what it was asked: the pager waits so long.
    /// Without it the medium is as fast as its emulation.
    pub delay: Option<&'a (dyn Fn(StoreCounters) -> f64 + Sync)>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveOutcome {
    /// How it ended.
    pub ending: LiveEnding,
    /// Bytes that the program had filled by then, and could read back.
    pub allocated_bytes: u64,
    /// The chart.
    pub points: Vec<LiveMeasurement>,
    /// All that the pager did.
    pub counts: LiveCounts,
    /// The most pages that were in RAM at once.
    pub most_resident_pages: u32,
    /// Faults of the program's thread that getrusage(2) counts as minor, of its other
    /// memory, too.
    pub minor_faults: u64,
    /// Those that it counts as major. Kernels differ in which of the two a fault is that
    /// the pager served; the sum has them all.
    pub major_faults: u64,
    /// Of the store, at the end.
    pub statistics: Statistics,
    /// What was asked of its medium.
    pub counters: StoreCounters,
    /// How worn the medium is.
    pub wear: Wear,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Run the program; `progress` is told the bytes allocated after each chunk, and `go_on`
/// asked after each page. Every byte that the program reads is compared with what it wrote.
///
/// # Errors
/// Sizes that do not fit, userfaultfd not permitted, a store that lost a page, or a wrong
/// byte.
pub fn run(
    live: &Live<'_>,
    store: &mut Store,
    go_on: &(dyn Fn() -> bool + Sync),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<LiveOutcome> {
    live.check(store)?;
    let region = FaultRegion::new(live.workload.pages())?;
    let (shared, program, most) =
        paged(live, store, &region, |shared| program(live, &region, shared, go_on, progress))?;
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

/// Run `work` while the faults of `region` are served. Gives what it gave, and the most
/// pages that were in RAM; [`PagerLink::over`] tells whether the store was full.
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
