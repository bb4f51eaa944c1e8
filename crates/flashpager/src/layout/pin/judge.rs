//! The judgement of a choice by exact replays of whole traces.

use flashpager_base::Result;
use rayon::prelude::*;

use super::answer::PinStep;
use super::choice::PinChoice;
use super::joint::Candidate;
use super::problem::PinProblem;
use super::whole::{WholeReplay, WholeResult};

/// The best choice in the recorded order.
pub(super) struct Judged {
    /// The greedy choice, unit by unit.
    pub(super) curve: Vec<PinStep>,
    /// The best of nothing, the steps of the greedy choice, and the choice after exchanges.
    pub(super) best: Candidate,
    /// True if exchanges improved the greedy choice.
    pub(super) is_exchanged: bool,
}

/// Replays whole traces for each step of the greedy choice and for the choice after exchanges.
/// `before_ns` is their time with nothing pinned.
///
/// # Errors
/// The errors of the replay.
pub(super) fn judged(
    problem: &PinProblem<'_>,
    whole: &WholeReplay<'_>,
    choice: &PinChoice,
    before_ns: f64,
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
        take_if_better(&[], before_ns);
    }
    let counts: Vec<usize> = (1..=greedy.len()).collect();
    let results = counts.par_iter().map(|count| whole.of(&greedy[..*count], recorded));
    let results = results.collect::<Result<Vec<WholeResult>>>()?;
    let mut curve = Vec::new();
    for (count, result) in counts.into_iter().zip(results) {
        let unit = &problem.units.all()[greedy[count - 1] as usize];
        curve.push(PinStep {
            name: unit.name.clone(),
            bytes: unit.bytes,
            ram_bytes: problem.ram_bytes(&greedy[..count]),
            time_ratio: result.time_ns / before_ns,
            misses: result.rows.iter().map(|row| row.evaluation.counts.misses).sum(),
        });
        if count >= always.len() {
            take_if_better(&greedy[..count], result.time_ns);
        }
    }
    let exchanged = whole.of(chosen, recorded)?;
    let is_exchanged = take_if_better(chosen, exchanged.time_ns) && chosen != greedy;
    Ok(Judged { curve, best, is_exchanged })
}
