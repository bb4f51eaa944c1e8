//! The first runs of a trace: how many there are up to an event, and the trace that they make.

use flashpager_base::Result;

use crate::run::{Mark, Run};
use crate::source::{RunSource, Trace};
use crate::warm_up::WarmUp;

impl WarmUp {
    /// Counts the runs of `trace` before the first one for which `ends` returns true; all runs if
    /// it never does. `ends` gets the count so far, the next run and its kind.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn until(
        trace: &dyn Trace,
        mut ends: impl FnMut(&Self, &Run, Mark) -> bool,
    ) -> Result<Self> {
        let mut counted = Self::default();
        let mut runs = Vec::new();
        let mut source = trace.runs()?;
        loop {
            source.read(&mut runs)?;
            let mut marks = source.marks().iter();
            for run in &runs {
                if ends(&counted, run, marks.next().copied().unwrap_or_default()) {
                    return Ok(counted);
                }
                counted.runs += 1;
                counted.bytes += u64::from(run.length);
            }
            if runs.is_empty() {
                return Ok(counted);
            }
        }
    }
}

/// The first runs of a trace, in the same image.
pub struct FirstRuns<'a> {
    trace: &'a dyn Trace,
    runs: u64,
}

impl<'a> FirstRuns<'a> {
    /// The first `runs` runs of `trace`, or all if it has fewer.
    pub fn of(trace: &'a dyn Trace, runs: u64) -> Self {
        Self { trace, runs }
    }
}

impl Trace for FirstRuns<'_> {
    fn image_bytes(&self) -> u64 {
        self.trace.image_bytes()
    }

    fn in_memory(&self) -> Option<&[Run]> {
        let runs = self.trace.in_memory()?;
        Some(&runs[..runs.len().min(self.runs as usize)])
    }

    fn has_reads(&self) -> bool {
        self.trace.has_reads()
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        Ok(Box::new(FirstSource { source: self.trace.runs()?, left: self.runs, chunk_runs: 0 }))
    }
}

struct FirstSource<'a> {
    source: Box<dyn RunSource + 'a>,
    /// Number of runs still to read.
    left: u64,
    /// Number of runs in the last chunk.
    chunk_runs: usize,
}

impl RunSource for FirstSource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        if self.left == 0 {
            runs.clear();
            self.chunk_runs = 0;
            return Ok(());
        }
        self.source.read(runs)?;
        runs.truncate(runs.len().min(self.left as usize));
        self.left -= runs.len() as u64;
        self.chunk_runs = runs.len();
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        let marks = self.source.marks();
        &marks[..marks.len().min(self.chunk_runs)]
    }
}
