//! Choices judged with the veneers that their links need, which the search leaves out.
//!
//! A pinned function that is called from flash needs a veneer there, which passes the cache and can cost
//! more than the function saves. The steps of the greedy choice and, from the best of them on, choices
//! with one unit less, one more or one exchanged are replayed with their veneers in a few orders. The
//! slowest order counts. The best choice is taken if it is faster than that of the search, too, with
//! all orders of veneers that the answer replays.

use flashpager_base::Result;
use flashpager_layout::Units;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::replays::{Call, FoldedTrace};
use super::super::traces::TraceSet;
use super::super::veneers::{VeneerCalls, Veneers};
use super::answer::JointLayout;
use super::choice::{BETWEEN, PinChoice, with, without};
use super::joint::Candidate;
use super::problem::PinProblem;
use super::veneers::{VENEER_ALIGN, VeneerRange, slot_orders};
use super::whole::WholeReplay;

/// Orders of veneers by whose slowest a choice is ranked.
const RANKED_ORDERS: usize = 3;
/// Units that are tried as one more, or in the place of one.
const TRIED: usize = 12;
/// Most steps of the greedy choice that are ranked.
const STEPS: usize = 32;
/// Choices from which the next ones are made.
const KEPT: usize = 4;
/// Rounds without a faster choice after which the ranking ends.
const ROUNDS_WITHOUT_GAIN: u32 = 2;
/// Least improvement for which the ranking goes on, as a share of the time.
const LEAST_CHANGE: f64 = 1e-6;

/// A ranking of choices with their veneers.
pub(super) struct VeneerRanking<'r, 'a> {
    problem: &'r PinProblem<'a>,
    /// The traces and the units of their image.
    program: (&'r TraceSet, &'r Units),
    whole: &'r WholeReplay<'a>,
    ram_bytes: u64,
    /// Executed bytes of each unit.
    executed: FxHashMap<u32, f64>,
    searches: &'r (dyn Fn() -> bool + Sync),
}

/// The recorded calls that may need veneers, and the traces folded with all of them.
struct FoldedCalls {
    calls: VeneerCalls,
    numbered: Vec<Call>,
    folded: Vec<FoldedTrace<'static>>,
}

/// Choices with their times in nanoseconds.
#[derive(Default)]
struct RankedChoices {
    /// The fastest choices, sorted by time.
    best: Vec<(f64, Vec<u32>)>,
    /// All ranked choices, each with its numbers ascending.
    known: FxHashSet<Vec<u32>>,
}

impl<'r, 'a> VeneerRanking<'r, 'a> {
    /// A ranking of choices of `problem`, judged by exact replays of `program`, its traces and units, in so
    /// many bytes of RAM. It goes on while a function returns true.
    pub(super) fn new(
        problem: &'r PinProblem<'a>,
        program: (&'r TraceSet, &'r Units),
        whole: &'r WholeReplay<'a>,
        (ram_bytes, searches): (u64, &'r (dyn Fn() -> bool + Sync)),
    ) -> Self {
        let executed = problem.executed_bytes();
        Self { problem, program, whole, ram_bytes, executed, searches }
    }

    /// Replaces `best`, the result of the search, by a choice that is faster with veneers, in `joint`, too.
    /// Returns the time of the replaced choice with its veneers in nanoseconds; `None` if `best` stays.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn improve(
        &self,
        best: &mut Candidate,
        choice: &PinChoice,
        joint: Option<&mut JointLayout>,
    ) -> Result<Option<f64>> {
        let (traces, units) = self.program;
        if self.whole.judges_links() {
            return Ok(None);
        }
        let Some(calls) = VeneerCalls::of(traces, units)? else { return Ok(None) };
        let has_counted = calls.with_pinned(units, &best.pinned).is_some_and(|it| it.is_counted());
        if !has_counted {
            return Ok(None);
        }
        let numbered = calls.recorded();
        let folded = calls.folded(traces, &numbered)?;
        let program = FoldedCalls { calls, numbered, folded };
        let found = self.search(&program, best, choice)?;
        if found.iter().all(|number| best.pinned.contains(number))
            && found.len() == best.pinned.len()
        {
            return Ok(None);
        }
        let before_ns = self.slowest_ns(&program, &best.pinned, &best.order)?;
        if self.slowest_ns(&program, &found, &best.order)? >= before_ns {
            return Ok(None);
        }
        best.time_ns = self.whole.of(&found, &best.order)?.time_ns;
        best.pinned = found;
        joint.map_or(Ok(()), |joint| joint.place(units, best))?;
        Ok(Some(before_ns))
    }

