//! Functions to pin, chosen by exact replays: a greedy search, and exchanges behind it.

use flashpager_base::{Error, Result};
use flashpager_replay::units::aligned_bytes;
use rayon::prelude::*;

use super::{FunctionDesign, FunctionProgram};
use crate::design::Design;

/// Candidates that are evaluated first at a step. Their gains at an earlier step choose them.
const CANDIDATES_PER_STEP: usize = 8;

/// The most rounds of exchanges.
const MAX_EXCHANGE_ROUNDS: usize = 16;

/// The search for functions to pin.
pub(super) struct PinSearch<'a> {
    pub(super) program: &'a FunctionProgram,
    /// The design, executing the trace.
    pub(super) base: &'a Design,
    pub(super) design: &'a FunctionDesign,
    pub(super) should_continue: &'a (dyn Fn() -> bool + Sync),
}

/// Functions that are pinned, and the time with them.
#[derive(Clone)]
struct Pinned {
    resident: Vec<bool>,
    /// The functions that the search chose.
    chosen: Vec<usize>,
    time_ns: f64,
}

/// A function that may be pinned.
struct Candidate {
    unit: usize,
    bytes: u64,
    /// Time saved for each byte, when it was last evaluated.
    gain: f64,
}

impl PinSearch<'_> {
    /// The functions to pin beside those that are resident. Unless the rounds are used up, no function
    /// saves time by being pinned or paged instead, and no exchange that was tried does.
    pub(super) fn run(&self) -> Result<Vec<usize>> {
        let (resident, chosen) = self.first_resident()?;
        let time_ns = self.time_ns(&resident)?.unwrap_or(f64::INFINITY);
        let mut best = Pinned { resident, chosen, time_ns };
        let visits = self.program.sequence.visits();
        let candidate = |unit: usize| {
            let bytes = aligned_bytes(self.program.bytes[unit]);
            Candidate { unit, bytes, gain: f64::INFINITY }
        };
        let executed = self.program.paged().filter(|unit| visits[*unit] > 0);
        let mut candidates: Vec<Candidate> = executed.map(candidate).collect();
        self.evaluate(&best, &mut candidates)?;
        self.grow(&mut best, &mut candidates)?;
        for _ in 0..MAX_EXCHANGE_ROUNDS {
            let before_ns = best.time_ns;
            for out in best.chosen.clone() {
                self.exchange(&mut best, out, &candidates)?;
            }
            self.grow(&mut best, &mut candidates)?;
            if best.time_ns >= before_ns {
                break;
            }
        }
        self.check_fits(&best)?;
        best.chosen.sort_unstable();
        Ok(best.chosen)
    }

    /// The functions to begin with: those that are resident, and the visited ones that do not fit into
    /// the heap, each of which leaves a smaller heap. Resident ones alone if all cannot be pinned.
    fn first_resident(&self) -> Result<(Vec<bool>, Vec<usize>)> {
        let Self { program, design, .. } = self;
        let mut chosen = Vec::new();
        loop {
            let now = self.with_pinned(&chosen);
            if !now.has_room(design) || self.bytes_of(&chosen) > design.pin_bytes {
                return Ok((program.resident.clone(), Vec::new()));
            }
            let too_large = now.too_large(design, &now.ram(design)?);
            if too_large.is_empty() {
                return Ok((now.resident, chosen));
            }
            chosen.extend(too_large);
        }
    }

    /// The program with these functions resident, too.
    fn with_pinned(&self, units: &[usize]) -> FunctionProgram {
        let mut resident = self.program.resident.clone();
        units.iter().for_each(|unit| resident[*unit] = true);
        self.program.with_resident(resident)
    }

    /// Refuses a RAM in which no function to pin lets all others fit.
    fn check_fits(&self, best: &Pinned) -> Result<()> {
        let Self { program, design, .. } = self;
        let ram = program.ram(design)?;
        let too_large = program.too_large(design, &ram);
        if best.time_ns.is_finite() || too_large.is_empty() {
            return Ok(());
        }
        let needed = self.bytes_of(&too_large);
        let has_room = self.with_pinned(&too_large).has_room(design);
        let help = if needed > design.pin_bytes && has_room {
            format!("take --pin {needed} or more, or more RAM")
        } else {
            format!("take more RAM, as pinning (--pin {}) does not help", design.pin_bytes)
        };
        let not_fitting = program.not_fitting(&too_large, design, &ram);
        Err(Error::design(format!("{not_fitting}: {help}")))
    }

    /// Pins candidates as long as one saves time. At each step the [`CANDIDATES_PER_STEP`] with most
    /// gain when they were last evaluated are evaluated anew, and the others only if none of these
    /// saves any. The one of these that saves most time a byte is pinned.
    fn grow(&self, best: &mut Pinned, candidates: &mut [Candidate]) -> Result<()> {
        loop {
            let places = self.fitting(best, None, candidates);
            let (first, rest) = places.split_at(places.len().min(CANDIDATES_PER_STEP));
            let mut chosen = self.best_of(best, first, candidates)?;
            if chosen.is_none() {
                // The gains of the others may have been measured in another situation.
                chosen = self.best_of(best, rest, candidates)?;
            }
            let Some((place, time_ns)) = chosen else { return Ok(()) };
            let unit = candidates[place].unit;
            best.resident[unit] = true;
            best.chosen.push(unit);
            best.time_ns = time_ns;
        }
    }

    /// Replaces `out` by the candidate that makes the time shortest, or by none, if that makes it
    /// shorter.
    fn exchange(&self, best: &mut Pinned, out: usize, candidates: &[Candidate]) -> Result<()> {
        let mut without = best.clone();
        without.resident[out] = false;
        without.chosen.retain(|unit| *unit != out);
        let mut places = self.fitting(&without, Some(out), candidates);
        places.truncate(CANDIDATES_PER_STEP);
        let choices: Vec<Option<usize>> =
            std::iter::once(None).chain(places.into_iter().map(Some)).collect();
        let with = |choice: &Option<usize>| match choice {
            None => self.time_ns(&without.resident),
            Some(place) => self.time_with(&without, candidates[*place].unit),
        };
        let times = choices.par_iter().map(with).collect::<Result<Vec<_>>>()?;
        let known =
            choices.into_iter().zip(times).filter_map(|(choice, time)| Some((choice, time?)));
        let shortest = known.min_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((choice, time_ns)) = shortest.filter(|(_, time_ns)| *time_ns < best.time_ns) {
            if let Some(place) = choice {
                let unit = candidates[place].unit;
                without.resident[unit] = true;
                without.chosen.push(unit);
            }
            *best = Pinned { time_ns, ..without };
        }
        Ok(())
    }

    /// Bytes of RAM of these functions.
    fn bytes_of(&self, units: &[usize]) -> u64 {
        units.iter().map(|unit| aligned_bytes(self.program.bytes[*unit])).sum()
    }

    /// The places of the candidates that are neither pinned nor `excluded` and fit into the bytes to
    /// pin, those with most gain first.
    fn fitting(
        &self,
        pinned: &Pinned,
        excluded: Option<usize>,
        candidates: &[Candidate],
    ) -> Vec<usize> {
        let left = self.design.pin_bytes.saturating_sub(self.bytes_of(&pinned.chosen));
        let fits = |place: &usize| {
            let Candidate { unit, bytes, .. } = candidates[*place];
            !pinned.resident[unit] && Some(unit) != excluded && bytes <= left
        };
        let mut places: Vec<usize> = (0..candidates.len()).filter(fits).collect();
        places.sort_by(|one, other| candidates[*other].gain.total_cmp(&candidates[*one].gain));
        places
    }

    /// Evaluates the candidates at `places`. Returns the place of the one that saves most time a byte,
    /// and the time with it; `None` if none saves any.
    fn best_of(
        &self,
        pinned: &Pinned,
        places: &[usize],
        candidates: &mut [Candidate],
    ) -> Result<Option<(usize, f64)>> {
        let evaluated = |place: &usize| self.time_with(pinned, candidates[*place].unit);
        let times = places.par_iter().map(evaluated).collect::<Result<Vec<_>>>()?;
        let mut best: Option<(usize, f64)> = None;
        for (place, time_ns) in places.iter().copied().zip(times) {
            candidates[place].gain = gain(pinned, time_ns, candidates[place].bytes);
            let is_best =
                best.is_none_or(|(other, _)| candidates[place].gain > candidates[other].gain);
            if let Some(time_ns) = time_ns.filter(|_| candidates[place].gain > 0.0 && is_best) {
                best = Some((place, time_ns));
            }
        }
        Ok(best)
    }

    /// Evaluates all candidates.
    fn evaluate(&self, pinned: &Pinned, candidates: &mut [Candidate]) -> Result<()> {
        candidates.par_iter_mut().try_for_each(|candidate| {
            let time_ns = self.time_with(pinned, candidate.unit)?;
            candidate.gain = gain(pinned, time_ns, candidate.bytes);
            Ok::<(), Error>(())
        })
    }

    fn time_with(&self, pinned: &Pinned, unit: usize) -> Result<Option<f64>> {
        let mut resident = pinned.resident.clone();
        resident[unit] = true;
        self.time_ns(&resident)
    }

    /// The time with these functions resident; `None` if the RAM is too small for them, or the heap for
    /// a paged one.
    fn time_ns(&self, resident: &[bool]) -> Result<Option<f64>> {
        let program = self.program.with_resident(resident.to_vec());
        if !program.has_room(self.design) {
            return Ok(None);
        }
        let ram = program.ram(self.design)?;
        if !program.too_large(self.design, &ram).is_empty() {
            return Ok(None);
        }
        let counts = program.replay(self.design, &ram, &self.should_continue)?;
        Ok(Some(self.base.function_time_ns(&counts, &self.design.engine)))
    }
}

/// Time saved for each byte. Functions without which nothing fits come first.
fn gain(pinned: &Pinned, time_ns: Option<f64>, bytes: u64) -> f64 {
    match time_ns {
        None => f64::NEG_INFINITY,
        Some(time_ns) => (pinned.time_ns - time_ns) / bytes as f64,
    }
}
