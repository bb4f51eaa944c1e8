//! The same execution in an image that is laid out anew.

use flashpager_base::Result;

use crate::{Run, RunBuilder, Trace, TraceWriter, for_runs};

/// Bytes that lie together and go elsewhere together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Offset of the first in the recorded image.
    pub from: u32,
    /// How many, at least 1.
    pub bytes: u32,
    /// Offset of the first in the new image; nothing for bytes that are not placed.
    pub to: Option<u32>,
}

/// Where the bytes of a recorded image go. What no [`Relocation`] covers belongs nowhere.
#[derive(Clone, Debug)]
pub struct Relocations {
    relocations: Vec<Relocation>,
    /// Where each goes on without a break, over its neighbours, in both images.
    ends: Vec<u32>,
}

/// Why a run cannot be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationError {
    /// No move covers the byte at this offset.
    Nowhere(u32),
    /// What covers the byte at this offset is not placed.
    Dropped(u32),
}

impl Relocations {
    /// Of moves by ascending `from`, none over another.
    pub fn new(relocations: Vec<Relocation>) -> Self {
        let mut ends: Vec<u32> = relocations.iter().map(|one| one.from + one.bytes).collect();
        for number in (1..relocations.len()).rev() {
            let (before, after) = (relocations[number - 1], relocations[number]);
            let behind = before.to.map(|to| to + before.bytes);
            if before.from + before.bytes == after.from && behind.is_some() && behind == after.to {
                ends[number - 1] = ends[number];
            }
        }
        Self { relocations, ends }
    }

    /// The number of the move of the byte at `offset`.
    pub fn owner(&self, offset: u32) -> Option<usize> {
        let number = self.relocations.partition_point(|one| one.from <= offset).checked_sub(1)?;
        let found = &self.relocations[number];
        (offset - found.from < found.bytes).then_some(number)
    }

    /// Hand out the pieces of `run` at their new places, in the order in which they execute.
    ///
    /// # Errors
    /// Bytes without a place; those before them have been handed out.
    pub fn pieces(
        &self,
        run: Run,
        mut take: impl FnMut(Run),
    ) -> std::result::Result<(), RelocationError> {
        let mut at = run.offset;
        while at < run.end() {
            let number = self.owner(at).ok_or(RelocationError::Nowhere(at))?;
            let one = &self.relocations[number];
            let to = one.to.ok_or(RelocationError::Dropped(at))?;
            let length = self.ends[number].min(run.end()) - at;
            take(Run { offset: to + (at - one.from), length });
            at += length;
        }
        Ok(())
    }

    /// Write the runs that `trace` has in the new image. `refused` says what is wrong with a byte
    /// that has no place. `go_on` as in [`for_runs`].
    ///
    /// # Errors
    /// Those of reading and writing, and what `refused` gives.
    pub fn rewrite(
        &self,
        trace: &dyn Trace,
        writer: &mut TraceWriter,
        refused: &dyn Fn(RelocationError) -> flashpager_base::Error,
        go_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut builder = RunBuilder::default();
        let mut before = None;
        let mut pieces: Vec<Run> = Vec::new();
        for_runs(trace, go_on, |runs| {
            for &run in runs {
                // Something outside the image lies between runs that would else be one.
                if before == Some(run.offset) {
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
