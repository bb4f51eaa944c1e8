//! A sample of a long trace instead of the whole: windows of consecutive runs.
//!
//! The trace is cut into as many strata as there are windows, and one window is drawn from each.
//! The windows make up [`REPLICATES`] traces, each with windows from all over the trace, joined
//! one behind another. Each is replayed by itself. So every figure is known [`REPLICATES`]
//! times, independently, and their spread tells its error, whatever the figure is (Cochran,
//! Sampling Techniques, 1977, section 13.2: interpenetrating subsamples).
//!
//! Inside a window the cache and the data register see what they see in the whole trace. Where it
//! begins they hold what the window before left there, which costs some faults more. How many is
//! seen where windows are cut into halves and joined anew: the same runs, and twice the joints. So
//! what one joint more costs is taken off what is found. Before the first window stands a warm-up,
//! replayed by itself, too, and taken off: no replicate begins with an empty cache, and nothing is
//! executed in it for the first time. In the whole trace that happens once: so often it is added,
//! for as many pages as the description of the trace says that the whole uses.
//!
//! A cache that holds half of what a replicate executes, but not all of the trace, keeps through a
//! window what windows from elsewhere left there: of what is found the error is unknown.
//!
//! All of this is done with counts and times of whole replays, which add up.

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
use crate::simulation::{self, CellProgress, ResultRow};

/// Traces that a sample is made of.
pub const REPLICATES: usize = 16;

/// Of a 95 % interval: what Student's distribution has with 15 degrees of freedom.
const STUDENT: f64 = 2.131;

/// How much of what is taken off for joints stays in the error, too. Half a window finds less
/// missing than a whole one, down to what grows with the root of its length: then what is taken
/// off is 0.4 of what joints cost, and one and a half times that is left.
const JOINTS_IN_DOUBT: f64 = 1.5;

/// No time is said to be known better: faults that are too rare for windows to see took up to
/// half a per cent of it, where the whole trace was replayed beside the sample.
const LEAST_ERROR_OF_TIME: f64 = 0.005;

/// Traces of more runs take longer than a minute to report on: they are sampled.
pub const MAX_EXACT_RUNS: u64 = 1 << 27;

/// What is sampled of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SamplePlan {
    /// Windows in each replicate.
    pub windows: u64,
    /// Runs in a window.
    pub window_runs: u64,
}

impl Default for SamplePlan {
    /// 17 million runs.
    fn default() -> Self {
        Self { windows: 64, window_runs: 1 << 14 }
    }
}

impl SamplePlan {
    /// Runs in all windows.
    pub fn runs(&self) -> u64 {
        REPLICATES as u64 * self.windows * self.window_runs
    }

