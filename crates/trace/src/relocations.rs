//! Relocations: the trace of the same execution in an image with another layout.

use flashpager_base::Result;

use crate::file::TraceWriter;
use crate::run::{Run, RunBuilder};
use crate::source::{Trace, for_runs};

/// Adjoining bytes that move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Offset of the first byte in the recorded image.
    pub from: u32,
    /// Number of bytes, at least 1.
    pub bytes: u32,
    /// Offset of the first byte in the new image; `None` if the bytes are not placed.
    pub to: Option<u32>,
}

/// The relocations of all bytes of a recorded image.
#[derive(Clone, Debug)]
pub struct Relocations {
    relocations: Vec<Relocation>,
    /// For each relocation, the end of the adjoining relocations that keep their distance to it.
    ends: Vec<u64>,
}

/// Reason why a run cannot be relocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationError {
    /// No relocation covers the byte at this offset.
    Uncovered(u32),
    /// The bytes around this offset are not placed.
    Dropped(u32),
}

impl Relocations {
    /// Takes relocations that are sorted by `from` and do not overlap.
    pub fn new(relocations: Vec<Relocation>) -> Self {
        let end = |from: u32, bytes: u32| u64::from(from) + u64::from(bytes);
        let mut ends: Vec<u64> = relocations.iter().map(|one| end(one.from, one.bytes)).collect();
        for number in (1..relocations.len()).rev() {
            let (before, after) = (relocations[number - 1], relocations[number]);
            let behind = before.to.map(|to| end(to, before.bytes));
            if end(before.from, before.bytes) == u64::from(after.from)
                && behind.is_some()
                && behind == after.to.map(u64::from)
            {
                ends[number - 1] = ends[number];
            }
        }
        Self { relocations, ends }
    }

    /// Returns the index of the relocation that covers the byte at `offset`.
    pub fn owner(&self, offset: u32) -> Option<usize> {
        let number = self.relocations.partition_point(|one| one.from <= offset).checked_sub(1)?;
        let relocation = &self.relocations[number];
        (offset - relocation.from < relocation.bytes).then_some(number)
    }

    /// Passes the pieces of `run` at their new places to `take`, in the order in which they execute.
    ///
    /// # Errors
    /// If a byte has no new place. The error is the first such byte; the pieces before it have been
    /// passed on.
    pub fn pieces(
        &self,
        run: Run,
        mut take: impl FnMut(Run),
    ) -> std::result::Result<(), RelocationError> {
        let mut next = u64::from(run.offset);
        while next < run.end() {
            let at = next as u32;
            let number = self.owner(at).ok_or(RelocationError::Uncovered(at))?;
            let one = &self.relocations[number];
            let to = one.to.ok_or(RelocationError::Dropped(at))?;
            let end = self.ends[number].min(run.end());
            take(Run { offset: to + (at - one.from), length: (end - next) as u32 });
            next = end;
        }
        Ok(())
    }

    /// Writes the runs of `trace` at their new places. `refused` makes the error for a byte without a
    /// new place. `should_continue` is that of [`for_runs`].
    ///
    /// # Errors
    /// If reading or writing fails, or with the error of `refused`.
    pub fn rewrite(
        &self,
        trace: &dyn Trace,
        writer: &mut TraceWriter,
        refused: &dyn Fn(RelocationError) -> flashpager_base::Error,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut builder = RunBuilder::default();
        let mut before = None;
        let mut pieces: Vec<Run> = Vec::new();
        for_runs(trace, should_continue, |runs| {
            for &run in runs {
                // Code outside the image was executed between two adjoining runs.
                if before == Some(run.offset.into()) {
                    pieces.extend(builder.cut());
                }
                before = Some(run.end());
                self.pieces(run, |piece| pieces.extend(builder.push(piece))).map_err(refused)?;
                pieces.drain(..).try_for_each(|piece| writer.push(piece))?;
            }
            Ok(())
        })?;
        builder.cut().map_or(Ok(()), |run| writer.push(run))
    }
}
