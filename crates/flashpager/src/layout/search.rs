//! The search for an order: all cache pages a little, the better ones more, the best one to the
//! end.

use std::sync::atomic::{AtomicU64, Ordering};

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_layout::{
    Annealer, Baseline, Cooling, Evaluations, LayoutTask, Order, PieceSequence, Profile,
    SearchResult, Units,
};
use rayon::prelude::*;

use super::answer::LayoutProgress;
use super::budget::{EvaluationBudget, SearchLimit, ShareBudget};
use super::program::Program;
use super::replays::{CostFn, cost_of};
use super::traces::TraceSet;
use crate::design::Design;
use crate::spec::DesignSpec;

/// Share of the budget in which all cache pages are tried.
const FIRST_TRIES: f64 = 0.35;
/// Share in which the better half of them is tried again.
const SECOND_TRIES: f64 = 0.25;
/// Cooling of tries. They end warm, as the search continues after them.
const TRIES: Cooling = Cooling { hot: 4e-3, cold: 3e-4 };
/// Cooling of a search that starts from a good order.
pub(super) const LAST: Cooling = Cooling { hot: 1.5e-3, cold: 5e-5 };

/// The designs with one cache page, each executing one trace, with their prices.
pub(super) struct PageDesigns {
    /// The designs, each with its weight.
    pub(super) designs: Vec<(Design, f64)>,
    /// For each pair of a design and a trace: the design executing it, the weight of its time in
    /// the cost of an order, the number of the trace, and the design's prices.
    pairs: Vec<(Design, f64, usize, CostFn)>,
}

impl PageDesigns {
    /// `designs` with another cache page, or with their own. `before_ns` are their times in the
    /// recorded order: a cost is the mean of times over these.
    ///
    /// # Errors
    /// If a design cannot have the cache page, or cannot execute a trace.
    pub(super) fn of(
        designs: &[(Design, f64)],
        page: Option<u32>,
        traces: &TraceSet,
        before_ns: &[f64],
    ) -> Result<Self> {
        let with_page = |(design, weight): &(Design, f64)| {
            let Some(cache_page_bytes) = page else { return Ok((design.clone(), *weight)) };
            let spec = DesignSpec { cache_page_bytes, ..design.written().clone() };
            Ok((Design::new(spec)?, *weight))
        };
        let designs = designs.iter().map(with_page).collect::<Result<Vec<_>>>()?;
        let all_weights: f64 = designs.iter().map(|(_, weight)| weight).sum();
        let mut pairs = Vec::new();
        for ((design, weight), before_ns) in designs.iter().zip(before_ns) {
            for (number, trace) in traces.training.iter().enumerate() {
                let design = design.executing(&trace.info)?.into_owned();
                let weight = weight * trace.weight / before_ns / all_weights;
                let cost = cost_of(&design);
                pairs.push((design, weight, number, cost));
            }
        }
        Ok(Self { designs, pairs })
    }

    /// The cache page of the first design.
    pub(super) fn cache_page_bytes(&self) -> u32 {
        self.designs[0].0.cache().cache_page_bytes
    }

    /// Bytes of the largest cache: published orders cluster units up to this size.
    fn cluster_bytes(&self) -> u32 {
        let largest = self.designs.iter().map(|(design, _)| design.cache().cache_bytes).max();
        largest.unwrap_or(0).min(u64::from(u32::MAX)) as u32
    }

    /// One task for each pair of a design and a trace.
    pub(super) fn tasks<'a>(&'a self, sequences: &'a [PieceSequence]) -> Vec<LayoutTask<'a>> {
        let task = |(design, weight, number, cost): &'a (Design, f64, usize, CostFn)| LayoutTask {
            sequence: &sequences[*number],
            cache: design.cache().clone(),
            register: design.register(),
            weight: *weight,
            cost: cost.as_ref(),
            needs_classes: design.prices().schedule.overlaps(),
        };
        self.pairs.iter().map(task).collect()
    }
}

