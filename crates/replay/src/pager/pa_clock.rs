//! PA-Clock (In, Shin & Kim, LCTES 2007, section 3.2): Clock whose search ends when it would
//! outlast the load behind which it is hidden.
//!
//! `pa-clock(budget)`: as Clock, but the `budget`-th examined frame is evicted whatever its bit.
//! With a budget of more than all frames it is Clock. The policy takes the budget as given; the
//! number of frames that can be examined during a load follows from the prices of the handler.

use std::ops::Range;

use flashpager_base::{Error, Result};

use super::clock::{Clock, ClockSizes};
use super::{
    AllSizes, Moment, Page, PerSet, Policy, PolicyMetadata, PolicyParameter, ReferenceBlock,
    ReferenceOutcome, Shape,
};

/// The name of the policy.
pub(super) const NAME: &str = "pa-clock";

/// Clock with a budget.
pub struct PaClock(Clock);

/// The budget in frames.
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
        report: impl FnMut(Page, Range<usize>, ReferenceOutcome),
    ) {
        self.0.references(block, report);
    }
}
