//! The recorded calls of limited functions, to be replayed from an empty cache.

use flashpager_base::{Error, Result, shown};
use flashpager_trace::{MemoryTrace, Run, Trace, TraceInfo};
use rustc_hash::FxHashMap;

use super::super::traces::TraceSet;
use super::finder::{CallFinder, RecordedCall};
use super::functions::{FunctionStarts, LimitedFunction};
use super::handlers::InterruptHandlers;

/// Maximum number of different executions of a function with limited calls.
const MAX_BODIES: usize = 4096;

/// The recorded calls of a limited function.
pub(super) struct LimitedCalls {
    /// The function, as in the request.
    pub(super) function: String,
    /// The longest time that a call may take.
    pub(super) limit_ns: f64,
    /// Number of calls.
    pub(super) count: u64,
    /// The different executions: index of the first trace that has it, and its runs.
    pub(super) bodies: Vec<(usize, MemoryTrace)>,
    /// Number of calls that end in another function, by a jump at their end or because an
    /// interrupt handler followed.
    ended_elsewhere: u64,
    /// The first of those functions; empty without such a call.
    elsewhere: String,
    /// Number of calls that were ended where an interrupt handler followed.
    cut: u64,
    /// The first of the functions that followed; empty without such a call.
    cut_at: String,
}

impl LimitedCalls {
    /// The calls of `functions`, each with its limit in nanoseconds, in `traces`.
    ///
    /// # Errors
    /// If the traces do not name a function, or a function is never called or has calls that differ
    /// too much.
    pub(super) fn of_all(
        functions: &[(String, f64)],
        traces: &TraceSet,
        image_bytes: u64,
    ) -> Result<Vec<Self>> {
        if functions.is_empty() {
            return Ok(Vec::new());
        }
        let handlers: Vec<InterruptHandlers> =
            traces.training.iter().map(InterruptHandlers::of).collect();
        let calls = functions.iter().map(|(function, limit_ns)| {
            Self::of(function, *limit_ns, traces, &handlers, image_bytes)
        });
        calls.collect()
    }

    fn of(
        function: &str,
        limit_ns: f64,
        traces: &TraceSet,
        handlers: &[InterruptHandlers],
        image_bytes: u64,
    ) -> Result<Self> {
        let info = traces.info();
        let limited = LimitedFunction::of(info, function)?;
        let starts = FunctionStarts::of(info);
        let mut calls = Self {
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
        for (number, (trace, handlers)) in traces.training.iter().zip(handlers).enumerate() {
            let runs = trace.training.in_memory().unwrap_or_default();
            for call in CallFinder::new(runs, &limited, &starts, handlers).find() {
                calls.count(info, &call);
                bodies.entry(runs[call.from..call.to].to_vec()).or_insert(number);
            }
        }
        check_bodies(function, bodies.len())?;
        let bodies = bodies.into_iter();
        let bodies =
            bodies.map(|(runs, trace)| (trace, MemoryTrace::with_image(runs, image_bytes)));
        calls.bodies = bodies.collect();
        Ok(calls)
    }

    /// Counts a call.
    fn count(&mut self, info: &TraceInfo, call: &RecordedCall) {
        let name_of = |start: u32| {
            let symbol = info.symbols().find(|symbol| symbol.offset == start);
            symbol.map(|symbol| symbol.name.clone()).unwrap_or_default()
        };
        self.count += 1;
        for (function, count, first) in [
            (call.elsewhere, &mut self.ended_elsewhere, &mut self.elsewhere),
            (call.cut_at, &mut self.cut, &mut self.cut_at),
        ] {
            let Some(function) = function else { continue };
            *count += 1;
            if first.is_empty() {
                *first = name_of(function);
            }
        }
    }

    /// Notes on calls that may have been found too long or too short.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + use<> {
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

/// Checks the number of different executions of a limited function.
fn check_bodies(function: &str, bodies: usize) -> Result<()> {
    if bodies == 0 {
        return Err(Error::design(format!(
            "{} is never called in the traces: a limit on its calls says nothing",
            shown(function)
        )));
    }
    if bodies > MAX_BODIES {
        return Err(Error::design(format!(
            "the calls of {} go {bodies} ways, and at most {MAX_BODIES} are looked at: limit a \
             function that it calls",
            shown(function)
        )));
    }
    Ok(())
}
