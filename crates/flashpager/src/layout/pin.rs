//! Pin: which units of a program are to lie in RAM, so that most time is saved.
//!
//! What is pinned leaves the flash image and is executed out of RAM. The rest moves up, shares
//! its pages otherwise, and has the cache for itself, so that a unit's own misses do not tell what
//! pinning it saves: each candidate is replayed. A greedy choice by time saved for each byte
//! begins. It keeps what each candidate saved when it was last looked at, and looks again at the
//! best few alone, before one of them is taken (lazy evaluation, Minoux 1978; savings are no
//! submodular function, so the choice is a floor and not within a factor of the best). Exchanges
//! follow. In the end whole traces decide between both, and nothing pinned.
//!
//! The order of what stays can be searched with it. Then the same is asked again under each order
//! that is found, and an order for each choice.

mod calls;
mod joint;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager_base::{Error, ProgressFn, Result, shown};
use flashpager_layout::{Order, Piece, PieceSequence, Units, place};
use flashpager_replay::replay;
use flashpager_trace::{MemoryTrace, Run, Trace, TraceInfo};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use self::calls::{InterruptHandlers, LimitedCalls};
pub use self::joint::JointLayout;
use self::joint::{Candidate, JointSearch, OrderSearch, PINNING_ALONE, SearchClock, left};
use super::{
    Coverage, ExecutedBytes, LoadedTrace, Moved, SearchLimit, check_reads_pass, check_same_image,
    code, executed_share, open, placed, rows, times, units,
};
use crate::design::{Design, NO_SUMS};
use crate::linked::LinkedProgram;
use crate::simulation::ResultRow;

/// Candidates that are looked at again at once.
const AT_ONCE: usize = 8;
/// Pieces of a trace that a candidate is replayed on; of longer traces so many are sampled, in
/// this many stretches.
const SAMPLED_PIECES: usize = 4_000_000;
const STRETCHES: usize = 64;
/// Candidates replayed at first between two questions whether the search goes on.
const BETWEEN: usize = 32;
/// Candidates that an exchange tries in the place of one.
const TRIED: usize = 16;

/// What is to be pinned, and for what.
#[derive(Clone, Debug)]
pub struct PinRequest {
    /// Recorded executions of one image, and how much each counts.
    pub traces: Vec<(PathBuf, f64)>,
    /// The map of the link of what was recorded; without one, functions are what is pinned.
    pub map: Option<PathBuf>,
    /// What runs it.
    pub design: Design,
    /// Bytes of RAM for what is pinned.
    pub ram_bytes: u64,
    /// Units that are pinned whatever they save.
    pub always: Vec<String>,
    /// Functions, and the longest that a recorded call of each may take from an empty cache.
    pub calls: Vec<(String, f64)>,
    /// Whether the order of what stays is searched, too.
    pub order: bool,
}

/// A unit, and what all up to it give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PinStep {
    /// The unit.
    pub name: String,
    /// Its length.
    pub bytes: u32,
    /// Bytes of RAM of all up to it, with what their alignments take.
    pub ram_bytes: u64,
    /// Time over that before.
    pub time_ratio: f64,
    /// Misses of all traces.
    pub misses: u64,
}

/// What a limited function's calls take from an empty cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColdCall {
    /// The function, as it was asked for.
    pub function: String,
    /// The longest that is allowed.
    pub limit_ns: f64,
    /// The longest before.
    pub before_ns: f64,
    /// The longest with what is pinned.
    pub after_ns: f64,
    /// Calls recorded.
    pub calls: u64,
}

/// What [`pin`] gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pinning {
    /// Names of what to pin, in the order of the image.
    pub pinned: Vec<String>,
    /// Bytes of RAM that it takes.
    pub ram_bytes: u64,
    /// By trace, nothing pinned.
    pub before: Vec<ResultRow>,
    /// By trace, with all of it pinned.
    pub after: Vec<ResultRow>,
    /// Time over that before.
    pub time_ratio: f64,
    /// What an order of the rest gives with it, where one was asked for.
    pub together: Option<JointLayout>,
    /// The greedy choice, step by step, each replayed on whole traces; all others in the recorded
    /// order.
    pub curve: Vec<PinStep>,
    /// The step of the curve after which RAM saves less; nothing without a step that saves.
    pub knee: Option<usize>,
    /// Whether an exchange found better than the greedy choice, in the recorded order.
    pub is_exchanged: bool,
    /// Whether the search came to its end; one that was ended may have left better ones.
    pub is_finished: bool,
    /// Of limited functions.
    pub calls: Vec<ColdCall>,
    /// How units were found.
    pub coverage: Coverage,
    /// Bytes of the image that stays in flash.
    pub image_bytes: u32,
    /// Choices replayed.
    pub evaluations: u64,
    /// The share of the executed pieces that the search looked at.
    pub sampled_share: f64,
}

