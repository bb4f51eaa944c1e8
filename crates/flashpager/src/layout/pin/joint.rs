//! An order of what stays in flash, searched with what is pinned.

use flashpager_base::{ProgressFn, Result};
use flashpager_layout::{
    Annealer, Cooling, Evaluations, LayoutTask, Order, PieceSequence, Profile, SearchResult, Units,
    place,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::super::{
    BaselinePortfolio, CostFn, EvaluationBudget, LAST, LoadedTrace, SearchLimit, ShareBudget,
    cost_of,
};
use super::{ExactTimeFn, PinChoice, PinProblem, PinProgress, PinRequest, numbers_of};
use crate::design::Design;

/// Of what is left of the search, what pinning alone is given at most, an order alone, and pinning
/// anew for that order.
pub(super) const PINNING_ALONE: f64 = 0.25;
const ORDER_ALONE: f64 = 0.25;
const PINNING_ANEW: f64 = 0.2;
/// Each round has a half of what is left, the last one, of at most so much, all of it.
const ROUND: f64 = 0.5;
const LAST_ROUND: f64 = 0.3;
/// Of a round, what the order is given; exchanges have the rest.
const ORDER_OF_ROUND: f64 = 0.7;

/// An order of what stays, and what it gives beside what is pinned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointLayout {
    /// Names of what can move and is not pinned, as it is to lie in flash.
    pub order: Vec<String>,
    /// Bytes between units, laid out so.
    pub gap_bytes: u32,
    /// Time over that before with units pinned and all others in the recorded order.
    pub pinning_alone_ratio: f64,
    /// The same with an order, and nothing pinned but what has to be.
    pub order_alone_ratio: f64,
    /// Orders tried.
    pub orders: u64,
}

/// What is pinned, the order of all that can move, and the time of whole traces.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) pinned: Vec<u32>,
    pub(super) order: Vec<u32>,
    pub(super) time_ns: f64,
}

/// What is searched, and until when.
pub(super) struct JointSearch<'s, 'a> {
    pub(super) problem: &'s mut PinProblem<'a>,
    pub(super) request: &'s PinRequest,
    pub(super) clock: &'s mut SearchClock<'a>,
}

/// What is used up of a search that has phases.
pub(super) struct SearchClock<'a> {
    limit: SearchLimit<'a>,
    /// Of evaluations, the share that was given away.
    given: f64,
}

impl<'a> SearchClock<'a> {
    pub(super) fn new(limit: SearchLimit<'a>) -> Self {
        Self { limit, given: 0.0 }
    }

    fn used(&self) -> f64 {
        match self.limit {
            SearchLimit::Evaluations { stopped, .. } if stopped() => 1.0,
            SearchLimit::Evaluations { .. } => self.given,
            SearchLimit::Share(share) => share(),
        }
    }

    /// Whether the search goes on.
    fn goes_on(&self) -> bool {
        self.used() < 1.0
    }

    /// What is used up when `share` of what is left is, too.
    pub(super) fn ahead(&self, share: f64) -> f64 {
        let used = self.used();
        used + share * (1.0 - used)
    }

    /// Whether nothing ended the search before it was through. To have tried as many orders as
    /// were asked for is to be through.
    fn is_finished(&self) -> bool {
        match self.limit {
            SearchLimit::Evaluations { stopped, .. } => !stopped(),
            SearchLimit::Share(share) => share() < 1.0,
        }
    }

    /// Whether a phase of pinning that ends at `end` goes on. Evaluations do not end it.
    pub(super) fn pins(&self, end: f64) -> impl Fn() -> bool + Sync + use<'a> {
        let limit = self.limit;
        move || match limit {
            SearchLimit::Evaluations { stopped, .. } => !stopped(),
            SearchLimit::Share(share) => share() < end,
        }
    }
}

/// Orders of what is left of a program when some of it is pinned.
pub(super) struct OrderSearch<'a> {
    pub(super) units: &'a Units,
    pub(super) opened: &'a [LoadedTrace],
    /// By trace: all of it, and the design as it executes it.
    pub(super) sequences: Vec<PieceSequence>,
    pub(super) designs: Vec<Design>,
    /// What costs are told as shares of.
    pub(super) before_ns: f64,
}

