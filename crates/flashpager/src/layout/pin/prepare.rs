//! Preparation of a search for what to pin: the program as pieces of units, and samples of it.

use flashpager_base::{Error, Result, shown};
use flashpager_layout::{Order, PieceSequence, UnitPlacement, Units};

use super::super::names::NamedUnits;
use super::super::program::note_of_reads;
use super::super::traces::TraceSet;
use super::super::units::{Coverage, executed_share};
use super::calls::LimitedCalls;
use super::joint::OrderSearch;
use super::problem::{PinProblem, TraceSample};
use super::request::PinRequest;
use super::startup::{HoldReason, Startup};
use crate::design::Design;

/// The traces of a request.
///
/// # Errors
/// If the traces are of several images or cannot be read, or have data reads that the design or the
/// limits of calls do not allow.
pub(super) fn loaded(request: &PinRequest) -> Result<TraceSet> {
    let traces = TraceSet::load(&request.traces, &[], 0.0)?;
    for (info, _) in traces.training().filter(|(info, _)| info.reads > 0) {
        request.check_reads(info)?;
    }
    Ok(traces)
}

/// A program that is ready for the search.
pub(super) struct Prepared<'a> {
    /// The costs of choices.
    pub(super) problem: PinProblem<'a>,
    /// The search for orders, which only a request for one uses.
    pub(super) orders: OrderSearch<'a>,
    /// The function before which pinned code is in RAM; empty if none is known.
    pub(super) copied_before: String,
    /// The longest call of each limited function with nothing pinned, in nanoseconds.
    pub(super) cold_before_ns: Vec<f64>,
    /// The units, and assumptions on them.
    pub(super) coverage: Coverage,
    /// Share of the executed pieces that the search replays.
    pub(super) sampled_share: f64,
}

impl<'a> Prepared<'a> {
    /// Prepares the search. `before_ns` is the time of whole traces with nothing pinned, `links` are
    /// those by whose mean choices with holes are scored; the notes beside the units state the
    /// assumptions on them.
    ///
    /// # Errors
    /// If a name is of no unit or function, more bytes are always pinned than there is RAM, or the
    /// replay fails.
    pub(super) fn of(
        request: &PinRequest,
        traces: &'a TraceSet,
        (units, mut notes): (&'a Units, Vec<String>),
        (before_ns, links): (f64, Vec<UnitPlacement>),
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let sequences =
            traces.training().map(|(_, trace)| PieceSequence::of(units, trace, should_continue));
        let sequences = sequences.collect::<Result<Vec<PieceSequence>>>()?;
        notes.extend(note_of_reads(&sequences));
        let executed_share = executed_share(units, &sequences);
        let sampled_share = TraceSample::share_of(&sequences);
        let executing = |info| Ok(request.design.executing(info)?.into_owned());
        let designs = traces.training().map(|(info, _)| executing(info));
        let designs = designs.collect::<Result<Vec<Design>>>()?;
        let orders = OrderSearch {
            units,
            traces: &traces.training,
            sequences: if request.order { sequences.clone() } else { Vec::new() },
            designs: designs.clone(),
            before_ns,
        };
        let samples = sequences.into_iter().zip(designs).zip(traces.weights());
        let samples = samples.map(|((sequence, design), weight)| {
            TraceSample::of(design, weight, sequence, sampled_share)
        });
        let (always, startup) =
            named_and_held(request, traces, units, &mut notes, should_continue)?;
        let calls = LimitedCalls::of_all(&request.calls, traces, units.image_bytes())?;
        notes.extend(calls.iter().flat_map(LimitedCalls::notes));
        let recorded = Order::original(units);
        let kinds = (always, startup.held);
        let scored = (samples.collect(), links);
        let problem = PinProblem::new(units, recorded.numbers(), scored, kinds, calls)?;
        check_fits(&problem, &problem.always, request.ram_bytes)?;
        let cold_before_ns = problem.cold_calls_ns(&[])?;
        let coverage = Coverage { movable: units.movable().len(), executed_share, notes };
        let copied_before = startup.copied_before;
        Ok(Self { problem, orders, copied_before, cold_before_ns, coverage, sampled_share })
    }
}

/// The units that are always pinned, and the start of the program with all units that are never
/// pinned.
///
/// # Errors
/// If a name is of no unit, a unit is in both lists, or [`Startup::of`] fails.
fn named_and_held(
    request: &PinRequest,
    traces: &TraceSet,
    units: &Units,
    notes: &mut Vec<String>,
    should_continue: &dyn Fn() -> bool,
) -> Result<(Vec<u32>, Startup)> {
    let copied_before = request.copied_before.as_deref();
    let mut startup = Startup::of(traces, units, copied_before, should_continue)?;
    notes.append(&mut startup.notes);
    let always = NamedUnits::of(units, traces.info(), &request.always)?;
    let never = NamedUnits::of(units, traces.info(), &request.never)?;
    notes.extend(always.notes.into_iter().chain(never.notes));
    for number in &always.numbers {
        let name = shown(&units.all()[*number as usize].name);
        if never.numbers.contains(number) {
            let message = format!("{name} is to be pinned always and never: name it once");
            return Err(Error::design(message));
        }
        if startup.held.remove(number).is_some() {
            notes.push(format!(
                "{name} runs before start-up code has copied it to RAM, and is pinned as you said: \
                 the program starts only if a loader copies it"
            ));
        }
    }
    for number in never.numbers {
        startup.held.entry(number).or_insert(HoldReason::Asked);
    }
    Ok((always.numbers, startup))
}

/// Checks that the units that are always pinned fit into RAM.
fn check_fits(problem: &PinProblem<'_>, always: &[u32], ram_bytes: u64) -> Result<()> {
    let needed = problem.ram_bytes(always);
    if needed > ram_bytes {
        return Err(Error::design(format!(
            "what is always pinned takes {needed} bytes of RAM, and there are {ram_bytes}"
        )));
    }
    Ok(())
}
