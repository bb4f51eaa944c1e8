//! Limits of a search, and the budgets that its phases get from them.

use flashpager_layout::{Budget, Evaluations};

/// The end of a search.
#[derive(Clone, Copy)]
pub enum SearchLimit<'a> {
    /// A number of evaluations: the result is the same each time, unless the search is stopped.
    Evaluations {
        /// About how many orders are evaluated in all phases together.
        all: u64,
        /// Returns true if the search is to end early.
        stopped: &'a (dyn Fn() -> bool + Sync),
    },
    /// The used share of something limited, such as the allowed time. The search ends when it is 1.
    Share(&'a (dyn Fn() -> f64 + Sync)),
}

/// Budget of a phase that begins and ends at given shares of the whole search.
pub(super) struct ShareBudget<'a> {
    /// The share of the whole search that is used up.
    pub(super) share: &'a (dyn Fn() -> f64 + Sync),
    /// The share at which the phase begins.
    pub(super) from: f64,
    /// The share at which it ends.
    pub(super) to: f64,
}

impl Budget for ShareBudget<'_> {
    /// The used share of the phase. A phase that begins behind its end has nothing left: a
    /// program of many units may take the whole limit before a phase is prepared.
    fn used(&self, _: u64) -> f64 {
        let share = (self.share)();
        if share >= self.to { 1.0 } else { ((share - self.from) / (self.to - self.from)).max(0.0) }
    }
}

/// Budget of a phase in evaluations, which ends early if the search is stopped.
pub(super) struct EvaluationBudget<'a> {
    /// Evaluations of the phase.
    pub(super) evaluations: Evaluations,
    /// Returns true if the search is to end early.
    pub(super) stopped: &'a (dyn Fn() -> bool + Sync),
    /// Receives the share of the phase that is done, from any chain.
    pub(super) done: &'a (dyn Fn(f64) + Sync),
}

impl Budget for EvaluationBudget<'_> {
    fn used(&self, evaluations: u64) -> f64 {
        let used = self.evaluations.used(evaluations);
        (self.done)(used.min(1.0));
        if (self.stopped)() { 1.0 } else { used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(share: f64, from: f64, to: f64) -> f64 {
        ShareBudget { share: &|| share, from, to }.used(0)
    }

    #[test]
    fn a_phase_ends_with_its_share() {
        assert_eq!(used(0.2, 0.25, 0.75), 0.0);
        assert_eq!(used(0.5, 0.25, 0.75), 0.5);
        assert_eq!(used(0.75, 0.25, 0.75), 1.0);
        assert_eq!(used(9.0, 0.25, 0.75), 1.0);
    }

    /// A phase without any length would have a share of 0, or none that is a number, and never end.
    #[test]
    fn a_phase_that_begins_after_the_limit_is_over() {
        assert_eq!(used(1.0, 1.0, 1.0), 1.0);
        assert_eq!(used(1.4, 1.02, 1.01), 1.0);
        assert_eq!(used(1.02, 1.02, 1.01), 1.0);
    }
}
