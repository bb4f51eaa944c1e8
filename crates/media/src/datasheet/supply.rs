//! The supply of a part: its voltage and its currents.

use serde::{Deserialize, Serialize};

use super::number::Sourced;

/// The table `[supply]`: voltage and currents of a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Supply {
    /// Supply voltage at which energy is computed.
    pub volts: Option<Sourced<f64>>,
    /// Current while the array is read. Without `io_ma` also the current while data moves.
    pub read_ma: Option<Sourced<f64>>,
    /// Current while the array is programmed; `read_ma` if absent.
    pub program_ma: Option<Sourced<f64>>,
    /// Current while the array is erased; `program_ma` if absent.
    pub erase_ma: Option<Sourced<f64>>,
    /// Current while data moves over the bus.
    pub io_ma: Option<Sourced<f64>>,
    /// Current while the part is idle.
    pub standby_ua: Option<Sourced<f64>>,
}
