//! The joint search for units to pin and for an order of the units that stay in flash.
//!
//! The best units to pin depend on the order of the others, and the best order depends on the
//! pinned units. So the search alternates:
//!
//! 1. It searches an order with nothing pinned.
//! 2. It chooses the pinned units anew under that order.
//! 3. In rounds, it searches an order for the pinned units, and then exchanges pinned units under
//!    that order.
//!
//! After each step, exact replays of whole traces decide whether its result is kept.

use flashpager_base::{ProgressFn, Result};
use flashpager_layout::{
    Annealer, Cooling, Evaluations, LayoutTask, PieceSequence, Profile, SearchResult, Units, place,
};

use super::super::budget::{EvaluationBudget, SearchLimit, ShareBudget};
use super::super::replays::{CostFn, cost_of};
use super::super::search::{BaselinePortfolio, LAST};
use super::super::traces::LoadedTrace;
use super::answer::{JointLayout, PinProgress};
use super::choice::{PinChoice, PinSearch};
use super::clock::SearchClock;
use super::order::{in_flash, spliced};
use super::problem::PinProblem;
use super::request::PinRequest;
use super::whole::WholeReplay;
use crate::design::Design;

/// Largest share of the limit that pinning in the recorded order may use.
pub(super) const PINNING_ALONE: f64 = 0.25;
/// Share of the remaining limit for an order with nothing pinned.
const ORDER_ALONE: f64 = 0.25;
/// Share of the limit then remaining for pinning anew under that order.
const PINNING_ANEW: f64 = 0.2;
/// Share of the remaining limit for one round.
const ROUND: f64 = 0.5;
/// A round is the last one, and gets all of the remaining limit, if that is less than about this
/// share of the whole limit.
const LAST_ROUND: f64 = 0.3;
/// Share of a round for the order; exchanges have the rest.
const ORDER_OF_ROUND: f64 = 0.7;

/// Pinned units, an order of all movable units, and the time of whole traces with both.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Numbers of the pinned units.
    pub(super) pinned: Vec<u32>,
    /// Numbers of all movable units.
    pub(super) order: Vec<u32>,
    /// Time in nanoseconds.
    pub(super) time_ns: f64,
}

/// The search for orders of the units that stay in flash.
pub(super) struct OrderSearch<'a> {
    /// All units.
    pub(super) units: &'a Units,
    /// The traces.
    pub(super) traces: &'a [LoadedTrace],
    /// The whole traces as pieces of units.
    pub(super) sequences: Vec<PieceSequence>,
    /// The design with the execution of each trace.
    pub(super) designs: Vec<Design>,
    /// Time in the recorded order with nothing pinned, in nanoseconds. Costs are shares of it.
    pub(super) before_ns: f64,
}

impl OrderSearch<'_> {
    /// Searches an order for the units other than `pinned`, beginning with the order `start`. It
    /// uses `share` of the remaining limit. The first search considers published orders, too.
    ///
    /// Returns the best order and the number of orders evaluated. Both orders list all movable
    /// units.
    ///
    /// # Errors
    /// The errors of the replay.
    fn search(
        &self,
        (pinned, start): (&[u32], &[u32]),
        is_first: bool,
        (clock, share): (&mut SearchClock<'_>, f64),
        progress: ProgressFn<'_, f64>,
    ) -> Result<(Vec<u32>, u64)> {
        let units = self.units.with_resident_numbers(pinned);
        let sequences: Vec<PieceSequence> =
            self.sequences.iter().map(|sequence| sequence.without_resident(&units)).collect();
        let weights = self.traces.iter().map(|trace| trace.weight);
        let profile = Profile::of(&units, sequences.iter().zip(weights));
        if profile.executed(&units).is_empty() {
            return Ok((start.to_vec(), 0));
        }
        let costs: Vec<CostFn> = self.designs.iter().map(cost_of).collect();
        let tasks = self.tasks(&sequences, &costs);
        let search = Annealer::new(&units, &profile, &tasks)?;
        let mut begin = in_flash(&units, start)?;
        if is_first {
            let baselines = self.baselines(&search, (&units, &profile), &sequences)?;
            if baselines.cost < search.cost(&begin)? {
                begin = baselines.best;
            }
        }
        let cooling = if is_first { Cooling::default() } else { LAST };
        let SearchResult { order, evaluations, .. } = match clock.limit {
            SearchLimit::Evaluations { all, stopped } => {
                let evaluations = Evaluations((clock.assign(share) * all as f64 / 2.0) as u64);
                let budget = EvaluationBudget { evaluations, stopped, done: &|_| () };
                search.anneal(&begin, cooling, 1, &budget, progress)?
            }
            SearchLimit::Share(used) => {
                let budget =
                    ShareBudget { share: used, from: clock.used(), to: clock.after(share) };
                search.anneal(&begin, cooling, 1, &budget, progress)?
            }
        };
        Ok((spliced(start, order.numbers()), evaluations))
    }

    /// One task for each trace.
    fn tasks<'t>(
        &'t self,
        sequences: &'t [PieceSequence],
        costs: &'t [CostFn],
    ) -> Vec<LayoutTask<'t>> {
        let traces = sequences.iter().zip(costs).zip(&self.designs).zip(self.traces);
        let task =
            |(((sequence, cost), design), trace): (((_, &'t CostFn), &'t Design), &LoadedTrace)| {
                LayoutTask {
                    sequence,
                    cache: design.cache().clone(),
                    register: design.register(),
                    weight: trace.weight / self.before_ns,
                    cost: cost.as_ref(),
                    needs_classes: design.prices().schedule.overlaps(),
                }
            };
        traces.map(task).collect()
    }

    /// The orders of published algorithms.
    fn baselines(
        &self,
        search: &Annealer<'_>,
        program: (&Units, &Profile),
        sequences: &[PieceSequence],
    ) -> Result<BaselinePortfolio> {
        let caches = self.designs.iter().map(|design| design.cache().cache_bytes);
        let cluster_bytes = caches.max().unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        BaselinePortfolio::of(search, program, sequences, cluster_bytes)
    }
}

