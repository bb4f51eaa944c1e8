//! The executed runs of a trace, without its data reads.

use flashpager_base::Result;

use crate::run::{ExecutedRunMerger, Run};
use crate::source::{RunSource, Trace};

/// A trace without its data reads: the runs as they were executed.
pub struct ExecutedRuns<'a>(pub &'a dyn Trace);

impl Trace for ExecutedRuns<'_> {
    fn image_bytes(&self) -> u64 {
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
        let merger = ExecutedRunMerger::default();
        Ok(Box::new(ExecutedSource { source, chunk: Vec::new(), merger }))
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
        // All runs of a chunk may be reads.
        while runs.is_empty() {
            self.source.read(&mut self.chunk)?;
            if self.chunk.is_empty() {
                runs.extend(self.merger.finish());
                break;
            }
            let marked = self.chunk.iter().zip(self.source.marks());
            runs.extend(marked.filter_map(|(run, mark)| self.merger.push(*run, *mark)));
        }
        Ok(())
    }
}
