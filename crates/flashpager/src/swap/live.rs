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

use std::io::PipeReader;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

pub use super::live_bench::{Counts, Ending, Point};
use super::store::{Statistics, Store, StoreCounters, StoreError, Wear};
use super::userfault::{Fault, Region, Userfault, page_bytes, thread_faults};
use super::workload::{Contents, Step, Workload};
use crate::error::{Error, Result};
use crate::pager::{Outcome, Pager, PolicySpec, Shape};

/// Waits longer than this sleep first, and spin only for the rest.
const SPIN: Duration = Duration::from_micros(100);

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
pub struct LiveResult {
    /// How it ended.
    pub ending: Ending,
    /// Bytes that the program had filled by then, and could read back.
    pub allocated_bytes: u64,
    /// The chart.
    pub points: Vec<Point>,
    /// All that the pager did.
    pub counts: Counts,
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
) -> Result<LiveResult> {
    live.check(store)?;
    let region = Region::new(live.workload.pages())?;
    let (shared, program, most) =
        paged(live, store, &region, |shared| program(live, &region, shared, go_on, progress))?;
    let program = program?;
    Ok(LiveResult {
        ending: if shared.over() { Ending::OutOfMemory } else { Ending::Complete },
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

/// What program and pager tell each other.
#[derive(Default)]
struct Shared {
    counts: Mutex<Counts>,
    /// The pager has ended before the program.
    over: AtomicBool,
}

impl Shared {
    fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

/// Run `work` while the faults of `region` are served. Gives what it gave, and the most
/// pages that were in RAM; [`Shared::over`] tells whether the store was full.
fn paged<T>(
    live: &Live<'_>,
    store: &mut Store,
    region: &Region,
    work: impl FnOnce(&Shared) -> T,
) -> Result<(Shared, T, u32)> {
    let pages = live.workload.pages();
    let shared = Shared::default();
    let (stop, running) = std::io::pipe().map_err(|e| Error::io("userfaultfd", e))?;
    let userfault = Userfault::new(region)?;
    let server = Server {
        _over: Over(&shared.over, false),
        userfault,
        pager: Pager::new(live.policy, Shape { frames: live.ram_pages, pages })?,
        store,
        states: vec![State::Untouched; pages as usize],
        counts: Counts::default(),
        shared: &shared,
        delay: live.delay,
        page: vec![0; page_bytes()],
        next_copy: 0,
        resident: 0,
        most_resident: 0,
    };
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
        Ok((most, Ok(()) | Err(Failure::Full))) => Ok((shared, worked, most)),
        Ok((_, Err(Failure::Other(error)))) => Err(error),
        Err(_) => Err(Error::data("the live pager", "internal error; please report it")),
    }
}

/// What the program came to.
struct Program {
    allocated_bytes: u64,
    points: Vec<Point>,
    faults: (u64, u64),
}

fn program(
    live: &Live<'_>,
    region: &Region,
    shared: &Shared,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64),
) -> Result<Program> {
    let size = page_bytes();
    let (mut wanted, mut found) = (vec![0; size], vec![0; size]);
    let mut contents = vec![0; live.workload.pages() as usize];
    let mut before = Counts::default();
    let (mut time, mut read_bytes) = (Duration::ZERO, 0);
    let mut program = Program { allocated_bytes: 0, points: Vec::new(), faults: thread_faults() };
    for step in live.workload.steps() {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        match step {
            Step::Fill { page, content } => {
                live.contents.fill(content, &mut wanted);
                region.write(page, &wanted);
                contents[page as usize] = content;
            }
            Step::Begin => {
                (time, read_bytes) = (Duration::ZERO, 0);
                before = shared.counts();
            }
            Step::Read { page } => {
                let since = Instant::now();
                region.read(page, &mut found);
                time += since.elapsed();
                read_bytes += size as u64;
                live.contents.fill(contents[page as usize], &mut wanted);
                if found != wanted && !shared.over() {
                    return Err(Error::data(
                        "the live program",
                        format!("page {page} came back with other bytes than were written"),
                    ));
                }
            }
            Step::End { allocated_bytes } if !shared.over() => {
                let time_ns = time.as_nanos() as u64;
                program.allocated_bytes = allocated_bytes;
                program.points.push(Point {
                    allocated_bytes,
                    read_bytes,
                    time_ns,
                    mib_s: read_bytes as f64 / f64::from(1 << 20) / time.as_secs_f64().max(1e-9),
                    counts: shared.counts() - before,
                });
                progress(allocated_bytes);
            }
            Step::End { .. } => {}
        }
        if shared.over() {
            break;
        }
    }
    let now = thread_faults();
    program.faults = (now.0 - program.faults.0, now.1 - program.faults.1);
    Ok(program)
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nowhere: it was never written to.
    Untouched,
    /// In RAM, protected, all zeros.
    Zero,
    /// In RAM, protected, and in the store.
    Clean,
    /// In RAM, protected; what the store had of it was given up.
    Alone,
    /// In RAM.
    Dirty,
    /// In the store.
    Out,
}

/// Why the pager ends before the program.
enum Failure {
    Full,
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(Error::io("userfaultfd", error))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            other => Self::Other(other.into()),
        }
    }
}