/// A joint search.
pub(super) struct JointSearch<'s, 'a> {
    /// The units and the costs of choices.
    pub(super) problem: &'s mut PinProblem<'a>,
    /// The request.
    pub(super) request: &'s PinRequest,
    /// The limit of the search.
    pub(super) clock: &'s mut SearchClock<'a>,
    /// The search for orders.
    pub(super) orders: &'s OrderSearch<'a>,
    /// Exact replays.
    pub(super) whole: &'s WholeReplay<'a>,
    /// Progress callback.
    pub(super) progress: ProgressFn<'s, PinProgress>,
    /// Units that some choice has considered. Exchanges try them.
    known: Vec<u32>,
    /// Orders evaluated.
    evaluated: u64,
}

impl JointLayout {
    /// Sets the order in flash beside the pinned units of a candidate.
    ///
    /// # Errors
    /// If the units cannot be placed.
    pub(super) fn place(&mut self, units: &Units, candidate: &Candidate) -> Result<()> {
        let units = units.with_resident_numbers(&candidate.pinned);
        let order = in_flash(&units, &candidate.order)?;
        self.order = order.names(&units).map(str::to_owned).collect();
        self.gap_bytes = place(&units, &order)?.gap_bytes;
        Ok(())
    }
}

/// Result of a joint search.
pub(super) struct JointResult {
    /// The best units and order.
    pub(super) best: Candidate,
    /// The order of the units that stay, and the result of each part of the search.
    pub(super) layout: JointLayout,
    /// True if the search came to its end.
    pub(super) is_finished: bool,
}

impl<'s, 'a> JointSearch<'s, 'a> {
    /// A search that has not begun.
    pub(super) fn new(
        problem: &'s mut PinProblem<'a>,
        request: &'s PinRequest,
        clock: &'s mut SearchClock<'a>,
        (orders, whole): (&'s OrderSearch<'a>, &'s WholeReplay<'a>),
        progress: ProgressFn<'s, PinProgress>,
    ) -> Self {
        Self { problem, request, clock, orders, whole, progress, known: Vec::new(), evaluated: 0 }
    }

