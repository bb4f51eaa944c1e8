//! Layout: an order of the units of a program with which designs run it faster.
//!
//! The time of an exact replay is the objective. Published orders begin, a search goes on from
//! the best of them, and in the end the whole trace decides between all: what is given is never
//! worse than what was there.

mod code;
mod heat;
pub mod pin;

use std::path::{Path, PathBuf};

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_layout::{Annealer, LayoutTask, SearchResult};
pub use flashpager_layout::{
    Baseline, Budget, Cooling, Evaluations, Order, PieceSequence, Profile, Unit, UnitPlacement,
    Units, place,
};
use flashpager_replay::{Counts, replay};
use flashpager_trace::{MemoryTrace, Run, Trace, TraceFile, TraceInfo, WarmUp};
use rayon::prelude::*;
use serde::Serialize;

pub use code::{Coverage, ExecutedBytes, executed_share, units};
pub use heat::{Heat, PageHeat};

use crate::design::{Design, NO_SUMS};
use crate::linked::LinkedProgram;
use crate::simulation::{self, ResultRow};

/// What is to be laid out, and for what.
#[derive(Clone, Debug)]
pub struct LayoutRequest {
    /// Recorded executions of one image, and how much each counts.
    pub traces: Vec<(PathBuf, f64)>,
    /// The map of the link of what was recorded; without one, functions are what moves.
    pub map: Option<PathBuf>,
    /// Executions that are not looked at before the end.
    pub held_out: Vec<PathBuf>,
    /// The share of each trace, its end, that is not looked at before the end.
    pub held_out_share: f64,
    /// What runs it, and how much each counts: their times are taken as shares of those before.
    pub designs: Vec<(Design, f64)>,
    /// Cache pages to choose from; without any, each design keeps its own.
    pub pages: Vec<u32>,
    /// Names of units that lie in RAM.
    pub resident: Vec<String>,
    /// What the search's random numbers begin with.
    pub seed: u64,
}

/// When the search stops.
#[derive(Clone, Copy)]
pub enum SearchLimit<'a> {
    /// After about so many evaluations in all, the same each time, or once it is `stopped`.
    Evaluations {
        /// How many.
        all: u64,
        /// Whether the search is to end before.
        stopped: &'a (dyn Fn() -> bool + Sync),
    },
    /// When this, the share that is used up, is 1.
    Share(&'a (dyn Fn() -> f64 + Sync)),
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutProgress {
    /// The cache page that is searched; 0 where each design keeps its own.
    pub cache_page_bytes: u32,
    /// The share of the time before that the best so far takes.
    pub time_ratio: f64,
}

/// An order, for a cache page, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutOutcome {
    /// Which: `before`, the name of a baseline, or `found`.
    pub what: String,
    /// The cache page, of the first design.
    pub cache_page_bytes: u32,
    /// Time over that before with the design's own page, the mean of all designs.
    pub time_ratio: f64,
    /// The same of what was held out, if anything was.
    pub held_out_ratio: Option<f64>,
    /// By design, then by trace.
    pub rows: Vec<ResultRow>,
    /// The same of what was held out.
    pub held_out: Vec<ResultRow>,
}

/// What was found for a cache page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageLayout {
    /// The cache page, of the first design.
    pub cache_page_bytes: u32,
    /// The recorded order, with the same units in RAM.
    pub before: LayoutOutcome,
    /// The recorded order with nothing in RAM, where units are.
    pub before_resident: Option<LayoutOutcome>,
    /// The best of the published orders; the recorded one among them.
    pub baseline: LayoutOutcome,
    /// What is best of all.
    pub found: LayoutOutcome,
    /// Orders that the search tried with this page; 0 where it ended before.
    pub evaluations: u64,
    /// The names of movable units, as they are laid out.
    pub order: Vec<String>,
    /// Bytes of the image laid out so, and of gaps in it.
    pub image_bytes: u32,
    /// Bytes between units.
    pub gap_bytes: u32,
    /// Where each unit lay, where it lies now, and what it is.
    pub units: Vec<PlacedUnit>,
    /// By each published order, by the search's own measure: its time over that before.
    pub portfolio: Vec<(&'static str, f64)>,
    /// The pages of the recorded image of which something is executed. What is in RAM is not.
    pub heat_before: Vec<PageHeat>,
    /// Those of the image laid out anew.
    pub heat_after: Vec<PageHeat>,
}

