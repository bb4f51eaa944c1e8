//! Traces with gaps: each window is replayed by itself, and the results are bounds.
//!
//! Nobody knows what the cache holds when a window begins. With `lru`, a set of W ways holds after
//! the first W distinct pages of a window exactly these, whatever it held before. So a reference is
//! a certain hit, a certain miss, or the first one to its page while fewer than W distinct pages of
//! the set were referenced: a *doubtful* one, which depends on what is missing. A replay from an
//! empty cache finds all three, as its first W misses in each set are the doubtful references. All
//! of them hits and all of them misses both occur, for some contents at the start, so the bounds
//! are tight for a window and its set.
//!
//! The data register knows after a miss what it holds, whatever it held before. So the price of a
//! miss is certain if the miss before it is, and otherwise lies between the prices of all that the
//! register might hold.

use std::path::Path;

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::{CacheDesign, Events, Fault, FaultClass, replay};
use flashpager_trace::{ProgressTrace, TraceFile, WindowReader};
use serde::Serialize;

use crate::cost::{Prices, Work};
use crate::design::{Design, NO_SUMS};
use crate::simulation::CellProgress;
use crate::spec::DesignSpec;

/// Bounds of a count. The truth is one of them or lies between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CountBounds {
    /// The least count that is possible.
    pub low: u64,
    /// The largest count that is possible.
    pub high: u64,
}

impl CountBounds {
    /// Adds events: `low` is 0 if they may not have happened.
    fn add(&mut self, low: u64, high: u64) {
        self.low += low;
        self.high += high;
    }
}

/// Bounds of a time, in nanoseconds, or of a ratio of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ValueBounds {
    /// The least value that is possible.
    pub low: f64,
    /// The largest value that is possible.
    pub high: f64,
}

/// The result of replaying the windows of a trace through a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowedResult {
    /// The design, with its defaults filled in.
    pub design: DesignSpec,
    /// Number of windows.
    pub windows: u64,
    /// Runs of all windows.
    pub runs: u64,
    /// Bytes of all runs.
    pub bytes_read: u64,
    /// References. The first of a window may be to the page that was referenced before the gap.
    pub references: CountBounds,
    /// Hits; `None` if they are unknown.
    pub hits: Option<CountBounds>,
    /// Misses; `None` if they are unknown.
    pub misses: Option<CountBounds>,
    /// Loads; `None` if they are unknown.
    pub loads: Option<CountBounds>,
    /// Time of all windows, in nanoseconds; `None` if it is unknown.
    pub time_ns: Option<ValueBounds>,
    /// Run time paged over run time from RAM; `None` without a processor or if it is unknown.
    pub slowdown: Option<ValueBounds>,
    /// The reason why counts or times are unknown; empty if none is.
    pub unknown: String,
}

/// Replays each window of the trace `path` through `design`, from an unknown cache. The first window
/// begins with an unknown cache, too: a capture seldom begins where its program does.
///
/// # Errors
/// If the trace cannot be replayed, or the design has an instruction cache in front or a store of
/// homes. [`Error::Interrupted`] once `should_continue` returns false.
pub fn simulate(
    path: &Path,
    design: &Design,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, CellProgress>,
) -> Result<WindowedResult> {
    let file = TraceFile::open_captured(path)?;
    flashpager_binary::boot::refuse_copies(&file.info().images)?;
    design.check_plain_store("replay windows")?;
    let design = &*design.executing(file.info())?;
    if design.cache().hierarchy.is_some() {
        return Err(Error::design(
            "windows of a trace with gaps, with an instruction cache in front: nobody knows what it \
             holds behind a gap; leave icache out",
        ));
    }
    let info = file.info();
    let read = |runs: u64| progress(((runs as f64 / info.runs.max(1) as f64).min(1.0), 1));
    let trace = ProgressTrace::new(&file, &read);
    let reader = WindowReader::new(&trace)?;
    let mut bounds = Bounds::new(design);
    let cache = replayed_cache(design.cache())?;
    let register = bounds_register(design);
    for range in info.windows() {
        bounds.begin_window();
        let window = reader.window(range);
        let sink = &mut |_: usize, fault: &Fault| bounds.take(fault);
        let events = Events { critical_block_bytes: None, sink, begun: None, words: None };
        let (counts, _) = replay(&window, &cache, &[register], should_continue, Some(events))?;
        bounds.references.add(counts[0].references.saturating_sub(1), counts[0].references);
        bounds.windows += 1;
    }
    reader.finish()?;
    Ok(bounds.result(design, info.runs, info.bytes))
}

