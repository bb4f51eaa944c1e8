//! Warm-up: the first runs of a trace, which fill a cache and are not counted.

use flashpager_base::Result;
use serde::{Deserialize, Serialize};

use crate::{Mark, Run, RunSource, Trace};

/// So many runs of a trace, its first, of so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WarmUp {
    /// Runs.
    pub runs: u64,
    /// Bytes fetched by them.
    pub bytes: u64,
}

impl WarmUp {
    /// Whether all is counted.
    pub fn is_none(&self) -> bool {
        self.runs == 0
    }

    /// The first runs of `trace` up to the one of which `ends` says so, told how much there is
    /// before it, it, and what it is; all where it never does.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn until(
        trace: &dyn Trace,
        mut ends: impl FnMut(&Self, &Run, Mark) -> bool,
    ) -> Result<Self> {
        let mut found = Self::default();
        let mut runs = Vec::new();
        let mut source = trace.runs()?;
        loop {
            source.read(&mut runs)?;
            let mut marks = source.marks().iter();
            for run in &runs {
                if ends(&found, run, marks.next().copied().unwrap_or_default()) {
                    return Ok(found);
                }
                found.runs += 1;
                found.bytes += u64::from(run.length);
            }
            if runs.is_empty() {
                return Ok(found);
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
    /// So many of `trace`, or all where it has fewer.
    pub fn of(trace: &'a dyn Trace, runs: u64) -> Self {
        Self { trace, runs }
    }
}

impl Trace for FirstRuns<'_> {
    fn image_bytes(&self) -> u32 {
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
        Ok(Box::new(FirstSource { source: self.trace.runs()?, left: self.runs, read: 0 }))
    }
}

struct FirstSource<'a> {
    source: Box<dyn RunSource + 'a>,
    left: u64,
    /// Runs of the last chunk.
    read: usize,
}

impl RunSource for FirstSource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        if self.left == 0 {
            runs.clear();
            self.read = 0;
            return Ok(());
        }
        self.source.read(runs)?;
        runs.truncate(runs.len().min(self.left as usize));
        self.left -= runs.len() as u64;
        self.read = runs.len();
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        let marks = self.source.marks();
        &marks[..marks.len().min(self.read)]
    }
}
