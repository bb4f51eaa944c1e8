//! The copy of pinned code from flash to RAM, which start-up code makes once.

use flashpager_base::{Error, Result};
use flashpager_replay::replay;
use flashpager_trace::{MemoryTrace, Run, TraceInfo};

use crate::design::Design;

/// Returns the time, in nanoseconds, in which the flash of `design` delivers `bytes` one after
/// another. The copy's instructions, its writes to RAM and a page fault's handler are not included.
///
/// # Errors
/// If there are more bytes than an image can have, or the design cannot execute the trace.
pub(super) fn copy_ns(design: &Design, info: &TraceInfo, bytes: u64) -> Result<f64> {
    if bytes == 0 {
        return Ok(0.0);
    }
    let length = u32::try_from(bytes)
        .map_err(|_| Error::design(format!("{bytes} bytes to pin: an image has at most 4G")))?;
    let design = design.executing(info)?;
    let copied = MemoryTrace::new(vec![Run { offset: 0, length }]);
    let (counts, _) = replay(&copied, design.cache(), &[design.register()], &|| true, None)?;
    let time = design.time_of(&counts[0]);
    Ok(time.load_ns + time.fetch_ns + time.column_change_ns)
}
