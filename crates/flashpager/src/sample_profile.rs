//! Sample profiles: how often a trace executes each line of source, as compilers read it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_binary::binaries::Binaries;
use flashpager_binary::sample_profile::SampleProfile;
use flashpager_record::placement::BYTECODE;
use flashpager_trace::{ExecutedRuns, TraceFile, for_runs};

/// The profile of the first image of `trace`, which is the program, by the line table of its file or
/// of `elf`. `should_continue` is as in [`for_runs`].
///
/// # Errors
/// If a file cannot be read, differs from the recorded one, or has no line table.
pub fn sample_profile(
    trace: &Path,
    elf: Option<PathBuf>,
    should_continue: &dyn Fn() -> bool,
) -> Result<SampleProfile> {
    let trace = TraceFile::open(trace)?;
    let info = trace.info();
    let Some(image) = info.images.first() else {
        let message = "places no file: its lines are not known";
        return Err(Error::data(trace.path().display().to_string(), message));
    };
    let elfs: Vec<PathBuf> = elf.into_iter().collect();
    let binaries = Binaries::of(&info.images, &elfs)?;
    let times = times(&trace, should_continue)?;
    let most = |offsets: Range<u64>| {
        let offsets = offsets.start as usize..(offsets.end as usize).min(times.len());
        times.get(offsets).and_then(|times| times.iter().max()).copied().unwrap_or(0)
    };
    binaries.profile(0, image, &most)
}

/// For each byte of the image the number of times that it was executed.
fn times(trace: &TraceFile, should_continue: &dyn Fn() -> bool) -> Result<Vec<u64>> {
    // For each byte the number of runs that cover it, less that of the byte before.
    let mut changes = vec![0_i64; trace.info().image_bytes as usize + 1];
    for_runs(&ExecutedRuns(trace), should_continue, |runs| {
        for run in runs {
            changes[run.offset as usize] += 1;
            changes[run.end() as usize] -= 1;
        }
        Ok(())
    })?;
    let mut covering = 0;
    let times = changes.into_iter().map(|change| {
        covering += change;
        covering.unsigned_abs()
    });
    Ok(times.collect())
}

/// The profile of a Java program by methods: one line for each part of a method that was executed
/// equally often throughout. Its fields, with tabs between, are the method's name, the length of
/// its code, the part's first byte, the byte behind its last one, and the number of executions.
/// `should_continue` is as in [`for_runs`].
///
/// # Errors
/// If a trace cannot be read, or is of another program or of CAP files.
pub fn method_profile(trace: &Path, should_continue: &dyn Fn() -> bool) -> Result<String> {
    let trace = TraceFile::open(trace)?;
    let sections = || trace.info().images.iter().flat_map(|image| &image.sections);
    if sections().next().is_none() || sections().any(|section| section.name != BYTECODE) {
        let message = "is not of class files alone: only methods of these are outlined; for \
                    other programs, 'flashpager layout profile' writes a profile for compilers";
        return Err(Error::data(trace.path().display().to_string(), message));
    }
    let times = times(&trace, should_continue)?;
    let mut text = String::new();
    for symbol in trace.info().images.iter().flat_map(|image| &image.symbols) {
        let at = |byte: u32| times.get(symbol.offset as usize + byte as usize).copied();
        let mut start = 0;
        for end in 1..=symbol.bytes {
            if end == symbol.bytes || at(end) != at(start) {
                let count = at(start).unwrap_or(0);
                text += &format!("{}\t{}\t{start}\t{end}\t{count}\n", symbol.name, symbol.bytes);
                start = end;
            }
        }
    }
    Ok(text)
}
