//! A trace that reports how far it has been read: a pass over a long one takes a minute.

use std::sync::atomic::{AtomicU64, Ordering};

use flashpager_base::Result;

use crate::run::{Mark, Run};
use crate::source::{RunSource, Trace};
use crate::warm_up::WarmUp;

/// Progress callback: the number of runs read so far by all readers of a trace.
pub type ProgressFn<'a> = &'a (dyn Fn(u64) + Sync);

/// A trace that calls a progress callback once for each chunk that is read.
pub struct ProgressTrace<'a> {
    trace: &'a dyn Trace,
    /// Runs read so far, by all readers.
    read: AtomicU64,
    progress: ProgressFn<'a>,
}

impl<'a> ProgressTrace<'a> {
    /// Wraps `trace`. Runs that are in memory already are not counted.
    pub fn new(trace: &'a dyn Trace, progress: ProgressFn<'a>) -> Self {
        Self { trace, read: AtomicU64::new(0), progress }
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
        Ok(Box::new(ProgressSource { source: self.trace.runs()?, trace: self }))
    }
}

struct ProgressSource<'a> {
    source: Box<dyn RunSource + 'a>,
    trace: &'a ProgressTrace<'a>,
}

impl RunSource for ProgressSource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        self.source.read(runs)?;
        let count = runs.len() as u64;
        let read = self.trace.read.fetch_add(count, Ordering::Relaxed) + count;
        (self.trace.progress)(read);
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        self.source.marks()
    }
}
