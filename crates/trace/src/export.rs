//! From a trace to text that other tools read.

use std::io::{BufWriter, Write};
use std::path::Path;

use flashpager_base::{Error, Result};

use super::output::{DiskReserve, OutputFile};
use super::{Mark, Trace};

/// A text format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// `offset,length` lines under a header, with a third column `kind` if data reads are among
    /// the runs.
    Csv,
    /// Dinero: an instruction fetch, or a read, of every `instruction_bytes`.
    Din {
        /// Bytes between two fetches within a run.
        instruction_bytes: u32,
    },
}

impl TextFormat {
    /// The formats' names.
    pub const NAMES: &[&str] = &["csv", "din"];

    /// The format of this name; `instruction_bytes` is what `din` needs to know.
    pub fn named(name: &str, instruction_bytes: u32) -> Result<Self> {
        match name {
            "csv" => Ok(Self::Csv),
            "din" => Ok(Self::Din { instruction_bytes }),
            other => {
                let known = Self::NAMES.join(", ");
                Err(Error::design(format!("unknown format '{other}' (known: {known})")))
            }
        }
    }
}

/// Write all runs of `trace` to the file `output`, which appears when whole.
/// `go_on` is asked once a chunk; when it says false, this ends with
/// [`Error::Interrupted`].
pub fn export_to_file(
    trace: &dyn Trace,
    format: TextFormat,
    output: &Path,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let mut out = BufWriter::new(OutputFile::create(output, DiskReserve::default())?);
    export(trace, format, &mut out, &output.display().to_string(), go_on)?;
    let out = out.into_inner().map_err(|e| Error::file(output, e.into_error()))?;
    out.finish()
}

/// Write all runs of `trace` to `out`, named `place` in errors.
pub fn export(
    trace: &dyn Trace,
    format: TextFormat,
    out: &mut dyn Write,
    place: &str,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let failed = |e| Error::io(place, e);
    if format == TextFormat::Csv {
        let kind = if trace.has_reads() { ",kind" } else { "" };
        writeln!(out, "offset,length{kind}").map_err(failed)?;
    }
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return out.flush().map_err(failed);
        }
        // Empty where all is executed.
        let mut marks = source.marks().iter();
        for run in &chunk {
            let mark = marks.next();
            match format {
                TextFormat::Csv => match mark {
                    None => writeln!(out, "{},{}", run.offset, run.length),
                    Some(mark) => writeln!(out, "{},{},{}", run.offset, run.length, mark.name()),
                }
                .map_err(failed)?,
                TextFormat::Din { instruction_bytes } => {
                    let label = if mark == Some(&Mark::Read) { 0 } else { 2 };
                    for at in (run.offset..run.end()).step_by(instruction_bytes.max(1) as usize) {
                        writeln!(out, "{label} {at:x}").map_err(failed)?;
                    }
                }
            }
        }
    }
}
