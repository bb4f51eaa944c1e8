//! Exchanges: other units in the place of chosen ones, while that saves time.

use flashpager_base::Result;

use super::choice::{BETWEEN, PinSearch, with, without};

/// Units that an exchange tries in the place of one.
const TRIED: usize = 16;
/// Least improvement of the cost for which a choice is taken.
const LEAST_CHANGE: f64 = 1e-9;
/// Least improvement of the cost in a round for which another round follows.
const LEAST_OF_ROUND: f64 = 1e-6;

impl PinSearch<'_> {
    /// Improves `chosen` by exchanges with `others`; units of `always` stay.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn exchange(
        &self,
        always: &[u32],
        chosen: &[u32],
        others: &[u32],
    ) -> Result<Vec<u32>> {
        let all: Vec<u32> = others.iter().chain(chosen).copied().collect();
        let mut chosen = chosen.to_vec();
        let mut cost = self.problem.cost(&chosen)?;
        loop {
            let before = cost;
            let Some(leaving) = self.by_loss(always, &chosen)? else { return Ok(chosen) };
            for one in leaving {
                if !(self.searches)() {
                    return Ok(chosen);
                }
                if let Some((then, better)) = self.replaced(&chosen, one, &all, cost)? {
                    (cost, chosen) = (then, better);
                    self.report(cost, &chosen);
                }
            }
            if cost > before - LEAST_OF_ROUND {
                return Ok(chosen);
            }
        }
    }

    /// The units of `chosen` that may leave, the one that saves least first; `None` if the search
    /// is ended.
    fn by_loss(&self, always: &[u32], chosen: &[u32]) -> Result<Option<Vec<u32>>> {
        let leaving = chosen.iter().copied().filter(|number| !always.contains(number));
        let leaving: Vec<u32> = leaving.collect();
        let choices: Vec<Vec<u32>> = leaving.iter().map(|one| without(chosen, *one)).collect();
        let mut costs = Vec::new();
        if !(self.searches)() {
            return Ok(None);
        }
        for some in choices.chunks(BETWEEN) {
            if !(self.searches)() {
                return Ok(None);
            }
            costs.extend(self.costs(some)?);
        }
        let mut by_loss: Vec<(f64, u32)> = costs.into_iter().zip(leaving).collect();
        by_loss.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Some(by_loss.into_iter().map(|(_, number)| number).collect()))
    }

    /// The best choice with others in the place of `one` that costs less than `cost` and keeps all
    /// limits, with its cost.
    fn replaced(
        &self,
        chosen: &[u32],
        one: u32,
        all: &[u32],
        cost: f64,
    ) -> Result<Option<(f64, Vec<u32>)>> {
        let base = without(chosen, one);
        let mut entering = all.to_vec();
        entering.retain(|number| !chosen.contains(number) && self.fits(&base, *number));
        entering.truncate(TRIED);
        let choices: Vec<Vec<u32>> = entering.iter().map(|number| with(&base, *number)).collect();
        let mut filled: Vec<(f64, Vec<u32>)> =
            self.costs(&choices)?.into_iter().zip(choices).collect();
        filled.sort_by(|a, b| a.0.total_cmp(&b.0));
        filled.truncate(TRIED.div_ceil(4));
        for (then, choice) in self.filled_up(filled, &entering)? {
            if then < cost - LEAST_CHANGE && self.problem.keeps_limits(&choice)? {
                return Ok(Some((then, choice)));
            }
        }
        Ok(None)
    }

    /// The choices, and each of them with one more unit of `entering` that fits, while the search
    /// goes on: with their costs, the best first.
    fn filled_up(
        &self,
        choices: Vec<(f64, Vec<u32>)>,
        entering: &[u32],
    ) -> Result<Vec<(f64, Vec<u32>)>> {
        let mut filled = Vec::new();
        for (cost, choice) in choices {
            if (self.searches)() {
                let fits = |number: &u32| !choice.contains(number) && self.fits(&choice, *number);
                let fitting = entering.iter().copied().filter(fits);
                let more: Vec<Vec<u32>> =
                    fitting.take(TRIED).map(|number| with(&choice, number)).collect();
                filled.extend(self.costs(&more)?.into_iter().zip(more));
            }
            filled.push((cost, choice));
        }
        filled.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(filled)
    }
}
