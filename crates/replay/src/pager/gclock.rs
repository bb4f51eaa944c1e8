//! Generalized Clock (Smith, TODS 1978): the hand takes 1 off each count above 0, which reuse
//! classes set.

use flashpager_base::Result;

use super::classes::ClassTable;
use super::ring::Ring;
use super::table::PageTable;
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

/// The name of the policy.
pub(super) const NAME: &str = "gclock";
/// The class of pages without trained classes, with which this is Clock.
pub(super) const DEFAULT_CLASS: u8 = 1;

/// Frames in a ring with one hand, free frames as with Clock.
pub struct GClock {
    table: PageTable,
    classes: ClassTable,
    ring: Ring<CountedFrame>,
}

#[derive(Clone, Copy)]
struct CountedFrame {
    page: Page,
    count: u8,
}

impl Policy for GClock {
    /// Two bits per frame, and the hand.
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 0.25, fixed_bytes: INDEX_BYTES });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        let classes = ClassTable::new(shape, parameters, DEFAULT_CLASS)?;
        Ok(Self { table: PageTable::new(shape), classes, ring: Ring::new(shape.usable_frames()) })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let classes = self.classes.of(page);
        if let Some(frame) = self.table.frame_of(page) {
            let count = &mut self.ring.frame_mut(frame).count;
            *count = classes.used.max(*count);
            return ReferenceOutcome::Hit;
        }
        let mut walk = 0;
        while let Some(frame) = self.ring.under_hand() {
            walk += 1;
            if frame.count == 0 {
                break;
            }
            frame.count -= 1;
            self.ring.step();
        }
        let (frame, victim) = self.ring.fill(CountedFrame { page, count: classes.fill });
        let victim = victim.map(|victim| victim.page);
        if let Some(victim) = victim {
            self.table.remove(victim);
        }
        self.table.insert(page, frame);
        ReferenceOutcome::miss(walk, victim)
    }

    /// A use that would raise the count must be seen.
    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        let used = self.classes.of(page).used;
        self.table.frame_of(page).is_some_and(|frame| self.ring.frame(frame).count >= used)
    }
}