    /// The best choice by a few orders of its veneers, from `best` and the steps of `choice` on.
    fn search(
        &self,
        program: &FoldedCalls,
        best: &Candidate,
        choice: &PinChoice,
    ) -> Result<Vec<u32>> {
        let (first, last) = (choice.always.len(), choice.greedy.len());
        let step = last.saturating_sub(first).div_ceil(STEPS).max(1);
        let steps = (first..=last).step_by(step).map(|count| choice.greedy[..count].to_vec());
        let start: Vec<Vec<u32>> = [best.pinned.clone()].into_iter().chain(steps).collect();
        let mut ranked = RankedChoices::default();
        self.rank(&mut ranked, program, start, &best.order)?;
        let mut rounds_without_gain = 0;
        while (self.searches)() && rounds_without_gain < ROUNDS_WITHOUT_GAIN {
            let before_ns = ranked.best.first().map_or(0.0, |(time_ns, _)| *time_ns);
            let near = ranked.best.iter().flat_map(|(_, one)| self.near(program, one, choice));
            let near = near.collect();
            self.rank(&mut ranked, program, near, &best.order)?;
            let after_ns = ranked.best.first().map_or(0.0, |(time_ns, _)| *time_ns);
            let gains = after_ns < before_ns * (1.0 - LEAST_CHANGE);
            rounds_without_gain = if gains { 0 } else { rounds_without_gain + 1 };
        }
        Ok(ranked.best.first().map_or_else(|| best.pinned.clone(), |(_, pinned)| pinned.clone()))
    }

    /// Choices with one unit less, one more, or one in the place of others: units that call pinned ones
    /// through veneers, and those that the search left.
    fn near(&self, program: &FoldedCalls, chosen: &[u32], choice: &PinChoice) -> Vec<Vec<u32>> {
        let veneers = program.calls.with_pinned(self.program.1, chosen);
        let callers = veneers.as_ref().map_or(Vec::new(), |it| it.callers(self.program.1));
        let may_be_pinned: FxHashSet<u32> = self.problem.candidates().collect();
        let known = choice.chosen.iter().chain(&choice.greedy).chain(&choice.others).copied();
        let mut entering: Vec<u32> = Vec::new();
        for number in callers.into_iter().take(TRIED).chain(known) {
            if may_be_pinned.contains(&number)
                && !chosen.contains(&number)
                && !entering.contains(&number)
            {
                entering.push(number);
            }
        }
        entering.truncate(2 * TRIED);
        let fits = |units: &Vec<u32>| self.problem.ram_bytes(units) <= self.ram_bytes;
        let leaving = chosen.iter().filter(|number| !choice.always.contains(number));
        let fewer: Vec<Vec<u32>> = leaving.map(|number| without(chosen, *number)).collect();
        let bases = [chosen.to_vec()].into_iter().chain(fewer.iter().cloned());
        let more = bases.flat_map(|base| {
            let base_with = |number: &u32| with(&base, *number);
            entering.iter().map(base_with).filter(fits).take(TRIED).collect::<Vec<_>>()
        });
        let more: Vec<Vec<u32>> = more.collect();
        let entered = entering.iter().map(|number| self.entered(chosen, *number, choice));
        let entered: Vec<Vec<u32>> =
            entered.flat_map(|one| [self.filled(&one, &entering), one]).collect();
        fewer.into_iter().chain(more).chain(entered).filter(fits).collect()
    }

