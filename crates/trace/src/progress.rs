//! A trace that reports how far it has been read: a pass over a long one takes a minute.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

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
    /// Wraps `trace`. Runs that are in memory already count as [`for_runs`](crate::for_runs) passes
    /// them on.
    pub fn new(trace: &'a dyn Trace, progress: ProgressFn<'a>) -> Self {
        Self { trace, read: AtomicU64::new(0), progress }
    }
}

impl Trace for ProgressTrace<'_> {
    fn image_bytes(&self) -> u64 {
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

    fn was_read(&self, runs: u64) {
        let read = self.read.fetch_add(runs, Ordering::Relaxed) + runs;
        (self.progress)(read);
    }
}

struct ProgressSource<'a> {
    source: Box<dyn RunSource + 'a>,
    trace: &'a ProgressTrace<'a>,
}

impl RunSource for ProgressSource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        self.source.read(runs)?;
        self.trace.was_read(runs.len() as u64);
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        self.source.marks()
    }
}

/// The progress of work in parts that differ in their cost. A part of twice the weight takes about
/// twice as long.
pub struct WeightedWork<'a> {
    total: f64,
    done: Mutex<f64>,
    progress: &'a (dyn Fn(f64) + Sync),
}

impl<'a> WeightedWork<'a> {
    /// Begins work whose parts weigh `total`. `progress` receives the share of it that is done.
    pub fn new(total: f64, progress: &'a (dyn Fn(f64) + Sync)) -> Self {
        Self { total, done: Mutex::new(0.0), progress }
    }

    /// Begins a part that reads `runs` runs, those that it reads repeatedly each time.
    pub fn part(&self, weight: f64, runs: u64) -> WorkPart<'_> {
        WorkPart { work: self, weight, runs: runs.max(1), reported: Mutex::new(0.0) }
    }

    fn add(&self, weight: f64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += weight;
        (self.progress)((*done / self.total).clamp(0.0, 1.0));
    }
}

/// A part of [`WeightedWork`].
pub struct WorkPart<'a> {
    work: &'a WeightedWork<'a>,
    weight: f64,
    runs: u64,
    /// The share of the part that was reported as done.
    reported: Mutex<f64>,
}

impl WorkPart<'_> {
    /// Reports the number of runs that the part has read.
    pub fn read(&self, read: u64) {
        self.report((read as f64 / self.runs as f64).min(1.0));
    }

    /// Reports that the part is done.
    pub fn finish(&self) {
        self.report(1.0);
    }

    fn report(&self, share: f64) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if share > *reported {
            self.work.add(self.weight * (share - *reported));
            *reported = share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::IN_MEMORY_RUNS;
    use crate::{MemoryTrace, for_runs};

    #[test]
    fn parts_count_by_their_weight() {
        const RUNS: usize = 4 * IN_MEMORY_RUNS;
        let trace = MemoryTrace::new(vec![Run { offset: 0, length: 4 }; RUNS]);
        let seen = Mutex::new(Vec::new());
        let progress = |share| seen.lock().unwrap().push(share);
        let work = WeightedWork::new(4.0, &progress);
        for weight in [1.0, 3.0] {
            let part = work.part(weight, RUNS as u64);
            let read = |read| part.read(read);
            for_runs(&ProgressTrace::new(&trace, &read), &|| true, |_| Ok(())).unwrap();
            part.finish();
            let now = *seen.lock().unwrap().last().unwrap();
            assert_eq!(now, if weight == 1.0 { 0.25 } else { 1.0 });
        }
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() >= 8 && seen.is_sorted(), "{seen:?}");
    }
}
