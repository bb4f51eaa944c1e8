//! What a call of a function takes, and what of it goes into faults.
//!
//! A call begins with a run at the function's first byte. It ends with the run that begins where
//! the run before the call had ended: behind the instruction that called. All functions that the
//! trace names are followed, so recursion nests. Where nothing ever begins behind the instruction
//! that led in, that was a jump and no call: from another function one at its end, and the
//! function returns with that; from the function itself a loop. Who leaves several calls at once,
//! as an exception does, ends all of them.

use std::cell::Cell;
use std::path::PathBuf;

use flashpager_base::{Error, ProgressFn, Result, did_you_mean, shown};
use flashpager_binary::binaries::Binaries;
use flashpager_binary::names::is_called;
use flashpager_replay::{Events, Executed, Fault, FaultClass, replay};
use flashpager_trace::calls::OpenCalls;
use flashpager_trace::{Run, Symbol, Trace, TraceInfo, for_runs};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::cost::{Distribution, Latency, Prices};
use crate::design::{Design, NO_SUMS};
use crate::simulation::CellProgress;

/// Where nothing returns to: the end of the address space.
const NOWHERE: u32 = u32::MAX;

/// Calls remembered that return together; of more the oldest are forgotten.
const MAX_TOGETHER: usize = 1 << 16;

/// One to see where runs begin, one to replay.
const PASSES: usize = 2;

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallDurations {
    /// On average.
    pub mean_ns: f64,
    /// 99 of 100 take no longer (nearest rank).
    pub p99_ns: f64,
    /// The longest.
    pub worst_ns: f64,
}

/// What the calls of a function took, with all that it called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTimes {
    /// The function, as it was asked for.
    pub function: String,
    /// How often it was called.
    pub calls: u64,
    /// Calls made while another of it had not returned; those belong to it, too.
    pub recursive: u64,
    /// Calls that were left without returning, as by an exception, and those that the trace's end
    /// cut off: they count until then.
    pub unreturned: u64,
    /// A call.
    pub time: CallDurations,
    /// Of that, faults, lookups and false faults.
    pub lost: CallDurations,
    /// True faults of a call, on average.
    pub mean_faults: f64,
    /// The most true faults of one.
    pub most_faults: u64,
    /// Of all calls, none counted twice.
    pub all_ns: f64,
    /// What the function and all that it called take without paging.
    pub all_alone_ns: f64,
}

/// A function that is watched.
struct TimedFunction {
    name: String,
    open: u64,
    calls: u64,
    recursive: u64,
    unreturned: u64,
    times: Distribution,
    lost: Distribution,
    faults: u64,
    most_faults: u64,
    all_ns: f64,
    all_lost_ns: f64,
}

/// How far a program had come.
#[derive(Clone, Copy, Default)]
struct ReplayPoint {
    executed: Executed,
    faults: u64,
    faults_ns: f64,
}

/// What is kept of a call of a function that is watched.
struct OpenCall {
    function: usize,
    at: ReplayPoint,
}

/// Follows calls.
struct CallFollower<'a> {
    prices: &'a Prices,
    /// First bytes of functions, each with those that are watched: by more names than one, perhaps.
    entries: &'a FxHashMap<u32, Vec<usize>>,
    /// Timed functions, by their bytes.
    bodies: &'a [(Run, usize)],
    /// Where runs begin.
    begins: &'a FxHashSet<u32>,
    watched: Vec<TimedFunction>,
    /// With the calls that return together: one, and those to which it jumped at its end.
    open: OpenCalls<Vec<OpenCall>>,
    before: Option<Run>,
    /// Runs of the warm-up that are still to come; calls that begin in it are not watched.
    warming: u64,
}

