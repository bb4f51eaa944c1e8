//! The recorded calls of a function, and what each takes from an empty cache.

use flashpager_base::{Error, Result, did_you_mean, shown};
use flashpager_binary::names::is_called;
use flashpager_trace::calls::OpenCalls;
use flashpager_trace::{MemoryTrace, Run, Trace, TraceInfo};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::LoadedTrace;
use super::PinProblem;

/// Distinct executions of a function whose calls are limited.
const MAX_BODIES: usize = 4096;

/// Different instructions behind which a handler was entered, at least: a conditional call or jump
/// is one, and an interrupt comes behind any.
const MIN_INTERRUPTED: usize = 2;

/// The calls of a limited function, each way of them once.
pub(super) struct LimitedCalls {
    pub(super) function: String,
    pub(super) limit_ns: f64,
    pub(super) count: u64,
    /// By trace.
    pub(super) bodies: Vec<(usize, MemoryTrace)>,
    /// Those that end in another function, by a jump at their end or because that followed.
    pub(super) ended_elsewhere: u64,
    /// The first of the functions in which they end.
    pub(super) elsewhere: String,
    /// Those that were ended where an interrupt handler followed.
    pub(super) cut: u64,
    /// The first of the functions that followed them.
    pub(super) cut_at: String,
}

impl LimitedCalls {
    /// What is to be said of how they were found.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let Self { function, count, ended_elsewhere, elsewhere, cut, cut_at, .. } = self;
        let ended = (*ended_elsewhere > 0).then(|| {
            format!(
                "{ended_elsewhere} of {count} recorded calls of {} end in {}: a jump at its end \
                 and an interrupt handler that follows at once look alike, so what that takes \
                 counts with them",
                shown(function),
                shown(elsewhere)
            )
        });
        let cut = (*cut > 0).then(|| {
            format!(
                "{cut} of {count} recorded calls of {} are counted up to where {} follows: it looks \
                 like an interrupt handler, which has returned there or is followed by another; a \
                 function with several conditional calls looks so, too, and if it jumps there at \
                 its end, its calls take longer by that",
                shown(function),
                shown(cut_at)
            )
        });
        ended.into_iter().chain(cut)
    }
}

/// A call as it was found.
struct RecordedCall {
    /// The number of its first run.
    from: usize,
    /// The number of the run behind its last.
    to: usize,
    /// The first byte of the function in which it ended, if another.
    elsewhere: Option<u32>,
    /// The first byte of the function before which it was ended, if it was.
    cut_at: Option<u32>,
}

/// The first byte of the function that holds one, by the first bytes of all.
fn owner(starts: &[u32], offset: u32) -> u32 {
    let behind = starts.partition_point(|start| *start <= offset);
    behind.checked_sub(1).map_or(0, |at| starts[at])
}