/// The published orders of a program, and the best of them by cost.
pub(super) struct BaselinePortfolio {
    /// Each published order by its name, with its cost.
    pub(super) costs: Vec<(&'static str, f64)>,
    /// The best order.
    pub(super) best: Order,
    /// Its cost.
    pub(super) cost: f64,
    /// Its name.
    pub(super) name: &'static str,
}

impl BaselinePortfolio {
    /// Evaluates all published orders. They cluster units up to `cluster_bytes`.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn of(
        search: &Annealer<'_>,
        (units, profile): (&Units, &Profile),
        sequences: &[PieceSequence],
        cluster_bytes: u32,
    ) -> Result<Self> {
        let sequences: Vec<&PieceSequence> = sequences.iter().collect();
        let mut costs = Vec::new();
        let mut best: Option<(f64, Order, &'static str)> = None;
        for (name, baseline) in Baseline::ALL {
            let order = baseline.order(units, profile, &sequences, cluster_bytes)?;
            let cost = search.cost(&order)?;
            costs.push((name, cost));
            if best.as_ref().is_none_or(|(least, _, _)| cost < *least) {
                best = Some((cost, order, name));
            }
        }
        let Some((cost, best, name)) = best else { return Err(Error::Interrupted) };
        Ok(Self { costs, best, cost, name })
    }
}

/// The search for one cache page.
pub(super) struct PageSearch<'a> {
    /// The designs that run the program.
    pub(super) page: &'a PageDesigns,
    /// The search.
    search: Annealer<'a>,
    /// The published orders.
    pub(super) baselines: BaselinePortfolio,
    /// The best order so far, and its cost.
    pub(super) best: Order,
    cost: f64,
    /// Orders evaluated so far.
    pub(super) evaluations: u64,
}

impl<'a> PageSearch<'a> {
    /// A search that begins with the best published order.
    fn new(
        program: &'a Program,
        page: &'a PageDesigns,
        tasks: &'a [LayoutTask<'a>],
    ) -> Result<Self> {
        let Program { units, profile, sequences, .. } = program;
        let search = Annealer::new(units, profile, tasks)?;
        let cluster_bytes = page.cluster_bytes();
        let baselines = BaselinePortfolio::of(&search, (units, profile), sequences, cluster_bytes)?;
        let (best, cost) = (baselines.best.clone(), baselines.cost);
        Ok(Self { page, search, baselines, best, cost, evaluations: 0 })
    }

    /// Pieces that the search replays.
    pub(super) fn pieces(&self) -> u64 {
        self.search.pieces() as u64
    }

    /// Takes `order` if it is better than the best so far.
    fn take_if_better(&mut self, order: &Order, cost: f64) {
        if cost < self.cost {
            (self.best, self.cost) = (order.clone(), cost);
        }
    }
}

/// Begins the search for each cache page.
///
/// # Errors
/// If the executed code of the program cannot move.
pub(super) fn begin<'a>(
    program: &'a Program,
    pages: &'a [PageDesigns],
    tasks: &'a [Vec<LayoutTask<'a>>],
) -> Result<Vec<PageSearch<'a>>> {
    let pairs = pages.par_iter().zip(tasks);
    pairs.map(|(page, tasks)| PageSearch::new(program, page, tasks)).collect()
}

/// The phases of a search, and how much of its limit they have used.
struct Phases<'l> {
    seed: u64,
    limit: &'l SearchLimit<'l>,
    progress: ProgressFn<'l, LayoutProgress>,
    /// Share of the limit that went to the phases before.
    used: f64,
    /// Orders evaluated in all phases.
    evaluations: u64,
}

/// The progress of one phase, which two threads report: its best time, and the evaluations done.
struct PhaseProgress<'p> {
    cache_page_bytes: u32,
    /// Bits of the time of the best order so far over the time before.
    time_ratio: AtomicU64,
    /// Bits of the share of all evaluations that is done. The bits of floats that are not negative
    /// are ordered as their values are.
    evaluated_share: AtomicU64,
    progress: ProgressFn<'p, LayoutProgress>,
}

impl<'p> PhaseProgress<'p> {
    fn new(
        cache_page_bytes: u32,
        time_ratio: f64,
        evaluated_share: f64,
        progress: ProgressFn<'p, LayoutProgress>,
    ) -> Self {
        let bits = |value: f64| AtomicU64::new(value.to_bits());
        let (time_ratio, evaluated_share) = (bits(time_ratio), bits(evaluated_share));
        Self { cache_page_bytes, time_ratio, evaluated_share, progress }
    }

