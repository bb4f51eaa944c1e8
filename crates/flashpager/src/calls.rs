//! Calls: the time of each call of a function, and the part of it that faults take.
//!
//! * A call begins with a run at the function's first byte.
//! * It ends with the run that begins where the run before the call ended: behind the calling
//!   instruction.
//! * Calls of all functions that the trace names are followed, so that recursion nests.
//! * If no run of the trace begins behind the instruction that led to the function, it was a jump and
//!   no call. A jump from another function is one at its end: both return together. A jump from the
//!   function itself is a loop.
//! * A return to an outer call, as by an exception, ends all calls inside of it.

use std::cell::Cell;
use std::path::PathBuf;

use flashpager_base::{Error, ProgressFn, Result, did_you_mean, shown};
use flashpager_binary::binaries::Binaries;
use flashpager_binary::names::is_called;
use flashpager_replay::{Events, Executed, Fault, FaultClass, replay};
use flashpager_trace::calls::OpenCalls;
use flashpager_trace::{Mark, MarkReader, Run, Symbol, Trace, TraceInfo, for_marked_runs};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::cost::{Distribution, Latency, Prices};
use crate::design::{Design, NO_SUMS};
use crate::simulation::CellProgress;

/// An address to which nothing returns: the end of the address space.
const NOWHERE: u64 = u64::MAX;

/// Maximum number of calls that may return together. Older ones are counted as not returned.
const MAX_TOGETHER: usize = 1 << 16;

/// Passes over the trace: one to learn where runs begin, and the replay.
const PASSES: usize = 2;

/// Times of the calls of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallDurations {
    /// The mean.
    pub mean_ns: f64,
    /// The time that 99 of 100 calls do not exceed (nearest rank).
    pub p99_ns: f64,
    /// The longest time.
    pub worst_ns: f64,
}

/// The calls of a function, each with everything that it called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTimes {
    /// The function, as in the request.
    pub function: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls inside of another call of the same function, which belong to that one, too.
    pub recursive: u64,
    /// Number of calls that did not return: those left by an exception or the like, and those that
    /// the end of the trace cuts off. They count up to there.
    pub unreturned: u64,
    /// Times of calls.
    pub time: CallDurations,
    /// The parts of these times that faults, lookups and false faults take.
    pub lost: CallDurations,
    /// Mean number of true faults of a call.
    pub mean_faults: f64,
    /// Largest number of true faults of a call.
    pub most_faults: u64,
    /// Time of all calls; calls inside of another one are counted once.
    pub all_ns: f64,
    /// The same time without paging.
    pub all_alone_ns: f64,
}

/// A function whose calls are timed, with what was summed so far.
struct TimedFunction {
    name: String,
    /// Number of calls that have not returned.
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

/// A point of the replay: what was executed before, and the faults before.
#[derive(Clone, Copy, Default)]
struct ReplayPoint {
    executed: Executed,
    faults: u64,
    faults_ns: f64,
}

/// A call of a timed function that has not returned.
struct OpenCall {
    /// Index of the function.
    function: usize,
    /// The point at which the call began.
    at: ReplayPoint,
}

/// Follows the calls of a trace during its replay.
struct CallFollower<'a> {
    prices: &'a Prices,
    /// First bytes of all functions, each with the indices of the timed ones: a function may have
    /// several names.
    entries: &'a FxHashMap<u32, Vec<usize>>,
    /// Bytes of timed functions, each with the function's index.
    bodies: &'a [(Run, usize)],
    /// All offsets at which runs begin.
    begins: &'a FxHashSet<u32>,
    functions: Vec<TimedFunction>,
    /// Open calls of all functions, each with the timed ones that return together: the call, and
    /// those to which it jumped at its end.
    open: OpenCalls<Vec<OpenCall>>,
    /// The run before; `None` at the start of the trace.
    before: Option<Run>,
    /// Runs of the warm-up that are still to come. Calls that begin in it are not timed.
    warming: u64,
}

