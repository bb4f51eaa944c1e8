//! A sample of a long trace: windows of consecutive runs are replayed instead of the whole.
//!
//! **Windows.** The trace is cut into as many strata as there are windows, and one window is drawn
//! from each. The windows form [`REPLICATES`] traces, each with windows from all over the trace,
//! joined one behind another. Each replicate is replayed by itself. So every figure is known
//! [`REPLICATES`] times, independently, and the spread of these values is its error, whatever the
//! figure is (Cochran, Sampling Techniques, 1977, section 13.2: interpenetrating subsamples).
//!
//! **Joints.** Inside a window the cache and the data register behave as in the whole trace. At its
//! start they hold what the window before left there, which causes some additional faults. Their
//! number follows from a second replay of the same windows, each cut into halves that are joined
//! anew: it has the same runs and twice the joints. The difference, which is what the joints cost,
//! is subtracted.
//!
//! **Start.** A warm-up precedes the first window, so that no replicate begins with an empty cache
//! and no window executes code for the first time. It is replayed by itself, too, and subtracted.
//! In the whole trace each page is executed for the first time once: these faults are added, for
//! as many pages as the description of the trace has.
//!
//! **Limits.** A cache that holds half of what a replicate executes, but not the whole trace, still
//! holds pages of other windows when a window begins. Then the error is unknown.
//!
//! All of this adds and subtracts counts and times of whole replays.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flashpager_base::random::SplitMix64;
use flashpager_base::{Error, ProgressFn, Result};
use flashpager_replay::Counts;
use flashpager_trace::{BlockCounts, MemoryTrace, Run, Trace, TraceFile, TraceWindows, WarmUp};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::attribution::{self, Attribution, GroupBy};
use crate::cost::{Time, bandwidth_mib_s};
use crate::design::{self, Design, Evaluation};
use crate::result::ResultRow;
pub use crate::result::SampleErrors;
use crate::simulation::{self, CellProgress};

/// Number of traces that a sample consists of.
pub const REPLICATES: usize = 16;

/// Half of a 95 % interval in standard errors: Student's distribution with 15 degrees of freedom.
const STUDENT: f64 = 2.131;

/// Part of the correction for joints that the error contains. A half window finds fewer pages missing
/// at its start than a whole one, at worst in proportion to the root of its length: then the
/// correction is 0.4 of what joints cost, and one and a half times the correction is missing.
const JOINTS_IN_DOUBT: f64 = 1.5;

/// Least error of a time. Faults that are too rare to occur in windows took up to half a per cent of
/// the time in traces that were replayed both whole and as a sample.
const LEAST_ERROR_OF_TIME: f64 = 0.005;

/// Maximum number of runs of a trace that is replayed completely. A report on a longer one would
/// take more than a minute, so the trace is sampled.
pub const MAX_EXACT_RUNS: u64 = 1 << 27;

/// Size of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SamplePlan {
    /// Windows of each replicate.
    pub windows: u64,
    /// Runs of each window.
    pub window_runs: u64,
}

impl Default for SamplePlan {
    /// A sample of 17 million runs.
    fn default() -> Self {
        Self { windows: 64, window_runs: 1 << 14 }
    }
}

impl SamplePlan {
    /// Runs of all windows together.
    pub fn runs(&self) -> u64 {
        REPLICATES as u64 * self.windows * self.window_runs
    }

    /// For each replicate the indices of its windows' first runs, ascending, in a trace of `runs`
    /// runs.
    fn starts(&self, runs: u64) -> Vec<Vec<u64>> {
        // The same windows every time.
        let mut random = SplitMix64::new(runs);
        let strata = REPLICATES as u64 * self.windows;
        let mut starts = vec![Vec::new(); REPLICATES];
        for turn in 0..self.windows {
            // The replicate of each stratum is drawn, too: otherwise a period of the program could
            // coincide with that of the replicates.
            let mut order: Vec<usize> = (0..REPLICATES).collect();
            random.shuffle(&mut order);
            for (position, replicate) in order.into_iter().enumerate() {
                let stratum = turn * REPLICATES as u64 + position as u64;
                let edge = |stratum: u64| {
                    (u128::from(runs) * u128::from(stratum) / u128::from(strata)) as u64
                };
                let (from, to) = (edge(stratum), edge(stratum + 1));
                let room = (to - from).saturating_sub(self.window_runs);
                starts[replicate].push(from + random.below(room as usize + 1) as u64);
            }
        }
        starts
    }
}

