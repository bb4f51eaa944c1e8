//! The request for a layout.

use std::path::PathBuf;

use flashpager_base::{Error, Result};

use crate::design::{Design, NO_SUMS};

/// A program to lay out, and the designs that run it.
#[derive(Clone, Debug)]
pub struct LayoutRequest {
    /// Recorded executions of one image, each with its weight.
    pub traces: Vec<(PathBuf, f64)>,
    /// The map of the link of the recorded program: its input sections are the units. Without one
    /// the units are functions.
    pub map: Option<PathBuf>,
    /// Executions that the search does not see; the answer is judged on them, too.
    pub held_out: Vec<PathBuf>,
    /// Share of each trace, at its end, that the search does not see; at least 0 and below 1.
    pub held_out_share: f64,
    /// Designs, each with its weight: a weight multiplies the ratio of the design's time to its
    /// time in the recorded order.
    pub designs: Vec<(Design, f64)>,
    /// Cache pages to choose from, in bytes; each design keeps its own if empty.
    pub pages: Vec<u32>,
    /// Names of units that lie in RAM.
    pub resident: Vec<String>,
    /// Free bytes behind each executed unit, which then lies in a slot; 0 for an order without slots.
    pub slots_bytes: u32,
    /// Seed of the random numbers of the search.
    pub seed: u64,
}

/// The most free bytes of a slot.
const MOST_SLOTS_BYTES: u32 = 4096;

impl LayoutRequest {
    /// Cache pages to search for; `None` stands for each design's own.
    pub(super) fn cache_pages(&self) -> Vec<Option<u32>> {
        if self.pages.is_empty() {
            return vec![None];
        }
        self.pages.iter().copied().map(Some).collect()
    }

    /// Checks what can be checked before a trace is read.
    pub(super) fn check(&self) -> Result<()> {
        if self.traces.is_empty() || self.designs.is_empty() {
            return Err(Error::design("a layout needs a trace and a design"));
        }
        if !(0.0..1.0).contains(&self.held_out_share) {
            return Err(Error::design("the share that is held out is at least 0 and below 1"));
        }
        if self.slots_bytes > MOST_SLOTS_BYTES {
            let message = format!(
                "slots of {} bytes: it is 0 to {MOST_SLOTS_BYTES}, the free bytes behind a function",
                self.slots_bytes
            );
            return Err(Error::design(message));
        }
        let weights = self.traces.iter().map(|(_, weight)| weight);
        check_weights(weights.chain(self.designs.iter().map(|(_, weight)| weight)))?;
        self.designs.iter().try_for_each(|(design, _)| check_is_sum(design, "lay out"))
    }
}

/// Checks that all weights are above 0 and finite.
pub(super) fn check_weights<'a>(mut weights: impl Iterator<Item = &'a f64>) -> Result<()> {
    if weights.any(|weight| !(*weight > 0.0 && weight.is_finite())) {
        return Err(Error::design("a weight is above 0"));
    }
    Ok(())
}

/// Checks that the time of `design` is a sum of prices, as a search needs it; `verb` says what the
/// search is for.
pub(super) fn check_is_sum(design: &Design, verb: &str) -> Result<()> {
    if design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, times are no sums, which the search takes them to be; {verb} for the \
             design without them"
        )));
    }
    design.check_plain_store(verb)
}
