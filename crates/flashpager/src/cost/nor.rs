//! The comparison with NOR that is read in place.

use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::part::{MemoryKind, Part};
use flashpager_replay::Counts;
use serde::Serialize;

use super::bandwidth::bandwidth_mib_s;
use super::time::Time;

/// The comparison with the same bytes read in place from NOR.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NorComparison {
    /// The bus on which it is read.
    pub nor_bus: String,
    /// Time of reading all bytes from NOR, and with a processor of executing them.
    pub nor_time_ns: f64,
    /// Bandwidth of NOR, in 2²⁰ bytes/s.
    pub nor_bandwidth_mib_s: f64,
    /// Bandwidth of the design over that of NOR.
    pub nor_ratio: f64,
}

impl NorComparison {
    /// Compares `time` with that of `nor` on `bus`. `execution_ns` is the processor's time for the
    /// bytes, beside reading them; 0 without a processor.
    ///
    /// # Errors
    /// If the part is not a NOR or gives no time on that bus.
    pub fn of(
        counts: &Counts,
        time: &Time,
        nor: &Part,
        bus: Bus,
        execution_ns: f64,
    ) -> Result<Self> {
        if nor.kind != MemoryKind::Nor {
            return Err(Error::design(format!("{} is no NOR part", nor.name)));
        }
        let t_nor_ns = nor.byte_time(bus)?;
        let bytes_read = counts.bytes_read as f64;
        let nor_time_ns = bytes_read * t_nor_ns + execution_ns;
        Ok(Self {
            nor_bus: bus.to_string(),
            nor_time_ns,
            nor_bandwidth_mib_s: if execution_ns > 0.0 {
                bandwidth_mib_s(bytes_read, nor_time_ns)
            } else {
                bandwidth_mib_s(1.0, t_nor_ns)
            },
            nor_ratio: if time.time_ns > 0.0 { nor_time_ns / time.time_ns } else { 0.0 },
        })
    }
}
