//! What is executed, told from the data that it reads.

use flashpager_base::Result;

use crate::{Run, RunSource, Trace};

/// What a run of a trace is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Executed, after a jump.
    #[default]
    Executed,
    /// Executed, right behind the executed run before: data reads, which stand in between, parted
    /// them.
    Continued,
    /// Read as data.
    Read,
}

const READ: u32 = 1 << 31;
const CONTINUED: u32 = 1 << 30;

impl Mark {
    /// The name of it in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Continued => "continued",
            Self::Read => "read",
        }
    }

    /// The mark of this name.
    pub fn named(name: &[u8]) -> Option<Self> {
        [Self::Executed, Self::Continued, Self::Read]
            .into_iter()
            .find(|mark| mark.name().as_bytes() == name)
    }

    /// A length with the mark in its upper bits, as a file of schema 2 has it.
    pub(crate) fn on(self, length: u32) -> u32 {
        match self {
            Self::Executed => length,
            Self::Continued => length | CONTINUED,
            Self::Read => length | READ,
        }
    }

    /// The mark and the length of such. With both bits the length stays too long, and is refused.
    pub(crate) fn off(marked: u32) -> (Self, u32) {
        match marked & (READ | CONTINUED) {
            READ => (Self::Read, marked & !READ),
            CONTINUED => (Self::Continued, marked & !CONTINUED),
            _ => (Self::Executed, marked),
        }
    }
}

/// Makes runs whole again that data reads parted, and leaves the reads out.
#[derive(Default)]
pub struct ExecutedRunMerger {
    current: Option<Run>,
}

impl ExecutedRunMerger {
    /// Add a run; gives back one that is whole.
    #[inline]
    pub fn push(&mut self, run: Run, mark: Mark) -> Option<Run> {
        match (mark, &mut self.current) {
            (Mark::Read, _) => None,
            (Mark::Continued, Some(current)) if current.end() == run.offset => {
                current.length += run.length;
                None
            }
            (_, current) => current.replace(run),
        }
    }

    /// The last one.
    pub fn end(&mut self) -> Option<Run> {
        self.current.take()
    }
}

/// A trace without its data reads: the runs as they were executed.
pub struct ExecutedRuns<'a>(pub &'a dyn Trace);

impl Trace for ExecutedRuns<'_> {
    fn image_bytes(&self) -> u32 {
        self.0.image_bytes()
    }

    fn in_memory(&self) -> Option<&[Run]> {
        if self.0.has_reads() { None } else { self.0.in_memory() }
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        let source = self.0.runs()?;
        if !self.0.has_reads() {
            return Ok(source);
        }
        Ok(Box::new(ExecutedSource {
            source,
            chunk: Vec::new(),
            merger: ExecutedRunMerger::default(),
        }))
    }
}

struct ExecutedSource<'a> {
    source: Box<dyn RunSource + 'a>,
    chunk: Vec<Run>,
    merger: ExecutedRunMerger,
}

impl RunSource for ExecutedSource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        runs.clear();
        // A chunk may hold nothing but reads.
        while runs.is_empty() {
            self.source.read(&mut self.chunk)?;
            if self.chunk.is_empty() {
                runs.extend(self.merger.end());
                break;
            }
            let marked = self.chunk.iter().zip(self.source.marks());
            runs.extend(marked.filter_map(|(run, mark)| self.merger.push(*run, *mark)));
        }
        Ok(())
    }
}