/// Callback that returns false once the replay is to end.
type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Replays a sample of the trace `path`, as [`simulation::simulate`] replays the whole. Counts and
/// times are estimates for the whole trace; longest walks and worst faults are those of the sample.
///
/// # Errors
/// The errors of [`simulation::simulate`], a trace with fewer runs than `plan`, and one with data reads.
pub fn simulate<D: Borrow<Design> + Sync>(
    path: &Path,
    designs: &[D],
    plan: SamplePlan,
    should_continue: GoOn<'_>,
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Vec<ResultRow>> {
    let file = open(path, plan)?;
    let info = file.info();
    let executing = designs.iter().map(|design| design.borrow().executing(info));
    let designs: &[Cow<'_, Design>] = &executing.collect::<Result<Vec<_>>>()?;
    designs.iter().try_for_each(|design| design.check_plain_store("take a sample"))?;
    let windows = TraceWindows::of(&file)?;
    let length = plan.window_runs as usize;
    let (mut replicates, mut bytes, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for starts in plan.starts(info.runs) {
        let replayed = 3 * replicates.len();
        let replay = |number: usize, runs: Vec<Run>| {
            let trace = MemoryTrace::with_image(runs, file.image_bytes());
            let cells = |(finished, all): (usize, usize)| {
                let finished = (replayed + number) * all + finished;
                progress((finished as f64, 3 * REPLICATES * all));
            };
            design::simulate(
                &trace,
                designs,
                should_continue,
                design::WatchedWork::unwatched(),
                &cells,
            )
        };
        let runs = windows.join(starts, length)?;
        bytes.push(bytes_of(&runs));
        let before = warm_up(&runs, length);
        used.push(UsedPages::of(&before, &runs, length, should_continue)?);
        let halves = in_halves(&runs, length);
        let mut joined = replay(0, [&before[..], &runs].concat())?.into_iter();
        let mut in_halves = replay(1, [&before[..], &halves].concat())?.into_iter();
        let mut before = replay(2, before)?.into_iter();
        let replays = || {
            Some(ReplicateReplays {
                joined: joined.next()?,
                in_halves: in_halves.next()?,
                before: before.next()?,
            })
        };
        replicates.push(std::iter::from_fn(replays).collect::<Vec<_>>());
    }
    let sampled = SampleScale { total_bytes: info.bytes, bytes };
    let first_touches = |design: &Design| FirstTouches::of(design, &file, &used);
    let row = |(place, design): (usize, &Cow<'_, Design>)| {
        let replays: Vec<&ReplicateReplays> =
            replicates.iter().map(|replays| &replays[place]).collect();
        sampled.row(design, &replays, &first_touches(design))
    };
    Ok(designs.iter().enumerate().map(row).collect())
}

/// Results of a design for the windows of a replicate.
struct ReplicateReplays {
    /// The windows after the warm-up.
    joined: Evaluation,
    /// The windows cut into halves, after the warm-up.
    in_halves: Evaluation,
    /// The warm-up alone.
    before: Evaluation,
}

/// Results, each with its weight in a sum.
type WeightedEvaluations<'a> = Vec<(f64, &'a Evaluation)>;

impl ReplicateReplays {
    /// The windows, with what their joints cost.
    fn with_joints(&self) -> WeightedEvaluations<'_> {
        vec![(1.0, &self.joined), (-1.0, &self.before)]
    }

    /// The windows without what joints cost: twice the windows, less the same windows with two joints
    /// each.
    fn without_joints(&self) -> WeightedEvaluations<'_> {
        vec![(2.0, &self.joined), (-1.0, &self.in_halves), (-1.0, &self.before)]
    }
}

