//! Warm-up: the first runs of a trace, which fill a cache and are not counted.

use serde::{Deserialize, Serialize};

/// The first runs of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WarmUp {
    /// Number of runs.
    pub runs: u64,
    /// Bytes fetched by them.
    pub bytes: u64,
}

impl WarmUp {
    /// Returns true if there is no warm-up, so that all runs are counted.
    pub fn is_none(&self) -> bool {
        self.runs == 0
    }
}
