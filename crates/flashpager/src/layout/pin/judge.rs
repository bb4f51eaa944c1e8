//! The judgement of a choice by exact replays of whole traces.

use std::cmp::Ordering;

use flashpager_base::Result;
use rayon::prelude::*;

use super::answer::PinStep;
use super::choice::PinChoice;
use super::joint::Candidate;
use super::problem::PinProblem;
use super::whole::{WholeReplay, WholeResult};

/// The best choice in the recorded order.
pub(super) struct Judged {
    /// The greedy choice, unit by unit, in the recorded order.
    greedy: Vec<u32>,
    curve: Vec<PinStep>,
    /// The best of nothing, the steps of the greedy choice, and the choice after exchanges.
    pub(super) best: Candidate,
    /// True if exchanges improved the greedy choice.
    pub(super) is_exchanged: bool,
}

/// Replays whole traces for each step of the greedy choice and for the choice after exchanges.
/// `before` is their result with nothing pinned.
///
/// # Errors
/// The errors of the replay.
pub(super) fn judged(
    problem: &PinProblem<'_>,
    whole: &WholeReplay<'_>,
    choice: &PinChoice,
    before: &WholeResult,
) -> Result<Judged> {
    let PinChoice { always, greedy, chosen, .. } = choice;
    let recorded = whole.recorded();
    let mut best =
        Candidate { pinned: always.clone(), order: recorded.to_vec(), time_ns: f64::INFINITY };
    let mut take_if_better = |pinned: &[u32], time_ns: f64| {
        let is_better = time_ns < best.time_ns;
        if is_better {
            (best.pinned, best.time_ns) = (pinned.to_vec(), time_ns);
        }
        is_better
    };
    if always.is_empty() {
        take_if_better(&[], before.time_ns);
    }
    let (curve, times_ns) = steps(problem, whole, greedy, recorded, before)?;
    for (count, time_ns) in (1..).zip(times_ns) {
        if count >= always.len() {
            take_if_better(&greedy[..count], time_ns);
        }
    }
    let exchanged = whole.of(chosen, recorded)?;
    let is_exchanged = take_if_better(chosen, exchanged.time_ns) && chosen != greedy;
    Ok(Judged { greedy: greedy.clone(), curve, best, is_exchanged })
}

/// Replays whole traces with the first unit of `pinned`, with the first two, and so on. Returns the
/// steps and their times.
fn steps(
    problem: &PinProblem<'_>,
    whole: &WholeReplay<'_>,
    pinned: &[u32],
    order: &[u32],
    before: &WholeResult,
) -> Result<(Vec<PinStep>, Vec<f64>)> {
    let counts: Vec<usize> = (1..=pinned.len()).collect();
    let results = counts.par_iter().map(|count| whole.of(&pinned[..*count], order));
    let results = results.collect::<Result<Vec<WholeResult>>>()?;
    let step = |(count, result): (usize, &WholeResult)| {
        let unit = &problem.units.all()[pinned[count - 1] as usize];
        let ram_bytes = problem.ram_bytes(&pinned[..count]);
        Ok(PinStep {
            name: unit.name.clone(),
            bytes: unit.bytes,
            ram_bytes,
            copy_ns: whole.copy_ns(ram_bytes)?,
            time_ratio: result.link_ns / before.link_ns,
            misses: result.rows.iter().map(|row| row.evaluation.counts.misses).sum(),
        })
    };
    let curve = counts.into_iter().zip(&results).map(step).collect::<Result<_>>()?;
    Ok((curve, results.iter().map(|result| result.time_ns).collect()))
}

impl Judged {
    /// The steps to the pinned units of `answer`: first those of the greedy choice, as it made them,
    /// then those of exchanges, the ones that execute most for each byte first.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn curve_to(
        &self,
        answer: &Candidate,
        problem: &PinProblem<'_>,
        whole: &WholeReplay<'_>,
        before: &WholeResult,
    ) -> Result<Vec<PinStep>> {
        let is_pinned = |number: &&u32| answer.pinned.contains(number);
        let mut pinned: Vec<u32> = self.greedy.iter().filter(is_pinned).copied().collect();
        if pinned.len() == answer.pinned.len()
            && self.greedy.starts_with(&pinned)
            && answer.order == whole.recorded()
        {
            return Ok(self.curve[..pinned.len()].to_vec());
        }
        let executed = problem.executed_bytes();
        let density =
            |number: &u32| executed.get(number).map_or(0.0, |bytes| bytes / problem.bytes(*number));
        let mut others: Vec<u32> = answer.pinned.clone();
        others.retain(|number| !pinned.contains(number));
        let denser =
            |a: &u32, b: &u32| -> Ordering { density(b).total_cmp(&density(a)).then(a.cmp(b)) };
        others.sort_by(denser);
        pinned.extend(others);
        Ok(steps(problem, whole, &pinned, &answer.order, before)?.0)
    }
}