/// How far it has come: what the best so far takes of the time before, and bytes of RAM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PinProgress {
    /// Time over that before, as the search sees it.
    pub time_ratio: f64,
    /// Bytes of RAM of what is chosen.
    pub ram_bytes: u64,
}

/// A trace as the search replays it.
struct TraceSample {
    design: Design,
    weight: f64,
    pieces: Vec<Piece>,
    executed: Vec<u32>,
    bytes: u64,
}

/// The time of whole traces in ns, with what is pinned and an order of all that can move.
type ExactTimeFn<'a> = &'a dyn Fn(&[u32], &[u32]) -> Result<f64>;

struct PinProblem<'a> {
    units: &'a Units,
    /// All that can move, in the order that what is not pinned keeps.
    order: Vec<u32>,
    looked: Vec<TraceSample>,
    opened: &'a [LoadedTrace],
    calls: Vec<LimitedCalls>,
    before_ns: f64,
    /// Choices replayed.
    evaluations: AtomicU64,
    /// What choices cost in this order: exchanges come by the same ones again and again.
    known: Mutex<FxHashMap<Vec<u32>, f64>>,
}

fn time_ns(design: &Design, trace: &MemoryTrace, bytes: u64) -> Result<f64> {
    let (mut counts, _) = replay(trace, design.cache(), &[design.register()], &|| true, None)?;
    counts[0].bytes_read = bytes;
    Ok(design.time_of(&counts[0]).time_ns)
}

