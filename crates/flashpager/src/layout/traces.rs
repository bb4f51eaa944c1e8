//! The recorded executions that a search sees, and those that are held out from it.

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_trace::{Image, MemoryTrace, Run, Trace, TraceFile, TraceInfo, WarmUp};

use super::units::ExecutedBytes;
use crate::design::Design;
use crate::simulation;

/// A trace in memory.
pub(super) struct LoadedTrace {
    /// Its description.
    pub(super) info: TraceInfo,
    /// The part that the search sees.
    pub(super) training: MemoryTrace,
    /// The end of the trace, if a share of it is held out.
    pub(super) held_out: Option<MemoryTrace>,
    /// Its weight beside the other traces.
    pub(super) weight: f64,
}

impl LoadedTrace {
    /// Loads a trace and holds out `held_out_share` of its runs, at its end. Data reads move with
    /// the units that hold them.
    fn load(path: &Path, weight: f64, held_out_share: f64) -> Result<Self> {
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
        let (training, held_out) = if held_out_share > 0.0 {
            (all.part(0..kept), Some(all.part(kept..runs.len())))
        } else {
            (all, None)
        };
        Ok(Self { info, training, held_out, weight })
    }

    /// Both parts of the trace.
    fn parts(&self) -> impl Iterator<Item = &MemoryTrace> {
        [Some(&self.training), self.held_out.as_ref()].into_iter().flatten()
    }

    /// Returns true if both traces execute the same runs in the same order.
    fn executes_same_as(&self, other: &Self) -> bool {
        let runs = |trace: &Self| -> Vec<Run> {
            trace.parts().filter_map(|part| part.in_memory()).flatten().copied().collect()
        };
        let lengths = |trace: &Self| (trace.info.runs, trace.info.bytes);
        lengths(self) == lengths(other) && runs(self) == runs(other)
    }
}

/// All traces of a search, recorded in one image.
pub(super) struct TraceSet {
    /// Those that the search sees, whole or up to the share that is held out.
    pub(super) training: Vec<LoadedTrace>,
    /// Those that are held out whole.
    held_out: Vec<LoadedTrace>,
    /// Weights of [`TraceSet::held_out`].
    held_out_weights: Vec<f64>,
}

impl TraceSet {
    /// Loads `traces`, at least one, with their weights, and the traces `held_out`.
    ///
    /// # Errors
    /// If a trace cannot be read or is too short for `held_out_share`, the traces were recorded in
    /// different images, or a trace to hold out repeats one of the others.
    pub(super) fn load(
        traces: &[(PathBuf, f64)],
        held_out: &[PathBuf],
        held_out_share: f64,
    ) -> Result<Self> {
        let load =
            |(path, weight): &(PathBuf, f64)| LoadedTrace::load(path, *weight, held_out_share);
        let training = traces.iter().map(load).collect::<Result<Vec<_>>>()?;
        let load = |path: &PathBuf| LoadedTrace::load(path, 1.0, 0.0);
        let whole = held_out.iter().map(load).collect::<Result<Vec<_>>>()?;
        let first = &training[0].info;
        let paths = traces.iter().map(|(path, _)| path).chain(held_out);
        for (other, path) in training.iter().chain(&whole).zip(paths) {
            check_same_image(first, &other.info, path)?;
        }
        for (trace, path) in whole.iter().zip(held_out) {
            check_is_other_execution(trace, &training, path)?;
        }
        let split = training.iter().filter(|trace| trace.held_out.is_some());
        let weights = split.map(|trace| trace.weight).chain(whole.iter().map(|_| 1.0));
        let held_out_weights = weights.collect();
        Ok(Self { training, held_out: whole, held_out_weights })
    }

    /// The description of the first trace, which all others share the image with.
    pub(super) fn info(&self) -> &TraceInfo {
        &self.training[0].info
    }

    /// Returns true if any of the traces holds data reads.
    pub(super) fn has_reads(&self) -> bool {
        self.training.iter().chain(&self.held_out).any(|trace| trace.info.reads > 0)
    }

    /// The bytes of the image that any of the traces executes.
    pub(super) fn executed(&self, should_continue: &dyn Fn() -> bool) -> Result<ExecutedBytes> {
        let mut executed = ExecutedBytes::default();
        let all = self.training.iter().chain(&self.held_out);
        for part in all.flat_map(LoadedTrace::parts) {
            executed.add(part, should_continue)?;
        }
        Ok(executed)
    }

    /// The part of each trace that the search sees, with the trace's description.
    pub(super) fn training(&self) -> impl Iterator<Item = (&TraceInfo, &MemoryTrace)> {
        self.training.iter().map(|trace| (&trace.info, &trace.training))
    }

    /// Weights of [`TraceSet::training`].
    pub(super) fn weights(&self) -> Vec<f64> {
        self.training.iter().map(|trace| trace.weight).collect()
    }

    /// The held-out executions: ends of traces, and whole traces.
    pub(super) fn held_out(&self) -> impl Iterator<Item = (&TraceInfo, &MemoryTrace)> {
        let ends = self.training.iter();
        let ends = ends.filter_map(|trace| Some((&trace.info, trace.held_out.as_ref()?)));
        ends.chain(self.held_out.iter().map(|trace| (&trace.info, &trace.training)))
    }

    /// Weights of [`TraceSet::held_out`]: an end counts as its trace, a whole trace 1.
    pub(super) fn held_out_weights(&self) -> &[f64] {
        &self.held_out_weights
    }
}

/// Checks that data reads can be replayed through the cache of a design.
///
/// # Errors
/// If the design has an instruction cache, which data reads do not pass.
pub(super) fn check_reads_pass(design: &Design) -> Result<()> {
    if design.cache().hierarchy.is_none() {
        return Ok(());
    }
    Err(Error::design(
        "the trace holds data reads, which do not pass the board's instruction cache: take a \
         board without one, or record with --no-reads",
    ))
}

/// Checks that two traces were recorded in one image.
pub(crate) fn check_same_image(first: &TraceInfo, other: &TraceInfo, path: &Path) -> Result<()> {
    let images = |info: &TraceInfo| {
        let identity =
            |image: &Image| (image.build_id.clone(), image.sections.clone(), image.symbols.clone());
        info.images.iter().map(identity).collect::<Vec<_>>()
    };
    if images(first) == images(other) {
        return Ok(());
    }
    Err(Error::data(
        path.display().to_string(),
        "was recorded in another image than the first trace: take traces of one program",
    ))
}

/// Checks that a trace to hold out repeats none that the search sees.
fn check_is_other_execution(
    held_out: &LoadedTrace,
    training: &[LoadedTrace],
    path: &Path,
) -> Result<()> {
    if !training.iter().any(|trace| trace.executes_same_as(held_out)) {
        return Ok(());
    }
    Err(Error::data(
        path.display().to_string(),
        "executes, run by run, what a trace does that the search sees, so it tells nothing of \
         another run: hold out another trace, or the end of this one (--held-out-share)",
    ))
}