impl CallFollower<'_> {
    fn begin(&mut self, run: Run, now: ReplayPoint) {
        let from = self.before.replace(run);
        let is_warming = self.warming > 0;
        self.warming -= u64::from(is_warming);
        let Self { prices, watched, .. } = self;
        if from.is_some() {
            let returned = self.open.returned(run.offset, |back, together| {
                for begun in together.iter().rev() {
                    watched[begun.function].end(&begun.at, &now, prices, back != run.offset);
                }
            });
            if returned {
                return;
            }
        }
        let Some(functions) = self.entries.get(&run.offset) else { return };
        let end = from.map(Run::end);
        // What begins a function is nowhere to return to.
        let is_back = |end: &u32| self.begins.contains(end) && !self.entries.contains_key(end);
        let back = end.filter(is_back).unwrap_or(NOWHERE);
        let is_loop = |function: usize| {
            let inside = |end: u32, body: &Run| body.offset < end && end <= body.end();
            let is_in = |end| {
                let mut bodies = self.bodies.iter();
                bodies.any(|(body, owner)| *owner == function && inside(end, body))
            };
            back == NOWHERE && end.is_some_and(is_in)
        };
        let mut begun = Vec::new();
        let is_counted = |function: &usize| !is_warming && !is_loop(*function);
        for function in functions.iter().copied().filter(is_counted) {
            let watched = &mut watched[function];
            watched.calls += 1;
            watched.recursive += u64::from(watched.open > 0);
            watched.open += 1;
            begun.push(OpenCall { function, at: now });
        }
        if back != NOWHERE {
            self.called(back, begun, &now);
        } else if !begun.is_empty() {
            self.jumped(begun, &now);
        }
    }

    fn called(&mut self, back: u32, begun: Vec<OpenCall>, now: &ReplayPoint) {
        for forgotten in self.open.called(back, begun).into_iter().flat_map(|(_, begun)| begun) {
            self.watched[forgotten.function].end(&forgotten.at, now, self.prices, true);
        }
    }

    /// What was jumped to returns with the call that is open.
    fn jumped(&mut self, mut begun: Vec<OpenCall>, now: &ReplayPoint) {
        let Some(together) = self.open.last_mut() else { return self.called(NOWHERE, begun, now) };
        together.append(&mut begun);
        if together.len() > MAX_TOGETHER {
            for forgotten in together.drain(..MAX_TOGETHER / 2) {
                self.watched[forgotten.function].end(&forgotten.at, now, self.prices, true);
            }
        }
    }

    fn finish(self, now: &ReplayPoint) -> Vec<CallTimes> {
        let Self { prices, mut watched, open, .. } = self;
        for begun in open.into_open().rev().flat_map(|(_, together)| together.into_iter().rev()) {
            watched[begun.function].end(&begun.at, now, prices, true);
        }
        watched.into_iter().map(TimedFunction::finish).collect()
    }
}

impl TimedFunction {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            open: 0,
            calls: 0,
            recursive: 0,
            unreturned: 0,
            times: Distribution::default(),
            lost: Distribution::default(),
            faults: 0,
            most_faults: 0,
            all_ns: 0.0,
            all_lost_ns: 0.0,
        }
    }

    fn end(&mut self, from: &ReplayPoint, to: &ReplayPoint, prices: &Prices, is_left: bool) {
        let executed = to.executed - from.executed;
        let time_ns = prices.host_ns(&executed) + (to.faults_ns - from.faults_ns);
        let lost_ns = (time_ns - prices.read_ns(&executed)).max(0.0);
        let faults = to.faults - from.faults;
        self.open -= 1;
        self.unreturned += u64::from(is_left);
        self.times.add(time_ns);
        self.lost.add(lost_ns);
        self.faults += faults;
        self.most_faults = self.most_faults.max(faults);
        if self.open == 0 {
            self.all_ns += time_ns;
            self.all_lost_ns += lost_ns;
        }
    }

    fn finish(self) -> CallTimes {
        CallTimes {
            function: self.name,
            calls: self.calls,
            recursive: self.recursive,
            unreturned: self.unreturned,
            time: CallDurations::of(self.times),
            lost: CallDurations::of(self.lost),
            mean_faults: if self.calls == 0 { 0.0 } else { self.faults as f64 / self.calls as f64 },
            most_faults: self.most_faults,
            all_ns: self.all_ns,
            all_alone_ns: self.all_ns - self.all_lost_ns,
        }
    }
}

impl CallDurations {
    fn of(times: Distribution) -> Self {
        let Latency { mean_fault_ns, p99_fault_ns, worst_fault_ns } =
            Latency::of(&times.ascending());
        Self { mean_ns: mean_fault_ns, p99_ns: p99_fault_ns, worst_ns: worst_fault_ns }
    }
}