    fn found(&self, time_ratio: f64) {
        self.time_ratio.store(time_ratio.to_bits(), Ordering::Relaxed);
        self.report();
    }

    fn evaluated(&self, share: f64) {
        self.evaluated_share.fetch_max(share.to_bits(), Ordering::Relaxed);
        self.report();
    }

    fn report(&self) {
        let value = |bits: &AtomicU64| f64::from_bits(bits.load(Ordering::Relaxed));
        (self.progress)(LayoutProgress {
            cache_page_bytes: self.cache_page_bytes,
            time_ratio: value(&self.time_ratio),
            evaluated_share: value(&self.evaluated_share),
        });
    }
}

impl Phases<'_> {
    /// Searches on from the best order of `page` with a `share` of the limit. The seed differs by
    /// `round`.
    fn search(
        &mut self,
        page: &mut PageSearch<'_>,
        share: f64,
        cooling: Cooling,
        round: u64,
    ) -> Result<()> {
        let cache_page_bytes = page.page.cache_page_bytes();
        let from = self.used;
        let now = PhaseProgress::new(cache_page_bytes, page.cost, from, self.progress);
        now.report();
        let report = |time_ratio| now.found(time_ratio);
        let seed = self.seed.wrapping_mul(31).wrapping_add(round);
        self.used += share;
        let SearchResult { order, cost, evaluations, .. } = match *self.limit {
            SearchLimit::Evaluations { all, stopped } => {
                let evaluations = Evaluations((share * all as f64 / 2.0) as u64);
                let done = |used| now.evaluated(from + share * used);
                let budget = EvaluationBudget { evaluations, stopped, done: &done };
                page.search.anneal(&page.best, cooling, seed, &budget, &report)?
            }
            SearchLimit::Share(share) => {
                let budget = ShareBudget { share, from, to: self.used };
                page.search.anneal(&page.best, cooling, seed, &budget, &report)?
            }
        };
        page.evaluations += evaluations;
        self.evaluations += evaluations;
        page.take_if_better(&order, cost);
        Ok(())
    }
}

/// Searches an order for each of `pages`: all a little, the better half more, and the best one with
/// what is left of the limit. Returns the number of orders evaluated.
///
/// # Errors
/// The errors of the replay.
pub(super) fn anneal(
    pages: &mut [PageSearch<'_>],
    seed: u64,
    limit: &SearchLimit<'_>,
    progress: ProgressFn<'_, LayoutProgress>,
) -> Result<u64> {
    let mut phases = Phases { seed, limit, progress, used: 0.0, evaluations: 0 };
    if let [only] = pages {
        phases.search(only, 1.0, Cooling::default(), 0)?;
        return Ok(phases.evaluations);
    }
    let share = FIRST_TRIES / pages.len() as f64;
    for page in pages.iter_mut() {
        phases.search(page, share, TRIES, 0)?;
    }
    let better: Vec<usize> = ranked(pages)?.into_iter().take(pages.len().div_ceil(2)).collect();
    let share = SECOND_TRIES / better.len() as f64;
    for number in better {
        phases.search(&mut pages[number], share, TRIES, 1)?;
    }
    let best = ranked(pages)?[0];
    phases.search(&mut pages[best], 1.0 - FIRST_TRIES - SECOND_TRIES, LAST, 2)?;
    ranked(pages)?;
    Ok(phases.evaluations)
}

/// Numbers of `pages`, the best first. Each page takes an order that another has found if it is
/// better here, too.
fn ranked(pages: &mut [PageSearch<'_>]) -> Result<Vec<usize>> {
    let orders: Vec<Order> = pages.iter().map(|page| page.best.clone()).collect();
    for page in pages.iter_mut() {
        for order in &orders {
            let cost = page.search.cost(order)?;
            page.take_if_better(order, cost);
        }
    }
    let mut ranked: Vec<usize> = (0..pages.len()).collect();
    ranked.sort_by(|a, b| pages[*a].cost.total_cmp(&pages[*b].cost));
    Ok(ranked)
}
