//! From a trace to text that other tools read.

use std::io::Write;

use super::Trace;
use crate::error::{Error, Result};

/// A text format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// `offset,length` lines under a header.
    Csv,
    /// Dinero: an instruction fetch of every `instruction_bytes`.
    Din {
        /// Bytes between two fetches within a run.
        instruction_bytes: u32,
    },
}

/// Write all runs of `trace` to `out`, named `place` in errors.
pub fn export(
    trace: &dyn Trace,
    format: TextFormat,
    out: &mut dyn Write,
    place: &str,
) -> Result<()> {
    let failed = |e| Error::io(place, e);
    if format == TextFormat::Csv {
        writeln!(out, "offset,length").map_err(failed)?;
    }
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return out.flush().map_err(failed);
        }
        for run in &chunk {
            match format {
                TextFormat::Csv => {
                    writeln!(out, "{},{}", run.offset, run.length).map_err(failed)?
                }
                TextFormat::Din { instruction_bytes } => {
                    for at in (run.offset..run.end()).step_by(instruction_bytes.max(1) as usize) {
                        writeln!(out, "2 {at:x}").map_err(failed)?;
                    }
                }
            }
        }
    }
}
