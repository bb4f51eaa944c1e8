//! What a replay takes of the flash part's supply.

use serde::Serialize;

use super::Prices;
use crate::media::part::Part;
use crate::replay::Counts;

/// A part's power, as its datasheet's currents give it: mostly maxima.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// While the array is read.
    pub array_mw: f64,
    /// While data moves over the bus.
    pub io_mw: f64,
}

impl Power {
    /// Of `part`; `None` if it gives no voltage or current.
    pub fn of(part: &Part) -> Option<Self> {
        let supply = part.supply.as_ref()?;
        let volts = supply.volts.as_ref()?.value;
        let read = supply.read_ma.as_ref()?.value;
        let io = supply.io_ma.as_ref().map_or(read, |current| current.value);
        Some(Self { array_mw: volts * read, io_mw: volts * io })
    }
}

/// Energy of loads and fetches: V · I_array · t_array + V · I_io · t_transfer. RAM,
/// processor and standby are not the part's and not counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashEnergy {
    /// Of the whole replay.
    pub energy_uj: f64,
    /// On average of a fault; 0 without one.
    pub mean_fault_uj: f64,
}

impl FlashEnergy {
    /// Price `counts`; `None` if the part's power is not known.
    pub fn of(counts: &Counts, prices: &Prices) -> Option<Self> {
        let power = prices.power?;
        let change_ns = match counts.column_changes {
            0 => 0.0,
            changes => changes as f64 * prices.column_change_ns(),
        };
        let load_ns = counts.loads as f64 * prices.t_load_ns;
        let moving_ns = counts.bytes_fetched as f64 * prices.t_byte_ns + change_ns;
        // mW · ns are pJ.
        let energy_uj = (power.array_mw * load_ns + power.io_mw * moving_ns) * 1e-6;
        let faults = counts.misses.max(1) as f64;
        Some(Self { energy_uj, mean_fault_uj: energy_uj / faults })
    }
}