    /// Searches, beginning with `alone`, the best result of pinning in the recorded order, which
    /// comes from `choice`.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn run(mut self, choice: &PinChoice, alone: Candidate) -> Result<JointResult> {
        let pinning_alone_ns = alone.time_ns;
        let always = self.problem.always.clone();
        self.consider(choice);
        let mut best = alone;
        let order_alone = self.order_alone(&choice.always, &mut best)?;
        if self.clock.goes_on() {
            self.pin_anew(&always, &order_alone.order, &mut best)?;
        }
        let mut is_first = true;
        while self.clock.goes_on() {
            let before_ns = best.time_ns;
            let is_last = self.round(&always, is_first, &mut best)?;
            is_first = false;
            if best.time_ns >= before_ns || is_last {
                break;
            }
        }
        let mut layout = JointLayout {
            order: Vec::new(),
            gap_bytes: 0,
            pinning_alone_ratio: pinning_alone_ns / self.orders.before_ns,
            order_alone_ratio: order_alone.time_ns / self.orders.before_ns,
            orders: self.evaluated,
        };
        layout.place(self.problem.units, &best)?;
        Ok(JointResult { best, layout, is_finished: self.clock.is_finished() })
    }

    /// Adds the units of a choice to the units that exchanges try.
    fn consider(&mut self, choice: &PinChoice) {
        for number in choice.chosen.iter().chain(&choice.greedy).chain(&choice.others) {
            if !self.known.contains(number) {
                self.known.push(*number);
            }
        }
    }

    /// Searches an order with nothing pinned but `always`. Replaces `best` if the order is faster,
    /// with the pinned units of `best` or without them. Returns the best candidate that pins
    /// `always` alone.
    fn order_alone(&mut self, always: &[u32], best: &mut Candidate) -> Result<Candidate> {
        let mut alone = Candidate {
            pinned: always.to_vec(),
            order: best.order.clone(),
            time_ns: self.whole.of(always, &best.order)?.time_ns,
        };
        if self.clock.goes_on() {
            let start = alone.clone();
            let order = self.search_order(&start, true, ORDER_ALONE, best)?;
            self.improve(&mut alone, always.to_vec(), order.clone())?;
            self.improve(best, best.pinned.clone(), order)?;
        }
        if alone.time_ns < best.time_ns {
            *best = alone.clone();
        }
        Ok(alone)
    }

    /// Chooses pinned units anew under an order, and replaces `best` if they are faster.
    fn pin_anew(&mut self, always: &[u32], order: &[u32], best: &mut Candidate) -> Result<()> {
        self.problem.set_order(order);
        let searches = self.clock.pins_until(self.clock.after(PINNING_ANEW));
        // Under this order the limited calls may be too long with any choice.
        if let Ok(anew) = self.pin_search(&searches).choose(always)? {
            self.consider(&anew);
            self.improve(best, anew.chosen, order.to_vec())?;
        }
        Ok(())
    }

    /// Runs one round: searches an order for the pinned units of `best`, then exchanges pinned
    /// units under the best order. Returns true if it was the last round.
    fn round(&mut self, always: &[u32], is_first: bool, best: &mut Candidate) -> Result<bool> {
        let is_last = self.clock.after(ROUND) > 1.0 - LAST_ROUND / 2.0;
        let share = if is_last { 1.0 } else { ROUND };
        let end = self.clock.after(share);
        let start = best.clone();
        let order = self.search_order(&start, is_first, share * ORDER_OF_ROUND, best)?;
        self.improve(best, start.pinned, order)?;
        let searches = self.clock.pins_until(end);
        self.problem.set_order(&best.order);
        let exchanged = self.pin_search(&searches).exchange(always, &best.pinned, &self.known)?;
        self.improve(best, exchanged, best.order.clone())?;
        Ok(is_last)
    }

    /// Searches an order for the units that `start` does not pin, with `share` of the remaining
    /// limit.
    fn search_order(
        &mut self,
        start: &Candidate,
        is_first: bool,
        share: f64,
        best: &Candidate,
    ) -> Result<Vec<u32>> {
        let ram_bytes = self.problem.ram_bytes(&best.pinned);
        let so_far = best.time_ns / self.orders.before_ns;
        let progress = self.progress;
        let report = |cost: f64| progress(PinProgress { time_ratio: cost.min(so_far), ram_bytes });
        let from = (&*start.pinned, &*start.order);
        let (order, evaluated) =
            self.orders.search(from, is_first, (self.clock, share), &report)?;
        self.evaluated += evaluated;
        Ok(order)
    }

    /// Replaces `best` by these units and this order if whole traces run faster with them and all
    /// limits are kept.
    fn improve(&mut self, best: &mut Candidate, pinned: Vec<u32>, order: Vec<u32>) -> Result<()> {
        self.problem.set_order(&order);
        let time_ns = self.whole.of(&pinned, &order)?.time_ns;
        if time_ns < best.time_ns && self.problem.keeps_limits(&pinned)? {
            *best = Candidate { pinned, order, time_ns };
        }
        Ok(())
    }

    /// A search for the units to pin under the problem's order.
    fn pin_search<'p>(&'p self, searches: &'p (dyn Fn() -> bool + Sync)) -> PinSearch<'p> {
        PinSearch {
            problem: self.problem,
            ram_bytes: self.request.ram_bytes,
            searches,
            progress: self.progress,
        }
    }
}
