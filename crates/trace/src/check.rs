//! A trace file held against what it says of itself.

use std::path::Path;

use flashpager_base::{Error, Result};

use crate::blocks::{BlockCounter, SymbolStarts};
use crate::progress::ProgressTrace;
use crate::{Mark, TraceFile, TraceInfo, TraceWriter, for_marked_runs};

/// Read `file` whole, which checks its runs, and compare what its description says of them.
/// With an `output`, write it anew instead, with the same runs and a description that has all
/// that can be counted. Gives the description, as it is then. `read` is told runs.
///
/// # Errors
/// A damaged file; without an `output`, a description that says something else than the runs;
/// what reading and writing give, and [`Error::Interrupted`].
pub fn check(
    file: &TraceFile,
    output: Option<&Path>,
    go_on: &dyn Fn() -> bool,
    read: &(dyn Fn(u64) + Sync),
) -> Result<TraceInfo> {
    let (progress, info) = (ProgressTrace::new(file, read), file.info());
    if let Some(output) = output {
        let mut writer = TraceWriter::create(output, false)?;
        writer.know(info.symbols());
        for_marked_runs(&progress, go_on, |run, mark| writer.push_marked(run, mark))?;
        return writer.finish(info.clone());
    }
    let symbol_starts = SymbolStarts::default();
    symbol_starts.add(info.symbols());
    let mut counter = BlockCounter::new(symbol_starts);
    let (mut bytes, mut reads, mut read_bytes, mut continued) = (0, 0, 0, 0);
    for_marked_runs(&progress, go_on, |run, mark| {
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
    let said = (info.bytes, info.reads, info.read_bytes, info.continued);
    let counted = counter.finish(info.image_bytes, info.symbols());
    if (bytes, reads, read_bytes, continued) != said
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
