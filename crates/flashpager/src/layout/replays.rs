//! Exact replays of recorded executions with the units at other places, and their times. The loops
//! of an execution are folded once, for many placements.

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

/// A recorded execution with its loops folded.
pub(super) struct FoldedTrace<'t> {
    info: &'t TraceInfo,
    /// The different runs, in the recorded image.
    runs: Vec<(Run, Mark)>,
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
        let mut numbers: FxHashMap<(Run, bool), u32> = FxHashMap::default();
        let (mut runs, mut executed, mut bytes) = (Vec::new(), Vec::new(), 0);
        for_marked_runs(trace, &|| true, |run, mark| {
            let number = *numbers.entry((run, mark == Mark::Read)).or_insert_with(|| {
                runs.push((run, mark));
                runs.len() as u32 - 1
            });
            executed.push(number);
            bytes += u64::from(run.length);
            Ok(())
        })?;
        let folded = FoldedSequence::new(&executed, runs.len() as u32);
        Ok(Self { info, runs, folded, bytes })
    }

    /// The counts of `design` with the units at the places of `placement`. Bytes of resident units
    /// are read out of RAM, and count like those out of a frame.
    ///
    /// # Errors
    /// If code belongs to no unit, or the replay fails.
    fn counts(&self, units: &Units, placement: &UnitPlacement, design: &Design) -> Result<Counts> {
        let (mut table, mut moved) = (RunTable::default(), Vec::new());
        for (run, mark) in &self.runs {
            placement.remap_run(units, *run, *mark, &mut moved)?;
            table.push(moved.drain(..));
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
    let pairs: Vec<(&Design, &FoldedTrace<'_>)> = designs
        .iter()
        .flat_map(|(design, _)| traces.iter().map(move |trace| (design, trace)))
        .collect();
    let row = |(design, trace): &(&Design, &FoldedTrace<'_>)| {
        let design = design.executing(trace.info)?;
        let counts = trace.counts(units, placement, &design)?;
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
