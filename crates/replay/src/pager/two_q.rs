//! 2Q, the full version (Johnson & Shasha, VLDB 1994): a page is kept by recency only after a
//! second miss while it is remembered.
//!
//! Three lists: *A1in* in order of arrival, *Am* by time of use, both of pages in frames, and
//! *A1out* of ghosts in order of arrival there. With c frames, Kin = max(1, ⌊c/4⌋) and Kout =
//! ⌊c/2⌋.
//!
//! * In *Am*: a hit. The page becomes the newest of *Am*.
//! * In *A1in*: a hit that changes nothing.
//! * In *A1out*: the page is taken out, a frame is reclaimed, and the page becomes the newest of
//!   *Am*.
//! * In none of the lists: a frame is reclaimed, and the page becomes the newest of *A1in*.
//!
//! To reclaim a frame, a free one is taken. If there is none: if *A1in* holds more than Kin pages,
//! or *Am* holds none, the oldest of *A1in* becomes the newest of *A1out*, whose oldest is
//! forgotten if it holds more than Kout; else the oldest of *Am* is evicted and not remembered.
//!
//! Three details are ours: the rounding; the page leaves *A1out* before another one comes in; and
//! if
//! *Am* is empty, as with a single frame, the victim is from *A1in*. `walk` is 0, because the
//! victim is known without a search.

use flashpager_base::Result;

use super::lists::{Lists, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

const A1_IN: usize = 0;
const A1_OUT: usize = 1;
const AM: usize = 2;

/// 2Q with its three lists.
pub struct TwoQ {
    slots: Slots,
    lists: Lists<3>,
    capacity: usize,
}

impl TwoQ {
    /// Reclaims a frame. Returns the page that held it, if none was free.
    fn reclaim(&mut self) -> Option<Page> {
        let [arrivals, kept] = [A1_IN, AM].map(|list| self.lists.len(list));
        if arrivals + kept < self.capacity {
            return None;
        }
        if arrivals > (self.capacity / 4).max(1) || kept == 0 {
            let slot = self.lists.oldest(A1_IN)?;
            let victim = self.slots.page_of(slot);
            self.lists.renew(A1_OUT, slot);
            if self.lists.len(A1_OUT) > self.capacity / 2
                && let Some(forgotten) = self.lists.pop(A1_OUT)
            {
                self.slots.forget(forgotten);
            }
            Some(victim)
        } else {
            let slot = self.lists.pop(AM)?;
            Some(self.slots.forget(slot))
        }
    }
}

impl Policy for TwoQ {
    /// Two links and a bit per frame; a page number per ghost, of which there are half as many as
    /// frames; the ends of *A1in* and *Am*; the length of *A1in*; and the position and number of
    /// ghosts in their ring.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 2.5 * INDEX_BYTES as f64 + 0.125,
        fixed_bytes: 5 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self {
            slots: Slots::new(shape),
            lists: Lists::new(),
            capacity: shape.usable_frames() as usize,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let Some(slot) = self.slots.slot_of(page) else {
            let victim = self.reclaim();
            let slot = self.slots.add(page);
            self.lists.push(A1_IN, slot);
            return ReferenceOutcome::miss(0, victim);
        };
        match self.lists.list_of(slot) {
            Some(AM) => {
                self.lists.renew(AM, slot);
                ReferenceOutcome::Hit
            }
            Some(A1_OUT) => {
                self.lists.remove(slot);
                let victim = self.reclaim();
                self.lists.push(AM, slot);
                ReferenceOutcome::miss(0, victim)
            }
            _ => ReferenceOutcome::Hit,
        }
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots.slot_of(page).is_some_and(|slot| self.lists.list_of(slot) != Some(A1_OUT))
    }
}
