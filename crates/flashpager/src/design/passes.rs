//! Many designs over one trace. Designs that share cache page and policy are a cell; the cells of a
//! cache page share passes over the trace.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use flashpager_base::{ProgressFn, Result};
use flashpager_replay::pager::PolicySpec;
use flashpager_replay::register::RegisterDesign;
use flashpager_replay::{
    CacheDesign, Cell, HierarchyDesign, PassWork, passes, passes_weight, replay_cells, sweep,
};
use flashpager_trace::{FirstRuns, ProgressTrace, Trace, TraceInfo, WeightedWork};
use rayon::prelude::*;

use super::{Design, Evaluation};

/// A design in the result of its cell.
struct Member {
    design: usize,
    /// Indices of its size and register; `None` for a design that is replayed by itself.
    place: Option<(usize, usize)>,
}

/// The key of a cell: cache page, policy, ways, and the caches in front.
type CellKey<'a> = (u32, &'a PolicySpec, Option<u32>, Option<HierarchyDesign>);

/// The indices of the designs of each cell, ascending.
fn grouped<'a>(designs: &[&'a Design]) -> BTreeMap<CellKey<'a>, Vec<usize>> {
    let mut indices: BTreeMap<CellKey<'_>, Vec<usize>> = BTreeMap::new();
    for (index, design) in designs.iter().enumerate() {
        let CacheDesign { cache_page_bytes, policy, ways, hierarchy, .. } = &design.cache;
        indices.entry((*cache_page_bytes, policy, *ways, *hierarchy)).or_default().push(index);
    }
    indices
}

/// The designs of each cell, which [`evaluate_all`] replays together, as indices of `designs`. They
/// are ascending in each cell, and the cells are ordered by their first design.
pub fn cells<D: Borrow<Design>>(designs: &[D]) -> Vec<Vec<usize>> {
    let designs: Vec<&Design> = designs.iter().map(Borrow::borrow).collect();
    let mut cells: Vec<Vec<usize>> = grouped(&designs).into_values().collect();
    cells.sort_unstable();
    cells
}

/// The cells with the designs of each.
fn cells_of<D: Borrow<Design>>(designs: &[D]) -> (Vec<Vec<Member>>, Vec<Cell>) {
    let designs: Vec<&Design> = designs.iter().map(Borrow::borrow).collect();
    let cell =
        |((cache_page_bytes, policy, ways, hierarchy), indices): (CellKey<'_>, Vec<usize>)| {
            let swept = || indices.iter().filter(|index| !designs[**index].is_replayed_alone());
            let sizes = swept().map(|index| designs[*index].cache.cache_bytes);
            let sizes: Vec<u64> = sizes.collect::<BTreeSet<u64>>().into_iter().collect();
            let registers = swept().map(|index| designs[*index].register);
            let registers: Vec<RegisterDesign> =
                registers.collect::<BTreeSet<RegisterDesign>>().into_iter().collect();
            let member = |design: &usize| {
                let Design { cache, register, .. } = designs[*design];
                let size = sizes.partition_point(|size| *size < cache.cache_bytes);
                let size_and_register = (size, registers.partition_point(|other| other < register));
                let is_alone = designs[*design].is_replayed_alone();
                Member { design: *design, place: (!is_alone).then_some(size_and_register) }
            };
            let members = indices.iter().map(member).collect();
            let policy = policy.clone();
            let cell =
                Cell { cache_page_bytes, policy, ways, hierarchy, cache_bytes: sizes, registers };
            (members, cell)
        };
    grouped(&designs).into_iter().map(cell).unzip()
}

/// The maximum memory, in bytes, that [`evaluate_all`] needs for its passes on `threads` cores over the
/// trace described by `info`.
pub fn memory_bytes<D: Borrow<Design>>(info: &TraceInfo, designs: &[D], threads: usize) -> u64 {
    let (_, cells) = cells_of(designs);
    let alone = |design: &Design| {
        let CacheDesign { cache_bytes, cache_page_bytes, ref policy, ways, hierarchy } =
            design.cache;
        let (cache_bytes, registers) = (vec![cache_bytes], vec![design.register]);
        Cell { cache_page_bytes, policy: policy.clone(), ways, hierarchy, cache_bytes, registers }
    };
    let bytes = |cell: &Cell| cell.memory_bytes(info.image_bytes, info.runs, info.bytes);
    let together = |pass: Vec<usize>| {
        pass.into_iter().map(|cell| bytes(&cells[cell])).fold(0, u64::saturating_add)
    };
    let of_alone =
        |design: &Design| bytes(&alone(design)).saturating_add(homes_bytes(design, info));
    let by_themselves =
        designs.iter().map(Borrow::borrow).filter(|design| design.is_replayed_alone());
    let passes = passes(&cells, threads).into_iter().map(together);
    let mut largest: Vec<u64> = passes.chain(by_themselves.map(of_alone)).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    largest.iter().take(threads.max(1)).fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

/// Bytes for each miss while homes are trained: the miss, its place among the occurrences of two
/// rounds, and its pointer.
const TRAINING_BYTES: u64 = 64;

/// The maximum memory to train the homes of a design, in bytes; 0 without homes.
fn homes_bytes(design: &Design, info: &TraceInfo) -> u64 {
    if !design.has_homes() {
        return 0;
    }
    let page = u64::from(design.cache.cache_page_bytes.max(1));
    let references = info.runs.saturating_mul(2).saturating_add(info.bytes / page);
    references.saturating_mul(TRAINING_BYTES)
}

/// The length of a trace, and the callback for the share of the work on it that is done.
#[derive(Clone, Copy)]
pub struct WatchedWork<'a> {
    /// Runs of the trace.
    pub runs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Receives the share, from any thread.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl WatchedWork<'_> {
    /// Work whose progress is not reported.
    pub fn unwatched() -> WatchedWork<'static> {
        WatchedWork { runs: 0, bytes: 0, progress: &|_| () }
    }
}