/// Says that the pager is over unless it ends in order, also when it panics.
struct Over<'a>(&'a AtomicBool, bool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// The pager. Its fields are dropped in order: who waits is let go after it was said why.
struct Server<'a> {
    _over: Over<'a>,
    userfault: Userfault<'a>,
    pager: Pager,
    store: &'a mut Store,
    states: Vec<State>,
    counts: Counts,
    shared: &'a Shared,
    delay: Option<&'a (dyn Fn(StoreCounters) -> f64 + Sync)>,
    page: Vec<u8>,
    /// Where to look for a copy to give up.
    next_copy: u32,
    resident: u32,
    most_resident: u32,
}

impl Server<'_> {
    /// Serve until `stop` closes. Gives the most pages that were in RAM.
    fn serve(mut self, stop: &PipeReader) -> (u32, std::result::Result<(), Failure>) {
        let mut serve = || {
            let mut faults = Vec::new();
            while self.userfault.wait(stop, &mut faults)? {
                for fault in faults.drain(..) {
                    self.take(fault)?;
                }
            }
            Ok(())
        };
        let served = serve();
        self._over.1 = served.is_ok();
        (self.most_resident, served)
    }

    fn take(&mut self, fault: Fault) -> std::result::Result<(), Failure> {
        let Fault { page, write, protected } = fault;
        match (protected, self.states[page as usize]) {
            (true, State::Clean | State::Zero | State::Alone) => {
                if let Outcome::Miss { .. } = self.pager.reference(page)? {
                    return Err(out_of_step(page));
                }
                let asked = self.store.counters();
                self.soil(page)?;
                self.counts.write_faults += 1;
                self.pay(asked);
                self.publish();
                self.userfault.protect(page, false)?;
            }
            (false, State::Untouched | State::Out) => self.bring_in(page, write)?,
            // It is as the thread wants it by now, or no longer there: let it look again.
            _ => self.userfault.wake(page)?,
        }
        Ok(())
    }

    fn bring_in(&mut self, page: u32, write: bool) -> std::result::Result<(), Failure> {
        let asked = self.store.counters();
        let Outcome::Miss { victim, .. } = self.pager.reference(page)? else {
            return Err(out_of_step(page));
        };
        if let Some(victim) = victim {
            self.evict(victim)?;
        }
        self.counts.faults += 1;
        let state = &mut self.states[page as usize];
        if *state == State::Out {
            self.store.read(page, &mut self.page)?;
            *state = State::Clean;
            self.counts.swap_ins += 1;
        } else {
            self.page.fill(0);
            *state = State::Zero;
            self.counts.zero_fills += 1;
        }
        if write {
            self.soil(page)?;
        }
        self.pay(asked);
        self.resident += 1;
        self.most_resident = self.most_resident.max(self.resident);
        self.publish();
        self.userfault.fill(page, &self.page, !write)?;
        Ok(())
    }

    /// A page in RAM is written to for the first time: what the store has of it is old.
    fn soil(&mut self, page: u32) -> std::result::Result<(), Failure> {
        self.store.free(page)?;
        self.states[page as usize] = State::Dirty;
        self.pager.written(page);
        Ok(())
    }

    fn evict(&mut self, victim: u32) -> std::result::Result<(), Failure> {
        let state = match self.states[victim as usize] {
            State::Dirty | State::Alone => {
                self.userfault.protect(victim, true)?;
                self.userfault.read(victim, &mut self.page);
                // Before it is compressed, not twice.
                while !self.store.has_room_for_a_page() && self.give_up_a_copy()? {}
                while let Err(error) = self.store.write(victim, &self.page) {
                    if !matches!(error, StoreError::Full) || !self.give_up_a_copy()? {
                        return Err(error.into());
                    }
                }
                self.counts.swap_outs += 1;
                State::Out
            }
            clean @ (State::Clean | State::Zero) => {
                self.counts.dropped += 1;
                if clean == State::Clean { State::Out } else { State::Untouched }
            }
            State::Untouched | State::Out => return Err(out_of_step(victim)),
        };
        self.userfault.forget(victim)?;
        self.states[victim as usize] = state;
        self.resident -= 1;
        Ok(())
    }

    /// Free the slot of a page that is in RAM, of one after another; whether there was any.
    fn give_up_a_copy(&mut self) -> std::result::Result<bool, Failure> {
        let pages = self.states.len() as u32;
        let mut turn = (self.next_copy..pages).chain(0..self.next_copy);
        let Some(page) = turn.find(|page| self.states[*page as usize] == State::Clean) else {
            return Ok(false);
        };
        self.next_copy = page + 1;
        self.store.free(page)?;
        self.states[page as usize] = State::Alone;
        self.pager.written(page);
        Ok(true)
    }

    /// Wait as long as the medium takes for what it was asked since.
    fn pay(&self, asked: StoreCounters) {
        if let Some(delay) = self.delay {
            let taken_ns = delay(self.store.counters() - asked).max(0.0);
            wait_until(Instant::now() + Duration::from_nanos(taken_ns as u64));
        }
    }

    /// Before who waits goes on, so that it finds its fault counted.
    fn publish(&self) {
        *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner) = self.counts;
    }
}