/// Replay `trace`, which `info` describes, through `design` and time the calls of `functions`, in
/// their order, that begin behind its warm-up. Symbols that the trace lacks come from `elfs`. Two
/// passes are told.
///
/// # Errors
/// A trace without symbols, functions that it does not name, designs that are executed fault by
/// fault, and whatever the replay gives.
pub fn call_times(
    trace: &dyn Trace,
    info: &TraceInfo,
    design: &Design,
    functions: &[String],
    elfs: &[PathBuf],
    go_on: &dyn Fn() -> bool,
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Vec<CallTimes>> {
    if design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, a fault's time depends on what runs around it and cannot be told by \
             call; time the calls of the design without them"
        )));
    }
    info.refuse_reads(&info.program, "the time of calls")?;
    let design = &*design.executing(info)?;
    let symbols = symbols_of(info, elfs)?;
    let mut entries: FxHashMap<u32, Vec<usize>> =
        symbols.iter().map(|symbol| (symbol.offset, Vec::new())).collect();
    let mut bodies = Vec::new();
    for (index, name) in functions.iter().enumerate() {
        for symbol in found(&symbols, name, info)? {
            let its: &mut Vec<usize> = entries.entry(symbol.offset).or_default();
            if !its.contains(&index) {
                its.push(index);
            }
            bodies.push((Run { offset: symbol.offset, length: symbol.bytes }, index));
        }
    }
    let read = |runs: u64| {
        progress(((runs as f64 / info.runs as f64).min(PASSES as f64), PASSES));
    };
    let trace = &flashpager_trace::ProgressTrace::new(trace, &read);
    let mut begins = FxHashSet::default();
    for_runs(trace, go_on, |runs| {
        begins.extend(runs.iter().map(|run| run.offset));
        Ok(())
    })?;

    let prices = design.prices();
    let mut follower = CallFollower {
        prices: &prices,
        entries: &entries,
        bodies: &bodies,
        begins: &begins,
        watched: functions.iter().map(|name| TimedFunction::named(name)).collect(),
        open: OpenCalls::default(),
        before: None,
        warming: trace.warm_up().runs,
    };
    let written = u64::from(design.cache().cache_page_bytes);
    let (faults, faults_ns) = (Cell::new(0), Cell::new(0.0));
    let executed = Cell::new(Executed::default());
    let moment = |executed: &Executed| ReplayPoint {
        executed: *executed,
        faults: faults.get(),
        faults_ns: faults_ns.get(),
    };
    let mut sink = |_: usize, fault: &Fault| {
        let class = FaultClass::of(&fault.access, fault.search);
        faults.set(faults.get() + 1);
        faults_ns.set(faults_ns.get() + prices.fault_ns(&class, written));
        executed.set(executed.get() + fault.executed);
    };
    let mut begun = |run: Run, executed: &Executed| follower.begin(run, moment(executed));
    let events = Events {
        critical_block_bytes: None,
        sink: &mut sink,
        begun: Some(&mut begun),
        words: None,
    };
    let (_, rest) = replay(trace, design.cache(), &[design.register()], go_on, Some(events))?;
    let all = executed.get() + rest;
    Ok(follower.finish(&moment(&all)))
}

/// All functions that a trace names, or that files with its symbols do.
fn symbols_of(info: &TraceInfo, elfs: &[PathBuf]) -> Result<Vec<Symbol>> {
    let binaries = Binaries::of(&info.images, elfs)?;
    let mut symbols = Vec::new();
    for (index, image) in info.images.iter().enumerate() {
        symbols.extend(binaries.symbols(index, image));
    }
    if symbols.is_empty() {
        let what = "names no functions, so their calls cannot be told: record a program that has \
                    their symbols, or give --elf a file with its symbols";
        return Err(Error::data(shown(&info.program), what));
    }
    Ok(symbols)
}

/// The symbols of a function: static ones may share a name.
pub(crate) fn found<'s>(
    symbols: &'s [Symbol],
    name: &str,
    info: &TraceInfo,
) -> Result<Vec<&'s Symbol>> {
    let its: Vec<&Symbol> = symbols.iter().filter(|symbol| is_called(&symbol.name, name)).collect();
    if its.is_empty() {
        let near = did_you_mean(name, symbols.iter().map(|symbol| symbol.name.as_str()));
        let what = format!(
            "names no function '{}'{near}; 'flashpager attribute --limit 0' lists those that were \
             executed",
            shown(name)
        );
        return Err(Error::data(shown(&info.program), what));
    }
    Ok(its)
}
