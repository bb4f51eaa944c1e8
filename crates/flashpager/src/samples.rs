//! What a trace executes, as a profile for compilers.

use std::ops::Range;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_binary::binaries::Binaries;
use flashpager_binary::samples::SampleProfile;
use flashpager_trace::{TraceFile, for_runs};

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
    // How many more runs cover a byte than the one before it.
    let mut changes = vec![0_i64; info.image_bytes as usize + 1];
    for_runs(&trace, go_on, |runs| {
        for run in runs {
            changes[run.offset as usize] += 1;
            changes[run.end() as usize] -= 1;
        }
        Ok(())
    })?;
    let mut covering = 0;
    let times: Vec<u64> = changes
        .into_iter()
        .map(|change| {
            covering += change;
            covering.unsigned_abs()
        })
        .collect();
    let most = |offsets: Range<u32>| {
        let offsets = offsets.start as usize..(offsets.end as usize).min(times.len());
        times.get(offsets).and_then(|times| times.iter().max()).copied().unwrap_or(0)
    };
    binaries.profile(0, image, &most)
}