/// The register of `design` without lines that are read ahead, which no count of misses needs.
fn bounds_register(design: &Design) -> RegisterDesign {
    RegisterDesign { prefetch_lines: 0, ..design.register() }
}

/// The cache with `lru` if its own policy is not answered: references do not depend on the policy,
/// and a window can be read once.
fn replayed_cache(cache: &CacheDesign) -> Result<CacheDesign> {
    let policy = if why_no_misses(cache).is_some() { "lru".parse()? } else { cache.policy.clone() };
    Ok(CacheDesign { policy, ..cache.clone() })
}

/// Returns why the misses of a cache cannot be bounded; `None` if they can.
fn why_no_misses(cache: &CacheDesign) -> Option<String> {
    (!cache.keeps_as_lru()).then(|| {
        format!(
            "{} in sets of {}: what a set holds behind a gap need not become certain, as \
             with lru or sets of 1",
            cache.policy,
            cache.ways_of_set()
        )
    })
}

/// Returns why the times of a design cannot be bounded; `None` if they can.
fn why_no_times(design: &Design) -> Option<String> {
    if design.is_executed() {
        return Some(format!("with {NO_SUMS}, a miss takes what runs around it decides"));
    }
    design.register().model.has_two_buffers().then(|| {
        "what two buffers hold behind a gap depends on more than the miss before".to_owned()
    })
}

/// Sums of the bounds of all windows.
struct Bounds {
    prices: Prices,
    register: RegisterDesign,
    cache_page_bytes: u32,
    /// Ways of a set: so many references of a window are doubtful.
    ways: u64,
    /// Misses of the window by set, from an empty cache.
    set_misses: Vec<u32>,
    /// Sets with a miss in the window.
    used_sets: Vec<u32>,
    /// True if the register may hold anything.
    is_register_unknown: bool,
    windows: u64,
    references: CountBounds,
    misses: CountBounds,
    loads: CountBounds,
    faults_ns: ValueBounds,
}

impl Bounds {
    fn new(design: &Design) -> Self {
        let cache = design.cache();
        let ways = cache.ways_of_set();
        Self {
            prices: design.prices(),
            register: bounds_register(design),
            cache_page_bytes: cache.cache_page_bytes,
            ways,
            set_misses: vec![0; (cache.frames() / ways.max(1)).max(1) as usize],
            used_sets: Vec::new(),
            is_register_unknown: true,
            windows: 0,
            references: CountBounds::default(),
            misses: CountBounds::default(),
            loads: CountBounds::default(),
            faults_ns: ValueBounds::default(),
        }
    }

    /// Begins a window, behind which cache and register are unknown.
    fn begin_window(&mut self) {
        for set in self.used_sets.drain(..) {
            self.set_misses[set as usize] = 0;
        }
        self.is_register_unknown = true;
    }

    /// Takes a miss of the replay from an empty cache.
    fn take(&mut self, fault: &Fault) {
        let set = fault.page as usize & (self.set_misses.len() - 1);
        let before = self.set_misses[set];
        if before == 0 {
            self.used_sets.push(set as u32);
        }
        self.set_misses[set] = before.saturating_add(1);
        let is_certain = u64::from(before) >= self.ways;
        let least = u64::from(is_certain);
        self.misses.add(least, 1);
        let is_price_known = is_certain && !self.is_register_unknown;
        let block = u64::from(self.cache_page_bytes);
        let (mut low_ns, mut high_ns) = (f64::INFINITY, 0f64);
        let (mut may_load, mut must_load) = (false, true);
        let mut consider = |class: &FaultClass| {
            let ns = self.prices.fault_ns(class, block);
            (low_ns, high_ns) = (low_ns.min(ns), high_ns.max(ns));
            may_load |= class.load;
            must_load &= class.load;
        };
        if is_price_known {
            consider(&FaultClass::of(&fault.access, fault.search));
        } else {
            possible_classes(&self.register, self.cache_page_bytes, fault)
                .iter()
                .for_each(&mut consider);
        }
        self.loads.add(least * u64::from(must_load), u64::from(may_load));
        self.faults_ns.low += if is_certain { low_ns } else { 0.0 };
        self.faults_ns.high += high_ns;
        self.is_register_unknown = !is_certain;
    }

