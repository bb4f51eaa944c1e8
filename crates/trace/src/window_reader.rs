//! Windows of a trace with gaps, read one after another.

use std::ops::Range;
use std::sync::Mutex;

use flashpager_base::{Error, Result};

use crate::run::Run;
use crate::source::{CHUNK_RUNS, RunSource, Trace};

/// Reads the windows of a trace in one pass, so that checksums are checked, too.
pub struct WindowReader<'a> {
    image_bytes: u64,
    source: Mutex<Position<'a>>,
}

/// The position of a reader.
struct Position<'a> {
    source: Box<dyn RunSource + 'a>,
    chunk: Vec<Run>,
    /// Runs of the chunk that were taken.
    taken: usize,
    /// Number of the next run.
    run: u64,
}

impl<'a> WindowReader<'a> {
    /// Starts to read `trace`.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn new(trace: &'a dyn Trace) -> Result<Self> {
        let position = Position { source: trace.runs()?, chunk: Vec::new(), taken: 0, run: 0 };
        Ok(Self { image_bytes: trace.image_bytes(), source: Mutex::new(position) })
    }

    /// Returns the window of these runs as a trace that can be read once. It has to begin where the
    /// one before ended.
    pub fn window(&self, runs: Range<u64>) -> CapturedWindow<'_, 'a> {
        CapturedWindow { reader: self, runs }
    }

    /// Checks that all runs were read.
    ///
    /// # Errors
    /// If runs are left, or the trace does not match its checksum.
    pub fn finish(self) -> Result<()> {
        let mut position = self.source.into_inner().map_err(|_| Error::Interrupted)?;
        position.fill()?;
        if position.chunk.is_empty() {
            return Ok(());
        }
        Err(Error::design("runs behind the last window: the trace was changed meanwhile"))
    }
}

impl Position<'_> {
    /// Reads the next chunk if the last one is used up. It is empty at the end of the trace.
    fn fill(&mut self) -> Result<()> {
        if self.taken == self.chunk.len() {
            self.source.read(&mut self.chunk)?;
            self.taken = 0;
        }
        Ok(())
    }
}

/// A window of a trace, which can be read once.
pub struct CapturedWindow<'r, 'a> {
    reader: &'r WindowReader<'a>,
    runs: Range<u64>,
}

impl Trace for CapturedWindow<'_, '_> {
    fn image_bytes(&self) -> u64 {
        self.reader.image_bytes
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        Ok(Box::new(WindowSource {
            reader: self.reader,
            next: self.runs.start,
            end: self.runs.end,
        }))
    }
}

struct WindowSource<'r, 'a> {
    reader: &'r WindowReader<'a>,
    /// Number of the next run of the window.
    next: u64,
    end: u64,
}

impl RunSource for WindowSource<'_, '_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        runs.clear();
        let mut position = self.reader.source.lock().map_err(|_| Error::Interrupted)?;
        if position.run != self.next {
            return Err(Error::design("a window is read once, behind the one before"));
        }
        if self.next == self.end {
            return Ok(());
        }
        position.fill()?;
        let wanted = (self.end - self.next).min(CHUNK_RUNS as u64) as usize;
        let Position { chunk, taken, run, .. } = &mut *position;
        let rest = &chunk[*taken..];
        let now = &rest[..rest.len().min(wanted)];
        runs.extend_from_slice(now);
        *taken += now.len();
        *run += now.len() as u64;
        self.next = *run;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryTrace;

    #[test]
    fn windows_are_read_one_after_another() {
        let run = |offset: u32| Run { offset, length: 1 };
        let trace = MemoryTrace::new((0..100_000).map(run).collect());
        let reader = WindowReader::new(&trace).expect("it is in memory");
        let mut all = Vec::new();
        for range in [0..1, 1..16_385, 16_385..99_999, 99_999..100_000] {
            let window = reader.window(range.clone());
            let read = MemoryTrace::load(&window).expect("it is read once");
            let runs = read.in_memory().expect("it is in memory");
            assert_eq!(runs.len() as u64, range.end - range.start);
            all.extend_from_slice(runs);
        }
        assert!(MemoryTrace::load(&reader.window(0..1)).is_err());
        reader.finish().expect("all was read");
        assert_eq!(all.len(), 100_000);
        assert!(all.iter().enumerate().all(|(at, run)| run.offset as usize == at));
    }

    #[test]
    fn runs_behind_the_last_window_are_found() {
        let trace = MemoryTrace::new(vec![Run { offset: 0, length: 1 }; 2]);
        let reader = WindowReader::new(&trace).expect("it is in memory");
        MemoryTrace::load(&reader.window(0..1)).expect("it is read once");
        assert!(reader.finish().is_err());
    }
}
