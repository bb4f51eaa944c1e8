//! Costs of choices of pinned units, by replays of samples of the traces.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager_base::Result;
use flashpager_layout::{Piece, PieceSequence, UnitPlacement, Units, place};
use flashpager_replay::{FoldedSequence, RunTable, replay, replay_folded};
use flashpager_trace::{MemoryTrace, Run, Trace};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::calls::LimitedCalls;
use super::order::in_flash;
use super::startup::HoldReason;
use crate::design::Design;

/// Maximum number of pieces, over all traces, for the replays of a choice. Longer traces are
/// sampled.
const SAMPLED_PIECES: usize = 4_000_000;
/// Stretches of consecutive pieces that a sample of a trace consists of.
const STRETCHES: usize = 64;

/// The pieces of a trace that the search replays.
pub(super) struct TraceSample {
    /// The design executing the trace.
    design: Design,
    /// Weight of the trace.
    weight: f64,
    /// The different pieces.
    pieces: Vec<Piece>,
    /// Numbers of pieces, in the order of execution.
    executed: FoldedSequence,
    /// Bytes executed.
    bytes: u64,
}

impl TraceSample {
    /// A sample of `share` of a trace: evenly spaced stretches of consecutive pieces, or all of
    /// it. At the start of a stretch the cache holds what the stretch before left there.
    pub(super) fn of(design: Design, weight: f64, sequence: PieceSequence, share: f64) -> Self {
        let PieceSequence { pieces, executed, bytes, .. } = sequence;
        let folded = |executed: &[u32]| FoldedSequence::new(executed, pieces.len() as u32);
        if share >= 1.0 {
            let executed = folded(&executed);
            return Self { design, weight, pieces, executed, bytes };
        }
        let length = executed.len() / STRETCHES;
        let kept = (length as f64 * share).ceil() as usize;
        let mut sample = Vec::with_capacity(kept * STRETCHES);
        for stretch in 0..STRETCHES {
            sample.extend_from_slice(&executed[stretch * length..stretch * length + kept]);
        }
        let bytes = sample.iter().map(|number| u64::from(pieces[*number as usize].bytes)).sum();
        let executed = folded(&sample);
        Self { design, weight, pieces, executed, bytes }
    }

    /// Share of `sequences` that the search can replay.
    pub(super) fn share_of(sequences: &[PieceSequence]) -> f64 {
        let pieces: usize = sequences.iter().map(|sequence| sequence.executed.len()).sum();
        (SAMPLED_PIECES as f64 / pieces.max(1) as f64).min(1.0)
    }

    /// Time of the sample in nanoseconds with some `units` resident and the others placed.
    fn time_ns(&self, units: &Units, placement: &UnitPlacement) -> Result<f64> {
        // Each different piece is placed once. A pinned one has no bytes in flash.
        let mut table = RunTable::default();
        for piece in &self.pieces {
            let unit = piece.unit as usize;
            let run = Run { offset: placement.offsets[unit] + piece.start, length: piece.bytes };
            let is_placed = !units.is_resident(unit);
            table.push(is_placed.then_some(run));
        }
        let placed = (&table, placement.image_bytes_with(table.runs()));
        let (cache, registers) = (self.design.cache(), [self.design.register()]);
        let mut counts = replay_folded(&self.executed, placed, cache, &registers, &|| true)?;
        counts[0].bytes_read = self.bytes;
        Ok(self.design.time_of(&counts[0]).time_ns)
    }
}

/// Time of a replay in nanoseconds, if `bytes` are read out of flash and RAM together.
fn time_ns(design: &Design, trace: &MemoryTrace, bytes: u64) -> Result<f64> {
    let (mut counts, _) = replay(trace, design.cache(), &[design.register()], &|| true, None)?;
    counts[0].bytes_read = bytes;
    Ok(design.time_of(&counts[0]).time_ns)
}

/// The units that can be pinned, and the costs of choices under one order of the units.
pub(super) struct PinProblem<'a> {
    /// The units.
    pub(super) units: &'a Units,
    /// All movable units. Those that are not pinned keep this order.
    order: Vec<u32>,
    samples: Vec<TraceSample>,
    /// The links by whose mean time choices are scored, with holes where pinned units were; without
    /// any, the other units move up in the one link.
    links: Vec<UnitPlacement>,
    /// Units that are always pinned.
    pub(super) always: Vec<u32>,
    /// Movable units that are never pinned, each with the reason.
    pub(super) held: FxHashMap<u32, HoldReason>,
    /// The limited functions with their recorded calls.
    pub(super) calls: Vec<LimitedCalls>,
    /// Time of all samples with nothing pinned, in nanoseconds.
    before_ns: f64,
    /// Choices replayed.
    evaluations: AtomicU64,
    /// Times of replayed choices under this order, by their sorted numbers. Exchanges return to the
    /// same choices often.
    known_ns: Mutex<FxHashMap<Vec<u32>, f64>>,
}