impl CallFollower<'_> {
    /// Takes a run of the trace. A data read is no jump, and neither is what follows it.
    fn take(&mut self, run: Run, mark: Mark, now: ReplayPoint) {
        let is_warming = self.warming > 0;
        self.warming -= u64::from(is_warming);
        match (mark, &mut self.before) {
            (Mark::Read, _) => {}
            (Mark::Continued, Some(before)) => *before = run,
            _ => self.begin(run, now, is_warming),
        }
    }

    fn begin(&mut self, run: Run, now: ReplayPoint, is_warming: bool) {
        let from = self.before.replace(run);
        let Self { prices, functions, .. } = self;
        if from.is_some() {
            let returned = self.open.take_returned(run.offset, |back, together| {
                for begun in together.iter().rev() {
                    functions[begun.function].end(
                        &begun.at,
                        &now,
                        prices,
                        back != u64::from(run.offset),
                    );
                }
            });
            if returned {
                return;
            }
        }
        let Some(entered) = self.entries.get(&run.offset) else { return };
        let end = from.map(Run::end);
        // The start of a function is no place to return to.
        let is_back = |end: &u64| {
            u32::try_from(*end)
                .is_ok_and(|end| self.begins.contains(&end) && !self.entries.contains_key(&end))
        };
        let back = end.filter(is_back).unwrap_or(NOWHERE);
        let is_loop = |function: usize| {
            let inside = |end: u64, body: &Run| u64::from(body.offset) < end && end <= body.end();
            let is_in = |end| {
                let mut bodies = self.bodies.iter();
                bodies.any(|(body, owner)| *owner == function && inside(end, body))
            };
            back == NOWHERE && end.is_some_and(is_in)
        };
        let mut begun = Vec::new();
        let is_counted = |function: &usize| !is_warming && !is_loop(*function);
        for function in entered.iter().copied().filter(is_counted) {
            let timed = &mut functions[function];
            timed.calls += 1;
            timed.recursive += u64::from(timed.open > 0);
            timed.open += 1;
            begun.push(OpenCall { function, at: now });
        }
        if back != NOWHERE {
            self.called(back, begun, &now);
        } else if !begun.is_empty() {
            self.jumped(begun, &now);
        }
    }

    /// Begins calls that return to `back`.
    fn called(&mut self, back: u64, begun: Vec<OpenCall>, now: &ReplayPoint) {
        for forgotten in self.open.push(back, begun).into_iter().flat_map(|(_, begun)| begun) {
            self.functions[forgotten.function].end(&forgotten.at, now, self.prices, true);
        }
    }

    /// Begins calls that return with the last open one, which jumped to them.
    fn jumped(&mut self, mut begun: Vec<OpenCall>, now: &ReplayPoint) {
        let Some(together) = self.open.last_mut() else { return self.called(NOWHERE, begun, now) };
        together.append(&mut begun);
        if together.len() > MAX_TOGETHER {
            for forgotten in together.drain(..MAX_TOGETHER / 2) {
                self.functions[forgotten.function].end(&forgotten.at, now, self.prices, true);
            }
        }
    }

    fn finish(self, now: &ReplayPoint) -> Vec<CallTimes> {
        let Self { prices, mut functions, open, .. } = self;
        for begun in open.into_open().rev().flat_map(|(_, together)| together.into_iter().rev()) {
            functions[begun.function].end(&begun.at, now, prices, true);
        }
        functions.into_iter().map(TimedFunction::finish).collect()
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

/// Replays `trace`, which `info` describes, through `design` and times the calls of `functions`, in
/// their order. Calls that begin in the warm-up are not counted. Symbols that the trace lacks come
/// from `elfs`. Progress is that of two passes.
///
/// # Errors
/// If the trace has no symbols or does not name a function, the design is executed fault by fault,
/// or the replay fails.
pub fn call_times(
    trace: &dyn Trace,
    info: &TraceInfo,
    design: &Design,
    functions: &[String],
    elfs: &[PathBuf],
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Vec<CallTimes>> {
    if design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, a fault's time depends on what runs around it and cannot be split by \
             call; time the calls of the design without them"
        )));
    }
    design.check_plain_store("time the calls")?;
    let design = &*design.executing(info)?;
    let symbols = symbols_of(info, elfs)?;
    let mut entries: FxHashMap<u32, Vec<usize>> =
        symbols.iter().map(|symbol| (symbol.offset, Vec::new())).collect();
    let mut bodies = Vec::new();
    for (index, name) in functions.iter().enumerate() {
        for symbol in symbols_named(&symbols, name, info)? {
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
    let unwatched = trace;
    let trace = &flashpager_trace::ProgressTrace::new(trace, &read);
    let mut begins = FxHashSet::default();
    for_marked_runs(trace, should_continue, |run, mark| {
        if mark == Mark::Executed {
            begins.insert(run.offset);
        }
        Ok(())
    })?;

    let prices = design.prices();
    let mut follower = CallFollower {
        prices: &prices,
        entries: &entries,
        bodies: &bodies,
        begins: &begins,
        functions: functions.iter().map(|name| TimedFunction::named(name)).collect(),
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
    // The marks are read in step with the replay, which an error in them ends, too.
    let mut marks = trace.has_reads().then(|| MarkReader::of(unwatched)).transpose()?;
    let mut begun = |run: Run, executed: &Executed| {
        let mark = marks.as_mut().and_then(MarkReader::next_mark).unwrap_or_default();
        follower.take(run, mark, moment(executed));
    };
    let events = Events {
        critical_block_bytes: None,
        sink: &mut sink,
        begun: Some(&mut begun),
        words: None,
    };
    let (_, rest) =
        replay(trace, design.cache(), &[design.register()], should_continue, Some(events))?;
    let all = executed.get() + rest;
    Ok(follower.finish(&moment(&all)))
}

/// The symbols of all functions: those that the trace names, and those of `elfs`.
fn symbols_of(info: &TraceInfo, elfs: &[PathBuf]) -> Result<Vec<Symbol>> {
    let binaries = Binaries::of(&info.images, elfs)?;
    let mut symbols = Vec::new();
    for (index, image) in info.images.iter().enumerate() {
        symbols.extend(binaries.symbols(index, image));
    }
    if symbols.is_empty() {
        let message = "names no functions, so their calls are unknown: record a program that has \
                    their symbols, or give --elf a file with its symbols";
        return Err(Error::data(shown(&info.program), message));
    }
    Ok(symbols)
}

/// The symbols of a function; static functions may share a name.
///
/// # Errors
/// If no symbol has the name.
pub(crate) fn symbols_named<'s>(
    symbols: &'s [Symbol],
    name: &str,
    info: &TraceInfo,
) -> Result<Vec<&'s Symbol>> {
    let its: Vec<&Symbol> = symbols.iter().filter(|symbol| is_called(&symbol.name, name)).collect();
    if its.is_empty() {
        let near = did_you_mean(name, symbols.iter().map(|symbol| symbol.name.as_str()));
        let message = format!(
            "names no function '{}'{near}; 'flashpager attribute --limit 0' lists those that were \
             executed",
            shown(name)
        );
        return Err(Error::data(shown(&info.program), message));
    }
    Ok(its)
}