/// First bytes of functions, ascending.
fn starts_of(info: &TraceInfo) -> Vec<u32> {
    let mut starts: Vec<u32> = info.symbols().map(|symbol| symbol.offset).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// A function whose calls are looked for.
struct LimitedFunction {
    entries: FxHashSet<u32>,
    /// Its bytes, and those of parts that a compiler split off.
    bodies: Vec<(u32, u32)>,
}

impl LimitedFunction {
    fn of(info: &TraceInfo, function: &str) -> Result<Self> {
        let named = info.symbols().filter(|symbol| is_called(&symbol.name, function));
        let entries: FxHashSet<u32> = named.map(|symbol| symbol.offset).collect();
        if entries.is_empty() {
            let near = did_you_mean(function, info.symbols().map(|symbol| symbol.name.as_str()));
            return Err(Error::design(format!(
                "the trace has no function {}{near}",
                shown(function)
            )));
        }
        let is_part =
            |name: &str| name.strip_prefix(function).is_some_and(|rest| rest.starts_with('.'));
        let its = info.symbols();
        let its = its.filter(|symbol| is_called(&symbol.name, function) || is_part(&symbol.name));
        let bodies = its.map(|symbol| (symbol.offset, symbol.offset + symbol.bytes)).collect();
        Ok(Self { entries, bodies })
    }

    fn holds(&self, offset: u32) -> bool {
        self.bodies.iter().any(|(from, to)| (*from..*to).contains(&offset))
    }
}

/// Interrupt handlers of a trace: functions that were entered behind several different instructions
/// that at other times just go on, and to which execution came back. A jump at an end is not come
/// back to. A conditional call is, so that one alone makes no handler; several can.
pub(super) struct InterruptHandlers(FxHashSet<u32>);

impl InterruptHandlers {
    pub(super) fn of(opened: &LoadedTrace) -> Self {
        Self::among(opened.training.in_memory().unwrap_or_default(), &starts_of(&opened.info))
    }

    fn among(runs: &[Run], starts: &[u32]) -> Self {
        let is_start: FxHashSet<u32> = starts.iter().copied().collect();
        // Jumps that differ; most come again and again.
        let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
        let mut led: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
        let mut resumed: FxHashSet<u32> = FxHashSet::default();
        for (before, run) in runs.iter().zip(runs.iter().skip(1)) {
            let (behind, to) = (before.end(), run.offset);
            if behind == to || !seen.insert((behind, to)) {
                continue;
            }
            let is_within = owner(starts, behind - 1) == owner(starts, to);
            if is_within {
                continue;
            }
            if is_start.contains(&to) {
                led.entry(behind).or_default().insert(to);
            } else {
                resumed.insert(to);
            }
        }
        let mut behind: Vec<u32> = led.keys().copied().filter(|at| resumed.contains(at)).collect();
        behind.sort_unstable();
        let mut passed: FxHashSet<u32> = FxHashSet::default();
        let mut seen: FxHashSet<Run> = FxHashSet::default();
        for run in runs.iter().filter(|run| seen.insert(**run)) {
            let first = behind.partition_point(|at| *at <= run.offset);
            passed.extend(behind[first..].iter().take_while(|at| **at < run.end()));
        }
        let mut entered: FxHashMap<u32, usize> = FxHashMap::default();
        for function in passed.iter().filter_map(|at| led.get(at)).flatten() {
            *entered.entry(*function).or_default() += 1;
        }
        entered.retain(|_, instructions| *instructions >= MIN_INTERRUPTED);
        Self(entered.into_keys().collect())
    }

    fn hold(&self, function: u32) -> bool {
        self.0.contains(&function)
    }
}

/// A call of the function that has not returned.
struct ActiveCall {
    /// The number of its first run.
    from: usize,
    /// Functions that were entered since execution was last in it.
    entered: FxHashSet<u32>,
}

/// The calls of a function in one trace.
struct CallFinder<'a> {
    runs: &'a [Run],
    function: &'a LimitedFunction,
    /// First bytes of all functions, ascending.
    starts: &'a [u32],
    handlers: &'a InterruptHandlers,
    open: OpenCalls<Vec<usize>>,
    active: Vec<ActiveCall>,
    /// Calls that were left to where nothing had called from, and the run that followed.
    left: FxHashMap<usize, usize>,
    found: Vec<RecordedCall>,
}

