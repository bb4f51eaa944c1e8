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
    fn used(&self, _: u64) -> f64 {
        (((self.share)() - self.from) / (self.to - self.from)).max(0.0)
    }
}

/// Budget of a phase in evaluations, which ends early if the search is stopped.
pub(super) struct EvaluationBudget<'a> {
    /// Evaluations of the phase.
    pub(super) evaluations: Evaluations,
    /// Returns true if the search is to end early.
    pub(super) stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Budget for EvaluationBudget<'_> {
    fn used(&self, evaluations: u64) -> f64 {
        if (self.stopped)() { 1.0 } else { self.evaluations.used(evaluations) }
    }
}
