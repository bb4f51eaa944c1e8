//! The greedy choice: unit by unit, by time saved for each byte.
//!
//! A unit's saving depends on what is pinned before it. Instead of all candidates, only those with
//! the best savings so far are evaluated again before one is taken (lazy evaluation, Minoux 1978).
//! Savings are not submodular, so the choice is a start for exchanges and not within a factor of
//! the best.

use flashpager_base::Result;
use rustc_hash::FxHashMap;

use super::choice::{BETWEEN, PinSearch, with};

/// Candidates that are evaluated again together.
const AT_ONCE: usize = 8;

/// A greedy choice.
pub(super) struct GreedyChoice {
    /// The units, in the order in which they were chosen.
    pub(super) chosen: Vec<u32>,
    /// Units that fitted at first but were not chosen, by what each saved for each byte when it
    /// was last evaluated.
    pub(super) left: Vec<u32>,
    /// The cost of each unit with nothing more than the units that the choice began with.
    pub(super) alone: Vec<(f64, u32)>,
}

/// A unit that may be chosen next.
#[derive(Clone, Copy)]
struct UnitSaving {
    /// Cost saved for each byte when it was last evaluated; infinite before that.
    per_byte: f64,
    number: u32,
    /// Number of units that were chosen then; `usize::MAX` before the first evaluation.
    round: usize,
}

/// A greedy choice that is being made.
struct GreedySearch<'s> {
    search: &'s PinSearch<'s>,
    chosen: Vec<u32>,
    /// Number of units that the choice began with.
    begun: usize,
    /// Cost of what is chosen.
    cost: f64,
    candidates: Vec<UnitSaving>,
    /// Candidates that do not fit or that break limits.
    left: Vec<UnitSaving>,
    alone: Vec<(f64, u32)>,
}

impl PinSearch<'_> {
    /// Chooses units from `always` and `first` on, while one saves time. If the search is ended
    /// before, those that saved something when they were last evaluated follow while they fit.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn greedy(&self, always: &[u32], first: &[u32]) -> Result<GreedyChoice> {
        let chosen = always.iter().chain(first).copied().collect();
        let mut greedy = GreedySearch::new(self, chosen)?;
        while (self.searches)() {
            let Some(best) = greedy.best()? else { break };
            greedy.take(best)?;
        }
        greedy.finish()
    }
}

impl<'s> GreedySearch<'s> {
    /// Begins with `chosen`. Candidates are the units that execute something: first those that
    /// execute most for each byte, so that a search that is ended early has evaluated them.
    fn new(search: &'s PinSearch<'s>, chosen: Vec<u32>) -> Result<Self> {
        let problem = search.problem;
        let executed: FxHashMap<u32, f64> = problem.executed_bytes();
        let density =
            |number: &u32| executed.get(number).map_or(0.0, |bytes| bytes / problem.bytes(*number));
        let is_candidate = |number: &u32| executed.contains_key(number) && !chosen.contains(number);
        let mut numbers: Vec<u32> = problem.candidates().filter(is_candidate).collect();
        numbers.sort_by(|a, b| density(b).total_cmp(&density(a)).then(a.cmp(b)));
        let candidate = |number| UnitSaving { per_byte: f64::INFINITY, number, round: usize::MAX };
        Ok(Self {
            search,
            begun: chosen.len(),
            cost: problem.cost(&chosen)?,
            chosen,
            candidates: numbers.into_iter().map(candidate).collect(),
            left: Vec::new(),
            alone: Vec::new(),
        })
    }

    /// Removes and returns the candidate that saves most for each byte beside what is chosen;
    /// `None` if none saves anything, or if the search is ended.
    fn best(&mut self) -> Result<Option<UnitSaving>> {
        let fits = |one: &UnitSaving| self.search.fits(&self.chosen, one.number);
        let (fitting, too_large): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.candidates).into_iter().partition(fits);
        self.candidates = fitting;
        self.left.extend(too_large);
        let round = self.chosen.len();
        loop {
            // A stable sort: of equals the one that executes most for each byte stays first.
            self.candidates.sort_by(|a, b| b.per_byte.total_cmp(&a.per_byte));
            match self.candidates.first() {
                Some(first) if first.per_byte > 0.0 && first.round == round => {
                    return Ok(Some(self.candidates.remove(0)));
                }
                Some(first) if first.per_byte > 0.0 => {}
                _ => return Ok(None),
            }
            self.evaluate_best(round)?;
            if !(self.search.searches)() {
                return Ok(None);
            }
        }
    }

    /// Evaluates the best candidates that were last evaluated in another round: all of them in the
    /// first round.
    fn evaluate_best(&mut self, round: usize) -> Result<()> {
        let is_first = round == self.begun;
        let stale: Vec<usize> = (0..self.candidates.len())
            .filter(|index| self.candidates[*index].round != round)
            .take(if is_first { usize::MAX } else { AT_ONCE })
            .collect();
        for some in stale.chunks(BETWEEN) {
            if !(self.search.searches)() {
                break;
            }
            let number = |index: &usize| self.candidates[*index].number;
            let choices: Vec<Vec<u32>> =
                some.iter().map(|index| with(&self.chosen, number(index))).collect();
            for (index, then) in some.iter().zip(self.search.costs(&choices)?) {
                let number = self.candidates[*index].number;
                let per_byte = (self.cost - then) / self.search.problem.bytes(number);
                self.candidates[*index] = UnitSaving { per_byte, number, round };
                if is_first {
                    self.alone.push((then, number));
                }
            }
        }
        Ok(())
    }

    /// Chooses a unit if limited calls stay short enough.
    fn take(&mut self, best: UnitSaving) -> Result<()> {
        let UnitSaving { per_byte, number, .. } = best;
        if !self.search.problem.keeps_limits(&with(&self.chosen, number))? {
            self.left.push(best);
            return Ok(());
        }
        self.chosen.push(number);
        self.cost -= per_byte * self.search.problem.bytes(number);
        self.search.report(self.cost, &self.chosen);
        Ok(())
    }

    /// The choice. A search that was ended early adds other units that saved something.
    fn finish(self) -> Result<GreedyChoice> {
        let Self { search, mut chosen, candidates, mut left, alone, .. } = self;
        left.extend(candidates);
        left.sort_by(|a, b| b.per_byte.total_cmp(&a.per_byte).then(a.number.cmp(&b.number)));
        if !(search.searches)() {
            let saves = |one: &&UnitSaving| one.per_byte > 0.0 && one.per_byte.is_finite();
            for UnitSaving { number, .. } in left.iter().filter(saves) {
                if search.fits(&chosen, *number)
                    && search.problem.keeps_limits(&with(&chosen, *number))?
                {
                    chosen.push(*number);
                }
            }
            left.retain(|one| !chosen.contains(&one.number));
        }
        let left = left.into_iter().map(|one| one.number).collect();
        Ok(GreedyChoice { chosen, left, alone })
    }
}
