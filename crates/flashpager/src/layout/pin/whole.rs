//! Exact replays of whole traces for a choice and an order: they decide between choices.

use flashpager_base::random::SplitMix64;
use flashpager_base::{Error, Result};
use flashpager_layout::{Order, UnitPlacement, Units, place, place_with_code};
use flashpager_trace::Run;
use rayon::prelude::*;

use super::super::answer::CommitTimes;
use super::super::luck::{DrawKind, LinkDraws};
use super::super::replays::{FoldedTrace, replayed_at, replayed_with, times_ns};
use super::super::traces::TraceSet;
use super::copy::copy_ns;
use super::order::in_flash;
use crate::design::Design;
use crate::result::ResultRow;

/// Links that are drawn for the answer, and the seed of their draws. The search draws others.
const ANSWER_DRAWS: usize = 48;
const ANSWER_SEED: u64 = 31;
/// Links by whose mean a choice with holes is scored, and the seed of their draws.
const SCORED_LINKS: usize = 12;
const SCORE_SEED: u64 = 7;

/// Draws the links by which choices with holes are scored. Each is the program a commit later.
///
/// # Errors
/// If the image is over 4 GiB.
pub(super) fn scored_links(units: &Units, executed_bytes: Vec<u32>) -> Result<Vec<UnitPlacement>> {
    let draws = LinkDraws::new(units, executed_bytes, DrawKind::Edits);
    let mut random = SplitMix64::new(SCORE_SEED);
    (0..SCORED_LINKS).map(|_| draws.draw(&mut random)).collect()
}

fn drawn(draws: &LinkDraws<'_>, seed: u64) -> Result<Vec<UnitPlacement>> {
    let mut random = SplitMix64::new(seed);
    (0..ANSWER_DRAWS).map(|_| draws.draw(&mut random)).collect()
}

/// The traces of a search, replayed whole.
pub(super) struct WholeReplay<'a> {
    units: &'a Units,
    traces: &'a TraceSet,
    folded: Vec<FoldedTrace<'a>>,
    designs: [(Design, f64); 1],
    weights: Vec<f64>,
    recorded: Vec<u32>,
    /// The links by whose mean time choices are judged, with holes where pinned units were; without
    /// any, the other units move up in the one link.
    links: Vec<UnitPlacement>,
}

/// Results of whole traces.
pub(super) struct WholeResult {
    /// Results by trace.
    pub(super) rows: Vec<ResultRow>,
    /// Time in nanoseconds by which choices are judged: that of the link, or the mean of several links.
    pub(super) time_ns: f64,
    /// Time of the link in nanoseconds, the sum over traces by their weights.
    pub(super) link_ns: f64,
    /// Bytes of the image in flash.
    pub(super) image_bytes: u64,
}

impl<'a> WholeReplay<'a> {
    /// Replays of `traces` through `design`, judged by the mean of `links` if there are any.
    ///
    /// # Errors
    /// If [`FoldedTrace::of_all`] fails.
    pub(super) fn new(
        units: &'a Units,
        traces: &'a TraceSet,
        design: &Design,
        links: Vec<UnitPlacement>,
    ) -> Result<Self> {
        let designs = [(design.clone(), 1.0)];
        let recorded = Order::original(units).numbers().to_vec();
        let folded = FoldedTrace::of_all(traces.training())?;
        Ok(Self { units, traces, folded, designs, weights: traces.weights(), recorded, links })
    }

    /// All movable units in the recorded order.
    pub(super) fn recorded(&self) -> &[u32] {
        &self.recorded
    }

    /// Returns true if choices are judged by the mean of several links.
    pub(super) fn judges_links(&self) -> bool {
        !self.links.is_empty()
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
        let placement = if self.links.is_empty() {
            place(&units, &in_flash(&units, order)?)?
        } else {
            UnitPlacement::recorded(self.units)
        };
        let rows = replayed_at(&placement, &units, &self.designs, &self.folded)?;
        let link_ns = times_ns(&rows, 1, &self.weights)[0];
        let times_ns = self.times_ns(&units, &self.links)?;
        let time_ns = match times_ns.len() {
            0 => link_ns,
            count => times_ns.iter().sum::<f64>() / count as f64,
        };
        Ok(WholeResult { rows, time_ns, link_ns, image_bytes: placement.image_bytes })
    }

    /// Replays traces in the one link that [`WholeReplay::of`] replays, with code of so many bytes and
    /// of an alignment behind the functions. `added` has the runs of its parts, by its offset.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn with_code(
        &self,
        (pinned, order): (&[u32], &[u32]),
        (bytes, align): (u32, u32),
        added: &dyn Fn(u32) -> Vec<Vec<Run>>,
        folded: &[FoldedTrace<'_>],
    ) -> Result<WholeResult> {
        let units = self.units.with_resident_numbers(pinned);
        let (placement, first) = if self.links.is_empty() {
            place_with_code(&units, &in_flash(&units, order)?, bytes, align)?
        } else {
            place_with_code(self.units, &Order::original(self.units), bytes, align)?
        };
        let rows = replayed_with((&placement, &added(first)), &units, &self.designs, folded)?;
        let link_ns = times_ns(&rows, 1, &self.weights)[0];
        let image_bytes = placement.image_bytes;
        Ok(WholeResult { rows, time_ns: link_ns, link_ns, image_bytes })
    }

    /// The times of `links` of the program in nanoseconds. Resident ones of the `units` are not in
    /// flash.
    ///
    /// # Errors
    /// The errors of the replay.
    fn times_ns(&self, units: &Units, links: &[UnitPlacement]) -> Result<Vec<f64>> {
        let time_ns = |link: &UnitPlacement| {
            let rows = replayed_at(link, units, &self.designs, &self.folded)?;
            Ok(times_ns(&rows, 1, &self.weights)[0])
        };
        links.par_iter().map(time_ns).collect()
    }

    /// The times of links that are a commit later, with nothing pinned and with `pinned`, over that of
    /// the recorded link. `order` has all movable units, and `names_all` is true if an order for the
    /// linker names each of them.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn after_a_commit(
        &self,
        pinned: &[u32],
        order: &[u32],
        (executed_bytes, names_all, before_ns): (&[u32], bool, f64),
    ) -> Result<(CommitTimes, CommitTimes)> {
        let lengths = || executed_bytes.to_vec();
        let untouched =
            drawn(&LinkDraws::new(self.units, lengths(), DrawKind::Edits), ANSWER_SEED)?;
        let units = self.units.with_resident_numbers(pinned);
        let links = if !self.links.is_empty() {
            untouched.clone()
        } else if names_all {
            let order = in_flash(&units, order)?;
            drawn(&LinkDraws::after_commits(&units, order, lengths(), 1), ANSWER_SEED)?
        } else {
            drawn(&LinkDraws::new(&units, lengths(), DrawKind::Edits), ANSWER_SEED)?
        };
        let times = |units: &Units, links: &[UnitPlacement]| {
            let ratios = self.times_ns(units, links)?.into_iter().map(|time| time / before_ns);
            Ok::<_, Error>(CommitTimes::of(1, ratios.collect()))
        };
        Ok((times(self.units, &untouched)?, times(&units, &links)?))
    }

    /// The time of the flash for copying `bytes` of pinned code to RAM, in nanoseconds.
    ///
    /// # Errors
    /// The errors of [`copy_ns`].
    pub(super) fn copy_ns(&self, bytes: u64) -> Result<f64> {
        copy_ns(&self.designs[0].0, self.traces.info(), bytes)
    }
}