impl PinProblem<'_> {
    /// Bytes of RAM of the units of these numbers, one behind another.
    fn ram(&self, pinned: &[u32]) -> u64 {
        let mut sorted = pinned.to_vec();
        sorted.sort_unstable();
        sorted.iter().fold(0, |at: u64, number| {
            let unit = &self.units.all()[*number as usize];
            at.next_multiple_of(u64::from(unit.align)) + u64::from(unit.bytes)
        })
    }

    /// Searches in another order of all that can move.
    fn take_order(&mut self, order: &[u32]) {
        if self.order != order {
            self.order = order.to_vec();
            self.known = Mutex::default();
        }
    }

    /// The time of all that is looked at, over that before.
    fn cost(&self, pinned: &[u32]) -> Result<f64> {
        let mut sorted = pinned.to_vec();
        sorted.sort_unstable();
        let known = self.known.lock().ok().and_then(|known| known.get(&sorted).copied());
        let time_ns = match known {
            Some(time_ns) => time_ns,
            None => {
                let time_ns = self.replayed(&sorted)?;
                if let Ok(mut known) = self.known.lock() {
                    known.insert(sorted, time_ns);
                }
                time_ns
            }
        };
        Ok(time_ns / self.before_ns)
    }

    /// The time of all that is looked at in ns, by a replay.
    fn replayed(&self, pinned: &[u32]) -> Result<f64> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        let units = self.units.with_resident_numbers(pinned);
        let placement = place(&units, &left(&units, &self.order)?)?;
        let mut sum = 0.0;
        for looked in &self.looked {
            // Of each piece once, not each time that it is executed; what is pinned has no bytes.
            let run = |piece: &Piece| {
                let unit = piece.unit as usize;
                let length = if units.is_resident(unit) { 0 } else { piece.bytes };
                Run { offset: placement.offsets[unit] + piece.start, length }
            };
            let of_pieces: Vec<Run> = looked.pieces.iter().map(run).collect();
            let mut runs = Vec::with_capacity(looked.executed.len());
            let executed = looked.executed.iter().map(|number| of_pieces[*number as usize]);
            runs.extend(executed.filter(|run| run.length > 0));
            let trace = MemoryTrace::with_image(runs, placement.image_bytes);
            sum += looked.weight * time_ns(&looked.design, &trace, looked.bytes)?;
        }
        Ok(sum)
    }

    /// The longest of each limited function's calls from an empty cache.
    fn cold(&self, pinned: &[u32]) -> Result<Vec<f64>> {
        let units = self.units.with_resident_numbers(pinned);
        let placement = place(&units, &left(&units, &self.order)?)?;
        let of = |calls: &LimitedCalls| -> Result<f64> {
            let body = |(looked, body): &(usize, MemoryTrace)| -> Result<f64> {
                let runs = body.in_memory().unwrap_or_default();
                let bytes = runs.iter().map(|run| u64::from(run.length)).sum();
                let moved = placement.remap(&units, body, &|| true)?;
                time_ns(&self.looked[*looked].design, &moved, bytes)
            };
            let all = calls.bodies.par_iter().map(body).collect::<Result<Vec<_>>>()?;
            Ok(all.into_iter().fold(0.0, f64::max))
        };
        self.calls.iter().map(of).collect()
    }

    /// Whether all limits are kept.
    fn is_in_time(&self, pinned: &[u32]) -> Result<bool> {
        if self.calls.is_empty() {
            return Ok(true);
        }
        let cold = self.cold(pinned)?;
        Ok(cold.iter().zip(&self.calls).all(|(now, calls)| *now <= calls.limit_ns))
    }

    /// Take `pinned` with `order` for `best` if that is faster by `exact` and keeps all limits.
    fn better(
        &mut self,
        best: &mut Candidate,
        pinned: Vec<u32>,
        order: Vec<u32>,
        exact: ExactTimeFn<'_>,
    ) -> Result<()> {
        self.take_order(&order);
        let time_ns = exact(&pinned, &order)?;
        if time_ns < best.time_ns && self.is_in_time(&pinned)? {
            *best = Candidate { pinned, order, time_ns };
        }
        Ok(())
    }

    fn bytes(&self, number: u32) -> f64 {
        f64::from(self.units.all()[number as usize].bytes)
    }
}

