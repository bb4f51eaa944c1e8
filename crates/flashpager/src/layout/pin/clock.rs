//! The limit of a search that has phases.

use super::super::budget::SearchLimit;

/// The used share of a search's limit.
pub(super) struct SearchClock<'a> {
    /// The limit.
    pub(super) limit: SearchLimit<'a>,
    /// Share of a number of evaluations that went to phases.
    given: f64,
}

impl<'a> SearchClock<'a> {
    /// The clock of a search that begins.
    pub(super) fn new(limit: SearchLimit<'a>) -> Self {
        Self { limit, given: 0.0 }
    }

    /// Share of the limit that is used up.
    pub(super) fn used(&self) -> f64 {
        match self.limit {
            SearchLimit::Evaluations { stopped, .. } if stopped() => 1.0,
            SearchLimit::Evaluations { .. } => self.given,
            SearchLimit::Share(share) => share(),
        }
    }

    /// Returns true if the search goes on.
    pub(super) fn goes_on(&self) -> bool {
        self.used() < 1.0
    }

    /// Share of the limit that is used up once `share` of the rest is.
    pub(super) fn after(&self, share: f64) -> f64 {
        let used = self.used();
        used + share * (1.0 - used)
    }

    /// Gives `share` of the evaluations that are left to a phase; returns their share of all.
    pub(super) fn give(&mut self, share: f64) -> f64 {
        let given = share * (1.0 - self.given);
        self.given += given;
        given
    }

    /// True if the search came to its end. One that evaluated as many orders as it was given did.
    pub(super) fn is_finished(&self) -> bool {
        match self.limit {
            SearchLimit::Evaluations { stopped, .. } => !stopped(),
            SearchLimit::Share(share) => share() < 1.0,
        }
    }

    /// Returns true if a phase of pinning goes on that ends at the share `end`. Evaluations do not end it.
    pub(super) fn pins_until(&self, end: f64) -> impl Fn() -> bool + Sync + use<'a> {
        let limit = self.limit;
        move || match limit {
            SearchLimit::Evaluations { stopped, .. } => !stopped(),
            SearchLimit::Share(share) => share() < end,
        }
    }
}
