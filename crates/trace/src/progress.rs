//! A trace that tells how far it has been read: a pass over a long one takes a minute.

use std::sync::atomic::{AtomicU64, Ordering};

use flashpager_base::Result;

use super::{Mark, Run, RunSource, Trace, WarmUp};

/// A trace, and whoever wants to know how many runs all its readers have read.
pub struct ProgressTrace<'a> {
    trace: &'a dyn Trace,
    read: AtomicU64,
    tell: &'a (dyn Fn(u64) + Sync),
}

impl<'a> ProgressTrace<'a> {
    /// Tell `tell` once a chunk. Runs that are in memory already are not counted.
    pub fn new(trace: &'a dyn Trace, tell: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { trace, read: AtomicU64::new(0), tell }
    }
}

impl Trace for ProgressTrace<'_> {
    fn image_bytes(&self) -> u32 {
        self.trace.image_bytes()
    }

    fn in_memory(&self) -> Option<&[Run]> {
        self.trace.in_memory()
    }

    fn warm_up(&self) -> WarmUp {
        self.trace.warm_up()
    }

    fn has_reads(&self) -> bool {
        self.trace.has_reads()
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        Ok(Box::new(ProgressSource { source: self.trace.runs()?, progress: self }))
    }
}

struct ProgressSource<'a> {
    source: Box<dyn RunSource + 'a>,
    progress: &'a ProgressTrace<'a>,
}

impl RunSource for ProgressSource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        self.source.read(runs)?;
        let count = runs.len() as u64;
        let read = self.progress.read.fetch_add(count, Ordering::Relaxed) + count;
        (self.progress.tell)(read);
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        self.source.marks()
    }
}
