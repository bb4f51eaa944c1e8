//! Exact replays of recorded executions with the units at other places, and their times. The loops
//! of an execution are folded once, for many placements.

use std::borrow::Cow;

use flashpager_base::Result;
use flashpager_layout::{UnitPlacement, Units};
use flashpager_replay::{Counts, FoldedSequence, RunTable, replay_folded};
use flashpager_trace::{Mark, MemoryTrace, Run, TraceInfo, for_marked_runs};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::design::Design;
use crate::result::ResultRow;

/// Price of counts, in nanoseconds.
pub(super) type CostFn = Box<dyn Fn(&Counts) -> f64 + Sync>;

/// The prices of `design` as a function of counts.
pub(super) fn cost_of(design: &Design) -> CostFn {
    let design = design.clone();
    Box::new(move |counts| design.time_of(counts).time_ns)
}

/// A call: the last byte of the run that ends with it, and the offset that is called.
pub(super) type Call = (u32, u32);

/// A run of a folded execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FoldedRun {
    /// A run of the recorded image, executed or read.
    Recorded { run: Run, is_read: bool },
    /// Code with this number that the recorded image does not have.
    Added(u32),
}

/// A recorded execution with its loops folded.
pub(super) struct FoldedTrace<'t> {
    info: Cow<'t, TraceInfo>,
    /// The different runs.
    runs: Vec<FoldedRun>,
    /// Their numbers, in the order of execution.
    folded: FoldedSequence,
    /// Bytes of all runs.
    bytes: u64,
}

impl<'t> FoldedTrace<'t> {
    /// Folds each of `traces`.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn of_all(
        traces: impl Iterator<Item = (&'t TraceInfo, &'t MemoryTrace)>,
    ) -> Result<Vec<Self>> {
        traces.map(|(info, trace)| Self::of(info, trace)).collect()
    }

    fn of(info: &'t TraceInfo, trace: &MemoryTrace) -> Result<Self> {
        Self::folded(Cow::Borrowed(info), trace, &FxHashMap::default())
    }

    /// Folds `trace` with code added to some calls, by its number, which executes so many
    /// `instructions` in total.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn with_added(
        info: &TraceInfo,
        trace: &MemoryTrace,
        added: &FxHashMap<Call, u32>,
        instructions: u64,
    ) -> Result<Self> {
        let mut info = info.clone();
        info.instructions = info.instructions.map(|recorded| recorded + instructions);
        Self::folded(Cow::Owned(info), trace, added)
    }

    fn folded(
        info: Cow<'t, TraceInfo>,
        trace: &MemoryTrace,
        added: &FxHashMap<Call, u32>,
    ) -> Result<Self> {
        let mut numbers: FxHashMap<FoldedRun, u32> = FxHashMap::default();
        let (mut runs, mut executed, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut push = |run: FoldedRun| {
            let number = *numbers.entry(run).or_insert_with(|| {
                runs.push(run);
                runs.len() as u32 - 1
            });
            executed.push(number);
        };
        let mut last = None;
        for_marked_runs(trace, &|| true, |run, mark| {
            let is_read = mark == Mark::Read;
            if !is_read {
                let call = last.replace(run.last()).map(|last| (last, run.offset));
                let code =
                    call.filter(|_| mark == Mark::Executed).and_then(|call| added.get(&call));
                code.into_iter().for_each(|code| push(FoldedRun::Added(*code)));
            }
            push(FoldedRun::Recorded { run, is_read });
            bytes += u64::from(run.length);
            Ok(())
        })?;
        let folded = FoldedSequence::new(&executed, runs.len() as u32);
        Ok(Self { info, runs, folded, bytes })
    }

    /// The counts of `design` with the units at the places of `placement`. Bytes of resident units
    /// are read out of RAM, and count like those out of a frame. `added` has the runs of added code, by
    /// its number.
    ///
    /// # Errors
    /// If code belongs to no unit, or the replay fails.
    fn counts(
        &self,
        units: &Units,
        (placement, added): (&UnitPlacement, &[Vec<Run>]),
        design: &Design,
    ) -> Result<Counts> {
        let (mut table, mut moved) = (RunTable::default(), Vec::new());
        for run in &self.runs {
            match run {
                FoldedRun::Recorded { run, is_read } => {
                    let mark = if *is_read { Mark::Read } else { Mark::Executed };
                    placement.remap_run(units, *run, mark, &mut moved)?;
                    table.push(moved.drain(..));
                }
                FoldedRun::Added(code) => table.push(added[*code as usize].iter().copied()),
            }
        }
        let image_bytes = placement.image_bytes_with(table.runs());
        let registers = [design.register()];
        let placed = (&table, image_bytes);
        let mut counts = replay_folded(&self.folded, placed, design.cache(), &registers, &|| true)?
            .swap_remove(0);
        counts.bytes_read = self.bytes;
        Ok(counts)
    }
}

/// Replays all traces through all designs with the units at the places of `placement`: by design,
/// then by trace.
///
/// # Errors
/// If a design cannot execute a trace ([`Design::executing`]), or the replay fails.
pub(super) fn replayed_at(
    placement: &UnitPlacement,
    units: &Units,
    designs: &[(Design, f64)],
    traces: &[FoldedTrace<'_>],
) -> Result<Vec<ResultRow>> {
    replayed_with((placement, &[]), units, designs, traces)
}

/// Replays as [`replayed_at`] does, with the runs of code that was added to calls, by its number.
///
/// # Errors
/// The errors of [`replayed_at`].
pub(super) fn replayed_with(
    placed: (&UnitPlacement, &[Vec<Run>]),
    units: &Units,
    designs: &[(Design, f64)],
    traces: &[FoldedTrace<'_>],
) -> Result<Vec<ResultRow>> {
    let pairs: Vec<(&Design, &FoldedTrace<'_>)> = designs
        .iter()
        .flat_map(|(design, _)| traces.iter().map(move |trace| (design, trace)))
        .collect();
    let row = |(design, trace): &(&Design, &FoldedTrace<'_>)| {
        let design = design.executing(&trace.info)?;
        let counts = trace.counts(units, placed, &design)?;
        let distances = counts.distance_histogram.clone();
        let mut row = ResultRow::slim(&design, design.evaluate(&counts));
        row.evaluation.counts.distance_histogram = distances;
        Ok(row)
    };
    pairs.par_iter().map(row).collect()
}

/// Time in nanoseconds of each of so many `designs`, summed over traces by their `weights`. `rows`
/// are those of [`replayed_at`].
pub(super) fn times_ns(rows: &[ResultRow], designs: usize, weights: &[f64]) -> Vec<f64> {
    let traces = weights.len();
    let time_ns = |design: usize| {
        let rows = &rows[design * traces..(design + 1) * traces];
        rows.iter().zip(weights).map(|(row, weight)| weight * row.evaluation.time.time_ns).sum()
    };
    (0..designs).map(time_ns).collect()
}

/// The weighted mean over `designs` of their times, each divided by its time before.
pub(super) fn time_ratio(now_ns: &[f64], before_ns: &[f64], designs: &[(Design, f64)]) -> f64 {
    let weights: f64 = designs.iter().map(|(_, weight)| weight).sum();
    let shares = now_ns.iter().zip(before_ns).zip(designs);
    shares.map(|((now, before), (_, weight))| weight * now / before).sum::<f64>() / weights
}
