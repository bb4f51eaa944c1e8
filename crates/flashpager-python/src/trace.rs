//! Traces: what they say of themselves, and as text.

use std::io::BufWriter;
use std::path::PathBuf;

use flashpager::binary::elf::ElfFile;
use flashpager::trace::TraceFile;
use flashpager::trace::blocks::BlockStatistics;
use flashpager::trace::export::{TextFormat, export, export_to_file};
use pyo3::prelude::*;

use crate::seam::{FlashpagerError, raise, run, to_python};

/// A trace file's description.
#[pyfunction]
pub fn trace_info(py: Python<'_>, trace: PathBuf) -> PyResult<Py<PyAny>> {
    to_python(py, TraceFile::open(&trace).map_err(raise)?.info())
}

/// Executed basic blocks of a trace.
#[pyfunction]
pub fn block_statistics(py: Python<'_>, trace: PathBuf) -> PyResult<Py<PyAny>> {
    let found = run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = TraceFile::open(&trace)?;
            let symbols = trace.info().images.iter().flat_map(|image| &image.symbols);
            BlockStatistics::of(&trace, symbols, &go_on)
        },
    )?;
    to_python(py, &found)
}

/// Write a trace as text: `csv`, or `din` with an instruction every so many
/// bytes; to standard output without `output`.
#[pyfunction]
pub fn export_trace(
    py: Python<'_>,
    trace: PathBuf,
    format: &str,
    instruction_bytes: u32,
    output: Option<PathBuf>,
) -> PyResult<()> {
    let format = match format {
        "csv" => TextFormat::Csv,
        "din" => TextFormat::Din { instruction_bytes },
        other => {
            return Err(FlashpagerError::new_err(format!(
                "unknown format '{other}' (known: csv, din)"
            )));
        }
    };
    run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = TraceFile::open(&trace)?;
            match output {
                Some(output) => export_to_file(&trace, format, &output, &go_on),
                None => {
                    let mut out = BufWriter::new(std::io::stdout().lock());
                    export(&trace, format, &mut out, "standard output", &go_on)
                }
            }
        },
    )
}

/// The instruction set and build id of an ELF file.
#[pyfunction]
pub fn elf_identity(path: PathBuf) -> PyResult<(String, String)> {
    let elf = ElfFile::read(&path).map_err(raise)?;
    Ok((elf.architecture().to_owned(), elf.build_id().to_owned()))
}
