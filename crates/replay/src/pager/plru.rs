//! Tree-PLRU, as in hardware caches: each node of a binary tree over the ways has a bit, which
//! points away from the way used last.

use flashpager_base::{Error, Result};

use super::no_op_hits::{NoOpHitSizes, NoOpHits};
use super::sets::Ways;
use super::table::Frame;
use super::{
    Moment, NEVER, Page, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome, Shape,
};

/// The ways, and a tree for each set.
pub struct Plru {
    ways: Ways,
    /// The bits of the trees: at the frame of way n of a set, the bit of node n; node 1 is the
    /// root.
    points_right: Vec<bool>,
}

impl Plru {
    /// Turns the bits above `frame` away from it; `first` is the first frame of its set.
    #[inline]
    fn used(&mut self, first: Frame, frame: Frame) {
        let mut node = self.ways.count() + (frame - first);
        while node > 1 {
            self.points_right[(first + node / 2) as usize] = node.is_multiple_of(2);
            node /= 2;
        }
    }

    /// The frame that the bits point to.
    #[inline]
    fn victim(&self, first: Frame) -> Frame {
        self.leaf(first, |points_right| points_right)
    }

    /// The frame used last, which the bits point away from. It holds no page if none was used.
    #[inline]
    fn newest(&self, first: Frame) -> Frame {
        self.leaf(first, |points_right| !points_right)
    }

    /// The frame at the end of a path from the root.
    #[inline]
    fn leaf(&self, first: Frame, goes_right: impl Fn(bool) -> bool) -> Frame {
        let mut node = 1;
        while node < self.ways.count() {
            let points_right = self.points_right[(first + node) as usize];
            node = 2 * node + u32::from(goes_right(points_right));
        }
        first + (node - self.ways.count())
    }
}

impl Policy for Plru {
    const COUNTS_SPARE_FRAMES: bool = true;

    /// A bit per node; there is one node less than ways.
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 0.125, fixed_bytes: 0 });

    type AllSizes = NoOpHitSizes<Self>;
    type InSets = Self;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        let ways = shape.ways();
        if !ways.is_power_of_two() {
            return Err(Error::design(format!(
                "plru: no tree stands over {ways} ways; take a power of two, or another policy"
            )));
        }
        // Ways for which no page is left are never used.
        let ways = ways.min(shape.pages.max(1).next_power_of_two());
        let frames = shape.sets() as usize * ways as usize;
        Ok(Self { ways: Ways::new(shape, ways), points_right: vec![false; frames] })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let first = self.ways.first_frame(page);
        if let Some(frame) = self.ways.frame_of(page) {
            self.used(first, frame);
            return ReferenceOutcome::Hit;
        }
        if let Some(frame) = self.ways.take_free(page) {
            self.used(first, frame);
            return ReferenceOutcome::miss(0, None);
        }
        let frame = self.victim(first);
        self.used(first, frame);
        ReferenceOutcome::miss(0, self.ways.replace(frame, page))
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.ways.frame_of(page).is_some()
    }
}

impl NoOpHits for Plru {
    const NESTS: bool = false;

    #[inline]
    fn reference_to_no_op(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>) {
        let newest = self.newest(self.ways.first_frame(page));
        let newest = self.ways.page_in(newest);
        (self.reference(page, NEVER), newest)
    }
}