/// Opens a trace that has enough runs for `plan`.
fn open(path: &Path, plan: SamplePlan) -> Result<TraceFile> {
    let file = simulation::open(path, WarmUp::default())?;
    if file.info().reads > 0 {
        let message = "holds data reads, which a sample does not tell: replay the whole (--exact)";
        return Err(Error::data(path.display().to_string(), message));
    }
    let SamplePlan { windows, window_runs } = plan;
    let sampled =
        windows.checked_mul(window_runs).and_then(|runs| runs.checked_mul(REPLICATES as u64));
    let runs = file.info().runs;
    if windows == 0 || window_runs == 0 || sampled.is_none_or(|sampled| sampled > runs) {
        return Err(Error::data(
            path.display().to_string(),
            format!(
                "has {runs} runs: no sample of {REPLICATES} times {windows} windows of \
                 {window_runs} runs can be taken of it; replay the whole"
            ),
        ));
    }
    Ok(file)
}

/// Attributes the faults of a sample of the trace `path`, as [`attribution::attribute`] does those of
/// the whole. Counts and times are estimates for the whole trace.
///
/// # Errors
/// The errors of [`attribution::attribute`], a trace with fewer runs than `plan`, and one with data
/// reads.
pub fn attribute(
    path: &Path,
    design: &Design,
    by: GroupBy,
    elfs: &[PathBuf],
    plan: SamplePlan,
    should_continue: &(dyn Fn() -> bool + Sync),
) -> Result<Attribution> {
    let file = open(path, plan)?;
    let info = file.info();
    let design = &*design.executing(info)?;
    design.check_plain_store("take a sample")?;
    let windows = TraceWindows::of(&file)?;
    let of_replicate = |starts: Vec<u64>| {
        let runs = windows.join(starts, plan.window_runs as usize)?;
        let before = warm_up(&runs, plan.window_runs as usize);
        let attributed = |runs: Vec<Run>| {
            let trace = MemoryTrace::with_image(runs, file.image_bytes());
            attribution::attribute(&trace, info, design, by, elfs, &should_continue)
        };
        Ok(((attributed([&before[..], &runs].concat())?, attributed(before)?), bytes_of(&runs)))
    };
    let replicates = plan.starts(info.runs).into_par_iter().map(of_replicate);
    let (parts, bytes): (Vec<(Attribution, Attribution)>, Vec<u64>) =
        replicates.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let sampled = SampleScale { total_bytes: info.bytes, bytes };
    let evaluations: WeightedEvaluations<'_> = parts
        .iter()
        .flat_map(|(with, before)| [(1.0, &with.evaluation), (-1.0, &before.evaluation)])
        .collect();
    let whole = pooled(design, &evaluations, sampled.factor());
    // An owner without faults in any window, or with fewer than joints cost, has no known error.
    let error = |times: &[f64]| (times.iter().sum::<f64>() > 0.0).then(|| sampled.spread(times));
    Ok(attribution::merged(parts, whole, sampled.factor(), error))
}

/// Bytes of all `runs`.
fn bytes_of(runs: &[Run]) -> u64 {
    runs.iter().map(|run| u64::from(run.length)).sum()
}

/// The warm-up before the windows `runs`: each different run once, so that no window executes code for
/// the first time, and then the last window.
fn warm_up(runs: &[Run], window_runs: usize) -> Vec<Run> {
    let mut seen = FxHashSet::default();
    let mut before: Vec<Run> =
        runs.iter().rev().filter(|run| seen.insert(**run)).copied().collect();
    before.reverse();
    before.extend(runs.chunks(window_runs).next_back().unwrap_or_default());
    before
}

/// The windows `runs` cut into halves: all first halves, then all second ones.
fn in_halves(runs: &[Run], window_runs: usize) -> Vec<Run> {
    let half = window_runs.div_ceil(2);
    let windows = || runs.chunks(window_runs);
    let first = windows().flat_map(|window| &window[..half.min(window.len())]);
    let second = windows().flat_map(|window| &window[half.min(window.len())..]);
    first.chain(second).copied().collect()
}

/// Numbers of executed pages, for each page size that a description has.
struct UsedPages {
    /// Pages of a replicate.
    replicate: BlockCounts,
    /// Pages of each of its windows.
    windows: Vec<BlockCounts>,
}