/// A unit and its places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacedUnit {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u32,
    /// Its offset in the recorded image.
    pub before: u32,
    /// Its offset laid out anew.
    pub after: u32,
    /// Whether it stays.
    pub fixed: bool,
    /// Bytes executed of it.
    pub executed_bytes: f64,
}

/// What [`layout`] gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// For each cache page, as asked for.
    pub pages: Vec<PageLayout>,
    /// The place of the best of them.
    pub best: usize,
    /// How units were found.
    pub coverage: Coverage,
    /// Bytes of the units that lie in RAM, beside the cache.
    pub resident_bytes: u64,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Pieces that the search replays of those that were executed, for each cache page.
    pub replayed_pieces: Vec<u64>,
    /// Pieces executed.
    pub executed_pieces: u64,
}

/// A trace in memory, with what is said of it.
struct LoadedTrace {
    info: TraceInfo,
    training: MemoryTrace,
    held_out: Option<MemoryTrace>,
    weight: f64,
}

/// Open one. Data reads go with what holds them.
fn open(path: &Path, weight: f64, held_out_share: f64) -> Result<LoadedTrace> {
    let file = simulation::open(path, WarmUp::default())?;
    let all = MemoryTrace::load(&file)?;
    let info = TraceFile::info(&file).clone();
    let runs: &[Run] = all.in_memory().unwrap_or_default();
    let kept = ((1.0 - held_out_share) * runs.len() as f64).round() as usize;
    if kept == 0 || (held_out_share > 0.0 && kept == runs.len()) {
        return Err(Error::design(format!(
            "{}: of {} runs a held-out share of {held_out_share} leaves nothing on one side",
            path.display(),
            runs.len()
        )));
    }
    let part = |runs: &[Run]| MemoryTrace::with_image(runs.to_vec(), all.image_bytes());
    let (training, held_out) = if held_out_share > 0.0 {
        (part(&runs[..kept]), Some(part(&runs[kept..])))
    } else {
        (all, None)
    };
    Ok(LoadedTrace { info, training, held_out, weight })
}

/// Check that data reads pass the cache of a design.
fn check_reads_pass(design: &Design) -> Result<()> {
    if design.cache().hierarchy.is_none() {
        return Ok(());
    }
    Err(Error::design(
        "the trace holds data reads, which do not pass the board's instruction cache: take a \
         board without one, or record without --with-reads",
    ))
}

/// Whether two recorded images are one.
fn check_same_image(first: &TraceInfo, other: &TraceInfo, path: &Path) -> Result<()> {
    let image = |info: &TraceInfo| {
        let of = |image: &flashpager_trace::Image| {
            (image.build_id.clone(), image.sections.clone(), image.symbols.clone())
        };
        info.images.iter().map(of).collect::<Vec<_>>()
    };
    if image(first) == image(other) {
        return Ok(());
    }
    Err(Error::data(
        path.display().to_string(),
        "was recorded in another image than the first trace: lay out one program at a time",
    ))
}

/// Whether two traces execute the same, run by run.
fn is_same_execution(one: &LoadedTrace, other: &LoadedTrace) -> bool {
    let parts = |opened: &LoadedTrace| -> Vec<Run> {
        let traces = [Some(&opened.training), opened.held_out.as_ref()];
        let runs = traces.into_iter().flatten().filter_map(|trace| trace.in_memory());
        runs.flatten().copied().collect()
    };
    let bytes = |opened: &LoadedTrace| (opened.info.runs, opened.info.bytes);
    bytes(one) == bytes(other) && parts(one) == parts(other)
}