impl<'a> PinProblem<'a> {
    /// The problem under the recorded order, which lists all movable units.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn new(
        units: &'a Units,
        recorded: &[u32],
        (samples, links): (Vec<TraceSample>, Vec<UnitPlacement>),
        (always, held): (Vec<u32>, FxHashMap<u32, HoldReason>),
        calls: Vec<LimitedCalls>,
    ) -> Result<Self> {
        let mut problem = Self {
            units,
            order: recorded.to_vec(),
            samples,
            links,
            always,
            held,
            calls,
            before_ns: 1.0,
            evaluations: AtomicU64::new(0),
            known_ns: Mutex::default(),
        };
        problem.before_ns = problem.cost(&[])?;
        Ok(problem)
    }

    /// Numbers of the movable units that may be pinned, ascending.
    pub(super) fn candidates(&self) -> impl Iterator<Item = u32> {
        self.units.movable().iter().copied().filter(|number| !self.held.contains_key(number))
    }

    /// Choices replayed so far.
    pub(super) fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// Bytes of RAM of units that lie one behind another in the order of their numbers, with gaps
    /// for their alignment.
    pub(super) fn ram_bytes(&self, pinned: &[u32]) -> u64 {
        sorted(pinned).iter().fold(0, |end: u64, number| {
            let unit = &self.units.all()[*number as usize];
            end.next_multiple_of(u64::from(unit.align)) + u64::from(unit.bytes)
        })
    }

    /// Bytes of a unit.
    pub(super) fn bytes(&self, number: u32) -> f64 {
        f64::from(self.units.all()[number as usize].bytes)
    }

    /// Executed bytes of each unit in the samples, counted at each execution and weighted by trace.
    pub(super) fn executed_bytes(&self) -> FxHashMap<u32, f64> {
        let mut executed: FxHashMap<u32, f64> = FxHashMap::default();
        for sample in &self.samples {
            for (piece, times) in sample.pieces.iter().zip(sample.executed.times()) {
                let bytes = times as f64 * f64::from(piece.bytes);
                *executed.entry(piece.unit).or_default() += sample.weight * bytes;
            }
        }
        executed
    }

    /// Continues under another order of all movable units.
    pub(super) fn set_order(&mut self, order: &[u32]) {
        if self.order != order {
            self.order = order.to_vec();
            self.known_ns = Mutex::default();
        }
    }

    /// Time of all samples over that with nothing pinned in the recorded order.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn cost(&self, pinned: &[u32]) -> Result<f64> {
        let pinned = sorted(pinned);
        let known_ns = self.known_ns.lock().ok().and_then(|known| known.get(&pinned).copied());
        let time_ns = match known_ns {
            Some(time_ns) => time_ns,
            None => {
                let time_ns = self.replayed_ns(&pinned)?;
                if let Ok(mut known) = self.known_ns.lock() {
                    known.insert(pinned, time_ns);
                }
                time_ns
            }
        };
        Ok(time_ns / self.before_ns)
    }

    /// Replays all samples with some units pinned; the sum of their times in nanoseconds, weighted
    /// by trace.
    fn replayed_ns(&self, pinned: &[u32]) -> Result<f64> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        let (units, placement) = self.placed(pinned)?;
        let links =
            if self.links.is_empty() { std::slice::from_ref(&placement) } else { &self.links };
        let mut sum_ns = 0.0;
        for sample in &self.samples {
            for link in links {
                sum_ns += sample.weight * sample.time_ns(&units, link)?;
            }
        }
        Ok(sum_ns / links.len() as f64)
    }

    /// The units with some pinned, and the placement of the others.
    fn placed(&self, pinned: &[u32]) -> Result<(Units, UnitPlacement)> {
        let units = self.units.with_resident_numbers(pinned);
        let placement = if self.links.is_empty() {
            place(&units, &in_flash(&units, &self.order)?)?
        } else {
            UnitPlacement::recorded(self.units)
        };
        Ok((units, placement))
    }

    /// Time in nanoseconds of the longest call of each limited function from an empty cache.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn cold_calls_ns(&self, pinned: &[u32]) -> Result<Vec<f64>> {
        let (units, placement) = self.placed(pinned)?;
        let longest_ns = |calls: &LimitedCalls| -> Result<f64> {
            let body_ns = |(trace, body): &(usize, MemoryTrace)| -> Result<f64> {
                let runs = body.in_memory().unwrap_or_default();
                let bytes = runs.iter().map(|run| u64::from(run.length)).sum();
                let relocated = placement.remap(&units, body, &|| true)?;
                time_ns(&self.samples[*trace].design, &relocated, bytes)
            };
            let times = calls.bodies.par_iter().map(body_ns).collect::<Result<Vec<_>>>()?;
            Ok(times.into_iter().fold(0.0, f64::max))
        };
        self.calls.iter().map(longest_ns).collect()
    }

    /// Returns true if the recorded calls of all limited functions are short enough.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn keeps_limits(&self, pinned: &[u32]) -> Result<bool> {
        if self.calls.is_empty() {
            return Ok(true);
        }
        let cold_ns = self.cold_calls_ns(pinned)?;
        Ok(cold_ns.iter().zip(&self.calls).all(|(now_ns, calls)| *now_ns <= calls.limit_ns))
    }
}

/// Numbers, ascending.
fn sorted(numbers: &[u32]) -> Vec<u32> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted
}
