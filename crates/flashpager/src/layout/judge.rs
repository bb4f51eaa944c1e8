//! The judgement of orders by exact replays of whole traces.

use flashpager_base::Result;
use flashpager_layout::{Baseline, Order, UnitPlacement, Units, place};
use rayon::prelude::*;

use super::answer::{LayoutOutcome, PageLayout, PlacedUnit};
use super::program::Program;
use super::replays::{FoldedTrace, replayed_at, time_ratio, times_ns};
use super::search::{PageDesigns, PageSearch};
use super::traces::TraceSet;
use crate::design::Design;

/// Replays whole traces in an order and compares their times with the times before: with each
/// design's own cache page, the recorded order, and the same units in RAM.
pub(super) struct Judge<'a> {
    program: &'a Program,
    /// The executions that the search sees.
    training: Vec<FoldedTrace<'a>>,
    weights: Vec<f64>,
    /// The executions that are held out.
    held_out: Vec<FoldedTrace<'a>>,
    held_out_weights: &'a [f64],
    /// Time of each design before, in nanoseconds.
    pub(super) before_ns: Vec<f64>,
    /// Time of each design before on the executions held out; empty if none are held out.
    held_out_before_ns: Vec<f64>,
}

impl<'a> Judge<'a> {
    /// Replays the recorded order through `designs`.
    ///
    /// # Errors
    /// If a design cannot execute a trace, or the replay fails.
    pub(super) fn new(
        program: &'a Program,
        traces: &'a TraceSet,
        designs: &[(Design, f64)],
    ) -> Result<Self> {
        let (weights, held_out_weights) = (traces.weights(), traces.held_out_weights());
        let training = FoldedTrace::of_all(traces.training())?;
        let held_out = FoldedTrace::of_all(traces.held_out())?;
        let units = &program.plain_units;
        let recorded = place(units, &Order::original(units))?;
        let rows = replayed_at(&recorded, units, designs, &training)?;
        let before_ns = times_ns(&rows, designs.len(), &weights);
        let mut held_out_before_ns = Vec::new();
        if !held_out.is_empty() {
            let rows = replayed_at(&recorded, units, designs, &held_out)?;
            held_out_before_ns = times_ns(&rows, designs.len(), held_out_weights);
        }
        Ok(Self {
            program,
            training,
            weights,
            held_out,
            held_out_weights,
            before_ns,
            held_out_before_ns,
        })
    }

    /// The result of `order`. `what` is its name in tables.
    fn outcome(
        &self,
        page: &PageDesigns,
        what: &str,
        units: &Units,
        order: &Order,
    ) -> Result<LayoutOutcome> {
        let designs = &page.designs;
        let placement = place(units, order)?;
        let rows = replayed_at(&placement, units, designs, &self.training)?;
        let now_ns = times_ns(&rows, designs.len(), &self.weights);
        let (mut held_out_ratio, mut held_out) = (None, Vec::new());
        if !self.held_out_before_ns.is_empty() {
            held_out = replayed_at(&placement, units, designs, &self.held_out)?;
            let now_ns = times_ns(&held_out, designs.len(), self.held_out_weights);
            held_out_ratio = Some(time_ratio(&now_ns, &self.held_out_before_ns, designs));
        }
        Ok(LayoutOutcome {
            what: what.to_owned(),
            cache_page_bytes: page.cache_page_bytes(),
            time_ratio: time_ratio(&now_ns, &self.before_ns, designs),
            held_out_ratio,
            rows,
            held_out,
        })
    }

    /// The times of `designs` in each of `links`, over the times before.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn time_ratios(
        &self,
        links: &[UnitPlacement],
        units: &Units,
        designs: &[(Design, f64)],
    ) -> Result<Vec<f64>> {
        let ratio = |link: &UnitPlacement| {
            let rows = replayed_at(link, units, designs, &self.training)?;
            let now_ns = times_ns(&rows, designs.len(), &self.weights);
            Ok(time_ratio(&now_ns, &self.before_ns, designs))
        };
        links.par_iter().map(ratio).collect()
    }

    /// The layout of one cache page: the best of the recorded order, the best published order, and
    /// the order that the search found.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn page_layout(&self, searched: &PageSearch<'_>) -> Result<PageLayout> {
        let Program { units, plain_units, recorded_units, heat, .. } = self.program;
        let (page, baselines) = (searched.page, &searched.baselines);
        let recorded = Order::original(units);
        let before = self.outcome(page, "before", plain_units, &recorded)?;
        let before_resident = if units.resident_bytes() == 0 {
            None
        } else {
            let order = Order::original(recorded_units);
            Some(self.outcome(page, "before", recorded_units, &order)?)
        };
        let (best_published, best_found) =
            (self.program.hot_first(&baselines.best)?, self.program.hot_first(&searched.best)?);
        let mut baseline = self.outcome(page, baselines.name, units, &best_published)?;
        let mut baseline_order = &best_published;
        let mut found = self.outcome(page, "found", units, &best_found)?;
        let mut order = &best_found;
        // The recorded order has no slots.
        if !self.program.has_slots() && before.time_ratio < baseline.time_ratio {
            let what = Baseline::Original.name().to_owned();
            baseline = LayoutOutcome { what, ..before.clone() };
            baseline_order = &recorded;
        }
        if baseline.time_ratio < found.time_ratio {
            found = LayoutOutcome { what: "found".to_owned(), ..baseline.clone() };
            order = baseline_order;
        }
        let placement = place(units, order)?;
        let offsets: Vec<u32> = units.all().iter().map(|unit| unit.offset).collect();
        let page_bytes = page.cache_page_bytes();
        Ok(PageLayout {
            cache_page_bytes: page_bytes,
            before,
            before_resident,
            baseline,
            found,
            evaluations: searched.evaluations,
            order: order.names(units).map(str::to_owned).collect(),
            image_bytes: placement.image_bytes,
            gap_bytes: placement.gap_bytes,
            units: self.placed_units(&placement.offsets),
            portfolio: baselines.costs.clone(),
            heat_before: heat.pages(page_bytes, &offsets),
            heat_after: heat.pages(page_bytes, &placement.offsets),
        })
    }

    /// All units with their `offsets` in the new image.
    fn placed_units(&self, offsets: &[u32]) -> Vec<PlacedUnit> {
        let Program { units, profile, .. } = self.program;
        let placed = units.all().iter().zip(offsets).zip(&profile.bytes).enumerate();
        let placed = placed.map(|(number, ((unit, after), bytes))| PlacedUnit {
            name: unit.name.clone(),
            bytes: unit.bytes,
            before: unit.offset,
            after: *after,
            fixed: units.fixed().contains(&(number as u32)),
            executed_bytes: *bytes,
        });
        placed.collect()
    }
}
