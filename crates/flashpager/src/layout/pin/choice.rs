//! The choice of units to pin under one order of the units.

use flashpager_base::{ProgressFn, Result, shown};
use flashpager_trace::Trace;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::answer::PinProgress;
use super::problem::PinProblem;

/// Number of candidates that are evaluated between two checks whether the search is to end.
pub(super) const BETWEEN: usize = 32;

/// A search for units to pin under the order of its problem.
pub(super) struct PinSearch<'s> {
    /// The units and the costs of choices.
    pub(super) problem: &'s PinProblem<'s>,
    /// Bytes of RAM for pinned units.
    pub(super) ram_bytes: u64,
    /// Function that returns false once the search is to end.
    pub(super) searches: &'s (dyn Fn() -> bool + Sync),
    /// Progress callback.
    pub(super) progress: ProgressFn<'s, PinProgress>,
}

/// The units pinned under one order, and how they were chosen.
pub(super) struct PinChoice {
    /// Units that have to be pinned: those of the request, and those that shorten limited calls.
    pub(super) always: Vec<u32>,
    /// The greedy choice, in the order in which it was made.
    pub(super) greedy: Vec<u32>,
    /// The units that fitted at first but were not chosen, ordered by the time that each saved for
    /// each byte when it was last evaluated.
    pub(super) others: Vec<u32>,
    /// The choice after exchanges.
    pub(super) chosen: Vec<u32>,
}

/// An error message: limited calls are too long with any choice. It names the function and the
/// shortest possible time.
pub(super) struct CallLimitError(pub(super) String);

/// A result that limited calls may make impossible. The outer error ends the whole search.
pub(super) type LimitedResult<T> = Result<std::result::Result<T, CallLimitError>>;

impl PinSearch<'_> {
    /// Chooses the units to pin, with the units `always` among them: greedily, then by exchanges.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn choose(&self, always: &[u32]) -> LimitedResult<PinChoice> {
        let mut always = always.to_vec();
        if let Err(too_long) = self.shorten_calls(&mut always)? {
            return Ok(Err(too_long));
        }
        let mut choice = self.greedy(&always, &[])?;
        // The unit that saves most by itself may not fit after others that save more for each byte.
        // So the greedy choice is made again, beginning with that unit.
        let first = choice.alone.iter().filter(|(_, number)| !choice.chosen.contains(number));
        let first = first.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| *number);
        if let Some(first) = first
            && (self.searches)()
            && self.problem.keeps_limits(&with(&always, first))?
        {
            let other = self.greedy(&always, &[first])?;
            let costs = self.costs(&[choice.chosen.clone(), other.chosen.clone()])?;
            if costs[1] < costs[0] {
                choice = other;
            }
        }
        let (greedy, others) = (choice.chosen, choice.left);
        let chosen = self.exchange(&always, &greedy, &others)?;
        Ok(Ok(PinChoice { always, greedy, others, chosen }))
    }

    /// Costs of several choices.
    pub(super) fn costs(&self, choices: &[Vec<u32>]) -> Result<Vec<f64>> {
        choices.par_iter().map(|choice| self.problem.cost(choice)).collect()
    }

    /// Returns true if one more unit fits into RAM.
    pub(super) fn fits(&self, pinned: &[u32], more: u32) -> bool {
        self.problem.ram_bytes(&with(pinned, more)) <= self.ram_bytes
    }

    /// Reports the cost of a choice.
    pub(super) fn report(&self, cost: f64, chosen: &[u32]) {
        let ram_bytes = self.problem.ram_bytes(chosen);
        (self.progress)(PinProgress { time_ratio: cost, ram_bytes });
    }

    /// Pins units until the calls of all limited functions are short enough. Each time it pins the
    /// unit that most shortens, for each byte, the first call that is too long.
    fn shorten_calls(&self, pinned: &mut Vec<u32>) -> LimitedResult<()> {
        let problem = self.problem;
        loop {
            let cold_ns = problem.cold_calls_ns(pinned)?;
            let mut limits = cold_ns.iter().zip(&problem.calls);
            let Some(late) = limits.position(|(now_ns, calls)| *now_ns > calls.limit_ns) else {
                return Ok(Ok(()));
            };
            let saving = |number: &u32| -> Result<(f64, u32)> {
                let then_ns = problem.cold_calls_ns(&with(pinned, *number))?[late];
                Ok(((cold_ns[late] - then_ns) / problem.bytes(*number), *number))
            };
            let candidates = self.executed_by(late, pinned);
            let savings = candidates.iter().map(saving).collect::<Result<Vec<_>>>()?;
            match savings.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((saved, number)) if saved > 0.0 => pinned.push(number),
                _ => return Ok(Err(self.too_long(late, cold_ns[late]))),
            }
        }
    }

    /// Units that calls of a limited function execute, that may be pinned, and that fit into RAM with
    /// `pinned`.
    fn executed_by(&self, limited: usize, pinned: &[u32]) -> Vec<u32> {
        let units = self.problem.units;
        let mut executed = FxHashSet::default();
        for (_, body) in &self.problem.calls[limited].bodies {
            for run in body.in_memory().unwrap_or_default() {
                executed.extend(units.owner(run.offset).map(|unit| unit as u32));
                executed.extend(units.owner(run.last()).map(|unit| unit as u32));
            }
        }
        let mut candidates: Vec<u32> = self.problem.candidates().collect();
        candidates.retain(|number| executed.contains(number) && !pinned.contains(number));
        candidates.retain(|number| self.fits(pinned, *number));
        candidates
    }

    fn too_long(&self, limited: usize, now_ns: f64) -> CallLimitError {
        let calls = &self.problem.calls[limited];
        CallLimitError(format!(
            "{} bytes of RAM do not make every call of {} as short as {:.3} us from an empty \
             cache: what can be pinned gives {:.3} us",
            self.ram_bytes,
            shown(&calls.function),
            calls.limit_ns / 1e3,
            now_ns / 1e3
        ))
    }
}

/// A choice with one unit more.
pub(super) fn with(chosen: &[u32], more: u32) -> Vec<u32> {
    chosen.iter().copied().chain([more]).collect()
}

/// A choice with one unit less.
pub(super) fn without(chosen: &[u32], removed: u32) -> Vec<u32> {
    chosen.iter().copied().filter(|number| *number != removed).collect()
}