/// Choose what to pin, and an order of the rest if one is asked for. The search ends early, and
/// keeps what it has, once the share of `limit` is used up; evaluations limit the orders tried
/// alone. `go_on` ends all.
///
/// # Errors
/// Traces of several images or that cannot be read, names of no unit, designs whose time is no
/// sum, RAM that holds all there is, and calls that cannot be as short as they are to be.
pub fn pin(
    request: &PinRequest,
    limit: &SearchLimit<'_>,
    go_on: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, PinProgress>,
) -> Result<Pinning> {
    check(request)?;
    let opened = request.traces.iter().map(|(path, weight)| open(path, *weight, 0.0));
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let first = &opened[0].info;
    for one in opened.iter().filter(|one| one.info.reads > 0) {
        // What is replayed is runs, of which nothing tells any more which are read.
        check_reads(&one.info, request)?;
    }
    for (other, (path, _)) in opened.iter().zip(&request.traces) {
        check_same_image(first, &other.info, path)?;
    }
    code::check_named(first)?;
    let mut executed = ExecutedBytes::new(first.image_bytes as u32);
    for one in &opened {
        executed.add(&one.training, go_on)?;
    }
    let (all_units, mut notes) = match &request.map {
        Some(map) => (LinkedProgram::of(first, map)?.units().clone(), Vec::new()),
        None => units(first, &executed)?,
    };
    if opened.iter().any(|one| one.info.reads > 0) {
        notes.push(
            "data that is read out of a pinned unit leaves the flash with it; other data stays \
             where it is, though a link may move it up"
                .to_owned(),
        );
    }
    let weights: Vec<f64> = opened.iter().map(|one| one.weight).collect();
    let designs = [(request.design.clone(), 1.0)];
    let recorded = Order::original(&all_units).numbers().to_vec();
    let exact = |pinned: &[u32], order: &[u32]| -> Result<(Vec<ResultRow>, f64, u32)> {
        let units = all_units.with_resident_numbers(pinned);
        let order = left(&units, order)?;
        let traces = opened.iter().map(|one| (&one.info, &one.training));
        let moved: Vec<Moved<'_>> = placed(&units, &order, traces)?;
        let rows = rows(&designs, &moved)?;
        let time = times(&rows, 1, &weights)[0];
        Ok((rows, time, place(&units, &order)?.image_bytes))
    };
    let (before, before_ns, _) = exact(&[], &recorded)?;

    let sequences = opened.iter().map(|one| PieceSequence::of(&all_units, &one.training, go_on));
    let sequences = sequences.collect::<Result<Vec<_>>>()?;
    let mut coverage = Coverage {
        movable: all_units.movable().len(),
        executed_share: executed_share(&all_units, &sequences),
        notes,
    };
    let pieces: usize = sequences.iter().map(|sequence| sequence.executed.len()).sum();
    let share = (SAMPLED_PIECES as f64 / pieces.max(1) as f64).min(1.0);
    let designs = opened.iter().map(|one| Ok(request.design.executing(&one.info)?.into_owned()));
    let designs = designs.collect::<Result<Vec<Design>>>()?;
    let orders = OrderSearch {
        units: &all_units,
        opened: &opened,
        sequences: if request.order { sequences.clone() } else { Vec::new() },
        designs: designs.clone(),
        before_ns,
    };
    let mut looked = Vec::new();
    for ((one, sequence), design) in opened.iter().zip(sequences).zip(designs) {
        let sampled = sampled(sequence, share, &request.design);
        looked.push(TraceSample { design, weight: one.weight, ..sampled });
    }
    let mut problem = PinProblem {
        units: &all_units,
        order: recorded.clone(),
        looked,
        opened: &opened,
        calls: Vec::new(),
        before_ns: 1.0,
        evaluations: AtomicU64::new(0),
        known: Mutex::default(),
    };
    problem.before_ns = problem.cost(&[])?;
    if !request.calls.is_empty() {
        let handlers: Vec<InterruptHandlers> = opened.iter().map(InterruptHandlers::of).collect();
        for (function, limit_ns) in &request.calls {
            let calls = problem.calls_of(function, *limit_ns, &handlers)?;
            coverage.notes.extend(calls.notes());
            problem.calls.push(calls);
        }
    }

    let always = numbers_of(&all_units, &request.always)?;
    if problem.ram(&always) > request.ram_bytes {
        return Err(Error::design(format!(
            "what is always pinned takes {} bytes of RAM, and there are {}",
            problem.ram(&always),
            request.ram_bytes
        )));
    }
    let cold_before = problem.cold(&[])?;
    let mut clock = SearchClock::new(*limit);
    let end = if request.order { clock.ahead(PINNING_ALONE) } else { 1.0 };
    let searches = clock.pins(end);
    let choice = problem.choose(request.ram_bytes, &always, &searches, progress)?;
    let choice = choice.map_err(|too_long| Error::design(too_long.0))?;
    let mut is_finished = searches();
    let PinChoice { always, greedy, chosen, .. } = &choice;

    // Whole traces decide.
    let mut curve = Vec::new();
    let mut decided: (Vec<u32>, f64) = (always.clone(), f64::INFINITY);
    let exact_alone = |pinned: &[u32]| exact(pinned, &recorded);
    let steps: Vec<usize> = (1..=greedy.len()).collect();
    let of_steps = steps.par_iter().map(|count| exact_alone(&greedy[..*count]));
    for (count, given) in steps.iter().zip(of_steps.collect::<Result<Vec<_>>>()?) {
        let (rows, time, _) = given;
        let unit = &all_units.all()[greedy[*count - 1] as usize];
        curve.push(PinStep {
            name: unit.name.clone(),
            bytes: unit.bytes,
            ram_bytes: problem.ram(&greedy[..*count]),
            time_ratio: time / before_ns,
            misses: rows.iter().map(|row| row.evaluation.counts.misses).sum(),
        });
        if *count >= always.len() && time < decided.1 {
            decided = (greedy[..*count].to_vec(), time);
        }
    }
    if always.is_empty() && before_ns <= decided.1 {
        decided = (Vec::new(), before_ns);
    }
    let mut is_exchanged = false;
    let (_, exchanged_ns, _) = exact_alone(chosen)?;
    if exchanged_ns < decided.1 {
        is_exchanged = chosen != greedy;
        decided = (chosen.clone(), exchanged_ns);
    }
    let (pinned, time_ns) = decided;
    let mut best = Candidate { pinned, order: recorded.clone(), time_ns };
    let mut together = None;
    if request.order {
        let mut search = JointSearch { problem: &mut problem, request, clock: &mut clock };
        let exact = |pinned: &[u32], order: &[u32]| Ok(exact(pinned, order)?.1);
        let given;
        (best, given, is_finished) =
            joint::search(&mut search, &orders, (&choice, best), &exact, progress)?;
        together = Some(given);
    }
    let Candidate { mut pinned, order, .. } = best;
    pinned.sort_unstable();
    let (after, after_ns, image_bytes) = exact(&pinned, &order)?;
    problem.take_order(&order);
    let cold = problem.cold(&pinned)?;
    let calls = problem.calls.iter().zip(cold_before).zip(cold);
    Ok(Pinning {
        ram_bytes: problem.ram(&pinned),
        pinned: pinned.iter().map(|one| all_units.all()[*one as usize].name.clone()).collect(),
        before,
        after,
        time_ratio: after_ns / before_ns,
        together,
        knee: knee(&curve),
        curve,
        is_exchanged,
        is_finished,
        calls: calls
            .map(|((calls, before_ns), after_ns)| ColdCall {
                function: calls.function.clone(),
                limit_ns: calls.limit_ns,
                before_ns,
                after_ns,
                calls: calls.count,
            })
            .collect(),
        coverage,
        image_bytes,
        evaluations: problem.evaluations.load(Ordering::Relaxed),
        sampled_share: share,
    })
}