    /// A choice with one more unit, for which those leave that execute least for each byte.
    fn entered(&self, chosen: &[u32], entering: u32, choice: &PinChoice) -> Vec<u32> {
        let mut units = with(chosen, entering);
        let mut leaving: Vec<u32> = chosen.to_vec();
        leaving.retain(|number| !choice.always.contains(number));
        leaving.sort_by(|a, b| self.density(*a).total_cmp(&self.density(*b)).then(a.cmp(b)));
        for number in leaving {
            if self.problem.ram_bytes(&units) <= self.ram_bytes {
                break;
            }
            units = without(&units, number);
        }
        units
    }

    /// A choice with all units of `entering` that fit, one after another.
    fn filled(&self, chosen: &[u32], entering: &[u32]) -> Vec<u32> {
        let mut units = chosen.to_vec();
        for number in entering {
            let more = with(&units, *number);
            if !units.contains(number) && self.problem.ram_bytes(&more) <= self.ram_bytes {
                units = more;
            }
        }
        units
    }

    /// Executed bytes of a unit for each of its bytes.
    fn density(&self, number: u32) -> f64 {
        self.executed.get(&number).map_or(0.0, |bytes| bytes / self.problem.bytes(number))
    }

    /// Ranks those of `choices` that are not ranked yet and keep all limits. Ends early once the search is
    /// to end.
    fn rank(
        &self,
        ranked: &mut RankedChoices,
        program: &FoldedCalls,
        choices: Vec<Vec<u32>>,
        order: &[u32],
    ) -> Result<()> {
        let mut open: Vec<Vec<u32>> = Vec::new();
        for mut pinned in choices {
            pinned.sort_unstable();
            if ranked.known.insert(pinned.clone()) {
                open.push(pinned);
            }
        }
        for some in open.chunks(BETWEEN) {
            let times = some.par_iter().map(|pinned| self.ranked_ns(program, pinned, order));
            let times = times.collect::<Result<Vec<f64>>>()?;
            for (pinned, time_ns) in some.iter().zip(times) {
                let worst = ranked.best.get(KEPT - 1).map_or(f64::INFINITY, |(worst, _)| *worst);
                if time_ns < worst && self.problem.keeps_limits(pinned)? {
                    ranked.best.push((time_ns, pinned.clone()));
                    ranked.best.sort_by(|a, b| a.0.total_cmp(&b.0));
                    ranked.best.truncate(KEPT);
                }
            }
            if !(self.searches)() {
                break;
            }
        }
        Ok(())
    }

    /// The time of a choice in nanoseconds, with its veneers in the slowest of a few orders.
    fn ranked_ns(&self, program: &FoldedCalls, pinned: &[u32], order: &[u32]) -> Result<f64> {
        let veneers = program.calls.with_pinned(self.program.1, pinned);
        let Some(veneers) = veneers.filter(Veneers::is_counted) else {
            return Ok(self.whole.of(pinned, order)?.link_ns);
        };
        let code = (veneers.bytes_in_flash(), VENEER_ALIGN);
        let mut slowest_ns = 0.0_f64;
        for slots in slot_orders(veneers.count_in_flash()).iter().take(RANKED_ORDERS) {
            let added = |first: u32| veneers.runs_of(&program.numbered, first, slots);
            let result = self.whole.with_code((pinned, order), code, &added, &program.folded)?;
            slowest_ns = slowest_ns.max(result.link_ns);
        }
        Ok(slowest_ns)
    }

    /// The time of a choice in nanoseconds, with its veneers in the slowest of the orders that the answer
    /// replays.
    fn slowest_ns(&self, program: &FoldedCalls, pinned: &[u32], order: &[u32]) -> Result<f64> {
        let traces = self.program.0;
        let veneers = program.calls.with_pinned(self.program.1, pinned);
        let range = match &veneers {
            Some(veneers) => VeneerRange::replayed(veneers, traces, self.whole, (pinned, order))?,
            None => None,
        };
        match range {
            Some(range) => Ok(range.slowest_ns()),
            None => Ok(self.whole.of(pinned, order)?.link_ns),
        }
    }
}
