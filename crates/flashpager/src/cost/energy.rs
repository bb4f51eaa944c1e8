//! The energy of the flash part.

use flashpager_replay::Counts;
use serde::Serialize;

use super::prices::Prices;

/// Energy of loads and fetches: V · I_array · t_array + V · I_io · t_transfer. Commands are included if
/// they are known. RAM, processor and standby are not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashEnergy {
    /// Energy of the whole replay.
    pub energy_uj: f64,
    /// Mean energy of a fault; 0 without faults.
    pub mean_fault_uj: f64,
}

impl FlashEnergy {
    /// The energy of `counts`; `None` if the part's power is not known.
    pub fn of(counts: &Counts, prices: &Prices) -> Option<Self> {
        let power = prices.power?;
        let change_ns = match counts.column_changes {
            0 => 0.0,
            changes => changes as f64 * prices.column_change_ns(),
        };
        let loads = (counts.loads + counts.prefetches) as f64;
        let commands_ns = loads * prices.t_load_commands_ns.unwrap_or_default();
        let moving_ns = counts.bytes_fetched as f64 * prices.t_byte_ns + change_ns + commands_ns;
        // mW · ns are pJ.
        let energy_uj = (power.array_mw * loads * prices.t_r_ns + power.io_mw * moving_ns) * 1e-6;
        let faults = counts.misses.max(1) as f64;
        Some(Self { energy_uj, mean_fault_uj: energy_uj / faults })
    }
}
