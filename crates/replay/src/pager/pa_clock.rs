//! PA-Clock (In, Shin & Kim, LCTES 2007, section 3.2): Clock whose search ends when the
//! time is up in which it is hidden behind the load.
//!
//! `pa-clock(budget)`: as Clock, but the `budget`-th frame looked at is evicted whatever
//! its bit says. With a budget of more than all frames it is Clock. How many frames fit
//! into the time of a load is for the price of the handler to say
//! ([`crate::cost::Prices::walk_budget`]), not for the policy.

use std::ops::Range;

use flashpager_base::{Error, Result};

use super::clock::{Clock, ClockSizes};
use super::{
    AllSizes, Moment, Page, PerSet, Policy, PolicyMetadata, PolicyParameter, ReferenceBlock,
    ReferenceOutcome, Shape,
};

pub(super) const NAME: &str = "pa-clock";

/// Clock with a budget.
pub struct PaClock(Clock);

fn budget_of(parameters: &[PolicyParameter]) -> Result<u32> {
    let Some(budget) = parameters.first() else {
        return Err(Error::design(
            "pa-clock without a handler's times needs its budget: pa-clock(N) looks at N frames",
        ));
    };
    match budget.number("the budget of pa-clock")? {
        0 => Err(Error::design("pa-clock(0): at least one frame must be looked at")),
        budget => Ok(budget.min(u64::from(u32::MAX)) as u32),
    }
}

impl Policy for PaClock {
    const SEES_HITS: bool = false;
    const METADATA: Option<PolicyMetadata> = Clock::METADATA;

    type AllSizes = PaClockSizes;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        Ok(Self(Clock::with_budget(shape, budget_of(parameters)?)))
    }

    #[inline]
    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome {
        self.0.reference(page, next_use)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.0.would_hit(page)
    }
}

/// PA-Clock at several sizes.
pub struct PaClockSizes(ClockSizes);

impl AllSizes for PaClockSizes {
    fn bytes_per_page(sizes: usize) -> usize {
        ClockSizes::bytes_per_page(sizes)
    }

    fn new(
        frames: &[u32],
        _: Option<u32>,
        pages: u32,
        parameters: &[PolicyParameter],
    ) -> Result<Self> {
        Ok(Self(ClockSizes::with_budget(frames, pages, budget_of(parameters)?)))
    }

    fn references(
        &mut self,
        block: ReferenceBlock<'_>,
        tell: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        self.0.references(block, tell);
    }
}
