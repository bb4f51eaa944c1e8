//! Exact replays of whole traces for a choice and an order: they decide between choices.

use flashpager_base::Result;
use flashpager_layout::{Order, Units, place};

use super::super::replays::{FoldedTrace, replayed_at, times_ns};
use super::super::traces::TraceSet;
use super::copy::copy_ns;
use super::order::in_flash;
use crate::design::Design;
use crate::result::ResultRow;

/// The traces of a search, replayed whole.
pub(super) struct WholeReplay<'a> {
    units: &'a Units,
    traces: &'a TraceSet,
    folded: Vec<FoldedTrace<'a>>,
    designs: [(Design, f64); 1],
    weights: Vec<f64>,
    recorded: Vec<u32>,
}

/// Results of whole traces.
pub(super) struct WholeResult {
    /// Results by trace.
    pub(super) rows: Vec<ResultRow>,
    /// Time in nanoseconds, the sum over traces by their weights.
    pub(super) time_ns: f64,
    /// Bytes of the image in flash.
    pub(super) image_bytes: u64,
}

impl<'a> WholeReplay<'a> {
    /// Replays of `traces` through `design`.
    ///
    /// # Errors
    /// Those of [`FoldedTrace::of_all`].
    pub(super) fn new(units: &'a Units, traces: &'a TraceSet, design: &Design) -> Result<Self> {
        let designs = [(design.clone(), 1.0)];
        let recorded = Order::original(units).numbers().to_vec();
        let folded = FoldedTrace::of_all(traces.training())?;
        Ok(Self { units, traces, folded, designs, weights: traces.weights(), recorded })
    }

    /// All movable units in the recorded order.
    pub(super) fn recorded(&self) -> &[u32] {
        &self.recorded
    }

    /// Replays the traces in the recorded order with nothing pinned.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn of_nothing_pinned(&self) -> Result<WholeResult> {
        self.of(&[], &self.recorded)
    }

    /// Replays the traces with some units pinned and the others in an order of all movable units.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn of(&self, pinned: &[u32], order: &[u32]) -> Result<WholeResult> {
        let units = self.units.with_resident_numbers(pinned);
        let order = in_flash(&units, order)?;
        let placement = place(&units, &order)?;
        let rows = replayed_at(&placement, &units, &self.designs, &self.folded)?;
        let time_ns = times_ns(&rows, 1, &self.weights)[0];
        Ok(WholeResult { rows, time_ns, image_bytes: placement.image_bytes })
    }

    /// The time of the flash for copying `bytes` of pinned code to RAM, in nanoseconds.
    ///
    /// # Errors
    /// The errors of [`copy_ns`].
    pub(super) fn copy_ns(&self, bytes: u64) -> Result<f64> {
        copy_ns(&self.designs[0].0, self.traces.info(), bytes)
    }
}