/// A cache page under way.
struct PageSearch<'a> {
    cache_page_bytes: u32,
    designs: Vec<(Design, f64)>,
    search: Annealer<'a>,
    best: Order,
    cost: f64,
    evaluations: u64,
    portfolio: Vec<(&'static str, f64)>,
    baseline: Order,
    baseline_name: &'static str,
}

/// Published orders, and the best of them.
struct BaselinePortfolio {
    /// By name, what each costs.
    portfolio: Vec<(&'static str, f64)>,
    best: Order,
    cost: f64,
    name: &'static str,
}

impl BaselinePortfolio {
    fn of(
        search: &Annealer<'_>,
        (units, profile): (&Units, &Profile),
        sequences: &[&PieceSequence],
        cluster_bytes: u32,
    ) -> Result<Self> {
        let mut portfolio = Vec::new();
        let mut best: Option<(f64, Order, &'static str)> = None;
        for (name, baseline) in Baseline::ALL {
            let order = baseline.order(units, profile, sequences, cluster_bytes)?;
            let cost = search.cost(&order)?;
            portfolio.push((name, cost));
            if best.as_ref().is_none_or(|(least, _, _)| cost < *least) {
                best = Some((cost, order, name));
            }
        }
        let Some((cost, best, name)) = best else { return Err(Error::Interrupted) };
        Ok(Self { portfolio, best, cost, name })
    }
}

/// What the prices of a design make of counts.
type CostFn = Box<dyn Fn(&Counts) -> f64 + Sync>;

fn cost_of(design: &Design) -> CostFn {
    let design = design.clone();
    Box::new(move |counts| design.time_of(counts).time_ns)
}

/// Designs with another cache page.
fn with_page(designs: &[(Design, f64)], page: Option<u32>) -> Result<Vec<(Design, f64)>> {
    let of = |(design, weight): &(Design, f64)| {
        let Some(cache_page_bytes) = page else { return Ok((design.clone(), *weight)) };
        let spec = crate::spec::DesignSpec { cache_page_bytes, ..design.written().clone() };
        Ok((Design::new(spec)?, *weight))
    };
    designs.iter().map(of).collect()
}

/// Times before by design, the weighted sum over traces.
fn times(rows: &[ResultRow], designs: usize, weights: &[f64]) -> Vec<f64> {
    let traces = weights.len();
    let of = |design: usize| {
        let rows = &rows[design * traces..(design + 1) * traces];
        rows.iter().zip(weights).map(|(row, weight)| weight * row.evaluation.time.time_ns).sum()
    };
    (0..designs).map(of).collect()
}

/// The mean of times over those before.
fn ratio(now: &[f64], before: &[f64], designs: &[(Design, f64)]) -> f64 {
    let weights: f64 = designs.iter().map(|(_, weight)| weight).sum();
    let shares = now.iter().zip(before).zip(designs);
    shares.map(|((now, before), (_, weight))| weight * now / before).sum::<f64>() / weights
}

/// A trace in a new image, what is said of it, and the bytes that it fetches out of RAM.
type Moved<'t> = (&'t TraceInfo, MemoryTrace, u64);

/// What all designs give for all traces, exactly. What is resident is read like a frame.
fn rows(designs: &[(Design, f64)], traces: &[Moved<'_>]) -> Result<Vec<ResultRow>> {
    let pairs: Vec<(&Design, &Moved<'_>)> = designs
        .iter()
        .flat_map(|(design, _)| traces.iter().map(move |trace| (design, trace)))
        .collect();
    let row = |(design, (info, trace, resident)): &(&Design, &Moved<'_>)| {
        let design = design.executing(info)?;
        let registers = [design.register()];
        let (mut counts, _) = replay(trace, design.cache(), &registers, &|| true, None)?;
        counts[0].bytes_read += resident;
        let distances = counts[0].distance_histogram.clone();
        let mut row = ResultRow::slim(&design, design.evaluate(&counts[0]));
        row.evaluation.counts.distance_histogram = distances;
        Ok(row)
    };
    pairs.par_iter().map(row).collect()
}

/// An order's placement of traces.
fn placed<'t>(
    units: &Units,
    order: &Order,
    traces: impl Iterator<Item = (&'t TraceInfo, &'t MemoryTrace)>,
) -> Result<Vec<Moved<'t>>> {
    let placement = place(units, order)?;
    let bytes = |trace: &MemoryTrace| -> u64 {
        let runs = trace.in_memory().unwrap_or_default();
        runs.iter().map(|run| u64::from(run.length)).sum()
    };
    let moved = |(info, trace): (&'t TraceInfo, &'t MemoryTrace)| {
        let moved = placement.remap(units, trace, &|| true)?;
        let resident = bytes(trace) - bytes(&moved);
        Ok((info, moved, resident))
    };
    traces.map(moved).collect()
}

/// Lay a program out. `go_on` is asked before the search, which [`SearchLimit`] ends.
///
/// # Errors
/// Traces of several images, without units that can move or that cannot be read; designs whose
/// time is no sum.
pub fn layout(
    request: &LayoutRequest,
    limit: &SearchLimit<'_>,
    go_on: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, LayoutProgress>,
) -> Result<Layout> {
    let LayoutRequest { designs, seed, .. } = request;
    check(request)?;
    let share = request.held_out_share;
    let opened = request.traces.iter().map(|(path, weight)| open(path, *weight, share));
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let first = &opened[0].info;
    let given = request.held_out.iter().map(|path| open(path, 1.0, 0.0));
    let given = given.collect::<Result<Vec<_>>>()?;
    let paths = request.traces.iter().map(|(path, _)| path).chain(&request.held_out);
    for (other, path) in opened.iter().chain(&given).zip(paths) {
        check_same_image(first, &other.info, path)?;
    }
    for (held_out, path) in given.iter().zip(&request.held_out) {
        if opened.iter().any(|trace| is_same_execution(trace, held_out)) {
            return Err(Error::data(
                path.display().to_string(),
                "executes, run by run, what a trace does that the search sees, so it tells nothing \
                 of another run: hold out another trace, or the end of this one \
                 (--held-out-share)",
            ));
        }
    }
    let has_reads = opened.iter().chain(&given).any(|one| one.info.reads > 0);
    if has_reads {
        designs.iter().try_for_each(|(design, _)| check_reads_pass(design))?;
    }
    if request.map.is_none() {
        code::check_named(first)?;
    }
    let mut executed = ExecutedBytes::new(first.image_bytes as u32);
    let all = opened.iter().chain(&given);
    for trace in all.flat_map(|one| [Some(&one.training), one.held_out.as_ref()]).flatten() {
        executed.add(trace, go_on)?;
    }
    let (recorded_units, mut notes) = match &request.map {
        Some(map) => (LinkedProgram::of(first, map)?.units().clone(), Vec::new()),
        None => units(first, &executed)?,
    };
    if has_reads {
        notes.push(
            "data that is read out of a unit moves with it; other data stays where it is, though a \
             link may move it a little"
                .to_owned(),
        );
    }
    let units = if request.resident.is_empty() {
        recorded_units.clone()
    } else if request.map.is_some() {
        return Err(Error::design(
            "what lies in RAM is not told to a linker by an order: put it into another section in \
             the linker script, link and record that, and leave --resident or --map out",
        ));
    } else {
        recorded_units.with_resident(request.resident.iter().map(String::as_str))?
    };
    let sequences = opened.iter().map(|one| PieceSequence::of(&units, &one.training, go_on));
    let sequences = sequences.collect::<Result<Vec<_>>>()?;
    let weights: Vec<f64> = opened.iter().map(|one| one.weight).collect();
    let profile = Profile::of(&units, sequences.iter().zip(weights.iter().copied()));
    let heat = Heat::of(sequences.iter().zip(weights.iter().copied()));
    let coverage = Coverage {
        movable: units.movable().len(),
        executed_share: executed_share(&units, &sequences),
        notes,
    };

    // What all is measured against: each design with its own page, and the recorded order, with
    // the same units in RAM.
    let training = || opened.iter().map(|one| (&one.info, &one.training));
    let held_out = || {
        let split = opened.iter().filter_map(|one| Some((&one.info, one.held_out.as_ref()?)));
        split.chain(given.iter().map(|one| (&one.info, &one.training)))
    };
    let has_held_out = held_out().next().is_some();
    let held_out_weights = if share > 0.0 {
        weights.iter().copied().chain(given.iter().map(|_| 1.0)).collect()
    } else {
        vec![1.0; given.len()]
    };
    let original = Order::original(&units);
    let count = designs.len();
    let recorded = placed(&units, &original, training())?;
    let before = times(&rows(designs, &recorded)?, count, &weights);
    let held_out_before = if has_held_out {
        let recorded = placed(&units, &original, held_out())?;
        times(&rows(designs, &recorded)?, count, &held_out_weights)
    } else {
        Vec::new()
    };

    let pages: Vec<Option<u32>> = if request.pages.is_empty() {
        vec![None]
    } else {
        request.pages.iter().copied().map(Some).collect()
    };
    let of_pages =
        pages.iter().map(|page| with_page(designs, *page)).collect::<Result<Vec<_>>>()?;
    let all_weights: f64 = designs.iter().map(|(_, weight)| weight).sum();
    let mut costs: Vec<Vec<(Design, f64, usize, CostFn)>> = Vec::new();
    for designs in &of_pages {
        let mut of_page: Vec<(Design, f64, usize, CostFn)> = Vec::new();
        for (number, (design, weight)) in designs.iter().enumerate() {
            for (trace, one) in opened.iter().enumerate() {
                let design = design.executing(&one.info)?.into_owned();
                let weight = weight * one.weight / before[number] / all_weights;
                let cost = cost_of(&design);
                of_page.push((design, weight, trace, cost));
            }
        }
        costs.push(of_page);
    }
    let tasks: Vec<Vec<LayoutTask<'_>>> = costs
        .iter()
        .map(|of_page| {
            of_page
                .iter()
                .map(|(design, weight, trace, cost)| LayoutTask {
                    sequence: &sequences[*trace],
                    cache: design.cache().clone(),
                    register: design.register(),
                    weight: *weight,
                    cost: cost.as_ref(),
                    needs_classes: design.prices().schedule.overlaps(),
                })
                .collect()
        })
        .collect();
    let all_sequences: Vec<&PieceSequence> = sequences.iter().collect();
    let begin = |(number, designs): (usize, &Vec<(Design, f64)>)| -> Result<PageSearch<'_>> {
        let search = Annealer::new(&units, &profile, &tasks[number])?;
        let largest = designs.iter().map(|(design, _)| design.cache().cache_bytes).max();
        let cluster_bytes = largest.unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        let BaselinePortfolio { portfolio, best, cost, name: baseline_name } =
            BaselinePortfolio::of(&search, (&units, &profile), &all_sequences, cluster_bytes)?;
        Ok(PageSearch {
            cache_page_bytes: designs[0].0.cache().cache_page_bytes,
            designs: designs.clone(),
            search,
            baseline: best.clone(),
            best,
            cost,
            evaluations: 0,
            portfolio,
            baseline_name,
        })
    };
    let mut under_way =
        of_pages.par_iter().enumerate().map(begin).collect::<Result<Vec<PageSearch<'_>>>>()?;
    let evaluations = anneal(&mut under_way, *seed, limit, progress)?;

