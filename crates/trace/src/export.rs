//! Export of traces for other tools.

use std::io::{BufWriter, Write};
use std::path::Path;

use flashpager_base::{Error, Result};

use crate::output::{DiskReserve, OutputFile};
use crate::page_references::export_page_references;
use crate::run::Mark;
use crate::source::{Trace, for_marked_runs};

/// A format of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Lines `offset,length` under a header, with a column `kind` if there are data reads, and a
    /// column `gap` if there are gaps.
    Csv,
    /// Dinero: an instruction fetch, or a read, for every `instruction_bytes` of a run.
    Din {
        /// Bytes between two fetches within a run.
        instruction_bytes: u32,
    },
    /// Binary page references for libCacheSim.
    OracleGeneral {
        /// Bytes of a page.
        page_bytes: u32,
    },
}

impl ExportFormat {
    /// The formats' names.
    pub const NAMES: &[&str] = &["csv", "din", "oracle-general"];

    /// Returns the format with this name. Only `din` needs `instruction_bytes`, and only
    /// `oracle-general` `page_bytes`.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn named(name: &str, instruction_bytes: u32, page_bytes: u32) -> Result<Self> {
        match name {
            "csv" => Ok(Self::Csv),
            "din" => Ok(Self::Din { instruction_bytes }),
            "oracle-general" => Ok(Self::OracleGeneral { page_bytes }),
            other => {
                let known = Self::NAMES.join(", ");
                Err(Error::design(format!("unknown format '{other}' (known: {known})")))
            }
        }
    }
}

/// Writes all runs of `trace` to the file `output`, which appears when it is complete.
/// `should_continue` is called once for each chunk; the export stops when it returns false.
///
/// # Errors
/// If reading or writing fails. [`Error::Interrupted`] if the callback ends the work.
pub fn export_to_file(
    trace: &dyn Trace,
    format: ExportFormat,
    output: &Path,
    should_continue: &dyn Fn() -> bool,
) -> Result<()> {
    let mut out = BufWriter::new(OutputFile::create(output, DiskReserve::default())?);
    export(trace, format, &mut out, &output.display().to_string(), should_continue)?;
    let out = out.into_inner().map_err(|e| Error::file(output, e.into_error()))?;
    out.finish()
}

/// Writes all runs of `trace` to `out`, which errors call `place`. `should_continue` is that of
/// [`export_to_file`].
///
/// # Errors
/// If reading or writing fails, or a trace with gaps is to be written in a format that has none.
/// [`Error::Interrupted`] if the callback ends the work.
pub fn export(
    trace: &dyn Trace,
    format: ExportFormat,
    out: &mut dyn Write,
    place: &str,
    should_continue: &dyn Fn() -> bool,
) -> Result<()> {
    if format == ExportFormat::Csv {
        return export_csv(trace, out, place, should_continue);
    }
    if !trace.gaps().is_empty() {
        return Err(Error::design(format!(
            "a trace with {} gaps in a format that has none: export it as csv, whose column 'gap' \
             keeps them",
            trace.gaps().len()
        )));
    }
    if let ExportFormat::OracleGeneral { page_bytes } = format {
        return export_page_references(trace, page_bytes, out, place, should_continue);
    }
    let failed = |e| Error::io(place, e);
    let ExportFormat::Din { instruction_bytes } = format else { return Ok(()) };
    for_marked_runs(trace, should_continue, |run, mark| {
        let label = if mark == Mark::Read { 0 } else { 2 };
        for at in (run.offset..=run.last()).step_by(instruction_bytes.max(1) as usize) {
            writeln!(out, "{label} {at:x}").map_err(failed)?;
        }
        Ok(())
    })?;
    out.flush().map_err(failed)
}

/// Writes all runs of `trace` as CSV. The arguments are those of [`export`].
fn export_csv(
    trace: &dyn Trace,
    out: &mut dyn Write,
    place: &str,
    should_continue: &dyn Fn() -> bool,
) -> Result<()> {
    let failed = |e| Error::io(place, e);
    let (has_reads, has_gaps) = (trace.has_reads(), !trace.gaps().is_empty());
    let kind = if has_reads { ",kind" } else { "" };
    let gap = if has_gaps { ",gap" } else { "" };
    writeln!(out, "offset,length{kind}{gap}").map_err(failed)?;
    let mut gaps = trace.gaps().iter().peekable();
    let mut number = 0;
    for_marked_runs(trace, should_continue, |run, mark| {
        let mut write = || {
            write!(out, "{},{}", run.offset, run.length)?;
            if has_reads {
                write!(out, ",{}", mark.name())?;
            }
            if has_gaps {
                let before = gaps.next_if(|gap| gap.run == number);
                write!(out, ",{}", before.map_or("", |gap| gap.reason.name()))?;
            }
            writeln!(out)
        };
        write().map_err(failed)?;
        number += 1;
        Ok(())
    })?;
    out.flush().map_err(failed)
}
