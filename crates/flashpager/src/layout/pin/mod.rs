//! Chooses the units of a program to pin in RAM so that most time is saved.
//!
//! Pinned units leave the flash image and are executed from RAM. The others move up, share cache
//! pages with other units than before, and have the cache to themselves. So a unit's own misses do
//! not show how much time pinning it saves, and each choice is replayed:
//!
//! 1. Units are chosen greedily by the time saved for each byte.
//! 2. Exchanges improve that choice.
//! 3. Whole traces decide between the greedy choice, the exchanged one, and pinning nothing.
//! 4. If the link of the result needs veneers in flash, `VeneerRanking` judges choices near it with
//!    theirs.
//!
//! Units that run before start-up code has copied pinned code to RAM are no candidates (`startup`).
//!
//! With [`PinRequest::order`] the order of the units that stay in flash is searched, too, by
//! `JointSearch`.

mod answer;
mod calls;
mod choice;
mod clock;
mod copy;
mod exchange;
mod finder;
mod functions;
mod greedy;
mod handlers;
mod joint;
mod judge;
mod order;
mod prepare;
mod problem;
mod ranking;
mod request;
mod startup;
mod veneers;
mod whole;

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_layout::Units;

use super::budget::SearchLimit;
use super::luck::executed_lengths;
use super::program::recorded_units;
use super::units::check_named;

use answer::knee;
use choice::PinSearch;
use clock::SearchClock;
use joint::{JointSearch, PINNING_ALONE};
use judge::judged;
use prepare::{Prepared, loaded};
use problem::PinProblem;
use ranking::VeneerRanking;
use request::check_executes_from_ram;
use veneers::with_veneers;
use whole::{WholeReplay, scored_links};

pub use answer::{ColdCall, JointLayout, PinProgress, PinStep, Pinning};
pub use request::PinRequest;
pub use startup::{HeldUnit, HoldReason, LOADED};