    // The whole traces decide.
    let replayed_pieces = under_way.iter().map(|page| page.search.pieces() as u64).collect();
    let judge = |page: &PageSearch<'_>| -> Result<PageLayout> {
        let outcome = |what: &str, units: &Units, order: &Order| -> Result<LayoutOutcome> {
            let moved = placed(units, order, training())?;
            let rows_found = rows(&page.designs, &moved)?;
            let time_ratio = ratio(&times(&rows_found, count, &weights), &before, &page.designs);
            let (mut held_out_ratio, mut held_out_rows) = (None, Vec::new());
            if has_held_out {
                let moved = placed(units, order, held_out())?;
                held_out_rows = rows(&page.designs, &moved)?;
                let now = times(&held_out_rows, count, &held_out_weights);
                held_out_ratio = Some(ratio(&now, &held_out_before, &page.designs));
            }
            Ok(LayoutOutcome {
                what: what.to_owned(),
                cache_page_bytes: page.cache_page_bytes,
                time_ratio,
                held_out_ratio,
                rows: rows_found,
                held_out: held_out_rows,
            })
        };
        let before = outcome("before", &units, &original)?;
        let before_resident = if request.resident.is_empty() {
            None
        } else {
            Some(outcome("before", &recorded_units, &Order::original(&recorded_units))?)
        };
        let mut baseline = outcome(page.baseline_name, &units, &page.baseline)?;
        let mut found = outcome("found", &units, &page.best)?;
        let mut order = &page.best;
        if before.time_ratio < baseline.time_ratio {
            baseline =
                LayoutOutcome { what: Baseline::Original.name().to_owned(), ..before.clone() };
        }
        if baseline.time_ratio < found.time_ratio {
            found = LayoutOutcome { what: "found".to_owned(), ..baseline.clone() };
            order =
                if baseline.what == Baseline::Original.name() { &original } else { &page.baseline };
        }
        let placement = place(&units, order)?;
        let recorded: Vec<u32> = units.all().iter().map(|unit| unit.offset).collect();
        let page_bytes = page.cache_page_bytes;
        let placed = units.all().iter().zip(&placement.offsets).enumerate();
        let placed = placed.map(|(number, (unit, after))| PlacedUnit {
            name: unit.name.clone(),
            bytes: unit.bytes,
            before: unit.offset,
            after: *after,
            fixed: unit.fixed,
            executed_bytes: profile.bytes[number],
        });
        Ok(PageLayout {
            cache_page_bytes: page.cache_page_bytes,
            before,
            before_resident,
            baseline,
            found,
            evaluations: page.evaluations,
            order: order.names(&units).map(str::to_owned).collect(),
            image_bytes: placement.image_bytes,
            gap_bytes: placement.gap_bytes,
            units: placed.collect(),
            portfolio: page.portfolio.clone(),
            heat_before: heat.pages(page_bytes, &recorded),
            heat_after: heat.pages(page_bytes, &placement.offsets),
        })
    };
    let pages = under_way.iter().map(judge).collect::<Result<Vec<_>>>()?;
    let best = (0..pages.len())
        .min_by(|a, b| pages[*a].found.time_ratio.total_cmp(&pages[*b].found.time_ratio));
    Ok(Layout {
        best: best.unwrap_or(0),
        pages,
        coverage,
        resident_bytes: units.resident_bytes(),
        evaluations,
        replayed_pieces,
        executed_pieces: sequences.iter().map(|sequence| sequence.executed.len() as u64).sum(),
    })
}