impl OrderSearch<'_> {
    /// Search an order for the rest of `pinned` from `start` on, which names all that can move, as
    /// what is given does. Published orders begin, too, where `is_first`. Gives the orders tried.
    pub(super) fn search(
        &self,
        (pinned, start): (&[u32], &[u32]),
        is_first: bool,
        (clock, share): (&mut SearchClock<'_>, f64),
        progress: ProgressFn<'_, f64>,
    ) -> Result<(Vec<u32>, u64)> {
        let units = self.units.with_resident_numbers(pinned);
        let sequences: Vec<PieceSequence> =
            self.sequences.iter().map(|sequence| sequence.without_resident(&units)).collect();
        let weights = self.opened.iter().map(|one| one.weight);
        let profile = Profile::of(&units, sequences.iter().zip(weights));
        if profile.executed(&units).is_empty() {
            return Ok((start.to_vec(), 0));
        }
        let costs: Vec<CostFn> = self.designs.iter().map(cost_of).collect();
        let of_trace = |(number, sequence): (usize, _)| {
            let design: &Design = &self.designs[number];
            LayoutTask {
                sequence,
                cache: design.cache().clone(),
                register: design.register(),
                weight: self.opened[number].weight / self.before_ns,
                cost: costs[number].as_ref(),
                needs_classes: design.prices().schedule.overlaps(),
            }
        };
        let tasks: Vec<LayoutTask<'_>> = sequences.iter().enumerate().map(of_trace).collect();
        let search = Annealer::new(&units, &profile, &tasks)?;
        let mut begin = left(&units, start)?;
        if is_first {
            let caches = self.designs.iter().map(|design| design.cache().cache_bytes);
            let cluster_bytes = caches.max().unwrap_or(0).min(u64::from(u32::MAX)) as u32;
            let all: Vec<&PieceSequence> = sequences.iter().collect();
            let published =
                BaselinePortfolio::of(&search, (&units, &profile), &all, cluster_bytes)?;
            if published.cost < search.cost(&begin)? {
                begin = published.best;
            }
        }
        let cooling = if is_first { Cooling::default() } else { LAST };
        let SearchResult { order, evaluations, .. } = match clock.limit {
            SearchLimit::Evaluations { all, stopped } => {
                let given = share * (1.0 - clock.given);
                clock.given += given;
                let evaluations = Evaluations((given * all as f64 / 2.0) as u64);
                let budget = EvaluationBudget { evaluations, stopped };
                search.anneal(&begin, cooling, 1, &budget, progress)?
            }
            SearchLimit::Share(used) => {
                let budget =
                    ShareBudget { share: used, from: clock.used(), to: clock.ahead(share) };
                search.anneal(&begin, cooling, 1, &budget, progress)?
            }
        };
        Ok((spliced(start, order.numbers()), evaluations))
    }
}

