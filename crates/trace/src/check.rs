//! Checking a trace file against its description.

use std::path::Path;

use flashpager_base::{Error, Result};

use crate::blocks::{BlockCounter, BlockCounts, SymbolStarts};
use crate::file::{TraceFile, TraceWriter};
use crate::info::TraceInfo;
use crate::progress::{ProgressFn, ProgressTrace};
use crate::run::Mark;
use crate::source::for_marked_runs;

/// Reads all of `file`, which checks its runs, and compares them with its description. With an
/// `output`, the trace is written there instead, with a description in which everything is
/// counted again. Returns the description.
///
/// # Errors
/// If the file is damaged, reading or writing fails, or there is no `output` and the description
/// does not agree with the runs. [`Error::Interrupted`] if the callback ends the check.
pub fn check(
    file: &TraceFile,
    output: Option<&Path>,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_>,
) -> Result<TraceInfo> {
    let (trace, info) = (ProgressTrace::new(file, progress), file.info());
    if let Some(output) = output {
        let mut writer = TraceWriter::create(output, false)?;
        writer.add_symbols(info.symbols());
        let mut gaps = info.gaps.iter().peekable();
        for_marked_runs(&trace, should_continue, |run, mark| {
            if let Some(gap) = gaps.next_if(|gap| gap.run == writer.runs()) {
                writer.add_gap(gap.reason, gap.instructions)?;
            }
            writer.push_marked(run, mark)
        })?;
        return writer.finish(info.clone());
    }
    let symbol_starts = SymbolStarts::default();
    symbol_starts.add(info.symbols());
    let mut counter = BlockCounter::new(symbol_starts);
    let (mut bytes, mut reads, mut read_bytes, mut continued) = (0, 0, 0, 0);
    for_marked_runs(&trace, should_continue, |run, mark| {
        bytes += u64::from(run.length);
        match mark {
            Mark::Executed => {}
            Mark::Continued => continued += 1,
            Mark::Read => {
                reads += 1;
                read_bytes += u64::from(run.length);
            }
        }
        counter.add_marked(run, mark);
        Ok(())
    })?;
    let described = (info.bytes, info.reads, info.read_bytes, info.continued);
    let mut counted = counter.finish(info.image_bytes, info.symbols());
    if !info.gaps.is_empty() {
        counted = counted.map(BlockCounts::without_calls);
    }
    if let (Some(described), Some(counted)) = (&info.blocks, &mut counted)
        && described.hottest.is_none()
    {
        // Older recorders do not describe it.
        counted.hottest = None;
    }
    if (bytes, reads, read_bytes, continued) != described
        || (info.blocks.is_some() && info.blocks != counted)
    {
        return Err(Error::data(
            file.path().display().to_string(),
            "its description does not say what its runs are: write it anew with 'flashpager trace \
             check -o'",
        ));
    }
    Ok(info.clone())
}
