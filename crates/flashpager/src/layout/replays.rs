//! Exact replays of traces in another order of the units, and their times.

use flashpager_base::Result;
use flashpager_layout::{Order, UnitPlacement, Units, place};
use flashpager_replay::{Counts, replay};
use flashpager_trace::{MemoryTrace, Trace, TraceInfo};
use rayon::prelude::*;

use crate::design::Design;
use crate::result::ResultRow;

/// Price of counts, in nanoseconds.
pub(super) type CostFn = Box<dyn Fn(&Counts) -> f64 + Sync>;

/// The prices of `design` as a function of counts.
pub(super) fn cost_of(design: &Design) -> CostFn {
    let design = design.clone();
    Box::new(move |counts| design.time_of(counts).time_ns)
}

/// A trace whose runs lie as in another image.
pub(super) struct RelocatedTrace<'t> {
    info: &'t TraceInfo,
    trace: MemoryTrace,
    /// Bytes that it fetches from RAM, where some units are resident.
    resident_bytes: u64,
}

impl RelocatedTrace<'_> {
    /// The trace.
    pub(super) fn trace(&self) -> &MemoryTrace {
        &self.trace
    }
}

/// Lays `units` out in `order`, and gives the traces that the same executions have then.
///
/// # Errors
/// An image that is too large.
pub(super) fn relocated<'t>(
    units: &Units,
    order: &Order,
    traces: impl Iterator<Item = (&'t TraceInfo, &'t MemoryTrace)>,
) -> Result<Vec<RelocatedTrace<'t>>> {
    relocated_to(&place(units, order)?, units, traces)
}

/// Gives the traces that the same executions have with the units at the places of `placement`.
///
/// # Errors
/// Code that belongs to no unit.
pub(super) fn relocated_to<'t>(
    placement: &UnitPlacement,
    units: &Units,
    traces: impl Iterator<Item = (&'t TraceInfo, &'t MemoryTrace)>,
) -> Result<Vec<RelocatedTrace<'t>>> {
    let bytes = |trace: &MemoryTrace| -> u64 {
        let runs = trace.in_memory().unwrap_or_default();
        runs.iter().map(|run| u64::from(run.length)).sum()
    };
    let relocated = |(info, recorded): (&'t TraceInfo, &'t MemoryTrace)| {
        let trace = placement.remap(units, recorded, &|| true)?;
        let resident_bytes = bytes(recorded) - bytes(&trace);
        Ok(RelocatedTrace { info, trace, resident_bytes })
    };
    traces.map(relocated).collect()
}

/// Replays all traces through all designs: by design, then by trace. Bytes fetched from RAM are
/// priced like those out of a frame.
///
/// # Errors
/// Designs that cannot execute a trace ([`Design::executing`]), and the errors of the replay.
pub(super) fn replayed(
    designs: &[(Design, f64)],
    traces: &[RelocatedTrace<'_>],
) -> Result<Vec<ResultRow>> {
    let pairs: Vec<(&Design, &RelocatedTrace<'_>)> = designs
        .iter()
        .flat_map(|(design, _)| traces.iter().map(move |trace| (design, trace)))
        .collect();
    let row = |(design, relocated): &(&Design, &RelocatedTrace<'_>)| {
        let design = design.executing(relocated.info)?;
        let registers = [design.register()];
        let (mut counts, _) = replay(&relocated.trace, design.cache(), &registers, &|| true, None)?;
        counts[0].bytes_read += relocated.resident_bytes;
        let distances = counts[0].distance_histogram.clone();
        let mut row = ResultRow::slim(&design, design.evaluate(&counts[0]));
        row.evaluation.counts.distance_histogram = distances;
        Ok(row)
    };
    pairs.par_iter().map(row).collect()
}

/// Time in nanoseconds of each of so many `designs`, summed over traces by their `weights`. `rows`
/// are those of [`replayed`].
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
