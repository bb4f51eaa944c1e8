//! The table `[parallel]`.

use serde::{Deserialize, Serialize};

use super::number::Sourced;

/// The table `[parallel]`: memory on an address bus, read word by word in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// Time from an address to its word.
    pub t_acc_ns: Sourced<f64>,
    /// Time from an address to its word if it lies in the read page of the last one.
    pub t_page_acc_ns: Option<Sourced<f64>>,
    /// Bytes of a read page.
    pub read_page_bytes: Option<Sourced<u32>>,
    /// Commands written to start a program or an erase; 3 if absent.
    pub command_writes: Option<Sourced<u32>>,
}

impl Parallel {
    /// The shortest time from an address to its word.
    pub(crate) fn shortest_word_ns(&self) -> f64 {
        self.t_page_acc_ns.as_ref().unwrap_or(&self.t_acc_ns).value
    }
}
