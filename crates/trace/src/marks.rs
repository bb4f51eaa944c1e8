//! The kinds of a trace's runs, one by one.

use flashpager_base::Result;

use crate::run::{Mark, Run};
use crate::source::{RunSource, Trace};

/// Reads the kind of each run of a trace, beside a replay that takes the runs alone.
pub struct MarkReader<'t> {
    source: Box<dyn RunSource + 't>,
    runs: Vec<Run>,
    at: usize,
}

impl<'t> MarkReader<'t> {
    /// Begins at the first run of `trace`.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn of(trace: &'t dyn Trace) -> Result<Self> {
        Ok(Self { source: trace.runs()?, runs: Vec::new(), at: 0 })
    }

    /// Returns the kind of the next run. `None` at the end, for a trace without data reads, and where
    /// it cannot be read.
    pub fn next_mark(&mut self) -> Option<Mark> {
        if self.at == self.runs.len() {
            self.at = 0;
            self.source.read(&mut self.runs).ok()?;
        }
        self.at += 1;
        self.source.marks().get(self.at - 1).copied()
    }
}