/// Weight of a reference that is replayed for one design by itself, in the unit of
/// [`passes_weight`].
const EXECUTED_WEIGHT: f64 = 30.0;

/// Receives the results of a finished cell, each with the index of its design, and the numbers of
/// finished cells and of all.
pub type CellSink<'a> = &'a (dyn Fn(Vec<(usize, Evaluation)>, (usize, usize)) + Sync);

/// Replays `trace` for all `designs` on all cores and prices the counts, less those of its warm-up.
/// `done` is called from any thread.
///
/// # Errors
/// Errors of replays, and with a warm-up a design that cannot have one ([`Design::check_warm_up`]).
pub fn evaluate_all<D: Borrow<Design> + Sync>(
    trace: &dyn Trace,
    designs: &[D],
    should_continue: &(dyn Fn() -> bool + Sync),
    work: WatchedWork<'_>,
    done: CellSink<'_>,
) -> Result<()> {
    let (members, cells) = cells_of(designs);
    cells.iter().try_for_each(|cell| cell.check(trace.image_bytes()))?;
    let warm_up = trace.warm_up();
    if !warm_up.is_none() {
        designs.iter().try_for_each(|design| design.borrow().check_warm_up())?;
    }
    let first = FirstRuns::of(trace, warm_up.runs);
    let finished = AtomicUsize::new(0);
    let WatchedWork { runs, bytes, progress } = work;
    let of_executed = |design: &Design| {
        let page = f64::from(design.cache.cache_page_bytes.max(1));
        (runs as f64 + bytes as f64 / page) * EXECUTED_WEIGHT
    };
    let executed = designs.iter().map(Borrow::borrow).filter(|design| design.is_replayed_alone());
    let total = passes_weight(&cells, rayon::current_num_threads(), runs, bytes)
        + executed.map(of_executed).sum::<f64>();
    let weighted = WeightedWork::new(total, progress);
    let of_passes = PassWork { work: &weighted, runs, bytes };
    replay_cells(trace, &cells, should_continue, Some(&of_passes), &|index, mut counts| {
        if !warm_up.is_none() {
            let before = sweep(&first, &cells[index], &should_continue)?;
            for (counts, before) in counts.iter_mut().flatten().zip(before.iter().flatten()) {
                *counts = counts.minus(before);
            }
        }
        let evaluate = |member: &Member| {
            let design: &Design = designs[member.design].borrow();
            let evaluation = match member.place {
                Some((size, register)) => design.evaluate(&counts[size][register]),
                None => {
                    let part = weighted.part(of_executed(design), runs);
                    let read = |read| part.read(read);
                    let watched = ProgressTrace::new(trace, &read);
                    let executed = if design.has_homes() {
                        design.evaluate_homes(&watched, should_continue)?
                    } else {
                        design.execute(&watched, &should_continue)?
                    };
                    part.finish();
                    executed
                }
            };
            Ok((member.design, evaluation))
        };
        let evaluations = members[index].par_iter().map(evaluate).collect::<Result<_>>()?;
        let now = finished.fetch_add(1, Ordering::Relaxed) + 1;
        done(evaluations, (now, cells.len()));
        Ok(())
    })
}

/// Evaluates `designs`, in their order; `progress` receives the cells of [`evaluate_all`] that are
/// finished, and all.
///
/// # Errors
/// The errors of [`evaluate_all`].
pub fn simulate<D: Borrow<Design> + Sync>(
    trace: &dyn Trace,
    designs: &[D],
    should_continue: &(dyn Fn() -> bool + Sync),
    work: WatchedWork<'_>,
    progress: ProgressFn<'_, (usize, usize)>,
) -> Result<Vec<Evaluation>> {
    let evaluations_by_index = Mutex::new(Vec::new());
    evaluate_all(trace, designs, should_continue, work, &|evaluations, (now, all)| {
        evaluations_by_index.lock().unwrap_or_else(PoisonError::into_inner).extend(evaluations);
        progress((now, all));
    })?;
    let mut evaluations_by_index =
        evaluations_by_index.into_inner().unwrap_or_else(PoisonError::into_inner);
    evaluations_by_index.sort_by_key(|(index, _)| *index);
    Ok(evaluations_by_index.into_iter().map(|(_, evaluation)| evaluation).collect())
}