/// Search both from the best of pinning alone on: an order alone, pinning anew for that order, then
/// an order for what is pinned and exchanges under that order, again and again. `exact` is the time
/// of whole traces, which decides after each. Gives the best, what is told of it, and whether the
/// search came to its end.
pub(super) fn search(
    search: &mut JointSearch<'_, '_>,
    orders: &OrderSearch<'_>,
    alone: (&PinChoice, Candidate),
    exact: ExactTimeFn<'_>,
    progress: ProgressFn<'_, PinProgress>,
) -> Result<(Candidate, JointLayout, bool)> {
    let JointSearch { problem, request, clock } = search;
    let (choice, mut best) = alone;
    let pinning_alone_ns = best.time_ns;
    let always = numbers_of(problem.units, &request.always)?;
    let mut candidates: Vec<u32> = Vec::new();
    let mut tried = 0;
    let mut know = |choice: &PinChoice| {
        let all = choice.chosen.iter().chain(&choice.greedy).chain(&choice.others);
        let new: Vec<u32> = all.copied().filter(|one| !candidates.contains(one)).collect();
        candidates.extend(new);
        candidates.clone()
    };
    let mut others = know(choice);
    let report = |best: &Candidate, ram_bytes: u64| {
        let so_far = best.time_ns / orders.before_ns;
        move |cost: f64| progress(PinProgress { time_ratio: cost.min(so_far), ram_bytes })
    };

    // An order alone.
    let must = choice.always.clone();
    let mut order_alone =
        Candidate { time_ns: exact(&must, &best.order)?, pinned: must, order: best.order.clone() };
    if clock.goes_on() {
        let start = (&*order_alone.pinned, &*order_alone.order);
        let (order, more) = orders.search(
            start,
            true,
            (clock, ORDER_ALONE),
            &report(&best, problem.ram(&best.pinned)),
        )?;
        tried += more;
        let pinned = order_alone.pinned.clone();
        problem.better(&mut order_alone, pinned, order.clone(), exact)?;
        let pinned = best.pinned.clone();
        problem.better(&mut best, pinned, order, exact)?;
    }
    if order_alone.time_ns < best.time_ns {
        best = order_alone.clone();
    }

    // Pinning anew for it.
    if clock.goes_on() {
        problem.take_order(&order_alone.order);
        let searches = clock.pins(clock.ahead(PINNING_ANEW));
        // In this order the limited calls may be too long, whatever is pinned.
        if let Ok(anew) = problem.choose(request.ram_bytes, &always, &searches, progress)? {
            others = know(&anew);
            problem.better(&mut best, anew.chosen, order_alone.order.clone(), exact)?;
        }
    }

    let mut is_first = true;
    while clock.goes_on() {
        let is_last = clock.ahead(ROUND) > 1.0 - LAST_ROUND / 2.0;
        let share = if is_last { 1.0 } else { ROUND };
        let before_ns = best.time_ns;
        let end = clock.ahead(share);
        let start = (&*best.pinned, &*best.order);
        let share = (&mut **clock, share * ORDER_OF_ROUND);
        let (order, more) =
            orders.search(start, is_first, share, &report(&best, problem.ram(&best.pinned)))?;
        tried += more;
        is_first = false;
        let pinned = best.pinned.clone();
        problem.better(&mut best, pinned, order, exact)?;
        let searches = clock.pins(end);
        problem.take_order(&best.order);
        let exchanged = problem.exchanged(
            request.ram_bytes,
            &always,
            (&best.pinned, &others),
            &searches,
            progress,
        )?;
        let order = best.order.clone();
        problem.better(&mut best, exchanged, order, exact)?;
        if best.time_ns >= before_ns || is_last {
            break;
        }
    }
    let units = problem.units.with_resident_numbers(&best.pinned);
    let order = left(&units, &best.order)?;
    let together = JointLayout {
        order: order.names(&units).map(str::to_owned).collect(),
        gap_bytes: place(&units, &order)?.gap_bytes,
        pinning_alone_ratio: pinning_alone_ns / orders.before_ns,
        order_alone_ratio: order_alone.time_ns / orders.before_ns,
        orders: tried,
    };
    Ok((best, together, clock.is_finished()))
}

/// Of an order of all that can move, what is not resident.
pub(super) fn left(units: &Units, all: &[u32]) -> Result<Order> {
    let stays = |number: &u32| !units.is_resident(*number as usize);
    Order::new(units, all.iter().copied().filter(stays).collect())
}

/// `order`, with what else is in `all` behind what it lay behind: there it goes if it is pinned no
/// more.
fn spliced(all: &[u32], order: &[u32]) -> Vec<u32> {
    let stays: FxHashSet<u32> = order.iter().copied().collect();
    let mut behind: FxHashMap<Option<u32>, Vec<u32>> = FxHashMap::default();
    let mut last = None;
    for number in all {
        if stays.contains(number) {
            last = Some(*number);
        } else {
            behind.entry(last).or_default().push(*number);
        }
    }
    let mut spliced = behind.remove(&None).unwrap_or_default();
    for number in order {
        spliced.push(*number);
        spliced.extend(behind.remove(&Some(*number)).unwrap_or_default());
    }
    spliced
}