impl UsedPages {
    fn of(
        before: &[Run],
        runs: &[Run],
        window_runs: usize,
        should_continue: GoOn<'_>,
    ) -> Result<Self> {
        let block_counts =
            |runs: &[Run]| BlockCounts::of(&MemoryTrace::new(runs.to_vec()), [], should_continue);
        let windows = runs.par_chunks(window_runs).map(block_counts).collect::<Result<_>>()?;
        Ok(Self { replicate: block_counts(before)?, windows })
    }
}

/// Numbers of pages that a design executes for the first time.
struct FirstTouches {
    /// Pages of the whole trace, as far as they are known.
    whole: f64,
    /// An upper bound for the pages of the whole trace.
    most_of_whole: f64,
    /// Mean number of pages of a replicate.
    mean: f64,
    /// Largest number of pages of a replicate.
    most: f64,
    /// Pages of all windows, each counted by itself.
    of_windows: f64,
}

impl FirstTouches {
    fn of(design: &Design, file: &TraceFile, used: &[UsedPages]) -> Self {
        let page_bytes = design.spec().cache_page_bytes;
        let pages = |counts: &BlockCounts| counts.pages_of(page_bytes).unwrap_or(0) as f64;
        let replicates = || used.iter().map(|used| pages(&used.replicate));
        let most = replicates().fold(0.0, f64::max);
        let whole = file.info().blocks.as_ref().map(pages).filter(|pages| *pages > 0.0);
        Self {
            whole: whole.unwrap_or(most),
            most_of_whole: whole
                .unwrap_or_else(|| file.info().image_bytes.div_ceil(page_bytes.into()) as f64),
            mean: replicates().sum::<f64>() / used.len() as f64,
            most,
            of_windows: used.iter().flat_map(|used| &used.windows).map(pages).sum(),
        }
    }

    /// Pages of the whole trace over those of a replicate.
    fn times(&self) -> f64 {
        if self.mean > 0.0 { self.whole / self.mean } else { 1.0 }
    }

    /// Upper bound for the pages of the whole trace over the known ones.
    fn most_times(&self) -> f64 {
        if self.whole > 0.0 { self.most_of_whole / self.whole } else { 1.0 }
    }

    /// Returns true if windows show the misses of the cache of `design`: it holds the whole trace, or
    /// less than half of a replicate.
    fn are_seen(&self, design: &Design) -> bool {
        let frames = design.frames() as f64;
        self.most_of_whole <= frames || self.most > 2.0 * frames
    }

    /// Returns true if each first execution costs the same, and nothing else costs anything.
    fn cost_the_same(&self, replays: &[&ReplicateReplays], figure: fn(&Evaluation) -> f64) -> bool {
        let misses = |part: &Evaluation| part.counts.misses as f64;
        let each = |part: &Evaluation| figure(part) / misses(part);
        self.most_of_whole == self.whole
            && replays.iter().all(|replays| misses(&replays.joined) == misses(&replays.before))
            && replays.iter().all(|part| each(&part.before) == each(&replays[0].before))
    }

    /// Time in nanoseconds if each window fetches all its pages again, which the replays do not show.
    fn refetched_ns(&self, replays: &[&ReplicateReplays]) -> f64 {
        let sum = |of: fn(&Evaluation) -> f64| {
            replays.iter().map(|replays| of(&replays.before)).sum::<f64>()
        };
        let faults_ns = sum(|part| part.time.time_ns - part.time.read_ns);
        self.of_windows * faults_ns / sum(|part| part.counts.misses as f64)
    }
}

/// Sizes of a trace and of its sample.
struct SampleScale {
    /// Bytes of the trace.
    total_bytes: u64,
    /// Bytes of each replicate.
    bytes: Vec<u64>,
}

impl SampleScale {
    /// Bytes of the trace over those of the sample.
    fn factor(&self) -> f64 {
        self.total_bytes as f64 / self.bytes.iter().sum::<u64>() as f64
    }