fn check(request: &PinRequest) -> Result<()> {
    if request.traces.is_empty() {
        return Err(Error::design("pinning needs a trace"));
    }
    if request.traces.iter().any(|(_, weight)| !(*weight > 0.0 && weight.is_finite())) {
        return Err(Error::design("a weight is above 0"));
    }
    if request.design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, times are no sums, which the search takes them to be; pin for the \
             design without them"
        )));
    }
    Ok(())
}

/// Whether what a trace with data reads tells is what is asked.
fn check_reads(info: &TraceInfo, request: &PinRequest) -> Result<()> {
    check_reads_pass(&request.design)?;
    if request.calls.is_empty() {
        return Ok(());
    }
    info.refuse_reads(&info.program, "a limit on calls")
}

fn numbers_of(units: &Units, names: &[String]) -> Result<Vec<u32>> {
    let order = units.with_resident(names.iter().map(String::as_str));
    let resident = match order {
        Ok(resident) => resident,
        Err(_) if names.is_empty() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let numbers = 0..units.all().len() as u32;
    Ok(numbers.filter(|number| resident.is_resident(*number as usize)).collect())
}

/// A sequence, or evenly spaced stretches of a long one. A cache fills anew at each stretch only
/// as far as the last one left it.
fn sampled(sequence: PieceSequence, share: f64, design: &Design) -> TraceSample {
    let PieceSequence { pieces, executed, bytes } = sequence;
    let looked = |executed: Vec<u32>, bytes| TraceSample {
        design: design.clone(),
        weight: 1.0,
        pieces: pieces.clone(),
        executed,
        bytes,
    };
    if share >= 1.0 {
        return looked(executed, bytes);
    }
    let length = executed.len() / STRETCHES;
    let kept = (length as f64 * share).ceil() as usize;
    let mut some = Vec::with_capacity(kept * STRETCHES);
    for stretch in 0..STRETCHES {
        some.extend_from_slice(&executed[stretch * length..stretch * length + kept]);
    }
    let bytes = some.iter().map(|number| u64::from(pieces[*number as usize].bytes)).sum();
    looked(some, bytes)
}

/// A greedy choice.
struct GreedyChoice {
    /// In the order in which they were chosen.
    chosen: Vec<u32>,
    /// The rest that fitted once, by what each saved when it was last looked at.
    left: Vec<u32>,
    /// What each costs that was looked at by itself, behind what was chosen before.
    alone: Vec<(f64, u32)>,
}

/// What is pinned for an order, and how it was found.
struct PinChoice {
    /// What has to be pinned: what is asked for, and what limited calls ask for.
    always: Vec<u32>,
    /// The greedy choice, in the order in which it was made.
    greedy: Vec<u32>,
    /// The rest that fitted once, by what each saved when it was last looked at.
    others: Vec<u32>,
    /// With exchanges.
    chosen: Vec<u32>,
}

/// Limited calls are too long, whatever is pinned: which, and how short they can be.
struct CallLimitError(String);

impl PinProblem<'_> {
    /// Choose what to pin for the order that is there.
    fn choose(
        &self,
        ram_bytes: u64,
        always: &[u32],
        searches: &dyn Fn() -> bool,
        progress: ProgressFn<'_, PinProgress>,
    ) -> Result<std::result::Result<PinChoice, CallLimitError>> {
        let search = PinSearch { problem: self, ram_bytes };
        let mut always = always.to_vec();
        if let Err(too_long) = search.shorten_calls(&mut always)? {
            return Ok(Err(too_long));
        }
        let found = search.greedy(&always, &[], searches, progress)?;
        // What saves most by itself may have been too large behind others that save more a byte.
        let most = found.alone.iter().filter(|(_, number)| !found.chosen.contains(number));
        let most = most.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| *number);
        let GreedyChoice { chosen: greedy, left: others, .. } = match most {
            Some(first) if searches() && self.is_in_time(&with(&always, first))? => {
                let other = search.greedy(&always, &[first], searches, progress)?;
                let both = search.costs(&[found.chosen.clone(), other.chosen.clone()])?;
                if both[1] < both[0] { other } else { found }
            }
            _ => found,
        };
        let chosen = search.exchange(&always, (&greedy, &others), searches, progress)?;
        Ok(Ok(PinChoice { always, greedy, others, chosen }))
    }

    /// `chosen` with others in the place of some, while that saves more.
    fn exchanged(
        &self,
        ram_bytes: u64,
        always: &[u32],
        (chosen, others): (&[u32], &[u32]),
        searches: &dyn Fn() -> bool,
        progress: ProgressFn<'_, PinProgress>,
    ) -> Result<Vec<u32>> {
        let search = PinSearch { problem: self, ram_bytes };
        search.exchange(always, (chosen, others), searches, progress)
    }
}

