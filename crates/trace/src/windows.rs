//! Windows: parts of a trace file that are read without the runs before them.

use std::fs::File;
use std::io;
use std::sync::Arc;

use flashpager_base::Result;

use crate::columns::footer::Footer;
use crate::columns::pages::ColumnReader;
use crate::file::{TraceFile, append_checked, damaged, take_marks, unreadable};
use crate::run::Run;
use crate::source::Trace;

/// Reads windows of a trace file. The checksum of the file is not checked, as it is that of all
/// runs; the runs of a window are checked to lie in the image.
pub struct TraceWindows<'a> {
    trace: &'a TraceFile,
    place: String,
    footer: Footer,
    /// Number of the first run of each row group.
    starts: Vec<u64>,
}

impl<'a> TraceWindows<'a> {
    /// Prepares to read windows of `trace`.
    ///
    /// # Errors
    /// If the footer can no longer be read.
    pub fn of(trace: &'a TraceFile) -> Result<Self> {
        let (_, footer) = trace.reopen()?;
        let starts = footer.groups.iter().scan(0, |next, group| {
            let start = *next;
            *next += group.rows;
            Some(start)
        });
        let place = trace.path().display().to_string();
        Ok(Self { trace, place, starts: starts.collect(), footer })
    }

    /// Reads the windows that begin at the run numbers `starts`, each of `length` runs, and joins
    /// them. A window is cut at the end of the trace. May be called from any thread.
    ///
    /// # Errors
    /// If runs cannot be read, or are damaged.
    pub fn join(&self, starts: impl IntoIterator<Item = u64>, length: usize) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        // Opened again for a position of its own in the file.
        let (file, _) = self.trace.reopen()?;
        let file = Arc::new(file);
        for start in starts {
            self.read(&file, start, length, &mut runs)?;
        }
        Ok(runs)
    }

    fn read(&self, file: &Arc<File>, start: u64, length: usize, runs: &mut Vec<Run>) -> Result<()> {
        let (mut offsets, mut lengths) = (Vec::with_capacity(length), Vec::with_capacity(length));
        let first = self.starts.partition_point(|begin| *begin <= start).saturating_sub(1);
        for group in first..self.starts.len() {
            let missing = length - offsets.len();
            if missing == 0 {
                break;
            }
            let Self { footer, starts, .. } = self;
            let skipped = start.saturating_sub(starts[group]).min(footer.groups[group].rows);
            let count = missing.min((footer.groups[group].rows - skipped) as usize);
            let columns = [&mut offsets, &mut lengths];
            for (column, values) in footer.groups[group].columns.iter().zip(columns) {
                let mut read = || -> io::Result<()> {
                    let mut reader = ColumnReader::new(Arc::clone(file), column)?;
                    reader.skip(skipped as usize)?;
                    reader.read(count, values)
                };
                read().map_err(|e| unreadable(&self.place, group + 1, e))?;
            }
        }
        if self.trace.has_reads() {
            take_marks(&mut lengths, &mut Vec::new());
        }
        append_checked(&offsets, &lengths, self.trace.image_bytes(), runs)
            .map_err(|reason| damaged(&self.place, reason))
    }
}
