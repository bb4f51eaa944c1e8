//! Traces in memory.

use flashpager_base::Result;

use crate::run::{Mark, Run};
use crate::source::{CHUNK_RUNS, RunSource, Trace};
use crate::warm_up::WarmUp;

/// A trace in memory.
pub struct MemoryTrace {
    runs: Vec<Run>,
    /// The kind of each run; empty if all are executed.
    marks: Vec<Mark>,
    image_bytes: u64,
    warm_up: WarmUp,
}

impl MemoryTrace {
    /// Makes a trace of executed runs. The image ends with the last of them.
    pub fn new(runs: Vec<Run>) -> Self {
        let image_bytes = runs.iter().map(|run| run.end()).max().unwrap_or(0);
        Self::with_image(runs, image_bytes)
    }

    /// Makes a trace of executed runs in an image of `image_bytes`.
    pub fn with_image(runs: Vec<Run>, image_bytes: u64) -> Self {
        Self { runs, marks: Vec::new(), image_bytes, warm_up: WarmUp::default() }
    }

    /// Loads all runs of `trace`.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn load(trace: &dyn Trace) -> Result<Self> {
        let (mut runs, mut marks) = (Vec::new(), Vec::new());
        let mut chunk = Vec::new();
        let mut source = trace.runs()?;
        loop {
            source.read(&mut chunk)?;
            if chunk.is_empty() {
                let (image_bytes, warm_up) = (trace.image_bytes(), trace.warm_up());
                return Ok(Self { runs, marks, image_bytes, warm_up });
            }
            runs.extend_from_slice(&chunk);
            marks.extend_from_slice(source.marks());
        }
    }

    /// Returns the runs in `range`, in the same image and without a warm-up.
    ///
    /// # Panics
    /// If the range ends beyond the runs.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let marks = if self.marks.is_empty() { &[] } else { &self.marks[range.clone()] };
        Self {
            runs: self.runs[range].to_vec(),
            marks: marks.to_vec(),
            image_bytes: self.image_bytes,
            warm_up: WarmUp::default(),
        }
    }
}

impl Trace for MemoryTrace {
    fn image_bytes(&self) -> u64 {
        self.image_bytes
    }

    fn in_memory(&self) -> Option<&[Run]> {
        Some(&self.runs)
    }

    fn warm_up(&self) -> WarmUp {
        self.warm_up
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        Ok(Box::new(MemorySource { rest: &self.runs, marks: &self.marks, chunk_runs: 0 }))
    }

    fn has_reads(&self) -> bool {
        !self.marks.is_empty()
    }
}

struct MemorySource<'a> {
    /// Runs that have not been read.
    rest: &'a [Run],
    /// Kinds of the runs from the last chunk on.
    marks: &'a [Mark],
    /// Number of runs in the last chunk.
    chunk_runs: usize,
}

impl RunSource for MemorySource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        let (chunk, rest) = self.rest.split_at(self.rest.len().min(CHUNK_RUNS));
        runs.clear();
        runs.extend_from_slice(chunk);
        self.rest = rest;
        self.marks = &self.marks[self.chunk_runs.min(self.marks.len())..];
        self.chunk_runs = chunk.len();
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        &self.marks[..self.chunk_runs.min(self.marks.len())]
    }
}
