//! Code and data at the run-time addresses that recorders report, and their places in flash.

use flashpager_trace::{MAX_RUN_BYTES, Run};

use super::placement::Placer;
use super::sink::DataRead;

/// A piece of executed code at a run-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes fetched.
    pub bytes: u32,
    /// Number of instructions in it.
    pub instructions: u32,
}

/// Data that an instruction read at a run-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAccess {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes read.
    pub bytes: u32,
}

/// Places `fetch` in flash; `None` if it lies outside. A piece that begins inside the placed code
/// and reaches out of it is cut at the border.
///
/// # Errors
/// If an address is beyond 4 GiB and there is no placer.
pub fn place(placer: Option<&Placer>, fetch: Fetch) -> std::result::Result<Option<Run>, String> {
    match placer {
        Some(placer) => Ok(placer
            .locate(fetch.address)
            .map(|place| Run { offset: place.offset, length: fetch.bytes.min(place.bytes) })),
        None => Run::checked(fetch.address, fetch.bytes.into()).map(Some).map_err(|message| {
            format!("{message}; say which addresses lie in flash with --elf or --range")
        }),
    }
}

/// Appends to `reads` the parts of `read` that lie in flash. The instruction that read them ends
/// `behind` bytes after the start of its piece of code. Adjoining reads of one instruction become
/// one.
///
/// # Errors
/// If an address is beyond 4 GiB and there is no placer.
pub fn place_read(
    placer: Option<&Placer>,
    read: ReadAccess,
    behind: u32,
    reads: &mut Vec<DataRead>,
) -> std::result::Result<(), String> {
    let ReadAccess { address, bytes } = read;
    let mut add = |run: Run| match reads.last_mut() {
        Some(last)
            if last.behind == behind
                && last.run.end() == u64::from(run.offset)
                && last.run.length + run.length <= MAX_RUN_BYTES =>
        {
            last.run.length += run.length;
        }
        _ => reads.push(DataRead { behind, run }),
    };
    let Some(placer) = placer else {
        add(Run::checked(address, bytes.into())?);
        return Ok(());
    };
    let mut at = 0;
    while at < bytes {
        match placer.locate(address.wrapping_add(at.into())) {
            Some(place) => {
                let length = (bytes - at).min(place.bytes);
                add(Run { offset: place.offset, length });
                at += length;
            }
            None => at += 1,
        }
    }
    Ok(())
}
