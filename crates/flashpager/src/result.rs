//! The result of replaying one trace through one design.

use serde::Serialize;

use crate::cost::Prices;
use crate::design::{Assumption, Design, Evaluation};
use crate::spec::DesignSpec;

/// The result of replaying one trace through one design, with its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// The design, with its defaults, its flash page and the policy's parameters filled in.
    pub design: DesignSpec,
    /// Frames in the cache.
    pub frames: u64,
    /// Bytes of RAM that the policy keeps; `None` if no device can run the policy.
    pub metadata_bytes: Option<u64>,
    /// Bytes of RAM for frames, policy, and the header of a home.
    pub ram_bytes: u64,
    /// The prices of the design.
    pub prices: Prices,
    /// Parameters that the design left open, with the values taken and the rules that chose them.
    pub assumed: Vec<Assumption>,
    /// True if the design was executed fault by fault, so that its time is not a sum of prices.
    pub is_executed: bool,
    /// Counts and their prices.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Confidence intervals of a sample. `None` if the whole trace was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<SampleErrors>,
}

impl ResultRow {
    /// The result of a design.
    pub fn new(design: &Design, evaluation: Evaluation) -> Self {
        let header_bytes = evaluation.homes.as_ref().map_or(0, |homes| homes.header_bytes);
        Self {
            design: design.spec(),
            frames: design.frames(),
            metadata_bytes: design.metadata_bytes(),
            ram_bytes: design.ram_bytes() + u64::from(header_bytes),
            prices: design.prices(),
            assumed: design.assumed().to_vec(),
            is_executed: design.is_executed(),
            evaluation,
            errors: None,
        }
    }

    /// The result of a design without the lists that a table has no column for: distances, loads by
    /// flash page, and latencies.
    pub fn slim(design: &Design, mut evaluation: Evaluation) -> Self {
        evaluation.counts.distance_histogram = Vec::new();
        evaluation.counts.loads_by_flash_page = Vec::new();
        evaluation.fault_latencies = Vec::new();
        if let Some(fetch) = &mut evaluation.fetch {
            fetch.fetch_latencies = Vec::new();
        }
        Self::new(design, evaluation)
    }
}

/// Errors of a sample's figures: half of a 95 % interval, as a share of the figure. `None` if the
/// sample cannot bound the error: then the figure may be a multiple of the one found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SampleErrors {
    /// Error of the time, of bandwidths, and of ratios to NOR.
    pub time: Option<f64>,
    /// Error of the number of misses.
    pub misses: Option<f64>,
    /// Error of the number of loads.
    pub loads: Option<f64>,
    /// Error of the bytes fetched.
    pub bytes_fetched: Option<f64>,
    /// Error of the mean fault's latency.
    pub mean_fault: Option<f64>,
    /// Error of the latency that 99 of 100 faults do not exceed.
    pub p99_fault: Option<f64>,
}
