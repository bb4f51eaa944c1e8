//! The table `[onenand]`.

use serde::{Deserialize, Serialize};

use super::number::Sourced;

/// The table `[onenand]`: a NAND array behind RAM buffers that the host reads like memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OneNand {
    /// Cycle of an asynchronous access to a buffer or a register.
    pub async_cycle_ns: Option<Sourced<f64>>,
    /// Clock of a synchronous burst, which brings one word per cycle.
    pub burst_clock_mhz: Option<Sourced<f64>>,
    /// Clocks from the address of a burst to its first word.
    pub burst_latency_clocks: Option<Sourced<u32>>,
    /// Registers written to start an operation, by one asynchronous access each.
    pub command_writes: Option<Sourced<u32>>,
    /// Page buffers: one can be loaded while another is read.
    pub buffers: Option<Sourced<u32>>,
}
