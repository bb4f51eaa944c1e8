//! Slots: hot units at fixed offsets with free bytes behind them, and the times of such a program
//! after commits.
//!
//! Without slots, a function that grows by four bytes moves all that follows, and the order that a
//! search found is replaced by one that nobody chose. In slots it moves nothing until it has used its
//! slack; then it moves the next unit by what is missing, which that unit's slack absorbs.

use flashpager_base::Result;
use flashpager_base::random::SplitMix64;
use flashpager_layout::{Order, Slots, UnitPlacement, Units, place};

use super::answer::{CommitTimes, SlotLayout};
use super::judge::Judge;
use super::luck::{DrawKind, LinkDraws, quantile};
use super::search::PageDesigns;
use crate::design::Design;

/// Links that are drawn for each quantile.
const DRAWS: usize = 48;
/// Numbers of commits after which times are told.
const COMMITS: [u32; 2] = [1, 10];

impl CommitTimes {
    /// Summarizes the times of drawn links, each over the time before.
    pub(super) fn of(commits: u32, mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let [p10, p50, p90] = [0.1, 0.5, 0.9].map(|share| quantile(&ratios, share));
        let worst = ratios.last().copied().unwrap_or(f64::NAN);
        Self { commits, draws: ratios.len(), p10, p50, p90, worst }
    }
}

/// Judges `order` after commits. `units` have the slack of slots, `recorded` are those without.
/// `designs` are those of the request.
///
/// # Errors
/// The errors of the replay.
pub(super) fn judge_slots(
    judge: &Judge<'_>,
    (units, recorded): (&Units, &Units),
    (page, designs): (&PageDesigns, &[(Design, f64)]),
    order: &Order,
    (slack_bytes, executed_bytes, seed): (u32, &[u32], u64),
) -> Result<SlotLayout> {
    let slots = Slots::of(units, order, &place(units, order)?);
    let frozen = units.clone().in_slots(&slots);
    let slotted = slots.offsets.iter();
    let names = slotted.map(|(number, _)| units.all()[*number as usize].name.clone()).collect();
    let times = |units: &Units, draws: LinkDraws<'_>, commits: u32, designs: &[(Design, f64)]| {
        let mut random = SplitMix64::new(seed.wrapping_mul(31).wrapping_add(commits.into()));
        let links = (0..DRAWS).map(|_| draws.draw(&mut random));
        let links = links.collect::<Result<Vec<UnitPlacement>>>()?;
        Ok(CommitTimes::of(commits, judge.time_ratios(&links, units, designs)?))
    };
    let executed = || executed_bytes.to_vec();
    let edits = LinkDraws::new(recorded, executed(), DrawKind::Edits);
    let recorded = times(recorded, edits, 1, designs)?;
    let after = COMMITS.into_iter().map(|commits| {
        let edits = LinkDraws::after_commits(&frozen, order.clone(), executed(), commits);
        times(&frozen, edits, commits, &page.designs)
    });
    let after = after.collect::<Result<Vec<CommitTimes>>>()?;
    Ok(SlotLayout { slack_bytes, names, reserve_bytes: units.reserve_bytes(), recorded, after })
}
