//! Runs, the elements of a trace.

/// Longest run, in bytes. No processor fetches more without a jump; a longer run in a file is
/// damage.
pub const MAX_RUN_BYTES: u32 = 1 << 24;

/// Size of the largest flash image, in bytes: offsets have 32 bits.
pub const MAX_IMAGE_BYTES: u64 = 1 << 32;

/// Bytes fetched one after another, in flash-image offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Offset of the first byte in the flash image.
    pub offset: u32,
    /// Bytes fetched, 1 to [`MAX_RUN_BYTES`].
    pub length: u32,
}

impl Run {
    /// Makes a run of numbers from a file.
    ///
    /// # Errors
    /// If the numbers are impossible, in words without a place.
    pub fn checked(offset: u64, length: u64) -> std::result::Result<Self, String> {
        if length == 0 {
            return Err("a run of length 0".into());
        }
        if length > u64::from(MAX_RUN_BYTES) {
            return Err(format!(
                "a run of {length} bytes is longer than {MAX_RUN_BYTES} bytes: no program runs so \
                 far without a jump"
            ));
        }
        if offset.saturating_add(length) > MAX_IMAGE_BYTES {
            return Err(format!("a run at offset {offset:#x} reaches beyond 4 GiB"));
        }
        Ok(Self { offset: offset as u32, length: length as u32 })
    }

    /// Returns the offset of the last byte.
    #[inline]
    pub fn last(self) -> u32 {
        self.offset + (self.length - 1)
    }

    /// Returns the offset just behind the run, at most [`MAX_IMAGE_BYTES`].
    #[inline]
    pub fn end(self) -> u64 {
        u64::from(self.offset) + u64::from(self.length)
    }
}

/// The kind of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Executed, after a jump.
    #[default]
    Executed,
    /// Executed, directly behind the executed run before it. Data reads, which stand between the
    /// two, cut them apart.
    Continued,
    /// Read as data.
    Read,
}

const READ: u32 = 1 << 31;
const CONTINUED: u32 = 1 << 30;

impl Mark {
    /// Returns its name in text formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Continued => "continued",
            Self::Read => "read",
        }
    }

    /// Returns the mark with this name, if there is one.
    pub fn named(name: &[u8]) -> Option<Self> {
        [Self::Executed, Self::Continued, Self::Read]
            .into_iter()
            .find(|mark| mark.name().as_bytes() == name)
    }

    /// Puts the mark into the upper bits of a length, as a trace file with schema 2 stores it.
    pub(crate) fn encode(self, length: u32) -> u32 {
        match self {
            Self::Executed => length,
            Self::Continued => length | CONTINUED,
            Self::Read => length | READ,
        }
    }

    /// Splits a stored length into mark and length. With both bits set the length stays too long,
    /// so that it is refused.
    pub(crate) fn decode(stored: u32) -> (Self, u32) {
        match stored & (READ | CONTINUED) {
            READ => (Self::Read, stored & !READ),
            CONTINUED => (Self::Continued, stored & !CONTINUED),
            _ => (Self::Executed, stored),
        }
    }
}

/// Joins pieces of code that are fetched one after another into runs.
#[derive(Default)]
pub struct RunBuilder {
    current: Option<Run>,
}

impl RunBuilder {
    /// Adds a piece. Returns the run before it if a jump lies between them.
    #[inline]
    pub fn push(&mut self, piece: Run) -> Option<Run> {
        match &mut self.current {
            Some(run)
                if run.end() == u64::from(piece.offset)
                    && run.length + piece.length <= MAX_RUN_BYTES =>
            {
                run.length += piece.length;
                None
            }
            current => current.replace(piece),
        }
    }

    /// Adds pieces until there are no more or `runs` is full. Returns the number of runs that are
    /// complete, which begin `runs`.
    #[inline]
    pub fn push_all(&mut self, pieces: &mut impl Iterator<Item = Run>, runs: &mut [Run]) -> usize {
        let Some(mut run) = self.current.or_else(|| pieces.next()) else { return 0 };
        let mut complete = 0;
        // Without a branch: where runs end cannot be predicted.
        while complete < runs.len()
            && let Some(piece) = pieces.next()
        {
            let length = run.length + piece.length;
            let joins = run.end() == u64::from(piece.offset) && length <= MAX_RUN_BYTES;
            runs[complete] = run;
            complete += usize::from(!joins);
            run.offset = if joins { run.offset } else { piece.offset };
            run.length = if joins { length } else { piece.length };
        }
        self.current = Some(run);
        complete
    }

    /// Ends the current run and returns it.
    #[inline]
    pub fn cut(&mut self) -> Option<Run> {
        self.current.take()
    }
}

/// Joins runs that data reads cut apart, and drops the reads.
#[derive(Default)]
pub struct ExecutedRunMerger {
    current: Option<Run>,
}

impl ExecutedRunMerger {
    /// Adds a run. Returns the executed run before it if that is complete.
    #[inline]
    pub fn push(&mut self, run: Run, mark: Mark) -> Option<Run> {
        match (mark, &mut self.current) {
            (Mark::Read, _) => None,
            (Mark::Continued, Some(current)) if current.end() == u64::from(run.offset) => {
                current.length += run.length;
                None
            }
            (_, current) => current.replace(run),
        }
    }

    /// Returns the last executed run.
    pub fn finish(&mut self) -> Option<Run> {
        self.current.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_one_by_one_and_together() {
        let piece = |i: u32| match i % 7 {
            0 => Run { offset: 4 * (i % 5), length: 4 },
            6 => Run { offset: MAX_RUN_BYTES, length: MAX_RUN_BYTES },
            _ => Run { offset: 4 * (i % 11), length: 4 * (1 + i % 3) },
        };
        let pieces: Vec<Run> = (0..5000)
            .flat_map(|i| {
                let first = piece(i);
                let next = first.end() as u32;
                [first, Run { offset: next, length: 2 }]
            })
            .collect();
        let mut alone = RunBuilder::default();
        let mut expected: Vec<Run> = pieces.iter().filter_map(|piece| alone.push(*piece)).collect();
        expected.extend(alone.cut());
        for size in [1, 3, 64] {
            let mut together = RunBuilder::default();
            let mut runs = vec![Run { offset: 0, length: 0 }; size];
            let mut all = Vec::new();
            let mut rest = pieces.iter().copied().peekable();
            while rest.peek().is_some() {
                let complete = together.push_all(&mut rest, &mut runs);
                all.extend_from_slice(&runs[..complete]);
            }
            all.extend(together.cut());
            assert_eq!(all, expected, "{size}");
        }
    }
}