    /// The first runs of the windows of each replicate, ascending, in a trace of `runs` runs.
    fn starts(&self, runs: u64) -> Vec<Vec<u64>> {
        // The same windows every time.
        let mut random = SplitMix64::new(runs);
        let strata = REPLICATES as u64 * self.windows;
        let mut starts = vec![Vec::new(); REPLICATES];
        for turn in 0..self.windows {
            // Which replicate has which of these strata is drawn, too: else a program's own
            // period could fall in with theirs.
            let mut order: Vec<usize> = (0..REPLICATES).collect();
            for last in (1..REPLICATES).rev() {
                order.swap(last, random.below(last + 1));
            }
            for (place, replicate) in order.into_iter().enumerate() {
                let stratum = turn * REPLICATES as u64 + place as u64;
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

/// How far figures of a sample may be from those of the whole trace, as a share of the figure;
/// `None` where the sample cannot tell: the figure may be a multiple of what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SampleErrors {
    /// Of the time, and of bandwidths and ratios to NOR.
    pub time: Option<f64>,
    /// Of misses.
    pub misses: Option<f64>,
    /// Of loads.
    pub loads: Option<f64>,
    /// Of bytes fetched.
    pub bytes_fetched: Option<f64>,
    /// Of the mean fault.
    pub mean_fault: Option<f64>,
    /// Of the fault that 99 of 100 do not exceed.
    pub p99_fault: Option<f64>,
}

/// Asked every few runs whether to go on.
type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Replay a sample of the trace `path` as [`simulation::simulate`] does the whole. Counts and
/// times are those of the whole trace as the sample tells them; longest walks and worst faults
/// are the longest and worst in the sample.
///
/// # Errors
/// As [`simulation::simulate`]; and a trace that has fewer runs than `plan`.
pub fn simulate<D: Borrow<Design> + Sync>(
    path: &Path,
    designs: &[D],
    plan: SamplePlan,
    go_on: GoOn<'_>,
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Vec<ResultRow>> {
    let file = open(path, plan)?;
    let info = file.info();
    let executing = designs.iter().map(|design| design.borrow().executing(info));
    let designs: &[Cow<'_, Design>] = &executing.collect::<Result<Vec<_>>>()?;
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
            design::simulate(&trace, designs, go_on, &cells)
        };
        let runs = windows.join(starts, length)?;
        bytes.push(bytes_of(&runs));
        let before = warm_up(&runs, length);
        used.push(UsedPages::of(&before, &runs, length, go_on)?);
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

/// What a design gives for the windows of a replicate.
struct ReplicateReplays {
    /// As they are, behind the warm-up.
    joined: Evaluation,
    /// Cut into halves, behind the warm-up.
    in_halves: Evaluation,
    /// For the warm-up alone.
    before: Evaluation,
}

/// Results, and how often each counts.
type WeightedEvaluations<'a> = Vec<(f64, &'a Evaluation)>;

impl ReplicateReplays {
    /// The windows with their joints.
    fn with_joints(&self) -> WeightedEvaluations<'_> {
        vec![(1.0, &self.joined), (-1.0, &self.before)]
    }

    /// Without: twice the windows with their joints, less the windows with two each.
    fn without_joints(&self) -> WeightedEvaluations<'_> {
        vec![(2.0, &self.joined), (-1.0, &self.in_halves), (-1.0, &self.before)]
    }
}

/// A trace that has enough runs for `plan`.
fn open(path: &Path, plan: SamplePlan) -> Result<TraceFile> {
    let file = simulation::open(path, WarmUp::default())?;
    if file.info().reads > 0 {
        let what = "holds data reads, which a sample does not tell: replay the whole (--exact)";
        return Err(Error::data(path.display().to_string(), what));
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

/// Attribute the faults of a sample of the trace `path`, as [`attribution::attribute`] does
/// those of the whole. Counts and times are those of the whole trace as the sample tells them.
///
/// # Errors
/// As [`attribution::attribute`]; and a trace that has fewer runs than `plan`.
pub fn attribute(
    path: &Path,
    design: &Design,
    by: GroupBy,
    elfs: &[PathBuf],
    plan: SamplePlan,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Attribution> {
    let file = open(path, plan)?;
    let info = file.info();
    let design = &*design.executing(info)?;
    let windows = TraceWindows::of(&file)?;
    let of_replicate = |starts: Vec<u64>| {
        let runs = windows.join(starts, plan.window_runs as usize)?;
        let before = warm_up(&runs, plan.window_runs as usize);
        let of = |runs: Vec<Run>| {
            let trace = MemoryTrace::with_image(runs, file.image_bytes());
            attribution::attribute(&trace, info, design, by, elfs, &go_on)
        };
        Ok(((of([&before[..], &runs].concat())?, of(before)?), bytes_of(&runs)))
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
    // Of an owner whose faults no window has, or that has less than joints cost, nothing is known.
    let error = |times: &[f64]| (times.iter().sum::<f64>() > 0.0).then(|| sampled.spread(times));
    Ok(attribution::merged(parts, whole, sampled.factor(), error))
}

fn bytes_of(runs: &[Run]) -> u64 {
    runs.iter().map(|run| u64::from(run.length)).sum()
}

/// What stands before the windows `runs` and is taken off again: each run that occurs, that
/// nothing is executed for the first time behind it, and the last window.
fn warm_up(runs: &[Run], window_runs: usize) -> Vec<Run> {
    let mut seen = FxHashSet::default();
    let mut before: Vec<Run> =
        runs.iter().rev().filter(|run| seen.insert(**run)).copied().collect();
    before.reverse();
    before.extend(runs.chunks(window_runs).next_back().unwrap_or_default());
    before
}

/// The same windows cut into halves, the first ones before the second ones.
fn in_halves(runs: &[Run], window_runs: usize) -> Vec<Run> {
    let half = window_runs.div_ceil(2);
    let windows = || runs.chunks(window_runs);
    let first = windows().flat_map(|window| &window[..half.min(window.len())]);
    let second = windows().flat_map(|window| &window[half.min(window.len())..]);
    first.chain(second).copied().collect()
}

/// Pages that are executed, of each size that a description holds.
struct UsedPages {
    /// In a replicate.
    replicate: BlockCounts,
    /// In each of its windows.
    windows: Vec<BlockCounts>,
}

impl UsedPages {
    fn of(before: &[Run], runs: &[Run], window_runs: usize, go_on: GoOn<'_>) -> Result<Self> {
        let of = |runs: &[Run]| BlockCounts::of(&MemoryTrace::new(runs.to_vec()), [], go_on);
        let windows = runs.par_chunks(window_runs).map(of).collect::<Result<_>>()?;
        Ok(Self { replicate: of(before)?, windows })
    }
}

/// Pages of a design that are executed for the first time.
struct FirstTouches {
    /// In the whole trace: those that are known of, and the most there can be.
    whole: f64,
    most_of_whole: f64,
    /// In a replicate: the mean, and the most.
    mean: f64,
    most: f64,
    /// In all windows, each by itself.
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

    /// How many times those of a replicate the whole has.
    fn times(&self) -> f64 {
        if self.mean > 0.0 { self.whole / self.mean } else { 1.0 }
    }

    /// How many times those that are known of the whole can have.
    fn most_times(&self) -> f64 {
        if self.whole > 0.0 { self.most_of_whole / self.whole } else { 1.0 }
    }

    /// Whether windows see what the cache of `design` has no room for: it holds all of the trace,
    /// or less than half of a replicate.
    fn are_seen(&self, design: &Design) -> bool {
        let frames = design.frames() as f64;
        self.most_of_whole <= frames || self.most > 2.0 * frames
    }

    /// Whether each costs the same, and nothing else costs anything.
    fn cost_the_same(&self, replays: &[&ReplicateReplays], figure: fn(&Evaluation) -> f64) -> bool {
        let misses = |part: &Evaluation| part.counts.misses as f64;
        let each = |part: &Evaluation| figure(part) / misses(part);
        self.most_of_whole == self.whole
            && replays.iter().all(|replays| misses(&replays.joined) == misses(&replays.before))
            && replays.iter().all(|part| each(&part.before) == each(&replays[0].before))
    }

    /// What it costs if each window fetches all its pages again, and none is seen to.
    fn refetched_ns(&self, replays: &[&ReplicateReplays]) -> f64 {
        let sum = |of: fn(&Evaluation) -> f64| {
            replays.iter().map(|replays| of(&replays.before)).sum::<f64>()
        };
        let faults_ns = sum(|part| part.time.time_ns - part.time.read_ns);
        self.of_windows * faults_ns / sum(|part| part.counts.misses as f64)
    }
}

struct SampleScale {
    total_bytes: u64,
    /// Of each replicate.
    bytes: Vec<u64>,
}

impl SampleScale {
    /// How many times the sample the trace is.
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
            |of: fn(&ReplicateReplays) -> WeightedEvaluations<'_>| -> WeightedEvaluations<'_> {
                replays.iter().flat_map(|replays| of(replays)).collect()
            };
        let factor = self.factor();
        let with_joints = pooled(design, &pool(ReplicateReplays::with_joints), factor);
        let without_start = pooled(design, &pool(ReplicateReplays::without_joints), factor);
        // What is executed for the first time is so once.
        let count = replays.len() as f64;
        let read = |part: &Evaluation| part.counts.bytes_read as f64;
        let start_bytes = replays.iter().map(|replays| read(&replays.before)).sum::<f64>() / count;
        // Windows weigh at least half.
        let times = first.times().min(0.5 * self.total_bytes as f64 / start_bytes);
        let factor = factor * (1.0 - times * start_bytes / self.total_bytes as f64);
        let start = replays.iter().map(|replays| (times / (count * factor), &replays.before));
        let all: WeightedEvaluations<'_> =
            pool(ReplicateReplays::without_joints).into_iter().chain(start).collect();
        let found = pooled(design, &all, factor);
        let of_each: Vec<Evaluation> =
            replays.iter().map(|replays| pooled(design, &replays.without_joints(), 1.0)).collect();
        let relative = |figure: fn(&Evaluation) -> f64, is_sum: bool| {
            let of = |(part, bytes): (&Evaluation, &u64)| {
                figure(part) / if is_sum { *bytes as f64 } else { 1.0 }
            };
            let values: Vec<f64> = of_each.iter().zip(&self.bytes).map(of).collect();
            let (whole, steady) = (figure(&found), figure(&without_start));
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
        let time = relative(|part| part.time.time_ns, true) + unseen / found.time.time_ns;
        let errors = SampleErrors {
            time: known(time.max(LEAST_ERROR_OF_TIME)),
            misses: error(|part| part.counts.misses as f64, true),
            loads: error(|part| part.counts.loads as f64, true),
            bytes_fetched: error(|part| part.counts.bytes_fetched as f64, true),
            mean_fault: error(|part| part.latency.mean_fault_ns, false),
            p99_fault: error(|part| part.latency.p99_fault_ns, false),
        };
        ResultRow { errors: Some(errors), ..ResultRow::new(design, found) }
    }

    /// Half of a 95 % interval around the mean of what the replicates say, relative to it.
    fn spread(&self, values: &[f64]) -> f64 {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if mean == 0.0 {
            return 0.0;
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // What was sampled is known.
        let unknown = 1.0 - 1.0 / self.factor();
        STUDENT * (unknown * squares / (count - 1.0) / count).sqrt() / mean.abs()
    }
}

/// What the sum of `parts` tells of a whole that is `factor` times as much.
fn pooled(design: &Design, parts: &WeightedEvaluations<'_>, factor: f64) -> Evaluation {
    let time_of = |step: fn(&Time) -> f64| {
        factor * parts.iter().map(|(weight, part)| weight * step(&part.time)).sum::<f64>()
    };
    let counts = estimated(parts, factor);
    // What a joint costs is known about, and no step takes less than nothing.
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
        // Times are at least 0, so their bits are ordered as they are.
        let all = merged(parts, factor, |part| {
            Box::new(of(part).iter().map(|(ns, count)| (ns.to_bits(), *count)))
        });
        all.into_iter().map(|(bits, count)| (f64::from_bits(bits), count)).collect()
    };
    let fault_latencies = latencies(|part| &part.fault_latencies);
    let mut found = design.evaluation(&counts, time, fault_latencies, &[]);
    let seen = || parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(_, part)| part);
    found.worst_wait_ns = seen().map(|part| part.worst_wait_ns).fold(0.0, f64::max);
    if let Some(fetch) = &mut found.fetch {
        fetch.fetch_latencies =
            latencies(|part| part.fetch.as_ref().map_or(&[], |fetch| &fetch.fetch_latencies));
        fetch.worst_fetch_ns = fetch.fetch_latencies.last().map_or(0.0, |(ns, _)| *ns);
    }
    found
}

/// The counts of a whole that is `factor` times as much as the sum of `parts`.
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
                // Prices have been paid.
                fault_classes: Vec::new(),
            }
        };
    }
    let counts = sums!(
        references hits misses false_faults reference_bits_set loads prefetches
        prefetches_in_vain other_page other_buffer forward backward column_changes bytes_read bytes_fetched bytes_skipped
        tag_bytes_fetched mac_bytes bytes_written walk downgrades false_fault_downgrades words line_refills tlb_misses
    );
    // Where joints are all that there is, what is taken off for them can be too much.
    let hits = counts.references.saturating_sub(counts.misses + counts.false_faults);
    Counts {
        hits,
        line_refills: counts.line_refills.max(counts.references.min(counts.words)),
        ..counts
    }
}

/// Histograms added up.
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