impl CallFinder<'_> {
    fn is_start(&self, offset: u32) -> bool {
        self.starts.binary_search(&offset).is_ok()
    }

    /// The first byte of the function that holds one.
    fn owner(&self, offset: u32) -> u32 {
        owner(self.starts, offset)
    }

    fn is_handler(&self) -> bool {
        self.function.entries.iter().any(|entry| self.handlers.hold(*entry))
    }

    fn end(&mut self, from: usize, to: usize, has_returned: bool) {
        self.active.retain(|active| active.from != from);
        let is_handler = self.is_handler();
        let left = self.left.remove(&from).filter(|_| !has_returned || is_handler);
        let end = to;
        let mut to = left.unwrap_or(end);
        let holds = |run: &Run| self.function.holds(run.end() - 1);
        let last = from + self.runs[from..to].iter().rposition(holds).unwrap_or(0);
        let mut elsewhere = (last + 1 < to).then(|| self.runs[last + 1].offset);
        if elsewhere.is_some_and(|next| is_handler && self.handlers.hold(next)) {
            // That handler followed at once.
            (to, elsewhere) = (last + 1, None);
        }
        let elsewhere = elsewhere.map(|next| self.owner(next));
        let is_cut = is_handler && to < end;
        let cut_at = is_cut.then(|| self.owner(self.runs[to].offset));
        self.found.push(RecordedCall { from, to, elsewhere, cut_at });
    }

    fn follow(mut self) -> Vec<RecordedCall> {
        for (at, pair) in self.runs.windows(2).enumerate() {
            self.step(at + 1, pair[0], pair[1]);
        }
        let open = std::mem::take(&mut self.open);
        for from in open.into_open().flat_map(|(_, begun)| begun) {
            self.end(from, self.runs.len(), false);
        }
        self.found
    }

    fn step(&mut self, at: usize, before: Run, run: Run) {
        let mut closed = Vec::new();
        let returned = self.open.returned(run.offset, |back, begun| {
            closed.extend(begun.into_iter().map(|from| (from, back == run.offset)));
        });
        closed.into_iter().for_each(|(from, has_returned)| self.end(from, at, has_returned));
        let is_back = self.function.holds(run.offset);
        if let (true, Some(active)) = (is_back, self.active.last_mut()) {
            active.entered.clear();
        }
        if returned {
            return;
        }
        let last = before.end() - 1;
        let was_in = self.function.holds(last);
        let (from, to) = (self.owner(last), self.owner(run.offset));
        let is_start = self.is_start(run.offset);
        if let Some(active) = self.active.last_mut() {
            let was_entered = was_in || active.entered.contains(&from);
            if is_start && was_entered && !is_back {
                active.entered.insert(run.offset);
            } else if !is_start && was_entered && !is_back && !active.entered.contains(&to) {
                // Into the middle of a function, behind no call: an interrupt has returned.
                self.left.insert(active.from, at);
                self.active.pop();
            }
        }
        if !is_start {
            return;
        }
        let is_it = self.function.entries.contains(&run.offset);
        let begun = if is_it { vec![at] } else { Vec::new() };
        if !self.is_start(before.end()) {
            self.open.called(before.end(), begun);
        } else if !is_it || was_in {
            // A jump at the end of a function, which returns with it, or a loop.
            return;
        } else if let Some(together) = self.open.last_mut() {
            together.push(at);
        } else {
            self.open.called(u32::MAX, begun);
        }
        if is_it {
            self.active.push(ActiveCall { from: at, entered: FxHashSet::default() });
        }
    }
}

impl PinProblem<'_> {
    /// The recorded calls of a function, as [`crate::calls`] finds them. Interrupt handlers that
    /// follow one another are told apart by `handlers`, those of each trace.
    pub(super) fn calls_of(
        &self,
        function: &str,
        limit_ns: f64,
        handlers: &[InterruptHandlers],
    ) -> Result<LimitedCalls> {
        let info = &self.opened[0].info;
        let named = LimitedFunction::of(info, function)?;
        let starts = starts_of(info);
        let name_of = |start: u32| {
            let symbol = info.symbols().find(|symbol| symbol.offset == start);
            symbol.map(|one| one.name.clone()).unwrap_or_default()
        };
        let mut calls = LimitedCalls {
            function: function.to_owned(),
            limit_ns,
            count: 0,
            bodies: Vec::new(),
            ended_elsewhere: 0,
            elsewhere: String::new(),
            cut: 0,
            cut_at: String::new(),
        };
        let mut bodies: FxHashMap<Vec<Run>, usize> = FxHashMap::default();
        for (number, (one, handlers)) in self.opened.iter().zip(handlers).enumerate() {
            let runs = one.training.in_memory().unwrap_or_default();
            let follower = CallFinder {
                runs,
                function: &named,
                starts: &starts,
                handlers,
                open: OpenCalls::default(),
                active: Vec::new(),
                left: FxHashMap::default(),
                found: Vec::new(),
            };
            for RecordedCall { from, to, elsewhere, cut_at } in follower.follow() {
                calls.count += 1;
                for (at, count, first) in [
                    (elsewhere, &mut calls.ended_elsewhere, &mut calls.elsewhere),
                    (cut_at, &mut calls.cut, &mut calls.cut_at),
                ] {
                    let Some(at) = at else { continue };
                    *count += 1;
                    if first.is_empty() {
                        *first = name_of(at);
                    }
                }
                bodies.entry(runs[from..to].to_vec()).or_insert(number);
            }
        }
        if bodies.is_empty() {
            return Err(Error::design(format!(
                "{} is never called in the traces: a limit on its calls says nothing",
                shown(function)
            )));
        }
        if bodies.len() > MAX_BODIES {
            return Err(Error::design(format!(
                "the calls of {} go {} ways, and at most {MAX_BODIES} are looked at: limit a \
                 function that it calls",
                shown(function),
                bodies.len()
            )));
        }
        let image_bytes = self.units.image_bytes();
        let bodies = bodies.into_iter();
        let bodies =
            bodies.map(|(runs, trace)| (trace, MemoryTrace::with_image(runs, image_bytes)));
        calls.bodies = bodies.collect();
        Ok(calls)
    }
}