fn check(request: &LayoutRequest) -> Result<()> {
    if request.traces.is_empty() || request.designs.is_empty() {
        return Err(Error::design("a layout needs a trace and a design"));
    }
    if !(0.0..1.0).contains(&request.held_out_share) {
        return Err(Error::design("the share that is held out is at least 0 and below 1"));
    }
    let weights = request.traces.iter().map(|(_, weight)| weight);
    let mut weights = weights.chain(request.designs.iter().map(|(_, weight)| weight));
    if weights.any(|weight| !(*weight > 0.0 && weight.is_finite())) {
        return Err(Error::design("a weight is above 0"));
    }
    for (design, _) in &request.designs {
        if design.is_executed() {
            return Err(Error::design(format!(
                "with {NO_SUMS}, times are no sums, which the search takes them to be; lay out for \
                 the design without them"
            )));
        }
    }
    Ok(())
}

/// Of the budget, what the pages are tried with, and what then the better half is.
const FIRST_TRIES: f64 = 0.35;
const SECOND_TRIES: f64 = 0.25;
/// Tries end warmer, as the search goes on.
const TRIES: Cooling = Cooling { hot: 4e-3, cold: 3e-4 };
/// And go on cooler.
const LAST: Cooling = Cooling { hot: 1.5e-3, cold: 5e-5 };

