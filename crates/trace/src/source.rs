//! Traces as streams of runs.

use flashpager_base::{Error, Result};

use crate::gaps::Gap;
use crate::run::{Mark, Run};
use crate::warm_up::WarmUp;

/// Number of runs in a chunk.
pub const CHUNK_RUNS: usize = 16 * 1024;

/// Runs between two calls of `should_continue`: with many cache sizes each run takes a while.
const RUNS_BETWEEN_CHECKS: usize = 256;

/// A stream of runs.
pub trait RunSource: Send {
    /// Replaces `runs` by the next chunk; empty at the end.
    ///
    /// # Errors
    /// If runs cannot be read, or are damaged.
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()>;

    /// Returns the kind of each run of the last chunk; empty if all are [`Mark::Executed`].
    fn marks(&self) -> &[Mark] {
        &[]
    }
}

/// A trace, which can be read as often as needed.
pub trait Trace: Sync {
    /// Returns the size of the flash image in bytes. Every run lies below.
    fn image_bytes(&self) -> u64;

    /// Starts to read from the first run.
    ///
    /// # Errors
    /// If the trace cannot be read.
    fn runs(&self) -> Result<Box<dyn RunSource + '_>>;

    /// Returns all runs if they are in memory.
    fn in_memory(&self) -> Option<&[Run]> {
        None
    }

    /// Returns the first runs, which fill a cache and are not counted.
    fn warm_up(&self) -> WarmUp {
        WarmUp::default()
    }

    /// Called with the number of runs in memory that a reader has taken. Progress counts them.
    fn was_read(&self, _runs: u64) {}

    /// Returns the places at which executed code is missing.
    fn gaps(&self) -> &[Gap] {
        &[]
    }

    /// Returns true if data reads are among the runs. [`RunSource::marks`] then has their kinds.
    fn has_reads(&self) -> bool {
        false
    }
}

/// Number of runs in memory between two reports of progress.
pub(crate) const IN_MEMORY_RUNS: usize = 1 << 16;

/// Passes all runs of `trace` to `take`, some at a time. `should_continue` is called before each
/// time; the function stops when it returns false.
///
/// # Errors
/// If reading or `take` fails. [`Error::Interrupted`] if the callback ends the work.
pub fn for_runs(
    trace: &dyn Trace,
    should_continue: &dyn Fn() -> bool,
    mut take: impl FnMut(&[Run]) -> Result<()>,
) -> Result<()> {
    let mut take_all = |runs: &[Run]| {
        for some in runs.chunks(RUNS_BETWEEN_CHECKS) {
            if !should_continue() {
                return Err(Error::Interrupted);
            }
            take(some)?;
        }
        Ok(())
    };
    if let Some(runs) = trace.in_memory() {
        return runs.chunks(IN_MEMORY_RUNS).try_for_each(|some| {
            take_all(some)?;
            trace.was_read(some.len() as u64);
            Ok(())
        });
    }
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        take_all(&chunk)?;
    }
}

/// Passes each run of `trace` with its kind to `take`. `should_continue` is that of [`for_runs`].
///
/// # Errors
/// If [`for_runs`] fails.
pub fn for_marked_runs(
    trace: &dyn Trace,
    should_continue: &dyn Fn() -> bool,
    mut take: impl FnMut(Run, Mark) -> Result<()>,
) -> Result<()> {
    if !trace.has_reads() {
        return for_runs(trace, should_continue, |runs| {
            runs.iter().try_for_each(|run| take(*run, Mark::Executed))
        });
    }
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        if !should_continue() {
            return Err(Error::Interrupted);
        }
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        for (run, mark) in chunk.iter().zip(source.marks()) {
            take(*run, *mark)?;
        }
    }
}
