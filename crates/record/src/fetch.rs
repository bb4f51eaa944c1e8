//! Executed code, piece by piece, before and after it has a place in flash.

use flashpager_trace::Run;

use super::placement::Placer;

/// One piece of executed code, at a run-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes fetched.
    pub bytes: u32,
    /// Instructions in it.
    pub instructions: u32,
}

/// Where `fetch` lies in flash, `None` outside. A piece that begins inside the
/// placed code and reaches out of it is cut at the border.
pub fn place(placer: Option<&Placer>, fetch: Fetch) -> std::result::Result<Option<Run>, String> {
    match placer {
        Some(placer) => Ok(placer
            .locate(fetch.address)
            .map(|place| Run { offset: place.offset, length: fetch.bytes.min(place.bytes) })),
        None => Run::checked(fetch.address, fetch.bytes.into()).map(Some).map_err(|what| {
            format!("{what}; say which addresses lie in flash with --elf or --range")
        }),
    }
}
