//! The table `[sd]`.

use serde::{Deserialize, Serialize};

use super::number::Sourced;

/// A measured busy time of a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CardBusyTime {
    /// The mean.
    pub mean_ns: f64,
    /// The time that 99 of 100 do not exceed, if it was measured.
    pub p99_ns: Option<f64>,
    /// The longest seen.
    pub max_ns: Option<f64>,
    /// The measurement these numbers come from.
    pub source: String,
}

/// The table `[sd]`: a card with a controller inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sd {
    /// Fastest clock of the bus.
    pub clock_mhz: Sourced<f64>,
    /// Bytes of a block; 512 if absent.
    pub block_bytes: Option<Sourced<u32>>,
    /// Clocks of a command and its response; 104 if absent.
    pub command_clocks: Option<Sourced<u32>>,
    /// Busy time before the data of each block that is read.
    pub read_busy: Option<CardBusyTime>,
    /// Busy time after the data of each block that is written.
    pub write_busy: Option<CardBusyTime>,
}
