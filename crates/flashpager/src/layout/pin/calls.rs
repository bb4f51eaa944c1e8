//! The recorded calls of a function, and what each takes from an empty cache.

use flashpager_base::{Error, Result, did_you_mean, shown};
use flashpager_binary::names::is_called;
use flashpager_trace::calls::OpenCalls;
use flashpager_trace::{MemoryTrace, Run, Trace, TraceInfo};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Problem;

/// Distinct executions of a function whose calls are limited.
const MAX_BODIES: usize = 4096;

/// The calls of a limited function, each way of them once.
pub(super) struct Calls {
    pub(super) function: String,
    pub(super) limit_ns: f64,
    pub(super) count: u64,
    /// By trace.
    pub(super) bodies: Vec<(usize, MemoryTrace)>,
    /// Those that end in another function, by a jump at their end or because that followed.
    pub(super) ended_elsewhere: u64,
    /// The first of the functions in which they end.
    pub(super) elsewhere: String,
}

impl Calls {
    /// What is to be said of how they were found.
    pub(super) fn note(&self) -> Option<String> {
        let Self { function, count, ended_elsewhere, elsewhere, .. } = self;
        (*ended_elsewhere > 0).then(|| {
            format!(
                "{ended_elsewhere} of {count} recorded calls of {} end in {}: a jump at its end \
                 and an interrupt handler that follows at once look alike, so what that takes \
                 counts with them",
                shown(function),
                shown(elsewhere)
            )
        })
    }
}

/// A function whose calls are looked for.
struct Function {
    entries: FxHashSet<u32>,
    /// Its bytes, and those of parts that a compiler split off.
    bodies: Vec<(u32, u32)>,
}

impl Function {
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

/// Functions that an interrupt led into: behind an instruction that at other times just goes on,
/// which no call and no jump at an end does.
fn handlers(runs: &[Run], starts: &FxHashSet<u32>) -> FxHashSet<u32> {
    let mut led: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
    for (before, run) in runs.iter().zip(runs.iter().skip(1)) {
        if starts.contains(&run.offset) && before.end() != run.offset {
            led.entry(before.end()).or_default().insert(run.offset);
        }
    }
    let mut behind: Vec<u32> = led.keys().copied().collect();
    behind.sort_unstable();
    let mut passed: FxHashSet<u32> = FxHashSet::default();
    let mut seen: FxHashSet<Run> = FxHashSet::default();
    for run in runs.iter().filter(|run| seen.insert(**run)) {
        let first = behind.partition_point(|at| *at <= run.offset);
        passed.extend(behind[first..].iter().take_while(|at| **at < run.end()));
    }
    led.into_iter().filter(|(at, _)| passed.contains(at)).flat_map(|(_, entered)| entered).collect()
}

/// A call of the function that has not returned.
struct Active {
    /// The number of its first run.
    from: usize,
    /// Functions that were entered since execution was last in it.
    entered: FxHashSet<u32>,
}

/// The calls of a function in one trace.
struct Follower<'a> {
    runs: &'a [Run],
    function: &'a Function,
    /// First bytes of all functions, ascending.
    starts: &'a [u32],
    handlers: FxHashSet<u32>,
    open: OpenCalls<Vec<usize>>,
    active: Vec<Active>,
    /// Calls that were left to where nothing had called from, and the run that followed.
    left: FxHashMap<usize, usize>,
    /// First and last run of each call, and in which function it ended if in another.
    found: Vec<(usize, usize, Option<u32>)>,
}

impl Follower<'_> {
    fn is_start(&self, offset: u32) -> bool {
        self.starts.binary_search(&offset).is_ok()
    }

    /// The first byte of the function that holds one.
    fn owner(&self, offset: u32) -> u32 {
        let behind = self.starts.partition_point(|start| *start <= offset);
        behind.checked_sub(1).map_or(0, |at| self.starts[at])
    }

    fn is_handler(&self) -> bool {
        self.function.entries.iter().any(|entry| self.handlers.contains(entry))
    }

    fn end(&mut self, from: usize, to: usize, has_returned: bool) {
        self.active.retain(|active| active.from != from);
        let left = self.left.remove(&from).filter(|_| !has_returned || self.is_handler());
        let mut to = left.unwrap_or(to);
        let holds = |run: &Run| self.function.holds(run.end() - 1);
        let last = from + self.runs[from..to].iter().rposition(holds).unwrap_or(0);
        let mut elsewhere = (last + 1 < to).then(|| self.runs[last + 1].offset);
        if elsewhere.is_some_and(|next| self.is_handler() && self.handlers.contains(&next)) {
            // That handler followed at once.
            (to, elsewhere) = (last + 1, None);
        }
        self.found.push((from, to, elsewhere.map(|next| self.owner(next))));
    }

    fn follow(mut self) -> Vec<(usize, usize, Option<u32>)> {
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
            self.active.push(Active { from: at, entered: FxHashSet::default() });
        }
    }
}

impl Problem<'_> {
    /// The recorded calls of a function, as [`crate::calls`] finds them. Interrupt handlers that
    /// follow one another are told apart where interrupts led into both at some time.
    pub(super) fn calls_of(&self, function: &str, limit_ns: f64) -> Result<Calls> {
        let info = &self.opened[0].info;
        let named = Function::of(info, function)?;
        let mut starts: Vec<u32> = info.symbols().map(|symbol| symbol.offset).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut calls = Calls {
            function: function.to_owned(),
            limit_ns,
            count: 0,
            bodies: Vec::new(),
            ended_elsewhere: 0,
            elsewhere: String::new(),
        };
        let mut bodies: FxHashMap<Vec<Run>, usize> = FxHashMap::default();
        for (number, one) in self.opened.iter().enumerate() {
            let runs = one.training.in_memory().unwrap_or_default();
            let follower = Follower {
                runs,
                function: &named,
                starts: &starts,
                handlers: handlers(runs, &starts.iter().copied().collect()),
                open: OpenCalls::default(),
                active: Vec::new(),
                left: FxHashMap::default(),
                found: Vec::new(),
            };
            for (from, to, elsewhere) in follower.follow() {
                calls.count += 1;
                if let Some(elsewhere) = elsewhere {
                    calls.ended_elsewhere += 1;
                    if calls.elsewhere.is_empty() {
                        let symbol = info.symbols().find(|symbol| symbol.offset == elsewhere);
                        calls.elsewhere = symbol.map(|one| one.name.clone()).unwrap_or_default();
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
