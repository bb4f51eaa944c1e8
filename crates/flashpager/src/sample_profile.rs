//! What a trace executes, as a profile for compilers.

use std::ops::Range;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_binary::binaries::Binaries;
use flashpager_binary::sample_profile::SampleProfile;
use flashpager_record::placement::BYTECODE;
use flashpager_trace::{ExecutedRuns, TraceFile, for_runs};

/// Profile the first image of `trace`, the program, by the lines of its file or of `elf`. `go_on`
/// as in [`for_runs`].
///
/// # Errors
/// Files that cannot be read, are others than the recorded ones, or have no lines.
pub fn sample_profile(
    trace: &Path,
    elf: Option<PathBuf>,
    go_on: &dyn Fn() -> bool,
) -> Result<SampleProfile> {
    let trace = TraceFile::open(trace)?;
    let info = trace.info();
    let Some(image) = info.images.first() else {
        let what = "places no file: its lines are not known";
        return Err(Error::data(trace.path().display().to_string(), what));
    };
    let elfs: Vec<PathBuf> = elf.into_iter().collect();
    let binaries = Binaries::of(&info.images, &elfs)?;
    let times = times(&trace, go_on)?;
    let most = |offsets: Range<u32>| {
        let offsets = offsets.start as usize..(offsets.end as usize).min(times.len());
        times.get(offsets).and_then(|times| times.iter().max()).copied().unwrap_or(0)
    };
    binaries.profile(0, image, &most)
}

/// How often each byte of the image was executed.
fn times(trace: &TraceFile, go_on: &dyn Fn() -> bool) -> Result<Vec<u64>> {
    // How many more runs cover a byte than the one before it.
    let mut changes = vec![0_i64; trace.info().image_bytes as usize + 1];
    for_runs(&ExecutedRuns(trace), go_on, |runs| {
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

/// What a trace of a Java program executes of each method: lines of its name, the length of its
/// code, first and last but one byte of a part that was executed equally often throughout, and how
/// often, with tabs between. `go_on` as in [`for_runs`].
///
/// # Errors
/// Traces of other programs or of CAP files, and those that cannot be read.
pub fn method_profile(trace: &Path, go_on: &dyn Fn() -> bool) -> Result<String> {
    let trace = TraceFile::open(trace)?;
    let sections = || trace.info().images.iter().flat_map(|image| &image.sections);
    if sections().next().is_none() || sections().any(|section| section.name != BYTECODE) {
        let what = "is not of class files alone: only methods of these are outlined; what \
                    compilers can do for other programs, 'flashpager layout profile' prepares";
        return Err(Error::data(trace.path().display().to_string(), what));
    }
    let times = times(&trace, go_on)?;
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
