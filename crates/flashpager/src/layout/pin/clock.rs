//! Divides the limit of a search among its phases.

use super::super::budget::SearchLimit;

/// The used share of a search's limit.
pub(super) struct SearchClock<'a> {
    /// The limit.
    pub(super) limit: SearchLimit<'a>,
    /// Share of all evaluations that was assigned to phases.
    assigned: f64,
}

impl<'a> SearchClock<'a> {
    /// The clock of a search that begins.
    pub(super) fn new(limit: SearchLimit<'a>) -> Self {
        Self { limit, assigned: 0.0 }
    }

    /// Share of the limit that is used up.
    pub(super) fn used(&self) -> f64 {
        match self.limit {
            SearchLimit::Evaluations { stopped, .. } if stopped() => 1.0,
            SearchLimit::Evaluations { .. } => self.assigned,
            SearchLimit::Share(share) => share(),
        }
    }

    /// Returns true while some of the limit remains.
    pub(super) fn goes_on(&self) -> bool {
        self.used() < 1.0
    }

    /// Share of the limit that is used up after using `share` of what remains.
    pub(super) fn after(&self, share: f64) -> f64 {
        let used = self.used();
        used + share * (1.0 - used)
    }

    /// Assigns `share` of the remaining evaluations to a phase. Returns their share of all
    /// evaluations.
    pub(super) fn assign(&mut self, share: f64) -> f64 {
        let assigned = share * (1.0 - self.assigned);
        self.assigned += assigned;
        assigned
    }

    /// Returns true if the search was not cut short. A search that used all its evaluations is
    /// finished; one that used all its time is not.
    pub(super) fn is_finished(&self) -> bool {
        match self.limit {
            SearchLimit::Evaluations { stopped, .. } => !stopped(),
            SearchLimit::Share(share) => share() < 1.0,
        }
    }

    /// Returns a function that is true while a phase of pinning may go on, until the share `end` of
    /// the time is used up. A limit of evaluations does not end the phase.
    pub(super) fn pins_until(&self, end: f64) -> impl Fn() -> bool + Sync + use<'a> {
        let limit = self.limit;
        move || match limit {
            SearchLimit::Evaluations { stopped, .. } => !stopped(),
            SearchLimit::Share(share) => share() < end,
        }
    }
}