/// Chooses the units to pin, and an order of the other units if the request wants one.
///
/// Once `limit` is used up, the search ends and keeps its best choice. A limit of evaluations
/// counts only evaluated orders. If `should_continue` returns false, everything ends with an error.
///
/// # Errors
/// If the traces cannot be read or are of several images, a name of a unit is unknown, the design's
/// time is no sum of prices, more bytes are always pinned than there is RAM, or a call limit cannot
/// be kept.
pub fn pin(
    request: &PinRequest,
    limit: &SearchLimit<'_>,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, PinProgress>,
) -> Result<Pinning> {
    request.check()?;
    let traces = loaded(request)?;
    check_executes_from_ram(traces.info())?;
    check_named(traces.info())?;
    let map = request.map.as_deref();
    let (units, notes) = recorded_units(&traces, map, request.order, should_continue)?;
    let executed = executed_lengths(&units, &traces.executed(should_continue)?);
    let links = if request.holes { scored_links(&units, executed.clone())? } else { Vec::new() };
    let whole = WholeReplay::new(&units, &traces, &request.design, links.clone())?;
    let before = whole.of_nothing_pinned()?;
    let scored = (before.time_ns, links);
    let prepared = Prepared::of(request, &traces, (&units, notes), scored, should_continue)?;
    let Prepared { mut problem, orders, cold_before_ns, .. } = prepared;

    let mut clock = SearchClock::new(*limit);
    let end = if request.order { clock.after(PINNING_ALONE) } else { 1.0 };
    let searches = clock.pins_until(end);
    let ram_bytes = request.ram_bytes;
    let search = PinSearch { problem: &problem, ram_bytes, searches: &searches, progress };
    let choice = search.choose(&problem.always)?.map_err(|too_long| Error::design(too_long.0))?;
    let mut is_finished = searches();

    let judged = judged(&problem, &whole, &choice, &before)?;
    let mut best = judged.best.clone();
    let mut joint_layout = None;
    if request.order {
        let search =
            JointSearch::new(&mut problem, request, &mut clock, (&orders, &whole), progress);
        let joint = search.run(&choice, best)?;
        (best, is_finished, joint_layout) = (joint.best, joint.is_finished, Some(joint.layout));
    }

    problem.set_order(&best.order);
    let searches = clock.pins_until(1.0);
    let (program, searches) = ((&traces, &units), &searches);
    let ranking = VeneerRanking::new(&problem, program, &whole, (ram_bytes, searches));
    let without_veneers = ranking.improve(&mut best, &choice, joint_layout.as_mut())?;
    is_finished = is_finished && searches();
    best.pinned.sort_unstable();
    let after = whole.of(&best.pinned, &best.order)?;
    let curve = judged.curve_to(&best, &problem, &whole, &before)?;
    let edits = (executed.as_slice(), request.order, before.link_ns);
    let (untouched, pinned_later) = whole.after_a_commit(&best.pinned, &best.order, edits)?;
    let mut coverage = prepared.coverage;
    let chosen = (best.pinned.as_slice(), best.order.as_slice());
    let (after, note) = with_veneers(after, (&traces, &units), &whole, chosen, before.link_ns)?;
    let ranked = without_veneers.map(|time_ns| ranked_note(before.link_ns / time_ns));
    coverage.notes.extend(note.into_iter().chain(ranked));
    let ram_bytes = problem.ram_bytes(&best.pinned);
    Ok(Pinning {
        ram_bytes,
        copy_ns: whole.copy_ns(ram_bytes)?,
        pinned: names(&units, &best.pinned),
        time_ratio: after.link_ns / before.link_ns,
        untouched,
        edited: pinned_later,
        has_holes: request.holes,
        before: before.rows,
        after: after.rows,
        together: joint_layout,
        knee: knee(&curve).filter(|_| is_finished),
        curve,
        held: held(&problem),
        copied_before: prepared.copied_before,
        is_exchanged: judged.is_exchanged,
        is_finished,
        calls: cold_calls(&problem, &cold_before_ns, &best.pinned)?,
        coverage,
        image_bytes: after.image_bytes,
        evaluations: problem.evaluations(),
        sampled_share: prepared.sampled_share,
    })
}

/// States that a choice took the place of another one, whose veneers make it only so many times as fast
/// as before.
fn ranked_note(gain: f64) -> String {
    format!(
        "the choice was made with veneers counted: the one that the search found without them is {gain:.2} \
         times as fast with its own"
    )
}

/// Names of units.
fn names(units: &Units, numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|number| units.all()[*number as usize].name.clone()).collect()
}

/// The units that are never pinned, those that execute most first.
fn held(problem: &PinProblem<'_>) -> Vec<HeldUnit> {
    let executed = problem.executed_bytes();
    let bytes = |number: &u32| executed.get(number).copied().unwrap_or(0.0);
    let mut held: Vec<(u32, HoldReason)> =
        problem.held.iter().map(|(number, reason)| (*number, *reason)).collect();
    held.sort_by(|(a, _), (b, _)| bytes(b).total_cmp(&bytes(a)).then(a.cmp(b)));
    let unit = |(number, reason): (u32, HoldReason)| HeldUnit {
        name: problem.units.all()[number as usize].name.clone(),
        reason,
    };
    held.into_iter().map(unit).collect()
}

/// Times of the limited functions' calls with and without `pinned`.
fn cold_calls(
    problem: &PinProblem<'_>,
    before_ns: &[f64],
    pinned: &[u32],
) -> Result<Vec<ColdCall>> {
    let after_ns = problem.cold_calls_ns(pinned)?;
    let calls = problem.calls.iter().zip(before_ns).zip(after_ns);
    let call = |((calls, before_ns), after_ns): ((&calls::LimitedCalls, &f64), f64)| ColdCall {
        function: calls.function.clone(),
        limit_ns: calls.limit_ns,
        before_ns: *before_ns,
        after_ns,
        calls: calls.count,
    };
    Ok(calls.map(call).collect())
}