    fn row(
        &self,
        design: &Design,
        replays: &[&ReplicateReplays],
        first: &FirstTouches,
    ) -> ResultRow {
        let pool =
            |evaluations_of: fn(&ReplicateReplays) -> WeightedEvaluations<'_>| -> WeightedEvaluations<'_> {
                replays.iter().flat_map(|replays| evaluations_of(replays)).collect()
            };
        let factor = self.factor();
        let with_joints = pooled(design, &pool(ReplicateReplays::with_joints), factor);
        let without_start = pooled(design, &pool(ReplicateReplays::without_joints), factor);
        // Code is executed for the first time once.
        let count = replays.len() as f64;
        let read = |part: &Evaluation| part.counts.bytes_read as f64;
        let start_bytes = replays.iter().map(|replays| read(&replays.before)).sum::<f64>() / count;
        // The windows count for at least half.
        let times = first.times().min(0.5 * self.total_bytes as f64 / start_bytes);
        let factor = factor * (1.0 - times * start_bytes / self.total_bytes as f64);
        let start = replays.iter().map(|replays| (times / (count * factor), &replays.before));
        let all: WeightedEvaluations<'_> =
            pool(ReplicateReplays::without_joints).into_iter().chain(start).collect();
        let estimate = pooled(design, &all, factor);
        let of_each: Vec<Evaluation> =
            replays.iter().map(|replays| pooled(design, &replays.without_joints(), 1.0)).collect();
        let relative = |figure: fn(&Evaluation) -> f64, is_sum: bool| {
            let figure_of = |(part, bytes): (&Evaluation, &u64)| {
                figure(part) / if is_sum { *bytes as f64 } else { 1.0 }
            };
            let values: Vec<f64> = of_each.iter().zip(&self.bytes).map(figure_of).collect();
            let (whole, steady) = (figure(&estimate), figure(&without_start));
            let joints = (figure(&with_joints) - steady).abs();
            let start = if is_sum && first.cost_the_same(replays, figure) {
                0.0
            } else {
                (whole - steady).abs() * first.most_times()
            };
            (self.spread(&values) * steady.abs() + JOINTS_IN_DOUBT * joints + start) / whole
        };
        let known = |error: f64| (error < 1.0).then_some(error);
        let error = |figure: fn(&Evaluation) -> f64, is_sum: bool| {
            if first.are_seen(design) { known(relative(figure, is_sum)) } else { None }
        };
        let unseen =
            if first.are_seen(design) { 0.0 } else { first.refetched_ns(replays) * factor };
        let time = relative(|part| part.time.time_ns, true) + unseen / estimate.time.time_ns;
        let errors = SampleErrors {
            time: known(time.max(LEAST_ERROR_OF_TIME)),
            misses: error(|part| part.counts.misses as f64, true),
            loads: error(|part| part.counts.loads as f64, true),
            bytes_fetched: error(|part| part.counts.bytes_fetched as f64, true),
            mean_fault: error(|part| part.latency.mean_fault_ns, false),
            p99_fault: error(|part| part.latency.p99_fault_ns, false),
        };
        ResultRow { errors: Some(errors), ..ResultRow::new(design, estimate) }
    }

