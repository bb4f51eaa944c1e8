//! Layout: an order of a program's units in flash with which designs run it faster.
//!
//! The objective is the time of exact replays. Published orders come first, a search continues from
//! the best of them, and at the end whole traces decide between the recorded order, the published ones
//! and the one found: the answer is never slower than the recorded order.
//!
//! The search replays windows of each trace instead of the whole, because it evaluates thousands
//! of orders; only the judgement at the end is exact. Traces that are held out take no part in the
//! search: the answer's time on them shows whether the order serves other executions, too.

mod alignment;
mod answer;
mod budget;
pub mod builds;
mod heat;
mod judge;
pub mod luck;
#[cfg(test)]
mod made;
mod names;
pub mod pin;
mod program;
mod replays;
mod request;
mod search;
mod slots;
mod traces;
mod units;
mod veneers;

use flashpager_base::{ProgressFn, Result};
pub use flashpager_layout::{
    Baseline, Budget, Cooling, Evaluations, Order, PieceSequence, Profile, Unit, UnitPlacement,
    Units, place,
};

pub use answer::{
    CommitTimes, Layout, LayoutOutcome, LayoutProgress, PageLayout, PlacedUnit, SlotLayout,
};
pub use budget::SearchLimit;
pub use heat::{Heat, PageHeat};
pub(crate) use names::NamedUnits;
pub use request::LayoutRequest;
pub(crate) use traces::check_same_image;
pub use units::{Coverage, ExecutedBytes, executed_share, units};

use judge::Judge;
use luck::executed_lengths;
use program::Program;
use search::PageDesigns;
use slots::judge_slots;
use traces::{TraceSet, check_reads_pass};

/// Lays a program out: searches an order of its units for each cache page until `limit`, and judges
/// it on whole traces. `should_continue` is checked before the search; `limit` ends the search
/// itself.
///
/// # Errors
/// Traces of several images, traces without units that can move or that cannot be read, and designs
/// whose time is no sum of prices.
pub fn layout(
    request: &LayoutRequest,
    limit: &SearchLimit<'_>,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, LayoutProgress>,
) -> Result<Layout> {
    request.check()?;
    let LayoutRequest { designs, held_out_share, .. } = request;
    let traces = TraceSet::load(&request.traces, &request.held_out, *held_out_share)?;
    if traces.has_reads() {
        designs.iter().try_for_each(|(design, _)| check_reads_pass(design))?;
    }
    let program = Program::of(request, &traces, should_continue)?;
    let judge = Judge::new(&program, &traces, designs)?;
    let page = |page| PageDesigns::of(designs, page, &traces, &judge.before_ns);
    let pages = request.cache_pages().into_iter().map(page).collect::<Result<Vec<_>>>()?;
    let tasks: Vec<_> = pages.iter().map(|page| page.tasks(&program.sequences)).collect();

    let mut searches = search::begin(&program, &pages, &tasks)?;
    let evaluations = search::anneal(&mut searches, request.seed, limit, progress)?;

    let layouts = searches.iter().map(|searched| judge.page_layout(searched));
    let layouts = layouts.collect::<Result<Vec<_>>>()?;
    let ratio = |number: &usize| layouts[*number].found.time_ratio;
    let best = (0..layouts.len()).min_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap_or(0);
    let slots = if program.has_slots() {
        let searched = &searches[best];
        let order =
            Order::of_names(&program.units, layouts[best].order.iter().map(String::as_str))?;
        let executed = executed_lengths(&program.units, &traces.executed(&|| true)?);
        let all = (&program.units, &program.plain_units);
        let on = (searched.page, designs.as_slice());
        let edits = (request.slots_bytes, executed.as_slice(), request.seed);
        Some(judge_slots(&judge, all, on, &order, edits)?)
    } else {
        None
    };
    let executed = program.sequences.iter().map(|sequence| sequence.executed.len() as u64);
    Ok(Layout {
        best,
        pages: layouts,
        resident_bytes: program.units.resident_bytes(),
        evaluations,
        replayed_pieces: searches.iter().map(search::PageSearch::pieces).collect(),
        executed_pieces: executed.sum(),
        coverage: program.coverage,
        slots,
    })
}