struct PinSearch<'p> {
    problem: &'p PinProblem<'p>,
    ram_bytes: u64,
}

impl PinSearch<'_> {
    /// What each of several choices costs.
    fn costs(&self, choices: &[Vec<u32>]) -> Result<Vec<f64>> {
        choices.par_iter().map(|choice| self.problem.cost(choice)).collect()
    }

    fn fits(&self, pinned: &[u32], more: u32) -> bool {
        self.problem.ram(&with(pinned, more)) <= self.ram_bytes
    }

    /// Pin until all limited calls are short enough: what shortens the worst of them most for
    /// each byte.
    fn shorten_calls(
        &self,
        pinned: &mut Vec<u32>,
    ) -> Result<std::result::Result<(), CallLimitError>> {
        let problem = self.problem;
        loop {
            let cold = problem.cold(pinned)?;
            let late = cold.iter().zip(&problem.calls).position(|(now, of)| *now > of.limit_ns);
            let Some(late) = late else { return Ok(Ok(())) };
            let calls = &problem.calls[late];
            let mut touched = FxHashSet::default();
            for (_, body) in &calls.bodies {
                for run in body.in_memory().unwrap_or_default() {
                    touched.extend(problem.units.owner(run.offset).map(|unit| unit as u32));
                    touched.extend(problem.units.owner(run.end() - 1).map(|unit| unit as u32));
                }
            }
            let mut candidates: Vec<u32> = problem.units.movable().to_vec();
            candidates.retain(|number| touched.contains(number) && !pinned.contains(number));
            candidates.retain(|number| self.fits(pinned, *number));
            let now = cold[late];
            let saves = |number: &u32| -> Result<(f64, u32)> {
                let then = problem.cold(&with(pinned, *number))?[late];
                Ok(((now - then) / problem.bytes(*number), *number))
            };
            let saved = candidates.iter().map(saves).collect::<Result<Vec<_>>>()?;
            match saved.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((saved, number)) if saved > 0.0 => pinned.push(number),
                _ => {
                    return Ok(Err(CallLimitError(format!(
                        "{} bytes of RAM do not make every call of {} as short as {:.3} us from \
                         an empty cache: what can be pinned gives {:.3} us",
                        self.ram_bytes,
                        shown(&calls.function),
                        calls.limit_ns / 1e3,
                        now / 1e3
                    ))));
                }
            }
        }
    }

    /// Choose by time saved for each byte, from `always` and `first` on. Where the search is ended
    /// before, what saved something when it was last looked at follows while it fits.
    fn greedy(
        &self,
        always: &[u32],
        first: &[u32],
        searches: &dyn Fn() -> bool,
        progress: ProgressFn<'_, PinProgress>,
    ) -> Result<GreedyChoice> {
        let problem = self.problem;
        let mut chosen: Vec<u32> = always.iter().chain(first).copied().collect();
        let begun = chosen.len();
        let mut cost = problem.cost(&chosen)?;
        // What executes most for each byte is looked at first: a search that is ended knows it.
        let mut heat: FxHashMap<u32, f64> = FxHashMap::default();
        for looked in &problem.looked {
            for number in &looked.executed {
                let piece = &looked.pieces[*number as usize];
                *heat.entry(piece.unit).or_default() += looked.weight * f64::from(piece.bytes);
            }
        }
        let density = |number: &u32| heat.get(number).map_or(0.0, |of| of / problem.bytes(*number));
        let is_candidate = |number: &u32| heat.contains_key(number) && !chosen.contains(number);
        let mut numbers: Vec<u32> =
            problem.units.movable().iter().copied().filter(is_candidate).collect();
        numbers.sort_by(|a, b| density(b).total_cmp(&density(a)).then(a.cmp(b)));
        // What each saved for each byte when it was last looked at, and with how many chosen.
        let mut candidates: Vec<(f64, u32, usize)> =
            numbers.into_iter().map(|number| (f64::INFINITY, number, usize::MAX)).collect();
        let (mut left, mut alone) = (Vec::new(), Vec::new());
        while searches() {
            let fits = |(_, number, _): &(f64, u32, usize)| self.fits(&chosen, *number);
            let (fitting, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits);
            candidates = fitting;
            left.extend(others);
            let round = chosen.len();
            let best = loop {
                // Stable: of equals the hottest stays first.
                candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
                match candidates.first() {
                    None => break None,
                    Some((saved, _, seen)) if *seen == round => {
                        break (*saved > 0.0).then_some(0);
                    }
                    Some((saved, ..)) if *saved <= 0.0 => break None,
                    Some(_) => {}
                }
                let stale: Vec<usize> = (0..candidates.len())
                    .filter(|place| candidates[*place].2 != round)
                    .take(if round == begun { usize::MAX } else { AT_ONCE })
                    .collect();
                for some in stale.chunks(BETWEEN) {
                    if !searches() {
                        break;
                    }
                    let choices: Vec<Vec<u32>> =
                        some.iter().map(|place| with(&chosen, candidates[*place].1)).collect();
                    for (place, then) in some.iter().zip(self.costs(&choices)?) {
                        let number = candidates[*place].1;
                        candidates[*place] = ((cost - then) / problem.bytes(number), number, round);
                        if round == begun {
                            alone.push((then, number));
                        }
                    }
                }
                if !searches() {
                    break None;
                }
            };
            let Some(place) = best else { break };
            let (saved, number, _) = candidates.remove(place);
            if !problem.is_in_time(&with(&chosen, number))? {
                left.push((saved, number, round));
                continue;
            }
            chosen.push(number);
            cost -= saved * problem.bytes(number);
            progress(PinProgress { time_ratio: cost, ram_bytes: problem.ram(&chosen) });
        }
        left.extend(candidates);
        left.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        if !searches() {
            let saved = |(saved, _, _): &&(f64, u32, usize)| *saved > 0.0 && saved.is_finite();
            for (_, number, _) in left.iter().filter(saved) {
                if self.fits(&chosen, *number) && problem.is_in_time(&with(&chosen, *number))? {
                    chosen.push(*number);
                }
            }
            left.retain(|(_, number, _)| !chosen.contains(number));
        }
        let left = left.into_iter().map(|(_, number, _)| number).collect();
        Ok(GreedyChoice { chosen, left, alone })
    }

    /// Put others in the place of what was chosen while that saves more.
    fn exchange(
        &self,
        always: &[u32],
        (greedy, others): (&[u32], &[u32]),
        searches: &dyn Fn() -> bool,
        progress: ProgressFn<'_, PinProgress>,
    ) -> Result<Vec<u32>> {
        let problem = self.problem;
        let mut chosen = greedy.to_vec();
        let mut cost = problem.cost(&chosen)?;
        let all: Vec<u32> = others.iter().chain(greedy).copied().collect();
        loop {
            if !searches() {
                return Ok(chosen);
            }
            let before = cost;
            let mut leaving: Vec<u32> =
                chosen.iter().copied().filter(|number| !always.contains(number)).collect();
            let without: Vec<Vec<u32>> = leaving.iter().map(|one| less(&chosen, *one)).collect();
            let mut losses = Vec::new();
            for some in without.chunks(BETWEEN) {
                if !searches() {
                    return Ok(chosen);
                }
                losses.extend(self.costs(some)?);
            }
            let mut by_loss: Vec<(f64, u32)> = losses.into_iter().zip(leaving.drain(..)).collect();
            by_loss.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, one) in by_loss {
                if !searches() {
                    return Ok(chosen);
                }
                let base = less(&chosen, one);
                let mut entering = all.clone();
                entering.retain(|number| !chosen.contains(number) && self.fits(&base, *number));
                entering.truncate(TRIED);
                let choices: Vec<Vec<u32>> =
                    entering.iter().map(|number| with(&base, *number)).collect();
                let mut filled: Vec<(f64, Vec<u32>)> =
                    self.costs(&choices)?.into_iter().zip(choices).collect();
                filled.sort_by(|a, b| a.0.total_cmp(&b.0));
                filled.truncate(TRIED.div_ceil(4));
                let mut best = self.filled_up(filled, &entering, searches)?;
                best.retain(|(then, _)| *then < cost - 1e-9);
                for (then, choice) in best {
                    if problem.is_in_time(&choice)? {
                        (cost, chosen) = (then, choice);
                        progress(PinProgress { time_ratio: cost, ram_bytes: problem.ram(&chosen) });
                        break;
                    }
                }
            }
            if cost > before - 1e-6 {
                return Ok(chosen);
            }
        }
    }

    /// Choices, each with one more of `entering` where one fits and saves while the search goes on;
    /// the best first.
    fn filled_up(
        &self,
        choices: Vec<(f64, Vec<u32>)>,
        entering: &[u32],
        searches: &dyn Fn() -> bool,
    ) -> Result<Vec<(f64, Vec<u32>)>> {
        let mut filled = Vec::new();
        for (cost, choice) in choices {
            if !searches() {
                filled.push((cost, choice));
                continue;
            }
            let fitting = entering.iter().copied();
            let fitting =
                fitting.filter(|number| !choice.contains(number) && self.fits(&choice, *number));
            let more: Vec<Vec<u32>> =
                fitting.take(TRIED).map(|number| with(&choice, number)).collect();
            filled.extend(self.costs(&more)?.into_iter().zip(more));
            filled.push((cost, choice));
        }
        filled.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(filled)
    }
}

fn with(chosen: &[u32], more: u32) -> Vec<u32> {
    chosen.iter().copied().chain([more]).collect()
}

fn less(chosen: &[u32], one: u32) -> Vec<u32> {
    chosen.iter().copied().filter(|number| *number != one).collect()
}

/// The step that lies farthest above the straight line from nothing to all: before it RAM saves
/// more than on average, behind it less (Satopää et al., "Finding a Kneedle in a Haystack", 2011).
fn knee(curve: &[PinStep]) -> Option<usize> {
    let last = curve.last()?;
    let all = 1.0 - last.time_ratio;
    if all <= 0.0 {
        return None;
    }
    let above = |step: &PinStep| {
        (1.0 - step.time_ratio) / all - step.ram_bytes as f64 / last.ram_bytes as f64
    };
    (0..curve.len()).max_by(|a, b| above(&curve[*a]).total_cmp(&above(&curve[*b])))
}