struct ShareBudget<'a> {
    share: &'a (dyn Fn() -> f64 + Sync),
    from: f64,
    to: f64,
}

impl Budget for ShareBudget<'_> {
    fn used(&self, _: u64) -> f64 {
        (((self.share)() - self.from) / (self.to - self.from)).max(0.0)
    }
}

/// So many evaluations, unless the search is stopped before.
struct EvaluationBudget<'a> {
    evaluations: Evaluations,
    stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Budget for EvaluationBudget<'_> {
    fn used(&self, evaluations: u64) -> f64 {
        if (self.stopped)() { 1.0 } else { self.evaluations.used(evaluations) }
    }
}

/// Search: all pages a little, the better ones more, and the best one to the end. Gives the
/// number of evaluations.
fn anneal(
    pages: &mut [PageSearch<'_>],
    seed: u64,
    limit: &SearchLimit<'_>,
    progress: ProgressFn<'_, LayoutProgress>,
) -> Result<u64> {
    let mut evaluations = 0;
    let mut used = 0.0;
    let mut phase = |page: &mut PageSearch<'_>, share: f64, cooling: Cooling, round: u64| {
        let report = |cost: f64| {
            progress(LayoutProgress { cache_page_bytes: page.cache_page_bytes, time_ratio: cost });
        };
        report(page.cost);
        let seed = seed.wrapping_mul(31).wrapping_add(round);
        let from = used;
        used += share;
        let SearchResult { order, cost, evaluations: more, .. } = match *limit {
            SearchLimit::Evaluations { all, stopped } => {
                let evaluations = Evaluations((share * all as f64 / 2.0) as u64);
                let budget = EvaluationBudget { evaluations, stopped };
                page.search.anneal(&page.best, cooling, seed, &budget, &report)?
            }
            SearchLimit::Share(share) => {
                let budget = ShareBudget { share, from, to: used };
                page.search.anneal(&page.best, cooling, seed, &budget, &report)?
            }
        };
        page.evaluations += more;
        evaluations += more;
        if cost < page.cost {
            (page.best, page.cost) = (order, cost);
        }
        Ok::<(), Error>(())
    };
    if pages.len() == 1 {
        phase(&mut pages[0], 1.0, Cooling::default(), 0)?;
        return Ok(evaluations);
    }
    let share = FIRST_TRIES / pages.len() as f64;
    for page in pages.iter_mut() {
        phase(page, share, TRIES, 0)?;
    }
    let ranked = |pages: &mut [PageSearch<'_>]| -> Result<Vec<usize>> {
        // An order found for one page may be better for another than its own.
        let orders: Vec<Order> = pages.iter().map(|page| page.best.clone()).collect();
        for page in pages.iter_mut() {
            for order in &orders {
                let cost = page.search.cost(order)?;
                if cost < page.cost {
                    (page.best, page.cost) = (order.clone(), cost);
                }
            }
        }
        let mut ranked: Vec<usize> = (0..pages.len()).collect();
        ranked.sort_by(|a, b| pages[*a].cost.total_cmp(&pages[*b].cost));
        Ok(ranked)
    };
    let better: Vec<usize> = ranked(pages)?.into_iter().take(pages.len().div_ceil(2)).collect();
    let share = SECOND_TRIES / better.len() as f64;
    for place in better {
        phase(&mut pages[place], share, TRIES, 1)?;
    }
    let best = ranked(pages)?[0];
    phase(&mut pages[best], 1.0 - FIRST_TRIES - SECOND_TRIES, LAST, 2)?;
    ranked(pages)?;
    Ok(evaluations)
}
