//! Bandwidths, in the papers' MB/s.

use flashpager_base::Result;
use flashpager_media::bus::Bus;
use flashpager_media::part::{MemoryKind, Part};
use serde::Serialize;

/// The papers' MB: 2²⁰ bytes.
pub const MIB: f64 = 1_048_576.0;

const NS_PER_S: f64 = 1e9;

/// Bandwidth in 2²⁰ bytes/s; 0 if no time passed.
pub fn bandwidth_mib_s(bytes: f64, time_ns: f64) -> f64 {
    if time_ns > 0.0 { bytes / time_ns * NS_PER_S / MIB } else { 0.0 }
}

/// Bandwidths of a part without a cache: the Min and Max columns of CARDIS 2010, tables 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RawBandwidth {
    /// Time to transfer a whole page over the bus, in nanoseconds; 0 for NOR.
    pub page_fetch_ns: f64,
    /// Bandwidth if each byte costs a load and the transfer of a whole page, in 2²⁰ bytes/s.
    pub min_mib_s: f64,
    /// Bandwidth if every byte of each page loaded is used, in 2²⁰ bytes/s.
    pub max_mib_s: f64,
}

impl RawBandwidth {
    /// The bandwidths of `part` on `bus`. For a NOR part, which has no pages, both are the same.
    ///
    /// # Errors
    /// If the part's file gives no time per byte on this bus.
    pub fn of(part: &Part, bus: Bus) -> Result<Self> {
        let t_byte_ns = part.byte_time(bus)?;
        Ok(match (part.kind, &part.t_r_ns) {
            (MemoryKind::Nand, Some(t_r)) => {
                let page = f64::from(part.flash_page_bytes());
                let page_fetch_ns = page * t_byte_ns;
                let whole_ns = t_r.value + page_fetch_ns;
                Self {
                    page_fetch_ns,
                    min_mib_s: bandwidth_mib_s(1.0, whole_ns),
                    max_mib_s: bandwidth_mib_s(page, whole_ns),
                }
            }
            _ => {
                let always = bandwidth_mib_s(1.0, t_byte_ns);
                Self { page_fetch_ns: 0.0, min_mib_s: always, max_mib_s: always }
            }
        })
    }
}