    fn result(self, design: &Design, runs: u64, bytes_read: u64) -> WindowedResult {
        let Self { prices, references, misses, loads, faults_ns, windows, .. } = self;
        let no_misses = why_no_misses(design.cache());
        let no_times = no_misses.clone().or_else(|| why_no_times(design));
        let (has_misses, has_times) = (no_misses.is_none(), no_times.is_none());
        let reading_ns = prices.reading_ns(bytes_read, 0, 0, 0);
        let lookup_ns = prices.handler.lookup_ns;
        let time_ns = ValueBounds {
            low: reading_ns + references.low as f64 * lookup_ns + faults_ns.low,
            high: reading_ns + references.high as f64 * lookup_ns + faults_ns.high,
        };
        let hits =
            CountBounds { low: references.high - misses.high, high: references.high - misses.low };
        let slowdown = |work: Work| {
            let outside_ns = work.outside_instructions as f64 * work.instruction_ns;
            let alone_ns = reading_ns + outside_ns;
            let ratio = |ns: f64| if alone_ns > 0.0 { (ns + outside_ns) / alone_ns } else { 1.0 };
            ValueBounds { low: ratio(time_ns.low), high: ratio(time_ns.high) }
        };
        WindowedResult {
            design: design.spec(),
            windows,
            runs,
            bytes_read,
            references,
            hits: has_misses.then_some(hits),
            misses: has_misses.then_some(misses),
            loads: has_times.then_some(loads),
            time_ns: has_times.then_some(time_ns),
            slowdown: design.work().filter(|_| has_times).map(slowdown),
            unknown: no_times.unwrap_or_default(),
        }
    }
}

/// The classes that a miss can have, whatever a register with one buffer holds.
fn possible_classes(register: &RegisterDesign, block: u32, fault: &Fault) -> Vec<FaultClass> {
    use RegisterModel::{RandomColumn, Sequential};
    let codeword = register.codeword_bytes.unwrap_or(1).max(1);
    let column = (fault.page * block) & (register.flash_page_bytes - 1);
    let start = column / codeword * codeword;
    let end = (column + block).next_multiple_of(codeword);
    let class = |load, column_change, bytes_fetched| FaultClass {
        load,
        column_change,
        bytes_fetched,
        search: fault.search,
    };
    let loaded = class(true, false, if register.model == Sequential { end } else { end - start });
    if register.flash_page_bytes == block {
        // The register holds the page of the miss before, which is another one, so this miss loads.
        return vec![loaded];
    }
    // The flash page is held: nothing is skipped, or all before the block.
    let most = if register.model == RandomColumn { end - start } else { end };
    vec![
        loaded,
        class(false, false, end - start),
        class(false, register.model == RandomColumn, most),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_caches_whose_content_becomes_certain_are_answered() {
        let cache = |policy: &str, ways: Option<u32>| CacheDesign {
            cache_bytes: 1024,
            cache_page_bytes: 16,
            policy: policy.parse().expect("a known policy"),
            ways,
            hierarchy: None,
        };
        let answered = |policy: &str, ways| why_no_misses(&cache(policy, ways)).is_none();
        assert!(answered("lru", None) && answered("lru", Some(4)) && answered("plru", Some(2)));
        assert!(answered("fifo", Some(1)) && answered("random(3)", Some(1)));
        for policy in ["fifo", "random(3)", "clock", "min", "sieve", "arc"] {
            assert!(!answered(policy, None), "{policy}");
        }
        assert!(!answered("plru", Some(4)) && !answered("fifo", Some(2)));
        assert!(!answered("clock", Some(1)));
    }
}