    /// Half of the 95 % interval of a mean over the replicates, as a share of the mean.
    fn spread(&self, values: &[f64]) -> f64 {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if mean == 0.0 {
            return 0.0;
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // The sampled part of the trace has no error.
        let unknown = 1.0 - 1.0 / self.factor();
        STUDENT * (unknown * squares / (count - 1.0) / count).sqrt() / mean.abs()
    }
}

/// The result for a whole that is `factor` times the sum of `parts`.
fn pooled(design: &Design, parts: &WeightedEvaluations<'_>, factor: f64) -> Evaluation {
    let time_of = |step: fn(&Time) -> f64| {
        factor * parts.iter().map(|(weight, part)| weight * step(&part.time)).sum::<f64>()
    };
    let counts = estimated(parts, factor);
    // The correction for joints is not exact, but the time of a step is never negative.
    let step_of = |step: fn(&Time) -> f64| time_of(step).max(0.0);
    let time_ns = step_of(|time| time.time_ns);
    let time = Time {
        time_ns,
        load_ns: step_of(|time| time.load_ns),
        fetch_ns: step_of(|time| time.fetch_ns),
        write_ns: step_of(|time| time.write_ns),
        read_ns: step_of(|time| time.read_ns),
        column_change_ns: step_of(|time| time.column_change_ns),
        lookups_ns: step_of(|time| time.lookups_ns),
        handler_ns: step_of(|time| time.handler_ns),
        false_faults_ns: step_of(|time| time.false_faults_ns),
        hidden_ns: time_of(|time| time.hidden_ns),
        bandwidth_mib_s: bandwidth_mib_s(counts.bytes_read as f64, time_ns),
    };
    let latencies = |of: fn(&Evaluation) -> &[(f64, u64)]| -> Vec<(f64, u64)> {
        // Times are at least 0, so that their bits are ordered as they are.
        let all = merged(parts, factor, |part| {
            Box::new(of(part).iter().map(|(ns, count)| (ns.to_bits(), *count)))
        });
        all.into_iter().map(|(bits, count)| (f64::from_bits(bits), count)).collect()
    };
    let fault_latencies = latencies(|part| &part.fault_latencies);
    let mut evaluation = design.evaluation(&counts, time, fault_latencies, &[]);
    let added = || parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(_, part)| part);
    evaluation.worst_wait_ns = added().map(|part| part.worst_wait_ns).fold(0.0, f64::max);
    if let Some(fetch) = &mut evaluation.fetch {
        fetch.fetch_latencies =
            latencies(|part| part.fetch.as_ref().map_or(&[], |fetch| &fetch.fetch_latencies));
        fetch.worst_fetch_ns = fetch.fetch_latencies.last().map_or(0.0, |(ns, _)| *ns);
    }
    evaluation
}

/// The counts of a whole that is `factor` times the sum of `parts`.
fn estimated(parts: &WeightedEvaluations<'_>, factor: f64) -> Counts {
    let sum = |count: fn(&Counts) -> u64| {
        let sum: f64 = parts.iter().map(|(weight, part)| weight * count(&part.counts) as f64).sum();
        (sum * factor).round().max(0.0) as u64
    };
    macro_rules! sums {
        ($($field:ident)*) => {
            Counts {
                $($field: sum(|counts| counts.$field),)*
                max_walk: parts.iter().map(|(_, part)| part.counts.max_walk).max().unwrap_or(0),
                distance_histogram: merged(parts, factor, |part| {
                    Box::new(part.counts.distance_histogram.iter().copied())
                }),
                loads_by_flash_page: merged(parts, factor, |part| {
                    Box::new(part.counts.loads_by_flash_page.iter().copied())
                }),
                first_words: merged(parts, factor, |part| {
                    Box::new(part.counts.first_words.iter().copied())
                }),
                // Faults are priced already.
                fault_classes: Vec::new(),
            }
        };
    }
    let counts = sums!(
        references hits misses false_faults reference_bits_set loads prefetches
        prefetches_in_vain other_page other_buffer forward backward column_changes bytes_read bytes_fetched bytes_skipped
        header_bytes_fetched tag_bytes_fetched mac_bytes bytes_written walk downgrades false_fault_downgrades words line_refills tlb_misses
    );
    // The correction for joints may exceed small counts.
    let hits = counts.references.saturating_sub(counts.misses + counts.false_faults);
    Counts {
        hits,
        line_refills: counts.line_refills.max(counts.references.min(counts.words)),
        ..counts
    }
}

/// The weighted sum of histograms, times `factor`.
fn merged<K: Ord>(
    parts: &WeightedEvaluations<'_>,
    factor: f64,
    of: impl for<'e> Fn(&'e Evaluation) -> Box<dyn Iterator<Item = (K, u64)> + 'e>,
) -> Vec<(K, u64)> {
    let mut sums = BTreeMap::new();
    for (weight, part) in parts {
        for (key, count) in of(part) {
            *sums.entry(key).or_insert(0.0) += weight * count as f64;
        }
    }
    let scaled = |(key, sum): (K, f64)| (key, (sum * factor).round().max(0.0) as u64);
    sums.into_iter().map(scaled).filter(|(_, count)| *count > 0).collect()
}