fn out_of_step(page: u32) -> Failure {
    let what = format!("internal error: policy and memory disagree on page {page}; report it");
    Failure::Other(Error::data("the live pager", what))
}

fn wait_until(end: Instant) {
    let left = end.saturating_duration_since(Instant::now());
    if left > SPIN {
        thread::sleep(left - SPIN);
    }
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::super::store::{Compressor, Faults, Geometry, Layout, StoreSpec};
    use super::super::workload::{Reading, SplitMix, Synthetic};
    use super::*;

    const RAM: u32 = 64;
    const PAGES: u32 = 256;

    fn workload(reading: Reading) -> Workload {
        let page = page_bytes() as u32;
        Workload {
            reading,
            page_bytes: page,
            chunk_bytes: u64::from(page) * 16,
            reads: 2,
            random_pages: 64,
            most_bytes: u64::from(page * PAGES),
            seed: 11,
        }
    }

    fn store(layout: Layout, blocks: u32) -> Store {
        let program_bytes = if layout == Layout::Fragments { 1 } else { 2048 };
        Store::format(&StoreSpec {
            layout,
            compressor: Compressor::Lz4,
            page_bytes: page_bytes() as u32,
            slot_count: PAGES,
            geometry: Geometry { program_bytes, block_bytes: 16 * 2048, block_count: blocks },
            reserve_blocks: 0,
            file: None,
            faults: Faults::default(),
            seed: 1,
        })
        .unwrap()
    }

    const CONTENTS: Synthetic = Synthetic { percent: 25, seed: 4 };

    fn live<'a>(workload: &'a Workload, policy: &'a PolicySpec) -> Live<'a> {
        Live { workload, contents: &CONTENTS, ram_pages: RAM, policy, delay: None }
    }

    /// Why nothing can be tested here, if so.
    fn refused() -> bool {
        let region = Region::new(1).unwrap();
        match Userfault::new(&region) {
            Ok(_) => false,
            Err(error) => {
                assert!(std::env::var_os("FLASHPAGER_REQUIRE_TOOLS").is_none(), "{error}");
                eprintln!("skipped: {error}");
                true
            }
        }
    }

    #[test]
    fn every_byte_comes_back_under_every_layout_policy_and_reading() {
        if refused() {
            return;
        }
        let policies = [
            "lru",
            "fifo",
            "clock",
            "pa-clock(8)",
            "fifo-sc(32)",
            "pa-fifo-sc(32)",
            "random(1)",
            "cflru(16)",
            "sieve",
            "s3-fifo",
            "arc",
            "lirs",
            "2q",
            "lru-2",
        ];
        for (at, policy) in policies.iter().enumerate() {
            let policy: PolicySpec = policy.parse().unwrap();
            for (_, reading) in Reading::ALL {
                let (_, layout) = Layout::ALL[at % Layout::ALL.len()];
                let workload = workload(reading);
                let live = live(&workload, &policy);
                let mut store = store(layout, 64);
                let result = run(&live, &mut store, &|| true, &|_| {}).unwrap();
                assert_eq!(result.ending, Ending::Complete);
                assert_eq!(result.allocated_bytes, workload.most_bytes);
                assert_eq!(result.points.len(), 16);
                let Counts { faults, zero_fills, swap_ins, swap_outs, dropped, .. } = result.counts;
                assert_eq!((zero_fills, faults), (PAGES.into(), zero_fills + swap_ins));
                // All pages are written to once, before anything is read.
                assert_eq!(result.counts.write_faults, 0);
                assert_eq!(swap_outs + dropped, faults - u64::from(RAM));
                assert!(swap_outs <= u64::from(PAGES), "a clean page is written again");
                assert_eq!(result.most_resident_pages, RAM);
                // The kernel counts them, too, with those of the thread's other memory.
                let kernel = result.minor_faults + result.major_faults;
                assert!((faults..faults + 100).contains(&kernel), "{kernel} for {faults}");
                assert_eq!(result.notes.is_empty(), ["fifo", "random(1)"].contains(&policies[at]));
                store.check().unwrap();
            }
        }
    }

    #[test]
    fn the_first_write_to_a_page_that_was_read_is_a_fault_and_no_other() {
        if refused() {
            return;
        }
        let (workload, policy) = (workload(Reading::Last), "fifo".parse().unwrap());
        let live = live(&workload, &policy);
        let region = Region::new(PAGES).unwrap();
        let mut store = store(Layout::Fragments, 64);
        let size = page_bytes();
        let (_, (), most) = paged(&live, &mut store, &region, |shared| {
            let mut page = vec![0; size];
            let counts = || shared.counts();
            let of = |n: u32| vec![n as u8 + 1; size];
            for n in 0..RAM {
                region.write(n, &of(n));
                assert!(region.resident() <= RAM as usize);
            }
            assert_eq!((counts().faults, counts().write_faults), (RAM.into(), 0));
            // Never written to: zeros, which need no store.
            for n in RAM..2 * RAM {
                region.read(n, &mut page);
                assert!(page.iter().all(|byte| *byte == 0));
                assert!(region.resident() <= RAM as usize);
            }
            assert_eq!((counts().swap_outs, counts().write_faults), (RAM.into(), 0));
            for n in 0..RAM {
                region.read(n, &mut page);
                assert!(page == of(n));
            }
            assert_eq!((counts().dropped, counts().swap_ins), (RAM.into(), RAM.into()));
            for n in 0..RAM / 2 {
                region.write(n, &of(n + 100));
                region.write(n, &of(n + 101));
                assert_eq!(counts().write_faults, u64::from(n) + 1);
            }
            // Half of them are dirty now; the others go without a write.
            for n in 3 * RAM..4 * RAM {
                region.write(n, &of(0));
                assert!(region.resident() <= RAM as usize);
            }
            assert_eq!(counts().swap_outs, u64::from(RAM) * 3 / 2);
            assert_eq!(counts().dropped, u64::from(RAM) * 3 / 2);
            for n in 0..RAM {
                region.read(n, &mut page);
                assert!(page == of(if n < RAM / 2 { n + 101 } else { n }));
            }
            assert_eq!(counts().write_faults, u64::from(RAM) / 2);
            assert_eq!(region.resident(), RAM as usize);
        })
        .unwrap();
        assert_eq!(most, RAM);
    }

    #[test]
    fn no_write_is_lost_while_threads_write_to_pages_that_go() {
        if refused() {
            return;
        }
        const THREADS: usize = 4;
        const WRITES: u64 = 6000;
        let (workload, policy) = (workload(Reading::Last), "random(3)".parse().unwrap());
        // So few that pages go while others of their words are written to.
        let live = Live { ram_pages: 6, ..live(&workload, &policy) };
        for (_, layout) in Layout::ALL {
            let region = Region::new(PAGES).unwrap();
            let mut store = store(layout, 64);
            let work = |number: usize, shared: &Shared| {
                let mut random = SplitMix::new(number as u64);
                let mut last = vec![0; PAGES as usize];
                for write in 1..=WRITES {
                    let page = random.below(12) as u32 * 20;
                    // Each thread has a word of its own in every page.
                    let word = region.word(page, number * 31);
                    let found = word.load(Ordering::Relaxed);
                    assert!(shared.over() || found == last[page as usize], "page {page}");
                    if random.below(2) == 0 {
                        word.store(write, Ordering::Relaxed);
                        last[page as usize] = write;
                    }
                }
            };
            let (shared, (), most) = paged(&live, &mut store, &region, |shared| {
                thread::scope(|scope| {
                    for number in 0..THREADS {
                        scope.spawn(move || work(number, shared));
                    }
                });
            })
            .unwrap();
            let counts = shared.counts();
            assert!(!shared.over() && most <= 6, "{counts:?}");
            assert!(counts.swap_outs > 1000 && counts.write_faults > 100, "{counts:?}");
            store.check().unwrap();
        }
    }

    #[test]
    fn a_full_store_ends_the_run_and_lets_everybody_go() {
        if refused() {
            return;
        }
        for (_, layout) in Layout::ALL {
            for (_, reading) in Reading::ALL {
                let (workload, policy) = (workload(reading), "lru".parse().unwrap());
                let mut store = store(layout, if layout == Layout::Log { 10 } else { 6 });
                let told = AtomicU32::new(0);
                let progress = |_| {
                    told.fetch_add(1, Ordering::Relaxed);
                };
                let result =
                    run(&live(&workload, &policy), &mut store, &|| true, &progress).unwrap();
                assert_eq!(result.ending, Ending::OutOfMemory, "{}", layout.name());
                let ram = u64::from(RAM) * page_bytes() as u64;
                assert!((ram..workload.most_bytes).contains(&result.allocated_bytes));
                assert_eq!(result.points.len(), told.into_inner() as usize);
                assert_eq!(result.points.last().unwrap().allocated_bytes, result.allocated_bytes);
            }
        }
    }

    #[test]
    fn a_caller_stops_a_run_and_a_lost_page_ends_it() {
        if refused() {
            return;
        }
        let (workload, policy) = (workload(Reading::Random), "lru".parse().unwrap());
        let live = live(&workload, &policy);
        let asked = AtomicU32::new(0);
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < 300;
        let stopped = run(&live, &mut store(Layout::Fragments, 64), &go_on, &|_| {});
        assert!(matches!(stopped, Err(Error::Interrupted)));

        let region = Region::new(PAGES).unwrap();
        let mut small = Store::format(&StoreSpec {
            layout: Layout::Fragments,
            compressor: Compressor::None,
            page_bytes: page_bytes() as u32,
            // Fewer than the program has pages: its last are no slots.
            slot_count: 100,
            geometry: Geometry { program_bytes: 1, block_bytes: 1 << 15, block_count: 64 },
            reserve_blocks: 0,
            file: None,
            faults: Faults::default(),
            seed: 1,
        })
        .unwrap();
        let lost = paged(&live, &mut small, &region, |shared| {
            let mut page = 0;
            while !shared.over() && page < PAGES {
                region.write(page, &vec![1; page_bytes()]);
                page += 1;
            }
            page
        });
        let error = lost.err().unwrap().to_string();
        assert!(error.contains("no such slot"), "{error}");
    }

    #[test]
    fn the_medium_takes_its_time() {
        if refused() {
            return;
        }
        let (workload, policy) = (workload(Reading::Random), "lru".parse().unwrap());
        let delay = |asked: StoreCounters| (asked.reads + asked.programs) as f64 * 20_000.0;
        let slow = Live { delay: Some(&delay), ..live(&workload, &policy) };
        let mut store = store(Layout::Fragments, 64);
        let result = run(&slow, &mut store, &|| true, &|_| {}).unwrap();
        let last = result.points.last().unwrap();
        assert!(last.counts.swap_ins > 20, "{last:?}");
        assert!(last.time_ns > last.counts.swap_ins * 20_000, "{last:?}");
    }

    #[test]
    fn what_cannot_be_is_told() {
        let (workload, policy) = (workload(Reading::Last), "lru".parse().unwrap());
        let mut store = store(Layout::Fragments, 64);
        let mut error = |workload: &Workload| {
            let live = live(workload, &policy);
            run(&live, &mut store, &|| true, &|_| {}).unwrap_err().to_string()
        };
        let small = Workload { page_bytes: 512, ..workload.clone() };
        assert!(error(&small).contains("live pages are those of this kernel"));
        let none = Workload { most_bytes: 0, ..workload.clone() };
        assert!(error(&none).contains("allocates no chunk"));
    }
}
