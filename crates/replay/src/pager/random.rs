//! Random: evict any page. It is the baseline that other policies are measured against.
//!
//! `random(seed)`, seed < 2³². Frames are numbered from 0, free ones are taken in that order, and a
//! page takes its victim's frame. In a cache of sets the frames are the ways of a set, and the
//! generator is one for all sets. The generator is xorshift32 (Marsaglia, JSS 2003): on a fault
//! with no free frame, and only then, x ^= x << 13, x ^= x >> 17, x ^= x << 5 in 32 bits, and the
//! victim is in frame ⌊x · frames / 2³²⌋. x is the seed at first; for seed 0, from which xorshift
//! cannot move, it is 2463534242, Marsaglia's. `walk` is 0: nothing is searched.

use flashpager_base::{Error, Result};

use super::no_op_hits::{NoOpHitSizes, NoOpHits};
use super::sets::Ways;
use super::table::Frame;
use super::{
    Moment, NEVER, Page, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome, Shape,
};

/// The state that replaces the seed 0.
const INSTEAD_OF_0: u32 = 2_463_534_242;

/// The frames, and the random number generator.
pub struct Random {
    ways: Ways,
    state: u32,
}

impl Random {
    /// A random frame of the set of `page`.
    fn victim(&mut self, page: Page) -> Frame {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        let way = (u64::from(self.state) * u64::from(self.ways.count())) >> 32;
        self.ways.first_frame(page) + way as Frame
    }
}

impl Policy for Random {
    const SEES_HITS: bool = false;

    /// The state of the generator.
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 0.0, fixed_bytes: 4 });

    type AllSizes = NoOpHitSizes<Self>;
    type InSets = Self;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        let seed = parameters[0].number("the seed of random")?;
        let state = match u32::try_from(seed) {
            Ok(0) => INSTEAD_OF_0,
            Ok(seed) => seed,
            Err(_) => {
                return Err(Error::design(format!(
                    "policy 'random({seed})': take a seed below 2^32"
                )));
            }
        };
        let ways = if shape.ways.is_some() { shape.ways() } else { shape.usable_frames() };
        Ok(Self { ways: Ways::new(shape, ways), state })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if self.ways.frame_of(page).is_some() {
            return ReferenceOutcome::Hit;
        }
        if self.ways.take_free(page).is_some() {
            return ReferenceOutcome::miss(0, None);
        }
        let frame = self.victim(page);
        ReferenceOutcome::miss(0, self.ways.replace(frame, page))
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.ways.frame_of(page).is_some()
    }
}

impl NoOpHits for Random {
    const NESTS: bool = false;

    #[inline]
    fn reference_to_no_op(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>) {
        let outcome = self.reference(page, NEVER);
        let ReferenceOutcome::Miss { victim, .. } = outcome else { return (outcome, None) };
        (outcome, victim)
    }
}
